import Crypto
import CryptoExtras
public import Sotto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An RSA key that decrypts Mercurio messages. It is random and the words do not restore it: store it in a file.
public final class MercurioPrivateKey: @unchecked Sendable {
    // Sendable: BoringSSL's key does not change after its creation.
    private let key: _RSA.Encryption.PrivateKey
    /// The public half.
    public let publicKey: MercurioPublicKey

    /// The parameters of RSAES-OAEP for a wrapped key.
    public enum Padding: Sendable, CaseIterable {
        /// SHA-256 and MGF1-SHA-256, as specified. New messages use it.
        case sha256
        /// SHA-1 and MGF1-SHA-1, as the Flutter client wrote. Only for reading, and only on request.
        case sha1
    }

    /// Generates a key. `bits` is one of ``MercurioPublicKey/sizes``.
    public convenience init(bits: Int = 3072) throws(MercurioKeyError) {
        guard MercurioPublicKey.sizes.contains(bits) else { throw .size(bits: bits) }
        guard let key = try? _RSA.Encryption.PrivateKey(keySize: .init(bitCount: bits)) else {
            throw .size(bits: bits)
        }
        try self.init(key)
    }

    /// Reads a PKCS #8 PEM (RFC 5958).
    public convenience init(pem: String) throws(MercurioKeyError) {
        guard pem.utf8.count <= 8192, pem.hasPrefix("-----BEGIN PRIVATE KEY-----"),
            let key = try? _RSA.Encryption.PrivateKey(pemRepresentation: pem)
        else { throw .encoding }
        try self.init(key)
    }

    /// Reads a file without a password: PKCS #8 (RFC 5958 §2) or PKCS #1 (RFC 8017 §A.1.2), in PEM or DER.
    ///
    /// Throws ``RSAKeyError``: ``RSAKeyError/encrypted`` for a key under a password, and ``RSAKeyError/size(bits:)``
    /// for a length that is not among ``MercurioPublicKey/sizes``.
    package convenience init(file: [UInt8]) throws(RSAKeyError) {
        try self.init(pkcs8: RSAKeyFile(file).withoutPassword())
    }

    /// Reads a file under a password: PKCS #8 (RFC 5958 §3) with PBES2 (RFC 8018 §6.2), in PEM or DER.
    ///
    /// Throws ``RSAKeyError``: ``RSAKeyError/password`` for a wrong password or a damaged key, and
    /// ``RSAKeyError/size(bits:)`` for a length that is not among ``MercurioPublicKey/sizes``.
    package convenience init(
        encryptedFile file: [UInt8], password: borrowing SecretBytes
    ) throws(RSAKeyError) {
        let der = try RSAKeyFile(file).opened(with: password)
        do throws(RSAKeyError) {
            try self.init(pkcs8: der)
        } catch {
            // A wrong password can give bytes that look like a key.
            throw error == .form ? .password : error
        }
    }

    private convenience init(pkcs8 der: borrowing SecretBytes) throws(RSAKeyError) {
        let text = der.withBytes { PEM.encode("PRIVATE KEY", Array($0)) }
        do throws(MercurioKeyError) {
            try self.init(pem: text)
        } catch {
            switch error {
            case .encoding, .exponent: throw .form
            case .size(let bits): throw .size(bits: bits)
            }
        }
    }

    private static let encryptedLabel = "ENCRYPTED PRIVATE KEY"

    private init(_ key: _RSA.Encryption.PrivateKey) throws(MercurioKeyError) {
        guard let parts = try? key.publicKey.getKeyPrimitives() else { throw .encoding }
        self.key = key
        publicKey = try MercurioPublicKey(
            modulus: Array(parts.modulus), exponent: Array(parts.publicExponent))
    }

    /// Returns the key as a PKCS #8 PEM, which is secret.
    public func pem() -> SecretBytes {
        var text = Array(key.pkcs8PEMRepresentation.utf8)
        defer { wipe(&text) }
        if text.last != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
        return SecretBytes(copying: text)
    }

    /// Returns the key as a PKCS #8 PEM under a password: PBES2 with PBKDF2-HMAC-SHA256 and AES-256-CBC.
    public func pem(password: borrowing SecretBytes) -> String {
        guard var decoded = pem().withBytes({ PEM.decode(Array($0)) }) else {
            preconditionFailure("RSA writes no key")
        }
        defer { wipe(&decoded.bytes) }
        return PEM.encode(
            Self.encryptedLabel, PBES2(sealing: decoded.bytes, password: password).der)
    }

    /// Returns the wrapped key, or `nil` for any error. A caller that reveals to a peer which step failed is a
    /// decryption oracle (Manger, CRYPTO 2001).
    func unwrap(_ wrapped: [UInt8], padding: Padding) -> SecretBytes? {
        let padding: _RSA.Encryption.Padding =
            switch padding {
            case .sha256: .PKCS1_OAEP_SHA256
            case .sha1: .PKCS1_OAEP
            }
        guard var secret = try? key.decrypt(wrapped, padding: padding) else { return nil }
        defer { secret.resetBytes(in: secret.startIndex..<secret.endIndex) }
        return SecretBytes(copying: secret)
    }
}
