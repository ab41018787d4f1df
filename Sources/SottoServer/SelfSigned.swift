import Crypto
import Glibc
import Sotto
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TLSFiles {
    /// Creates a P-256 key and a self-signed certificate for these names or addresses, valid for ten years. Throws if
    /// a file exists. No authority certifies it: clients pin it by ``pin()``.
    public func makeSelfSigned(for names: [String]) throws(RelayError) {
        let key = P256.Signing.PrivateKey()
        let pem: String
        do {
            let name = try DistinguishedName { CommonName(names.first ?? "sotto relay") }
            let now = Date()
            let certificate = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(),
                publicKey: Certificate.PublicKey(key.publicKey),
                notValidBefore: now.addingTimeInterval(-86_400),
                notValidAfter: now.addingTimeInterval(3_650 * 86_400), issuer: name, subject: name,
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    SubjectAlternativeNames(names.map { GeneralName.of($0) })
                }, issuerPrivateKey: Certificate.PrivateKey(key))
            pem = try certificate.serializeAsPEM().pemString + "\n"
        } catch {
            throw .tls(.notMade(names: names))
        }
        try Self.write(key.pemRepresentation + "\n", to: self.key, mode: 0o600)
        try Self.write(pem, to: certificate, mode: 0o644)
    }

    private static func write(_ text: String, to path: String, mode: mode_t) throws(RelayError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw .tls(errno == EEXIST ? .exists(path) : .cannotCreate(path))
        }
        let isDone =
            writeAll(Array(text.utf8), to: descriptor) == 0 && synchronizeFile(descriptor) == 0
        close(descriptor)
        guard isDone else {
            unlink(path)
            throw .tls(.cannotWrite(path))
        }
    }
}

extension GeneralName {
    /// Creates a DNS name or an address (RFC 5280 §4.2.1.6).
    fileprivate static func of(_ text: String) -> GeneralName {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var address = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &address) == 1 {
                return .ipAddress(.init(contentBytes: address[...]))
            }
        }
        return .dnsName(text)
    }
}
