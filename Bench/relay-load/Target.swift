import NIOCore
import NIOSSL
import SottoNetwork
import SottoWire

/// The address and protocol of the relay or broker under load.
struct Target {
    let host: String
    let port: Int
    private let relay: RelayURL?
    private let tls: NIOSSLContext?
    private let sendsSignals: Bool

    /// Parses a relay's URL, or `mqtt://HOST:PORT`.
    init(_ text: String, sendsSignals: Bool = false) throws {
        self.sendsSignals = sendsSignals
        let prefix = "mqtt://"
        let isMQTT = text.hasPrefix(prefix)
        let address =
            isMQTT ? try RelayURL(name: text.dropFirst(prefix.count)) : try RelayURL(text)
        host = address.host
        port = Int(address.port)
        relay = isMQTT ? nil : address
        tls =
            address.scheme.isSecure
            ? try ClientTLS.context(authorities: nil, isPinned: address.pin != nil) : nil
    }

    /// Returns the dialect of a new connection.
    func dialect() -> any Dialect {
        relay.map { RelayDialect($0, sendsSignals: sendsSignals) } ?? MQTTDialect()
    }

    /// Returns the TLS handler, if the address has TLS.
    func security() throws -> [any ChannelHandler] {
        guard let tls else { return [] }
        return [try ClientTLS.handler(tls, host: host, pin: relay?.pin)]
    }
}
