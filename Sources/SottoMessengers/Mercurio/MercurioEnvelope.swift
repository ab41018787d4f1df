public import Sotto

/// A reason to refuse a record as a Mercurio message.
public enum MercurioRecordError: UnversionedRecordError, Equatable {
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

    init(content: [UInt8], wrappedKey: [UInt8], nonce: [UInt8], tag: [UInt8]) {
        self.content = content
        self.wrappedKey = wrappedKey
        self.nonce = nonce
        self.tag = tag
    }

    /// Reads the four members in either spelling: `encrypted_content` or `encryptedContent`.
    public init(record: JSONObject) throws(MercurioRecordError) {
        let fields = Fields<MercurioRecordError>(record)
        content = try fields.either("encrypted_content", "encryptedContent").bytes()
        wrappedKey = try fields.either("encrypted_aes_key", "encryptedAesKey").bytes {
            MercurioPublicKey.sizes.contains($0 * 8)
        }
        nonce = try fields["nonce"].bytes(count: 12)
        tag = try fields["mac"].bytes(count: 16)
    }

    /// The four members, in the database's spelling.
    public var members: [(String, JSON?)] {
        [
            ("encrypted_content", content), ("encrypted_aes_key", wrappedKey), ("nonce", nonce),
            ("mac", tag),
        ].map { ($0, .base64($1)) }
    }
}

extension Fields<MercurioRecordError> {
    /// Returns a member that has two spellings. An object may have only one of them.
    func either(
        _ snake: String, _ camel: String
    ) throws(MercurioRecordError) -> Field<MercurioRecordError> {
        guard let value = record[camel] else { return self[snake] }
        guard record[snake] == nil else { throw .duplicate(snake) }
        return Field(name: snake, value: value)
    }
}
