import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A reason why an RSA key cannot be read or used.
package enum RSAKeyError: Error, Sendable, Equatable {
    /// The file is not an RSA private key in PKCS #8 or PKCS #1, in PEM or DER.
    case form
    /// The key is under a password, and no password was given.
    case encrypted
    /// A password was given for a key without one.
    case notEncrypted
    /// The encryption is not PBES2 with PBKDF2-HMAC-SHA256 and AES-256-CBC.
    case scheme
    /// The key has more rounds of PBKDF2 than the limit.
    case rounds(limit: Int)
    /// The password is wrong or the key is damaged. The two cannot be distinguished.
    case password
    /// The key does not have 2048 to 4096 bits.
    case size(bits: Int)
    /// The challenge does not have 32 bytes.
    case challenge
}

/// An RSA key for logins at a relay. It is used for nothing else.
///
/// It signs a label and exactly 32 bytes, so that a server cannot obtain a signature of other data.
package final class RSALoginKey: Sendable {
    /// The key lengths that are accepted, in bits.
    package static let sizes = 2048...4096
    /// The length of a challenge in bytes.
    package static let challengeSize = 32

    /// The length of a new key, in bits.
    package enum Size: Int, Sendable, CaseIterable {
        case bits2048 = 2048
        case bits3072 = 3072
        case bits4096 = 4096
    }

    private let key: _RSA.Signing.PrivateKey

    /// Generates a key, which can take some seconds.
    package init(size: Size = .bits3072) {
        do {
            key = try _RSA.Signing.PrivateKey(
                keySize: _RSA.Signing.KeySize(bitCount: size.rawValue))
        } catch {
            preconditionFailure("RSA makes no key")
        }
    }

    /// Whether a file has the structure of a key under a password.
    package static func isEncrypted(file: [UInt8]) -> Bool { RSAKeyFile.isEncrypted(file) }

    /// Reads a file without a password: PKCS #8 (RFC 5958 §2) or PKCS #1 (RFC 8017 §A.1.2), in PEM or DER.
    package convenience init(file: [UInt8]) throws(RSAKeyError) {
        try self.init(pkcs8: RSAKeyFile(file).withoutPassword())
    }

    /// Reads a file under a password: PKCS #8 (RFC 5958 §3) with PBES2 (RFC 8018 §6.2), in PEM or DER.
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

    private init(pkcs8 der: borrowing SecretBytes) throws(RSAKeyError) {
        let read = der.withBytes {
            try? _RSA.Signing.PrivateKey(unsafeDERRepresentation: Array($0))
        }
        guard let key = read else { throw .form }
        guard Self.sizes.contains(key.keySizeInBits), key.keySizeInBits.isMultiple(of: 8) else {
            throw .size(bits: key.keySizeInBits)
        }
        self.key = key
    }

    private static let label = "PRIVATE KEY"
    private static let encryptedLabel = "ENCRYPTED PRIVATE KEY"

    // MARK: Writing

    /// Returns the key as `PRIVATE KEY`, without a password.
    package func pem() -> String { PEM.encode(Self.label, Array(key.pkcs8DERRepresentation)) }

    /// Returns the key as `ENCRYPTED PRIVATE KEY` under a password.
    package func pem(password: borrowing SecretBytes) -> String {
        var der = Array(key.pkcs8DERRepresentation)
        defer { wipe(&der) }
        return PEM.encode(Self.encryptedLabel, PBES2(sealing: der, password: password).der)
    }

    /// Returns the public key as `PUBLIC KEY` (RFC 5280 §4.1.2.7).
    package func publicPEM() -> String {
        PEM.encode("PUBLIC KEY", Array(key.publicKey.derRepresentation))
    }

    package var bits: Int { key.keySizeInBits }

    // MARK: The login

    /// Returns the bytes that are signed: `"ratchet/login/v1\0" ‖ challenge`.
    static func signed(_ challenge: [UInt8]) -> [UInt8] {
        Array("ratchet/login/v1\0".utf8) + challenge
    }

    /// Returns the answer to a challenge of 32 bytes: RSASSA-PSS (RFC 8017 §8.1) with SHA-256, MGF1-SHA-256 and a salt
    /// of 32 bytes. The answer is as long as the key. Throws ``RSAKeyError/challenge``.
    package func answer(to challenge: [UInt8]) throws(RSAKeyError) -> [UInt8] {
        guard challenge.count == Self.challengeSize else { throw .challenge }
        do {
            return Array(
                try key.signature(for: SHA256.hash(data: Self.signed(challenge)), padding: .PSS)
                    .rawRepresentation)
        } catch {
            preconditionFailure("RSA does not sign")
        }
    }

    /// The public half of the key, for the server.
    package var publicKey: RSALoginPublicKey { RSALoginPublicKey(key.publicKey) }
}

/// The public half of an ``RSALoginKey``.
package struct RSALoginPublicKey: Sendable {
    private let key: _RSA.Signing.PublicKey

    fileprivate init(_ key: _RSA.Signing.PublicKey) { self.key = key }

    /// Reads a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7) in DER. Returns `nil` if it is malformed or its length is not
    /// in ``RSALoginKey/sizes``.
    package init?(der: [UInt8]) {
        guard let key = try? _RSA.Signing.PublicKey(unsafeDERRepresentation: der),
            RSALoginKey.sizes.contains(key.keySizeInBits), key.keySizeInBits.isMultiple(of: 8),
            Array(key.derRepresentation) == der
        else { return nil }
        self.key = key
    }

    /// The SubjectPublicKeyInfo in DER.
    package var der: [UInt8] { Array(key.derRepresentation) }

    /// Whether `answer` is this key's answer to a `challenge` of 32 bytes.
    package func isAnswer(_ answer: [UInt8], to challenge: [UInt8]) -> Bool {
        challenge.count == RSALoginKey.challengeSize
            && key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: answer),
                for: SHA256.hash(data: RSALoginKey.signed(challenge)), padding: .PSS)
    }
}
