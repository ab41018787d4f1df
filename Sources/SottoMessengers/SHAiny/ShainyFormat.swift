public import Sotto

/// SHAiny's messages: each is a ``ShainyMessage``.
///
/// The payload is `{"chat","encryptedText","shaHash","replyTo"}`. It does not contain the messenger's own chat id,
/// because that is the key. `chat` is the id of ``PhraseKey`` for the same phrase, or `global-announcements`.
public enum ShainyFormat: MessengerFormat {
    /// The members of a record that the format interprets.
    public static let payloadMembers = ["encryptedText"]
    /// The members of a record that are encrypted, and those that prove or describe them.
    public static let encryptedMembers = ["encryptedText", "shaHash"]

    /// The reason to use the format only for exchange with its messenger: one sentence without a full stop.
    public static let legacyReason =
        "its server receives the key as the chat's id, a single hash protects the phrase, and neither the sender nor the text is authenticated"

    /// The protection in the order of ``SuiteTraits/columns``.
    public static let protection = ["weakly", "no", "no", "no", "no"]

    /// The longest text, in bytes.
    public static let textLimit = 16_384

    private static func chat(_ keys: MessengerKeys) throws -> (ShainyChat, JSONObject) {
        if keys.options.isPublic {
            return (.global, ["id": .string(ShainyChat.globalID), "public": .bool(true)])
        }
        let chat = try keys.chat()
        guard let shainy = chat.shainy else { throw MessengerError.noShainyKey }
        guard !shainy.isPublic else { throw MessengerError.publicChannel }
        return (shainy, chat.chat.details)
    }

    /// Encrypts a text for the only chat, or for the public channel.
    public static func seal(
        _ draft: Draft, to recipient: MessengerRecipient, with keys: MessengerKeys
    ) throws -> MessengerEnvelope {
        let (chat, details) = try chat(keys)
        let text = try draft.text(members: ["replyTo"])
        guard text.utf8.count <= textLimit else { throw SuiteError.tooLong(limit: textLimit) }
        let message = try chat.seal(
            Array(text.utf8), reply: try draft.body["replyTo"].map { try reply($0, chat, keys) },
            hash: keys.options.hidesHash ? .hidden : .plaintext, gcm: keys.options.gcm,
            toPublic: keys.options.isPublic)
        var payload = message.record
        payload["type"] = nil
        payload["chatId"] = nil
        payload["chat"] = details["id"]
        return MessengerEnvelope(
            id: message.id, messenger: .shainy, to: recipient.id, time: draft.time,
            payload: payload)
    }

    /// Returns the chat.
    public static func details(
        ofSealed envelope: MessengerEnvelope, to recipient: MessengerRecipient,
        with keys: MessengerKeys
    ) throws -> JSONObject? {
        ["chat": .object(try chat(keys).1)]
    }

    private static func reply(
        _ value: JSON, _ chat: ShainyChat, _ keys: MessengerKeys
    ) throws(SuiteError) -> ShainyMessage.Reply {
        guard let object = value.object,
            let plain = try? ShainyMessage.Reply(Fields<FieldError>(object))
        else { throw .textOnly }
        return ShainyMessage.Reply(
            messageID: plain.messageID,
            encryptedText: chat.encrypt(Array(plain.encryptedText.utf8), gcm: keys.options.gcm),
            senderName: plain.senderName, milliseconds: plain.milliseconds)
    }

    /// Opens a text of one of the chats, or of the public channel.
    public static func open(_ envelope: MessengerEnvelope, with keys: MessengerKeys) throws
        -> Message
    {
        guard let (chat, details) = find(envelope.payload, keys) else { throw SuiteError.refused }
        var record = envelope.payload
        let claims = record["claims"]?.object ?? [:]
        record["type"] = .string("send_message")
        record["chatId"] = .string(chat.id())
        guard let message = ShainyMessage(record: record),
            let bytes = try? chat.open(
                message, allowingHiddenHash: keys.options.allowsHiddenHash),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw SuiteError.refused }
        var body = Message.textBody(text)
        if let reply = message.reply {
            body["replyTo"] = .object(
                JSONObject([
                    ("messageId", .string(reply.messageID)),
                    ("text", (try? chat.unverifiedText(reply.encryptedText)).map { .string($0) }),
                    ("senderName", .string(reply.senderName)),
                    ("timestamp", .integer(reply.milliseconds)),
                ]))
        }
        return Message(
            id: envelope.id, from: nil, to: nil, time: nil, suite: .shainy, authenticated: false,
            details: [
                "chat": .object(details),
                "untrusted": .object(
                    JSONObject(
                        [("time", .string(envelope.time.description))]
                            + claims.members.map { ($0.name, $0.value) })),
            ], legacy: legacyReason, body: body)
    }

    private static func find(
        _ payload: JSONObject, _ keys: MessengerKeys
    ) -> (ShainyChat, JSONObject)? {
        let id = payload["chat"] ?? payload["chatId"]
        if id?.string == ShainyChat.globalID {
            return (.global, ["id": .string(ShainyChat.globalID), "public": .bool(true)])
        }
        let found = keys.chats.first { chat in
            guard let text = payload["chatId"]?.string, payload["chat"] == nil else {
                return payload["chat"]?.string == hex(chat.chat.phrase.id)
            }
            return chat.shainy.map {
                constantTimeEqual(Array(text.lowercased().utf8), Array($0.id().utf8))
            } ?? false
        }
        return found.flatMap { chat in chat.shainy.map { ($0, chat.chat.details) } }
    }

    /// The hash of the ciphertext, because the messenger's texts have no ids.
    public static func repeatID(of envelope: MessengerEnvelope) -> String {
        "shainy/" + hex(sha256(Array((envelope.payload["encryptedText"]?.string ?? "").utf8)))
    }

    /// Returns `{"type":"send_message",…}`, whose id is the chat's key. Throws ``SuiteError/secretID`` unless the
    /// options allow that.
    public static func records(
        of envelopes: [MessengerEnvelope], with keys: MessengerKeys
    ) throws -> [JSONObject] {
        let (chat, _) = try chat(keys)
        guard keys.options.showsSecret || chat.isPublic else { throw MessengerError.secretID }
        return try envelopes.map { envelope in
            var record = envelope.payload
            record["type"] = .string("send_message")
            record["chatId"] = .string(chat.id())
            guard let message = ShainyMessage(record: record) else { throw SuiteError.refused }
            return message.record
        }
    }

    /// Creates an envelope from a record that ``ShainyMessage/init(record:)`` reads. What the server says of the message is in a
    /// member `claims`.
    public static func envelope(
        of record: JSONObject, with keys: MessengerKeys
    ) throws -> MessengerEnvelope {
        guard let message = ShainyMessage(record: record) else {
            throw SuiteError.refused
        }
        var payload = message.record
        payload["type"] = nil
        let claims = JSONObject(message.claims.members)
        if !claims.members.isEmpty { payload["claims"] = .object(claims) }
        return MessengerEnvelope(
            id: message.id, messenger: .shainy, to: nil,
            time: .now(), payload: payload)
    }
}
