import NIOSSL
import Sotto
import SottoTransport
import Synchronization

/// The certificate that a relay shows, with its key: PEM files, read again on demand.
final class TLSCertificate: Sendable {
    private let files: TLSFiles
    private let current: Mutex<NIOSSLContext>

    /// Reads the files. Throws ``RelayError/tls(_:)``.
    init(_ files: TLSFiles) throws(RelayError) {
        self.files = files
        current = Mutex(try Self.context(files))
    }

    /// What new connections are begun with.
    var context: NIOSSLContext { current.withLock { $0 } }

    /// Reads the files again; what was there serves on if they are of no use.
    func reload() throws(RelayError) {
        let context = try Self.context(files)
        current.withLock { $0 = context }
    }

    private static func context(_ files: TLSFiles) throws(RelayError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            guard !chain.isEmpty else {
                throw RelayError.tls("\(files.certificate) holds no certificate")
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
            throw .tls(
                "the certificate \(files.certificate) or the key \(files.key) cannot be used")
        }
    }
}

/// Where a certificate chain and its key lie, in PEM.
public struct TLSFiles: Sendable {
    /// The certificate, and after it those that certify it.
    public let certificate: String
    /// The private key, without a passphrase.
    public let key: String

    /// The files at these paths.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// SHA-256 of the key that the certificate is for, its SubjectPublicKeyInfo (RFC 5280 §4.1.2.7): what clients pin.
    public func pin() throws(RelayError) -> [UInt8] {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate)
            guard let first = chain.first else {
                throw RelayError.tls("\(certificate) holds no certificate")
            }
            return sha256(try first.extractPublicKey().toSPKIBytes())
        } catch let error as RelayError {
            throw error
        } catch {
            throw .tls("the certificate \(certificate) cannot be read")
        }
    }
}
