import NIOCore
public import NIOSSL
import Sotto

/// What a client's TLS begins with.
public enum ClientTLS {
    /// A context that verifies certificates against `authorities`, a PEM file, or those that the system trusts.
    ///
    /// With `isPinned` the caller compares the key in place of the chain and the name.
    public static func context(
        authorities: String?, protocols: [String] = [], isPinned: Bool = false
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.allowModernSuitesOnly()
        configuration.applicationProtocols = protocols
        if isPinned { configuration.certificateVerification = .noHostnameVerification }
        if let authorities { configuration.trustRoots = .file(authorities) }
        return try NIOSSLContext(configuration: configuration)
    }

    /// A connection's TLS with a host. The key that it shows must be the pinned one, where there is a pin: the SHA-256 of
    /// its SubjectPublicKeyInfo.
    public static func handler(
        _ context: NIOSSLContext, host: String, pin: [UInt8]?
    ) throws -> NIOSSLClientHandler {
        let name = serverName(of: host)
        guard let pin else {
            return try NIOSSLClientHandler(context: context, serverHostname: name)
        }
        return try NIOSSLClientHandler(
            context: context, serverHostname: name,
            customVerificationCallback: { chain, promise in
                let key = try? chain.first?.extractPublicKey().toSPKIBytes()
                let isKnown = key.map { constantTimeEqual(sha256($0), pin) } ?? false
                promise.succeed(isKnown ? .certificateVerified : .failed)
            })
    }

    /// The name to ask a host for, and to find in its certificate; `nil` for an address, which is no name (RFC 6066 §3).
    public static func serverName(of host: String) -> String? {
        let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
        return isAddress ? nil : host
    }
}
