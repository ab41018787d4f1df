import NIOCore
public import NIOSSL
import Sotto

/// The TLS configuration of clients.
public enum ClientTLS {
    /// Creates a context that verifies certificates against `authorities`, a PEM file, or against the system's
    /// authorities.
    ///
    /// With `isPinned` the context checks no host name; the handler then compares the key with the pin instead of the
    /// chain.
    public static func context(
        authorities: String?, protocols: [String] = [], isPinned: Bool = false
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.allowModernSuitesOnly()
        configuration.applicationProtocols = protocols
        if isPinned {
            configuration.certificateVerification = .noHostnameVerification
            // The pin decides. To read the system's authorities takes some milliseconds.
            configuration.trustRoots = .certificates([])
        }
        if let authorities { configuration.trustRoots = .file(authorities) }
        return try NIOSSLContext(configuration: configuration)
    }

    /// Creates the TLS handler of a connection to a host. With a pin, the SHA-256 of a SubjectPublicKeyInfo, the
    /// server's key must match it. Without one, `acceptsAny` accepts every certificate.
    public static func handler(
        _ context: NIOSSLContext, host: String, pin: [UInt8]?, acceptsAny: Bool = false
    ) throws -> NIOSSLClientHandler {
        let name = serverName(of: host)
        guard let pin else {
            if acceptsAny {
                return try NIOSSLClientHandler(
                    context: context, serverHostname: name,
                    customVerificationCallback: { _, promise in
                        promise.succeed(.certificateVerified)
                    })
            }
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

    /// Creates the TLS handler of a connection that ends after the server's certificates, which `take` gets.
    public static func handler(
        _ context: NIOSSLContext, host: String,
        collecting take: @escaping @Sendable ([NIOSSLCertificate]) -> Void
    ) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(
            context: context, serverHostname: serverName(of: host),
            customVerificationCallback: { chain, promise in
                take(chain)
                promise.succeed(.failed)
            })
    }

    /// Returns the name to request from a host and to verify in its certificate, or `nil` for an address (RFC 6066
    /// §3).
    public static func serverName(of host: String) -> String? {
        let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
        return isAddress ? nil : host
    }
}
