public import Sotto

/// Mercurio's messages: each is a ``MercurioMessage`` with Sotto's signature.
public enum MercurioFormat: MessengerFormat {
    /// The members of a record that the format interprets.
    public static let payloadMembers = [
        "conversationId", "senderMercurioId", "recipientMercurioId", "encryptedContent",
        "encryptedAesKey", "nonce", "mac", "sig",
    ]
    /// The members of a record that are encrypted, and those that prove or describe them.
    public static let encryptedMembers = [
        "encryptedContent", "encryptedAesKey", "nonce", "mac", "sig",
    ]

    /// The reason to use the format only for exchange with its messenger: one sentence without a full stop.
    public static let legacyReason =
        "the app does not authenticate senders, and an attacker who gets the RSA key can decrypt all messages, also old ones"

    /// The protection in the order of ``SuiteTraits/columns``.
    public static let protection = ["yes", "if signed", "no", "no", "no"]

    /// The longest text, in bytes.
    public static let textLimit = 32_768

    /// Encrypts a text to the owner of an RSA key, and signs it.
    public static func seal(
        _ draft: Draft, to recipient: MessengerRecipient, with keys: MessengerKeys
    ) throws -> MessengerEnvelope {
        guard let bundle = recipient.profiles.mercurio else {
            throw MessengerError.noProfile(.mercurio)
        }
        let text = try draft.text()
        guard text.utf8.count <= textLimit else { throw SuiteError.tooLong(limit: textLimit) }
        let message: MercurioMessage
        do {
            message = try MercurioMessage.seal(
                Array(text.utf8), from: keys.mercurioIdentity(), to: bundle,
                createdAt: draft.time.description)
        } catch is MercurioSealError {
            throw MessengerError.recipientKey
        }
        return MessengerEnvelope(
            id: message.id, messenger: .mercurio, to: recipient.id, time: draft.time,
            payload: message.record(spelled: keys.options.spelling))
    }

    /// Returns the own Session ID and the conversation.
    public static func details(
        ofSealed envelope: MessengerEnvelope, to recipient: MessengerRecipient,
        with keys: MessengerKeys
    ) throws -> JSONObject? {
        JSONObject(row(of: try MercurioMessage(record: envelope.payload)))
    }

    private static func row(of message: MercurioMessage) -> [(String, JSON?)] {
        [
            ("mercurioId", message.sender.map { .string($0.description) }),
            ("conversation", message.conversation.map { .string($0) }),
        ]
    }

    /// Opens a message. Without a signature it is not authenticated and has no sender. Values outside the signature are
    /// in the message's details, under `untrusted`.
    public static func open(_ envelope: MessengerEnvelope, with keys: MessengerKeys) throws
        -> Message
    {
        // A sender who knows only the account addresses the envelope to the account's id.
        let own = [keys.ownID, try keys.mercurioIdentity().id]
        guard envelope.to == nil || own.contains(envelope.to) else { throw SuiteError.refused }
        let message: MercurioMessage
        let opened: MercurioMessage.Opened
        do {
            message = try MercurioMessage(record: envelope.payload)
            opened = try message.open(
                with: keys.rsaKey(), as: keys.mercurioIdentity().id,
                padding: keys.options.rsaPadding, allowUnproven: true)
        } catch is MercurioRecordError {
            throw SuiteError.refused
        } catch is MercurioOpenError {
            throw SuiteError.refused
        }
        guard let text = String(validating: opened.text, as: UTF8.self) else {
            throw SuiteError.refused
        }
        if let sender = opened.sender, let recipient = message.recipient {
            guard message.conversation == MercurioIdentity.conversation(sender, recipient) else {
                throw SuiteError.refused
            }
        }
        let sender = try opened.sender.map { try keys.mercurioOwner($0) ?? $0 }
        let row = row(of: message)
        let untrusted = JSONObject(
            (sender == nil ? row : []) + [
                ("createdAt", message.createdAt.map { .string($0) }),
                ("time", .string(envelope.time.description)),
            ])
        return Message(
            id: envelope.id, from: sender, to: keys.ownID, time: nil, suite: .mercurio,
            authenticated: sender != nil,
            details: JSONObject((sender == nil ? [] : row) + [("untrusted", .object(untrusted))]),
            legacy: legacyReason, body: Message.textBody(text))
    }

    /// The hash of the ciphertext, because rows have no authenticated id.
    public static func repeatID(of envelope: MessengerEnvelope) -> String {
        guard let sealed = try? MercurioEnvelope(record: envelope.payload) else {
            return envelope.id
        }
        return "mercurio/" + hex(sha256(sealed.nonce + sealed.tag + sealed.content))
    }

    /// Returns the rows of the app's database.
    public static func records(
        of envelopes: [MessengerEnvelope], with keys: MessengerKeys
    ) throws -> [JSONObject] {
        envelopes.map(\.payload)
    }

    /// Creates an envelope from a row, or from its encrypted part only. Its payload has the app's spelling.
    public static func envelope(
        of record: JSONObject, with keys: MessengerKeys
    ) throws -> MessengerEnvelope {
        guard let message = try? MercurioMessage(record: record)
        else { throw SuiteError.refused }
        return MessengerEnvelope(
            id: message.id, messenger: .mercurio, to: keys.ownID,
            time: message.createdAt.flatMap { Timestamp($0) } ?? .now(), payload: message.record)
    }
}
