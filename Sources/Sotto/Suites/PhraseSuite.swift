import SottoPadding

/// The suite `phrase`: a padded message record, encrypted under a ``PhraseKey``.
///
/// The payload is `{"chat","text"}`: the chat's hexadecimal id and the text. The bare form is a line `v2.…`, whose
/// content is only text.
public enum PhraseSuite: MessageSuite {
    /// The longest message record, in bytes. Its base64 must fit into an envelope.
    public static let recordLimit = MessageContent.limit

    /// Encrypts a message for the only chat.
    public static func seal(
        _ draft: Draft, to recipient: Recipient, with keys: SuiteKeys
    ) throws -> Envelope {
        let chat = try keys.chat()
        let content = MessageContent.encode(
            body: draft.body, extra: draft.extra, id: draft.id, to: recipient.id, time: draft.time,
            ttl: draft.ttl)
        guard content.count <= recordLimit else { throw SuiteError.tooLong(limit: recordLimit) }
        return Envelope(
            id: draft.id, suite: .phrase, to: recipient.id, time: draft.time, ttl: draft.ttl,
            payload: [
                "chat": .string(hex(chat.phrase.id)),
                "text": .string(chat.phrase.seal(try Padding.frame(content))),
            ])
    }

    /// Opens a message of one of the chats.
    public static func open(_ envelope: Envelope, with keys: SuiteKeys) throws -> Message {
        guard let text = envelope.payload["text"]?.string else { throw SuiteError.refused }
        guard let id = envelope.payload["chat"] else { return try openBare(text, envelope, keys) }
        guard let chat = keys.chats.first(where: { id.string == hex($0.phrase.id) }),
            let frame = try? chat.phrase.open(text), let bytes = try? Padding.unframe(frame),
            let content = envelope.content(of: bytes)
        else { throw SuiteError.refused }
        return Message(
            id: envelope.id, from: nil, to: envelope.to, time: envelope.time, suite: .phrase,
            authenticated: false, details: ["chat": .object(chat.details)], body: content.body,
            members: content.members)
    }

    private static func openBare(
        _ text: String, _ envelope: Envelope, _ keys: SuiteKeys
    ) throws -> Message {
        guard let chat = try? keys.chat(), let bytes = try? chat.phrase.open(text),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw SuiteError.refused }
        return Message(
            id: envelope.id, from: nil, to: nil, time: nil, suite: .phrase,
            authenticated: false, details: ["chat": .object(chat.details)],
            body: Message.textBody(text))
    }

    /// The hash of the ciphertext for a bare text.
    public static func repeatID(of envelope: Envelope) -> String? {
        guard envelope.payload["chat"] == nil else { return nil }
        return "phrase/" + hex(sha256(Array((envelope.payload["text"]?.string ?? "").utf8)))
    }

    /// Returns the bare form of a text for the chat: `v2.…`, without an envelope. Throws if `keys` has no chat or
    /// several.
    public static func bareText(_ draft: Draft, with keys: SuiteKeys) throws -> String {
        try keys.chat().phrase.seal(Array(draft.text().utf8))
    }

    /// Returns an envelope around a bare text, which ``open(_:with:)`` opens. Throws ``SuiteError/refused`` for any
    /// other text.
    public static func envelope(ofBare text: String) throws(SuiteError) -> Envelope {
        guard text.utf8.starts(with: PhraseKey.mark.utf8) else { throw .refused }
        return Envelope(
            id: Envelope.id(of: Array(text.utf8)), suite: .phrase, to: nil, time: .now(),
            payload: ["text": .string(text)])
    }
}

extension Chat {
    /// The description of the chat in a message record.
    package var details: JSONObject {
        JSONObject([
            ("id", .string(hex(phrase.id))), ("name", name.isEmpty ? nil : .string(name)),
        ])
    }
}
