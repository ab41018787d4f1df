/// A reason to refuse a record as a chat.
public enum ChatError: Error, Sendable, Equatable {
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
        root = try PhraseKey.root(of: SecretBytes(copying: nfc(text).utf8))
        self.phrase = PhraseKey(root: root)
        self.name = name
    }

    /// The record in a chat file, which is secret: `{"v":1,"type":"chat","name","id","root","strength"}`. It does not
    /// contain the phrase.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("chat")),
            ("name", name.isEmpty ? nil : .string(name)), ("id", .string(hex(phrase.id))),
            ("root", .string(root.withBytes { Base64.standard.encode(Array($0)) })),
            ("strength", .integer(Int64(strength))),
        ])
    }

    /// Reads the record of a chat file. Throws ``ChatError``.
    public init(record: JSONObject) throws(ChatError) {
        guard record["type"]?.string == "chat" else { throw .member("type") }
        guard let version = record["v"]?.integer else { throw .member("v") }
        guard version == 1 else { throw .version(version) }
        func secret(_ name: String) throws(ChatError) -> SecretBytes {
            guard var bytes = record[name]?.string.flatMap({ Base64.standard.decode($0) }),
                bytes.count == 32
            else { throw .member(name) }
            defer { wipe(&bytes) }
            return SecretBytes(copying: bytes)
        }
        guard record["name"] == nil || record["name"]?.string != nil else { throw .member("name") }
        guard let strength = record["strength"]?.integer, (0...65_536).contains(strength) else {
            throw .member("strength")
        }
        name = record["name"]?.string ?? ""
        self.strength = Int(strength)
        root = try secret("root")
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
