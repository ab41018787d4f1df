public import Sotto

/// A reason to refuse a record as a Mercurio message.
public enum MercurioRecordError: UnversionedRecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// A member is present in both spellings.
    case duplicate(String)
}

/// The spelling of the members of a record: that of the app's messages, or that of its database.
public enum MercurioSpelling: String, Sendable, CaseIterable {
    /// `encryptedContent`
    case camelCase
    /// `encrypted_content`
    case snakeCase

    var conversation: String { name("conversationId", "conversation_id") }
    var sender: String { name("senderMercurioId", "sender_mercurio_id") }
    var recipient: String { name("recipientMercurioId", "recipient_mercurio_id") }
    var createdAt: String { name("createdAt", "created_at") }
    var content: String { name("encryptedContent", "encrypted_content") }
    var wrappedKey: String { name("encryptedAesKey", "encrypted_aes_key") }

    private func name(_ camel: String, _ snake: String) -> String {
        self == .camelCase ? camel : snake
    }
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

    init(content: [UInt8], wrappedKey: [UInt8], nonce: [UInt8], tag: [UInt8]) {
        self.content = content
        self.wrappedKey = wrappedKey
        self.nonce = nonce
        self.tag = tag
    }

    /// Reads the four members in either spelling.
    public init(record: JSONObject) throws(MercurioRecordError) {
        let fields = Fields<MercurioRecordError>(record)
        content = try fields.either(\.content).bytes()
        wrappedKey = try fields.either(\.wrappedKey).bytes {
            MercurioPublicKey.sizes.contains($0 * 8)
        }
        nonce = try fields["nonce"].bytes(count: 12)
        tag = try fields["mac"].bytes(count: 16)
    }

    /// Returns the four members.
    public func members(_ spelling: MercurioSpelling = .camelCase) -> [(String, JSON?)] {
        [
            (spelling.content, content), (spelling.wrappedKey, wrappedKey), ("nonce", nonce),
            ("mac", tag),
        ].map { ($0, .base64($1)) }
    }
}

extension Fields<MercurioRecordError> {
    /// Returns a member that has two spellings. An object may have only one of them.
    func either(
        _ name: (MercurioSpelling) -> String
    ) throws(MercurioRecordError) -> Field<MercurioRecordError> {
        let (camel, snake) = (name(.camelCase), name(.snakeCase))
        guard let value = record[snake] else { return self[camel] }
        guard record[camel] == nil else { throw .duplicate(camel) }
        return Field(name: camel, value: value)
    }
}
