public import Sotto

/// A reason to refuse a record as a Mercurio message.
public enum MercurioRecordError: Error, Sendable, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// A member is present in both spellings.
    case duplicate(String)
}

/// The encrypted part of a Mercurio message: AES-256-GCM without associated data, with a key that is wrapped by RSA.
public struct MercurioEnvelope: Sendable, Hashable {
    /// The ciphertext, as long as the text.
    public let content: [UInt8]
    /// The wrapped AES key, as long as the modulus: 256 or 384 bytes.
    public let wrappedKey: [UInt8]
    /// The nonce, 12 bytes.
    public let nonce: [UInt8]
    /// The tag, 16 bytes.
    public let tag: [UInt8]

    /// The spelling of the members.
    public enum Spelling: Sendable, CaseIterable {
        /// `encrypted_content`: the database's spelling, which is written.
        case snakeCase
        /// `encryptedContent`.
        case camelCase
    }

    init(content: [UInt8], wrappedKey: [UInt8], nonce: [UInt8], tag: [UInt8]) {
        self.content = content
        self.wrappedKey = wrappedKey
        self.nonce = nonce
        self.tag = tag
    }

    /// Reads the four members in either spelling.
    public init(record: JSONObject) throws(MercurioRecordError) {
        func bytes(
            _ snake: String, _ camel: String, where isCount: (Int) -> Bool
        ) throws(MercurioRecordError) -> [UInt8] {
            guard let text = try record.mercurioMember(snake, camel)?.string,
                let bytes = Base64.standard.decode(text), isCount(bytes.count)
            else { throw .member(snake) }
            return bytes
        }
        content = try bytes("encrypted_content", "encryptedContent") { _ in true }
        wrappedKey = try bytes("encrypted_aes_key", "encryptedAesKey") { count in
            MercurioPublicKey.sizes.contains(count * 8)
        }
        nonce = try bytes("nonce", "nonce") { $0 == 12 }
        tag = try bytes("mac", "mac") { $0 == 16 }
    }

    /// Returns the four members.
    public func members(_ spelling: Spelling = .snakeCase) -> [(String, JSON?)] {
        let isSnake = spelling == .snakeCase
        return [
            (isSnake ? "encrypted_content" : "encryptedContent", content),
            (isSnake ? "encrypted_aes_key" : "encryptedAesKey", wrappedKey),
            ("nonce", nonce), ("mac", tag),
        ].map { ($0, .string(Base64.standard.encode($1))) }
    }
}

extension JSONObject {
    /// Returns a member that has two spellings. An object may have only one of them.
    func mercurioMember(_ snake: String, _ camel: String) throws(MercurioRecordError) -> JSON? {
        if !snake.isSameBytes(as: camel), self[snake] != nil, self[camel] != nil {
            throw .duplicate(snake)
        }
        return self[snake] ?? self[camel]
    }
}
