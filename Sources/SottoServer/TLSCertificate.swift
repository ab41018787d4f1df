import NIOSSL
import Sotto
import SottoNetwork
import Synchronization

/// The certificate of a relay and its key: PEM files that can be read again.
final class TLSCertificate: Sendable {
    private let files: TLSFiles
    private let current: Mutex<NIOSSLContext>

    /// Reads the files. Throws ``RelayError/tls(_:)``.
    init(_ files: TLSFiles) throws(RelayError) {
        self.files = files
        current = Mutex(try Self.context(files))
    }

    /// The TLS context for new connections.
    var context: NIOSSLContext { current.withLock { $0 } }

    /// Reads the files again. If they are invalid, it throws and the current ones stay in use.
    func reload() throws(RelayError) {
        let context = try Self.context(files)
        current.withLock { $0 = context }
    }

    private static func context(_ files: TLSFiles) throws(RelayError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            guard !chain.isEmpty else {
                throw RelayError.tls(.noCertificate(files.certificate))
            }
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.allowModernSuitesOnly()
            configuration.applicationProtocols = ["http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        } catch let error as RelayError {
            throw error
        } catch {
            throw .tls(.unusable(certificate: files.certificate, key: files.key))
        }
    }
}

/// The paths of a certificate chain and its key, in PEM.
public struct TLSFiles: Sendable {
    /// The certificate, followed by its intermediate certificates.
    public let certificate: String
    /// The private key, without a passphrase.
    public let key: String

    /// Takes the paths of the two files.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Returns the pin of the certificate: the SHA-256 of its public key's SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
    /// Throws ``RelayError/tls(_:)``.
    public func pin() throws(RelayError) -> [UInt8] {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate)
            guard let first = chain.first else {
                throw RelayError.tls(.noCertificate(certificate))
            }
            return sha256(try first.extractPublicKey().toSPKIBytes())
        } catch let error as RelayError {
            throw error
        } catch {
            throw .tls(.unreadable(certificate))
        }
    }
}
