public import Sotto

/// A chat file with the key of SHAiny's form of the chat. A file of `keygen chat` does not contain this key.
public struct MessengerChat: Sendable {
    /// The chat, for the suite `phrase`.
    public let chat: Chat
    /// The key of SHAiny's form.
    public let shainy: ShainyChat?

    /// Creates the chat of a phrase, which takes half a second and 256 MiB. Throws ``PhraseError/phrase`` or
    /// ``PhraseError/memory``.
    public init(phrase: borrowing SecretBytes, name: String) throws(PhraseError) {
        chat = try Chat(phrase: phrase, name: name)
        shainy = ShainyChat(phrase: phrase)
    }

    /// The record of ``Chat`` with the member `shainy`, 32 bytes in base64. It is secret.
    public var record: JSONObject {
        var record = chat.record
        record["shainy"] = shainy.map { .base64($0.keyBytes()) }
        return record
    }

    /// Reads the record of a chat file. Throws ``ChatError``.
    public init(record: JSONObject) throws(ChatError) {
        chat = try Chat(record: record)
        guard let field = Fields<ChatError>(record)["shainy"].optional else {
            shainy = nil
            return
        }
        shainy = ShainyChat(key: try field.secret(count: 32))
    }

    /// Returns the record of the name in SHAiny's form: `{"chatId","name"}`. **The id is the key.** Throws
    /// ``MessengerError/noShainyKey``.
    public func shainyNameRecord() throws(MessengerError) -> JSONObject {
        guard let shainy else { throw .noShainyKey }
        return JSONObject([
            ("chatId", .string(shainy.id())),
            ("name", .string(shainy.encrypt(Array(chat.name.utf8)))),
        ])
    }

    /// Returns the name in SHAiny's record or in the chat's own. In SHAiny's record only the padding protects it.
    /// Throws ``SuiteError/refused``.
    public func name(in record: JSONObject) throws(SuiteError) -> (text: String, isAuthentic: Bool)
    {
        if record["type"]?.string == "chat-name" { return (try chat.name(in: record), true) }
        guard let text = record["name"]?.string, let id = record["chatId"]?.string, let shainy,
            constantTimeEqual(Array(id.utf8), Array(shainy.id().utf8)),
            let name = try? shainy.unverifiedText(text)
        else { throw .refused }
        return (name, false)
    }
}
