import CSodium
import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A reason why an OpenSSH private key cannot be read.
public enum OpenSSHKeyError: Error, Sendable, Equatable {
    /// The text is not an `OPENSSH PRIVATE KEY` of the form `openssh-key-v1`.
    case form
    /// The cipher or the key derivation is not supported; the string has their names.
    case protection(String)
    /// The passphrase is wrong.
    case wrongPassphrase
    /// The key's type is not `ssh-ed25519`; the string is its type.
    case type(String)
    /// The private and the public half do not match.
    case inconsistent
}

/// An Ed25519 public key in SSH's form (RFC 8709 §4).
public struct OpenSSHPublicKey: Sendable, Hashable {
    /// The key's type: the first word of its line.
    public static let type = "ssh-ed25519"
    /// The 32-byte public key.
    public let publicKey: [UInt8]

    /// Creates the SSH form of a 32-byte public key.
    public init(publicKey: [UInt8]) {
        precondition(publicKey.count == 32)
        self.publicKey = publicKey
    }

    /// Reads a line `ssh-ed25519 AAAA… [comment]`, or returns `nil` for another form or type.
    public init?(line: some StringProtocol) {
        let words = line.split(
            maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count >= 2, words[0] == Self.type, let blob = Base64.standard.decode(words[1])
        else { return nil }
        self.init(blob: blob)
    }

    /// Reads the wire form: the type and the key, each as an SSH string.
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

/// The content of an OpenSSH private key file.
public enum OpenSSHKeyFile: Sendable {
    /// The key has no passphrase.
    case plain(SigningKey)
    /// The key has a passphrase.
    case protected(ProtectedOpenSSHKey)
}

/// OpenSSH private keys, `openssh-key-v1` (OpenSSH's PROTOCOL.key), for Ed25519.
public enum OpenSSHKey {
    /// Derives `count` bytes with OpenBSD's bcrypt_pbkdf and returns `nil` if that fails. Each round takes about 10 ms.
    public typealias Derivation =
        @Sendable (
            _ passphrase: UnsafeRawBufferPointer, _ salt: [UInt8], _ rounds: Int, _ count: Int
        ) -> SecretBytes?

    private static let label = "OPENSSH PRIVATE KEY"
    private static let beginning = Array("-----BEGIN \(label)-----".utf8)
    private static let end = Array("-----END \(label)-----".utf8)
    private static let magic = Array("openssh-key-v1\0".utf8)
    private static let blockSize = 8

    /// Whether a text begins as an OpenSSH private key does.
    public static func isOpenSSH(_ text: some Collection<UInt8>) -> Bool {
        text.drop { $0 <= 0x20 }.starts(with: beginning)
    }

    /// Returns the decoded bytes between the two marks. As in OpenSSH, lines may have any length, white space in them
    /// does not matter, and text after the end mark is ignored.
    private static func content(of text: [UInt8]) -> [UInt8]? {
        let text = text.drop { $0 <= 0x20 }
        guard text.starts(with: beginning) else { return nil }
        let body = text.dropFirst(beginning.count).prefix { $0 != UInt8(ascii: "-") }
        guard text[body.endIndex...].starts(with: end) else { return nil }
        var digits: [UInt8] = []
        digits.reserveCapacity(body.count)
        defer { wipe(&digits) }
        for byte in body where byte > 0x20 { digits.append(byte) }
        return Base64.standard.decode(utf8: digits[...])
    }

    /// Returns the key as PEM text with `comment`, which `ssh-add -l` shows. The text is secret.
    public static func pem(_ key: SigningKey, comment: String) -> SecretBytes {
        pem(key, comment: comment, check: randomBytes(4).reduce(0) { $0 << 8 | UInt32($1) })
    }

    static func pem(_ key: SigningKey, comment: String, check: UInt32) -> SecretBytes {
        let publicKey = OpenSSHPublicKey(publicKey: key.publicKey)
        let capacity = 512 + comment.utf8.count
        var secret = SSHWriter(capacity: capacity)
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
        var file = SSHWriter(capacity: 2 * capacity)
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

    /// Reads the key of a text in any layout that `ssh-keygen -y` reads: lines of any length, and any length of the
    /// padding.
    public static func read(pem text: [UInt8]) throws(OpenSSHKeyError) -> OpenSSHKeyFile {
        guard var content = content(of: text), content.starts(with: magic) else { throw .form }
        defer { wipe(&content) }
        var reader = SSHReader(content.dropFirst(magic.count))
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
            return .protected(
                try ProtectedOpenSSHKey(
                    publicKey, cipher: cipher, derivation: derivation, options: options,
                    sealed: secret, tag: Array(reader.rest)))
        }
        guard derivation.elementsEqual("none".utf8), reader.rest.isEmpty else { throw .form }
        return .plain(try key(in: secret, of: publicKey, blockSize: blockSize))
    }

    /// Reads the private section, decrypted if it was encrypted.
    fileprivate static func key(
        in secret: [UInt8], of publicKey: OpenSSHPublicKey, blockSize: Int
    ) throws(OpenSSHKeyError) -> SigningKey {
        var reader = SSHReader(secret)
        guard secret.count.isMultiple(of: blockSize), let check = reader.uint32(),
            check == reader.uint32(), let type = reader.string(),
            type.elementsEqual(OpenSSHPublicKey.type.utf8), let named = reader.string(),
            var pair = reader.string(), pair.count == 64, reader.string() != nil,
            reader.rest.enumerated().allSatisfy({ $1 == UInt8(truncatingIfNeeded: $0 + 1) })
        else { throw .form }
        defer { wipe(&pair) }
        let key = SigningKey(seed: SecretBytes(copying: pair.prefix(32)))
        guard key.publicKey == publicKey.publicKey, named == key.publicKey,
            pair.suffix(32).elementsEqual(key.publicKey)
        else { throw .inconsistent }
        return key
    }
}

/// An OpenSSH private key with a passphrase. The file names its public key unencrypted.
public struct ProtectedOpenSSHKey: Sendable {
    /// The ciphers of OpenSSH, without Triple DES.
    private enum Cipher: String {
        case ctr128 = "aes128-ctr"
        case ctr192 = "aes192-ctr"
        case ctr256 = "aes256-ctr"
        case cbc128 = "aes128-cbc"
        case cbc192 = "aes192-cbc"
        case cbc256 = "aes256-cbc"
        case gcm128 = "aes128-gcm@openssh.com"
        case gcm256 = "aes256-gcm@openssh.com"
        case chaChaPoly = "chacha20-poly1305@openssh.com"

        /// The length of the key in bytes. That of ``chaChaPoly`` has a second half, for the length of a packet, which
        /// a file does not use.
        var keySize: Int {
            switch self {
            case .ctr128, .cbc128, .gcm128: 16
            case .ctr192, .cbc192: 24
            case .ctr256, .cbc256, .gcm256: 32
            case .chaChaPoly: 64
            }
        }

        /// The length of the initial counter, IV or nonce in bytes.
        var nonceSize: Int {
            switch self {
            case .ctr128, .ctr192, .ctr256, .cbc128, .cbc192, .cbc256: 16
            case .gcm128, .gcm256: 12
            case .chaChaPoly: 0
            }
        }

        /// The length of the tag after the private section in bytes.
        var tagSize: Int {
            switch self {
            case .ctr128, .ctr192, .ctr256, .cbc128, .cbc192, .cbc256: 0
            case .gcm128, .gcm256, .chaChaPoly: 16
            }
        }

        var blockSize: Int { self == .chaChaPoly ? 8 : AESCBC.blockSize }
    }

    /// The highest number of rounds that is accepted. They take a quarter of an hour or more.
    private static let maximumRounds = 100_000

    /// The public key that the file names.
    public let publicKey: OpenSSHPublicKey
    private let cipher: Cipher
    private let salt: [UInt8]
    private let rounds: Int
    private let sealed: [UInt8]
    private let tag: [UInt8]

    /// Creates a key from the fields of the file. `tag` is what follows the private section.
    init(
        _ publicKey: OpenSSHPublicKey, cipher: [UInt8], derivation: [UInt8], options: [UInt8],
        sealed: [UInt8], tag: [UInt8]
    ) throws(OpenSSHKeyError) {
        let names = [cipher, derivation].map { String(decoding: $0, as: UTF8.self) }
        guard let cipher = Cipher(rawValue: names[0]), names[1] == "bcrypt" else {
            throw .protection(names.joined(separator: ", "))
        }
        var reader = SSHReader(options)
        guard let salt = reader.string(), let rounds = reader.uint32(), !salt.isEmpty,
            1...Self.maximumRounds ~= Int(rounds), !sealed.isEmpty,
            sealed.count.isMultiple(of: cipher.blockSize), tag.count == cipher.tagSize
        else { throw .form }
        self.publicKey = publicKey
        self.cipher = cipher
        self.salt = salt
        self.rounds = Int(rounds)
        self.sealed = sealed
        self.tag = tag
    }

    /// Decrypts the private key. Throws ``OpenSSHKeyError``.
    public func open(
        _ passphrase: Passphrase, derivation: OpenSSHKey.Derivation
    ) throws(OpenSSHKeyError) -> SigningKey {
        let derived = passphrase.secret.withBytes {
            derivation($0, salt, rounds, cipher.keySize + cipher.nonceSize)
        }
        guard let derived, var secret = decrypted(with: derived) else { throw .wrongPassphrase }
        defer { wipe(&secret) }
        guard secret.prefix(4).elementsEqual(secret[4..<8]) else { throw .wrongPassphrase }
        return try OpenSSHKey.key(in: secret, of: publicKey, blockSize: cipher.blockSize)
    }

    /// Decrypts the private section, or returns `nil` if its tag is wrong. `derived` is the key and the nonce.
    private func decrypted(with derived: borrowing SecretBytes) -> [UInt8]? {
        let key = derived.withBytes { SecretBytes(copying: $0.prefix(cipher.keySize)) }
        let nonce = derived.withBytes { Array($0.suffix(cipher.nonceSize)) }
        switch cipher {
        case .ctr128, .ctr192, .ctr256:
            guard let first = try? AES._CTR.Nonce(nonceBytes: nonce),
                let opened = try? AES._CTR.decrypt(sealed, using: key.symmetricKey(), nonce: first)
            else { return nil }
            return Array(opened)
        case .cbc128, .cbc192, .cbc256: return AESCBC.openBlocks(sealed, iv: nonce, key: key)
        case .gcm128, .gcm256:
            guard
                let box = try? AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: nonce), ciphertext: sealed, tag: tag),
                let opened = try? AES.GCM.open(box, using: key.symmetricKey())
            else { return nil }
            return Array(opened)
        case .chaChaPoly: return chaChaPoly(key)
        }
    }

    /// Opens `chacha20-poly1305@openssh.com` (OpenSSH's PROTOCOL.chacha20poly1305) for the packet number 0.
    private func chaChaPoly(_ key: borrowing SecretBytes) -> [UInt8]? {
        key.withBytes { key in
            let key = key.baseAddress!.assumingMemoryBound(to: UInt8.self)
            let nonce = [UInt8](repeating: 0, count: Int(crypto_stream_chacha20_NONCEBYTES))
            var tagKey = [UInt8](repeating: 0, count: Int(crypto_onetimeauth_KEYBYTES))
            defer { wipe(&tagKey) }
            crypto_stream_chacha20(&tagKey, UInt64(tagKey.count), nonce, key)
            guard crypto_onetimeauth_verify(tag, sealed, UInt64(sealed.count), tagKey) == 0 else {
                return nil
            }
            var opened = [UInt8](repeating: 0, count: sealed.count)
            crypto_stream_chacha20_xor_ic(
                &opened, sealed, UInt64(sealed.count), nonce, 1, key)
            return opened
        }
    }
}
