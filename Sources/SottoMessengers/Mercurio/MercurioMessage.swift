public import Sotto

/// A reason why a Mercurio message cannot be made.
public enum MercurioSealError: Error, Sendable, Equatable {
    /// The text is not UTF-8.
    case notText
    /// The recipient's RSA key cannot encrypt.
    case recipientKey
}

/// A reason why a Mercurio message cannot be opened.
public enum MercurioOpenError: Error, Sendable, Equatable {
    /// The message names another recipient.
    case notForUs
    /// The message has no signature, and the caller did not allow that. Anyone with the public key can have written it.
    case unproven
    /// The signature, the wrapped key, its length, the tag or the text is wrong. The error does not tell which, to
    /// avoid an oracle.
    case authentication
}

/// A Mercurio message: a row of its database, with Sotto's signature.
///
/// Mercurio's own format does not authenticate the sender or the row. Sotto's `sig` does: Ed25519 by the sender's
/// Session ID over `"hybrid/msg/v1\0" ‖ SHA-256(…)` of the conversation, the sender, the recipient, the wrapped key,
/// the nonce, the content and the tag, each after its length (u32, big-endian). The apps ignore it.
public struct MercurioMessage: Sendable, Hashable {
    /// The conversation's id.
    public let conversation: String?
    /// The claimed sender.
    public let sender: KeyID?
    /// The recipient.
    public let recipient: KeyID?
    /// The claimed time of creation. The signature does not cover it.
    public let createdAt: String?
    /// The encrypted part.
    public let envelope: MercurioEnvelope
    /// The signature, 64 bytes, or `nil` if the message is not signed.
    public let signature: [UInt8]?

    /// Encrypts the UTF-8 text `text` under a fresh AES key, wraps that key for the recipient, and signs the message.
    public static func seal(
        _ text: [UInt8], from sender: MercurioIdentity, to bundle: MercurioKeyBundle,
        createdAt: String? = nil
    ) throws(MercurioSealError) -> MercurioMessage {
        try seal(text, from: sender, to: bundle.id, key: bundle.key, createdAt: createdAt)
    }

    /// Encrypts to a key that is not bound to the id, as ``seal(_:from:to:createdAt:)`` does. Pin such a key.
    public static func seal(
        _ text: [UInt8], from sender: MercurioIdentity, to recipient: KeyID,
        key: MercurioPublicKey, createdAt: String? = nil
    ) throws(MercurioSealError) -> MercurioMessage {
        guard String(validating: text, as: UTF8.self) != nil else { throw .notText }
        let secret = SecretBytes(randomCount: 32)
        guard let wrappedKey = key.wrap(secret) else { throw .recipientKey }
        let box = AESGCM.seal(text, key: secret)
        let conversation = MercurioIdentity.conversation(sender.id, recipient)
        let envelope = MercurioEnvelope(
            content: Array(box[AESGCM.nonceSize..<(box.count - AESGCM.tagSize)]),
            wrappedKey: wrappedKey, nonce: Array(box[..<AESGCM.nonceSize]),
            tag: Array(box.suffix(AESGCM.tagSize)))
        let signed = signedBytes(
            conversation: conversation, sender: sender.id, recipient: recipient, envelope: envelope)
        return MercurioMessage(
            conversation: conversation, sender: sender.id, recipient: recipient,
            createdAt: createdAt, envelope: envelope, signature: sender.signing.sign(signed))
    }

    private init(
        conversation: String?, sender: KeyID?, recipient: KeyID?, createdAt: String?,
        envelope: MercurioEnvelope, signature: [UInt8]?
    ) {
        self.conversation = conversation
        self.sender = sender
        self.recipient = recipient
        self.createdAt = createdAt
        self.envelope = envelope
        self.signature = signature
    }

    /// The id of the message in Sotto, from its nonce and tag, because rows have no authenticated id.
    var id: String { Envelope.id(of: envelope.nonce + envelope.tag) }

    /// Reads a row, or only its encrypted part, in either spelling.
    public init(record: JSONObject) throws(MercurioRecordError) {
        let fields = Fields<MercurioRecordError>(record)
        envelope = try MercurioEnvelope(record: record)
        conversation = try fields.either(\.conversation).nullable?.text()
        sender = try fields.either(\.sender).nullable?.keyID()
        recipient = try fields.either(\.recipient).nullable?.keyID()
        createdAt = try fields.either(\.createdAt).nullable?.text()
        signature = try fields["sig"].nullable?.bytes(count: 64)
    }

    /// The record in the app's spelling.
    public var record: JSONObject { record(spelled: .camelCase) }

    /// Returns the record in a spelling.
    public func record(spelled spelling: MercurioSpelling) -> JSONObject {
        JSONObject(
            [
                (spelling.conversation, conversation.map { .string($0) }),
                (spelling.sender, sender.map { .string($0.description) }),
                (spelling.recipient, recipient.map { .string($0.description) }),
                (spelling.createdAt, createdAt.map { .string($0) }),
            ] + envelope.members(spelling)
                + [("sig", signature.map { .base64($0) })])
    }

    /// The content of an opened message.
    public struct Opened: Sendable, Hashable {
        /// The text, as UTF-8.
        public let text: [UInt8]
        /// The sender, or `nil` for a message without a signature.
        public let sender: KeyID?
    }

    /// Verifies the signature, and then decrypts. A message without a signature is refused unless `allowUnproven` is
    /// set, and then has no sender.
    public func open(
        with key: MercurioPrivateKey, as account: KeyID,
        padding: MercurioPrivateKey.Padding = .sha256,
        allowUnproven: Bool = false
    ) throws(MercurioOpenError) -> Opened {
        guard recipient == nil || recipient == account else { throw .notForUs }
        if let signature {
            guard let conversation, let sender, let recipient,
                verifySignature(
                    signature,
                    of: Self.signedBytes(
                        conversation: conversation, sender: sender, recipient: recipient,
                        envelope: envelope), by: sender.publicKey)
            else { throw .authentication }
        } else if !allowUnproven {
            throw .unproven
        }
        guard let text = Self.decrypt(envelope, with: key, padding: padding) else {
            throw .authentication
        }
        return Opened(text: text, sender: signature == nil ? nil : sender)
    }

    /// Returns the text, or `nil` for any error, after the same amount of work: a random key replaces a key that cannot
    /// be unwrapped or has a wrong length.
    private static func decrypt(
        _ envelope: MercurioEnvelope, with key: MercurioPrivateKey,
        padding: MercurioPrivateKey.Padding
    ) -> [UInt8]? {
        let random = SecretBytes(randomCount: 32)
        func decrypt(_ secret: borrowing SecretBytes) -> [UInt8]? {
            AESGCM.open(envelope.nonce + envelope.content + envelope.tag, key: secret)
        }
        let text: [UInt8]?
        if let secret = key.unwrap(envelope.wrappedKey, padding: padding), secret.count == 32 {
            text = decrypt(secret)
        } else {
            text = decrypt(random)
        }
        guard let text, String(validating: text, as: UTF8.self) != nil else { return nil }
        return text
    }

    private static func signedBytes(
        conversation: String, sender: KeyID, recipient: KeyID, envelope: MercurioEnvelope
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in [
            Array(conversation.utf8), Array(sender.description.utf8),
            Array(recipient.description.utf8), envelope.wrappedKey, envelope.nonce,
            envelope.content, envelope.tag,
        ] {
            bytes += UInt32(part.count).bigEndianBytes
            bytes += part
        }
        return Array("hybrid/msg/v1\0".utf8) + sha256(bytes)
    }
}
