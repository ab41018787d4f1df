import Arguments
import SottoServer
import SottoTool

/// The options that limit connections.
struct NetworkOptions: ArgumentGroup {
    @Option(
        "--network-connections", value: "n",
        help:
            "The most connections from one network, a /24 or an IPv6 /64; by default a quarter of --max-connections."
    )
    var networkConnections: Int?

    @Option(
        "--allow-origin", value: "origin",
        help:
            "Serve web pages of this origin too, such as https://chat.example.org; may be repeated."
    )
    var allowedOrigins: [String] = []

    func validate() throws {
        guard networkConnections ?? 1 > 0 else {
            throw UsageError("--network-connections must be at least 1")
        }
        for origin in allowedOrigins {
            let isOrigin = ["http://", "https://"].contains { scheme in
                origin.hasPrefix(scheme) && origin.utf8.count > scheme.utf8.count
                    && !origin.dropFirst(scheme.count).contains("/")
            }
            guard isOrigin else {
                throw UsageError(
                    "--allow-origin is not an origin, such as https://chat.example.org")
            }
        }
    }

    /// Copies the options into a plan.
    func apply(to plan: inout RelayConfiguration) {
        plan.networkConnections = networkConnections
        plan.allowedOrigins = allowedOrigins
    }
}
