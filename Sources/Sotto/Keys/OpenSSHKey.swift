import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why an OpenSSH private key is not read.
public enum OpenSSHKeyError: Error, Sendable, Equatable {
    /// Not an `OPENSSH PRIVATE KEY` of the form `openssh-key-v1`.
    case form
    /// The key is under a passphrase, by a cipher or a derivation of these names that is not read.
    case protection(String)
    /// The passphrase does not open the key.
    case wrongPassphrase
    /// The key is of another type than `ssh-ed25519`; the string is its type.
    case type(String)
    /// The halves of the key do not belong together.
    case inconsistent
}

/// An Ed25519 public key in the form of SSH (RFC 8709 §4).
public struct OpenSSHPublicKey: Sendable, Hashable {
    /// The key's type, the first word of its line.
    public static let type = "ssh-ed25519"
    /// The 32-byte public key.
    public let publicKey: [UInt8]

    /// The form of a 32-byte public key.
    public init(publicKey: [UInt8]) {
        precondition(publicKey.count == 32)
        self.publicKey = publicKey
    }

    /// Reads a line `ssh-ed25519 AAAA… [comment]`; `nil` for another form or type.
    public init?(line: some StringProtocol) {
        let words = line.split(
            maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count >= 2, words[0] == Self.type, let blob = Base64.standard.decode(words[1])
        else { return nil }
        self.init(blob: blob)
    }

    /// Reads the wire form: the type and the key, each a string.
    init?(blob: [UInt8]) {
        var reader = SSHReader(blob)
        guard let type = reader.string(), type.elementsEqual(Self.type.utf8),
            let key = reader.string(), key.count == 32, reader.rest.isEmpty
        else { return nil }
        publicKey = key
    }

    /// The wire form, 51 bytes.
    var blob: [UInt8] {
        var writer = SSHWriter()
        writer.string(Self.type.utf8)
        writer.string(publicKey)
        return writer.bytes
    }

    /// `ssh-ed25519 AAAA…`, without a comment.
    public var text: String { "\(Self.type) \(Base64.standard.encode(blob))" }
}

/// A private key of OpenSSH in a file.
public enum OpenSSHKeyFile: Sendable {
    /// It is there for whoever reads the file.
    case plain(SigningKey)
    /// It is under a passphrase.
    case protected(ProtectedOpenSSHKey)
}

/// Private keys of OpenSSH, `openssh-key-v1` (its PROTOCOL.key), for Ed25519.
public enum OpenSSHKey {
    /// Derives `count` bytes by OpenBSD's bcrypt_pbkdf, in so many rounds, each of about 10 ms; `nil` where it cannot.
    public typealias Derivation =
        @Sendable (
            _ passphrase: UnsafeRawBufferPointer, _ salt: [UInt8], _ rounds: Int, _ count: Int
        ) -> SecretBytes?

    private static let label = "OPENSSH PRIVATE KEY"
    private static let magic = Array("openssh-key-v1\0".utf8)
    private static let blockSize = 8

    /// Whether a text says of itself that it is such a key.
    public static func isOpenSSH(_ text: some Collection<UInt8>) -> Bool {
        text.drop { $0 <= 0x20 }.starts(with: "-----BEGIN \(label)-----".utf8)
    }

    /// The key as PEM text with `comment`, which is shown by `ssh-add -l`. A secret.
    public static func pem(_ key: SigningKey, comment: String) -> SecretBytes {
        pem(key, comment: comment, check: randomBytes(4).reduce(0) { $0 << 8 | UInt32($1) })
    }

    static func pem(_ key: SigningKey, comment: String, check: UInt32) -> SecretBytes {
        let publicKey = OpenSSHPublicKey(publicKey: key.publicKey)
        var secret = SSHWriter()
        defer { secret.wipeAll() }
        secret.uint32(check)
        secret.uint32(check)
        secret.raw(publicKey.blob)
        secret.uint32(64)
        key.withSeed { secret.raw($0) }
        secret.raw(key.publicKey)
        secret.string(comment.utf8)
        var pad: UInt8 = 1
        while !secret.bytes.count.isMultiple(of: blockSize) {
            secret.raw([pad])
            pad += 1
        }
        var file = SSHWriter()
        defer { file.wipeAll() }
        file.raw(magic)
        file.string("none".utf8)
        file.string("none".utf8)
        file.string([])
        file.uint32(1)
        file.string(publicKey.blob)
        file.string(secret.bytes)
        return SecretBytes(copying: PEM.encode(label, file.bytes).utf8)
    }

    /// Reads the key of a PEM text.
    public static func read(pem text: [UInt8]) throws(OpenSSHKeyError) -> OpenSSHKeyFile {
        guard var decoded = PEM.decode(text), decoded.label == label,
            decoded.bytes.starts(with: magic)
        else { throw .form }
        defer { wipe(&decoded.bytes) }
        var reader = SSHReader(decoded.bytes.dropFirst(magic.count))
        guard let cipher = reader.string(), let derivation = reader.string(),
            let options = reader.string(), reader.uint32() == 1, let blob = reader.string(),
            var secret = reader.string()
        else { throw .form }
        defer { wipe(&secret) }
        guard let publicKey = OpenSSHPublicKey(blob: blob) else {
            var type = SSHReader(blob)
            let name = type.string().flatMap { String(validating: $0, as: UTF8.self) }
            guard let name, name != OpenSSHPublicKey.type else { throw .form }
            throw .type(name)
        }
        if !cipher.elementsEqual("none".utf8) {
            let key = try ProtectedOpenSSHKey(
                publicKey, cipher: cipher, derivation: derivation, options: options, sealed: secret)
            guard reader.rest.isEmpty else { throw .form }
            return .protected(key)
        }
        guard derivation.elementsEqual("none".utf8), options.isEmpty, reader.rest.isEmpty else {
            throw .form
        }
        return .plain(try key(in: secret, of: publicKey, blockSize: blockSize))
    }

    /// Reads the part that a passphrase protects.
    fileprivate static func key(
        in secret: [UInt8], of publicKey: OpenSSHPublicKey, blockSize: Int
    ) throws(OpenSSHKeyError) -> SigningKey {
        var reader = SSHReader(secret)
        guard secret.count.isMultiple(of: blockSize), let check = reader.uint32(),
            check == reader.uint32(), let type = reader.string(),
            type.elementsEqual(OpenSSHPublicKey.type.utf8), let named = reader.string(),
            var pair = reader.string(), pair.count == 64, reader.string() != nil,
            reader.rest.count < blockSize,
            reader.rest.enumerated().allSatisfy({ Int($1) == $0 + 1 })
        else { throw .form }
        defer { wipe(&pair) }
        let key = SigningKey(seed: SecretBytes(copying: pair.prefix(32)))
        guard key.publicKey == publicKey.publicKey, named == key.publicKey,
            pair.suffix(32).elementsEqual(key.publicKey)
        else { throw .inconsistent }
        return key
    }
}

/// A private key of OpenSSH under a passphrase. Which key it is stands outside.
public struct ProtectedOpenSSHKey: Sendable {
    private enum Cipher: String {
        case ctr = "aes256-ctr"
        case cbc = "aes256-cbc"
    }

    /// The most rounds that are read; they take a quarter of an hour, or more.
    private static let maximumRounds = 100_000

    /// The public key that the file names.
    public let publicKey: OpenSSHPublicKey
    private let cipher: Cipher
    private let salt: [UInt8]
    private let rounds: Int
    private let sealed: [UInt8]

    /// Of the fields of the file.
    init(
        _ publicKey: OpenSSHPublicKey, cipher: [UInt8], derivation: [UInt8], options: [UInt8],
        sealed: [UInt8]
    ) throws(OpenSSHKeyError) {
        let names = [cipher, derivation].map { String(decoding: $0, as: UTF8.self) }
        guard let cipher = Cipher(rawValue: names[0]), names[1] == "bcrypt" else {
            throw .protection(names.joined(separator: ", "))
        }
        var reader = SSHReader(options)
        guard let salt = reader.string(), let rounds = reader.uint32(), reader.rest.isEmpty,
            !salt.isEmpty, 1...Self.maximumRounds ~= Int(rounds), !sealed.isEmpty,
            sealed.count.isMultiple(of: AESCBC.blockSize)
        else { throw .form }
        self.publicKey = publicKey
        self.cipher = cipher
        self.salt = salt
        self.rounds = Int(rounds)
        self.sealed = sealed
    }

    /// The private key.
    public func open(
        _ passphrase: Passphrase, derivation: OpenSSHKey.Derivation
    ) throws(OpenSSHKeyError) -> SigningKey {
        let derived = passphrase.secret.withBytes { derivation($0, salt, rounds, 48) }
        guard let derived else { throw .wrongPassphrase }
        guard var secret = decrypted(with: derived) else { throw .form }
        defer { wipe(&secret) }
        guard secret.prefix(4).elementsEqual(secret[4..<8]) else { throw .wrongPassphrase }
        return try OpenSSHKey.key(in: secret, of: publicKey, blockSize: AESCBC.blockSize)
    }

    /// `derived` is 32 bytes of the key and 16 of the first counter or the initialization vector.
    private func decrypted(with derived: borrowing SecretBytes) -> [UInt8]? {
        let key = derived.withBytes { SecretBytes(copying: $0.prefix(32)) }
        let first = derived.withBytes { Array($0.suffix(16)) }
        switch cipher {
        case .ctr:
            let nonce = try? AES._CTR.Nonce(nonceBytes: first)
            let opened = nonce.flatMap {
                try? AES._CTR.decrypt(sealed, using: key.symmetricKey(), nonce: $0)
            }
            return opened.map { Array($0) }
        case .cbc: return AESCBC.openBlocks(sealed, iv: first, key: key)
        }
    }
}
