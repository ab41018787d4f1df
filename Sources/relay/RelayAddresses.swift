import Sotto
import SottoServer
import SottoWire

/// The addresses of a running relay: those for its users, and whether one of them is public.
struct RelayAddresses {
    private let names: [String]
    private let tls: TLSOptions

    /// Creates the addresses of a relay that listens on `listening`, host:port with the actual port.
    init(_ plan: RelayConfiguration, listening: String, tls: TLSOptions) {
        names = plan.names.isEmpty ? [listening] : plan.names
        self.tls = tls
    }

    private var hosts: [RelayURL] { names.compactMap { try? RelayURL(name: $0) } }

    /// The addresses for users, complete: with the scheme, and with the pin of a certificate that no authority signed.
    /// Empty if the relay listens on all addresses and has no name.
    func texts() throws(RelayError) -> [String] {
        var pin = ""
        if let files = tls.files, try files.isSelfSigned() {
            pin = "#sha256=" + hex(try files.pin())
        }
        let scheme = tls.files == nil ? "tcp" : "tls"
        return hosts.filter { !Self.isWildcard($0.host) }.map { "\(scheme)://\($0.name)\(pin)" }
    }

    /// A warning if the relay accepts connections without TLS at an address outside of the own network, or `nil`.
    var warning: String? {
        guard tls.plainConnections == .accepted,
            let host = hosts.first(where: { Self.isWildcard($0.host) || !$0.isInOwnNetwork })
        else { return nil }
        let danger = "observers of the network see who receives mail and when"
        return tls.allowPlain
            ? "\(host.name) accepts connections without TLS: \(danger)"
            : "\(host.name) has no TLS: \(danger); use --tls-cert and --tls-key, and --tls-self-signed to create both"
    }

    /// Whether an IP address stands for all addresses of the machine.
    static func isWildcard(_ address: String) -> Bool { ["0.0.0.0", "::"].contains(address) }
}
