/// A reason to refuse a record as a chat.
public enum ChatError: RecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// The id does not match the key.
    case inconsistent
}

/// A chat whose members share a phrase.
public final class Chat: Sendable {
    /// The name of the chat; may be empty.
    public let name: String
    /// The key of its texts.
    public let phrase: PhraseKey
    /// The strength of the phrase when the chat was made: an estimate by ``PhraseStrength`` in whole bits.
    public let strength: Int
    private let root: SecretBytes

    /// Creates the chat of a phrase, which takes half a second and 256 MiB. Throws ``PhraseError/phrase`` or
    /// ``PhraseError/memory``.
    public init(phrase: borrowing SecretBytes, name: String) throws(PhraseError) {
        guard let text = phrase.withBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw .phrase
        }
        strength = Int(PhraseStrength.bits(of: text))
        root = try PhraseKey.root(of: phrase)
        self.phrase = PhraseKey(root: root)
        self.name = name
    }

    /// The record in a chat file, which is secret: `{"v":1,"type":"chat","name","id","root","strength"}`. It does not
    /// contain the phrase.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("chat")),
            ("name", name.isEmpty ? nil : .string(name)), ("id", .string(hex(phrase.id))),
            ("root", .base64(root.withBytes { Array($0) })),
            ("strength", .integer(Int64(strength))),
        ])
    }

    /// Reads the record of a chat file. Throws ``ChatError``.
    public init(record: JSONObject) throws(ChatError) {
        let fields = Fields<ChatError>(record)
        try fields.header("chat")
        name = try fields["name"].optional?.text() ?? ""
        strength = try fields["strength"].integer(in: 0...65_536)
        root = try fields["root"].secret(count: 32)
        phrase = PhraseKey(root: root)
        guard record["id"]?.string == hex(phrase.id) else { throw .inconsistent }
    }

    // MARK: The name

    /// The public record for lists of chats: `{"v":1,"type":"chat-name","id","name"}`, with the name encrypted.
    public var nameRecord: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("chat-name")), ("id", .string(hex(phrase.id))),
            ("name", .string(phrase.seal(Array(name.utf8)))),
        ])
    }

    /// Returns the name in ``nameRecord`` of this chat. Throws ``SuiteError/refused``.
    public func name(in record: JSONObject) throws(SuiteError) -> String {
        guard record["type"]?.string == "chat-name", record["id"]?.string == hex(phrase.id),
            let text = record["name"]?.string, let bytes = try? phrase.open(text),
            let name = String(validating: bytes, as: UTF8.self)
        else { throw .refused }
        return name
    }
}
