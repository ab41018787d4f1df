#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import Sotto

/// A reason why a key file cannot be made or opened.
public enum ECP1Error: Error, Sendable, Equatable {
    /// The file does not begin with `ECP` and a digit, or is too short.
    case form
    /// The file is of a later version than 1.
    case version
    /// The file is longer than ``ECP1File/limit``.
    case tooLong(limit: Int)
    /// The password is wrong or the file is damaged. The two cannot be distinguished.
    case authentication
}

/// A key file of Kecalek: a secret under a password.
///
///     "ECP1" ‖ salt(16) ‖ nonce(12) ‖ AES-256-GCM(key, nonce, secret) ‖ tag(16), no associated data
///     key = PBKDF2-HMAC-SHA256(password as typed, salt, 600000, 32)
///
/// It is only for exchange with Kecalek: PBKDF2 is cheap to attack with graphics cards, and the file has no parameters
/// that could be raised. Use an age file with a passphrase (``AgeFile``) to store a secret.
public struct ECP1File: Sendable, Equatable {
    /// The rounds of PBKDF2.
    public static let rounds = 600_000
    /// The longest file, 1 MiB.
    public static let limit = 1 << 20
    /// The beginning of a file of any version.
    public static let mark = Array("ECP".utf8)
    static let magic = mark + Array("1".utf8)
    private static let saltSize = 16

    /// The file's bytes.
    public let bytes: [UInt8]

    /// Reads a file's structure. It does not verify anything.
    public init(_ bytes: [UInt8]) throws(ECP1Error) {
        guard bytes.starts(with: Self.mark), bytes.count > 3,
            (0x30...0x39).contains(bytes[3])
        else { throw .form }
        guard bytes[3] == Self.magic[3] else { throw .version }
        guard bytes.count >= Self.magic.count + Self.saltSize + AESGCM.overhead else { throw .form }
        guard bytes.count <= Self.limit else { throw .tooLong(limit: Self.limit) }
        self.bytes = bytes
    }

    /// Creates a file with `secret` under `password`. Throws ``ECP1Error/tooLong(limit:)``.
    public init(
        sealing secret: borrowing SecretBytes, password: borrowing SecretBytes
    ) throws(ECP1Error) {
        try self.init(
            sealing: secret, password: password, salt: randomBytes(Self.saltSize),
            nonce: randomBytes(AESGCM.nonceSize))
    }

    init(
        sealing secret: borrowing SecretBytes, password: borrowing SecretBytes, salt: [UInt8],
        nonce: [UInt8]
    ) throws(ECP1Error) {
        guard
            secret.count <= Self.limit - Self.magic.count - Self.saltSize - AESGCM.overhead
        else { throw .tooLong(limit: Self.limit) }
        let key = pbkdf2SHA256(password: password, salt: salt, rounds: Self.rounds)
        bytes =
            Self.magic + salt
            + AESGCM.seal(secret: secret, nonce: nonce, key: key)
    }

    /// Returns the secret. Throws ``ECP1Error/authentication``.
    public func open(password: borrowing SecretBytes) throws(ECP1Error) -> SecretBytes {
        let body = Self.magic.count + Self.saltSize
        let key = pbkdf2SHA256(
            password: password, salt: Array(bytes[Self.magic.count..<body]), rounds: Self.rounds)
        guard let secret = AESGCM.openSecret(Array(bytes[body...]), key: key) else {
            throw .authentication
        }
        return secret
    }
}
