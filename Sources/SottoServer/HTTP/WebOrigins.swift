import NIOHTTP1
import SottoWire

/// The web pages that may use a relay: those of the same host, and those that the operator allows.
///
/// A browser names the page's origin in each WebSocket handshake and each `POST` (RFC 6454 §7). Sotto's own clients
/// send no `Origin`. Without this rule every page that a user opens could talk to a relay on that user's machine.
struct WebOrigins: Sendable {
    private let allowed: Set<String>

    /// Allows these origins, such as `https://chat.example.org`, and the relay's own.
    init(allowed: [String]) { self.allowed = Set(allowed.map { $0.lowercased() }) }

    /// Whether a request with these headers may be served by a relay with these names, each `host:port`.
    func admit(_ headers: HTTPHeaders, names: [String]) -> Bool {
        headers["origin"].allSatisfy { origin in
            let origin = origin.lowercased()
            return allowed.contains(origin) || Self.name(of: origin).map(names.contains) ?? false
        }
    }

    /// Returns the `host:port` of an origin, or `nil` for one that is not HTTP, such as `null`.
    static func name(of origin: String) -> String? {
        let ports = [("http://", "80"), ("https://", "443")]
        guard let (scheme, port) = ports.first(where: { origin.hasPrefix($0.0) }) else {
            return nil
        }
        let host = origin.dropFirst(scheme.count)
        guard !host.isEmpty, !host.contains("/") else { return nil }
        let end = host.lastIndex(of: "]") ?? host.startIndex
        return host[end...].contains(":") ? String(host) : host + ":" + port
    }
}
