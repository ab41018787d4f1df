import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An X25519 age recipient, `age1…` (C2SP age, "The X25519 recipient type").
public struct AgeX25519Recipient: Sendable, Hashable {
    /// The 32-byte public key.
    public let publicKey: [UInt8]

    /// Creates the recipient of a 32-byte public key.
    public init(publicKey: [UInt8]) {
        precondition(publicKey.count == 32)
        self.publicKey = publicKey
    }

    /// Reads `age1…`. Returns `nil` for another form or a key of low order.
    public init?(_ text: some StringProtocol) {
        guard let (prefix, data) = Bech32.decode(text), prefix == "age", data.count == 32,
            !X25519.isLowOrder(data)
        else { return nil }
        publicKey = data
    }

    /// `age1` followed by 58 characters.
    public var text: String { Bech32.encode(prefix: "age", publicKey) }
}

/// An X25519 age identity, `AGE-SECRET-KEY-1…`.
public final class AgeX25519Identity: Sendable {
    private let secret: SecretBytes
    /// The recipient whose files it opens.
    public let recipient: AgeX25519Recipient

    /// Creates the identity of a 32-byte secret.
    public init(secret: consuming SecretBytes) {
        recipient = AgeX25519Recipient(publicKey: X25519.publicKey(of: secret))
        self.secret = secret.guarded()
    }

    /// Reads `AGE-SECRET-KEY-1…`. Returns `nil` for another form.
    public convenience init?(_ text: some StringProtocol) {
        guard text.hasPrefix("AGE-SECRET-KEY-1"), var (prefix, data) = Bech32.decode(text),
            prefix == "age-secret-key-", data.count == 32
        else { return nil }
        defer { wipe(&data) }
        prefix = ""
        self.init(secret: SecretBytes(copying: data))
    }

    /// Returns the text, which is secret.
    public func text() -> String {
        secret.withBytes { Bech32.encode(prefix: "age-secret-key-", Array($0)) }.uppercased()
    }

    /// Returns the X25519 shared secret with `publicKey`, or `nil` if `publicKey` has low order.
    func sharedSecret(_ publicKey: [UInt8]) -> SecretBytes? {
        X25519.sharedSecret(secret, publicKey)
    }
}

/// A post-quantum age recipient, `age1pq1…`: X-Wing, which combines ML-KEM-768 with X25519 (C2SP age, "The
/// mlkem768x25519 recipient type").
public struct AgeHybridRecipient: Sendable, Hashable {
    /// The public key: 1184 bytes of ML-KEM-768, 32 of X25519.
    public let publicKey: [UInt8]
    /// The text, 1959 characters. It is kept, because the signature of each sealed message covers its hash, and its checksum took 5 %
    /// of the time.
    public let text: String

    init(uncheckedPublicKey publicKey: [UInt8]) {
        self.publicKey = publicKey
        text = Bech32.encode(prefix: "age1pq", publicKey)
    }

    /// Reads `age1pq1…`. Returns `nil` for another form, for an ML-KEM key whose coefficients are not reduced, and for an
    /// X25519 key of low order. libcrypto reads such keys, and fails when it encrypts to them.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count > 1900, let (prefix, data) = Bech32.decode(text), prefix == "age1pq",
            data.count == MLKEM.keyBytes768 + 32, MLKEM.isReduced(data.dropLast(32)),
            !X25519.isLowOrder(Array(data.suffix(32))),
            (try? XWingMLKEM768X25519.PublicKey(rawRepresentation: data)) != nil
        else { return nil }
        publicKey = data
        self.text = text.lowercased()
    }
}

/// A post-quantum age identity, `AGE-SECRET-KEY-PQ-1…`: the 32-byte seed of an X-Wing key.
public final class AgeHybridIdentity: Sendable {
    private let seed: SecretBytes
    let key: XWingMLKEM768X25519.PrivateKey
    /// The recipient whose files it opens.
    public let recipient: AgeHybridRecipient

    /// Creates the identity of a 32-byte seed.
    public init(seed: consuming SecretBytes) {
        precondition(seed.count == 32)
        do {
            key = try seed.withData {
                try XWingMLKEM768X25519.PrivateKey(seedRepresentation: $0, publicKey: nil)
            }
            wipeStack()
        } catch {
            preconditionFailure("an X-Wing seed is any 32 bytes")
        }
        recipient = AgeHybridRecipient(uncheckedPublicKey: Array(key.publicKey.rawRepresentation))
        self.seed = seed.guarded()
    }

    /// Reads `AGE-SECRET-KEY-PQ-1…`. Returns `nil` for another form.
    public convenience init?(_ text: some StringProtocol) {
        guard text.hasPrefix("AGE-SECRET-KEY-PQ-1"), var (prefix, data) = Bech32.decode(text),
            prefix == "age-secret-key-pq-", data.count == 32
        else { return nil }
        defer { wipe(&data) }
        prefix = ""
        self.init(seed: SecretBytes(copying: data))
    }

    /// Returns the text, which is secret.
    public func text() -> String {
        seed.withBytes { Bech32.encode(prefix: "age-secret-key-pq-", Array($0)) }.uppercased()
    }
}

/// A recipient of an age file.
public enum AgeRecipient: Sendable, Hashable {
    case x25519(AgeX25519Recipient)
    case hybrid(AgeHybridRecipient)
    case ssh(AgeSSHRecipient)

    /// Reads `age1…`, `age1pq1…` or `ssh-ed25519 AAAA…`, the last with or without a comment.
    public init?(_ text: some StringProtocol) {
        if let recipient = AgeX25519Recipient(text) {
            self = .x25519(recipient)
        } else if let recipient = AgeHybridRecipient(text) {
            self = .hybrid(recipient)
        } else if let key = OpenSSHPublicKey(line: text), let recipient = AgeSSHRecipient(key) {
            self = .ssh(recipient)
        } else {
            return nil
        }
    }

    /// `age1…`, `age1pq1…` or `ssh-ed25519 AAAA…`.
    public var text: String {
        switch self {
        case .x25519(let recipient): recipient.text
        case .hybrid(let recipient): recipient.text
        case .ssh(let recipient): recipient.text
        }
    }

    /// Whether the recipient type is post-quantum: a later quantum computer cannot open the file.
    public var isPostQuantum: Bool { if case .hybrid = self { true } else { false } }
}
