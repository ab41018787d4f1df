import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Parses the lines of `decrypt`: envelopes, bare texts of a chat and names of chats.
final class EnvelopeInput: MessageInput {
    enum Content: Sendable {
        case envelope(ParsedEnvelope)
        /// The bare text of a chat, `v2.…`.
        case bare(String)
        /// The encrypted name of a chat.
        case chatName(JSONObject)
        /// A succession or a revocation.
        case news(IdentityNews)
    }

    private let chats: [Chat]

    var parser: (@Sendable ([UInt8]) throws -> Parsed?)? { { try Self.parse($0) } }

    init(chats: [Chat]) { self.chats = chats }

    func read(_ bytes: [UInt8]) throws -> Parsed? { try Self.parse(bytes) }

    private static func parse(_ bytes: [UInt8]) throws -> Parsed? {
        guard let start = bytes.first(where: { ![0x20, 0x09, 0x0D].contains($0) }) else {
            return nil
        }
        guard start == UInt8(ascii: "{") else {
            return (.success(.bare(try text(bytes))), nil)
        }
        let record = try JSON.object(parsing: bytes)
        return (try result { try content(of: record) }, record["id"]?.string)
    }

    func envelope(of content: Content) -> ParsedEnvelope? {
        if case .envelope(let parsed) = content { parsed } else { nil }
    }

    func resolve(_ content: Content, _ transaction: StateTransaction?) throws -> ResolvedLine {
        switch content {
        case .envelope(let parsed): return .envelope(parsed)
        case .news(let news): return .news(news)
        case .bare(let text):
            return .envelope(ParsedEnvelope(try PhraseSuite.envelope(ofBare: text)))
        case .chatName(let record):
            for chat in chats {
                guard let name = try? chat.name(in: record) else { continue }
                return .record([
                    "v": .integer(1), "type": .string("chat-name"),
                    "id": .string(hex(chat.phrase.id)), "name": .string(name),
                    "authenticated": .bool(true),
                ])
            }
            throw SuiteError.refused
        }
    }

    private static func text(_ bytes: [UInt8]) throws(Failure) -> String {
        guard var text = String(validating: bytes, as: UTF8.self)?[...] else {
            throw Failure(.malformed, "the line is neither JSON nor text")
        }
        func isSpace(_ character: Character?) -> Bool {
            character.map { [" ", "\t", "\r", "\r\n"].contains($0) } ?? false
        }
        while isSpace(text.first) { text.removeFirst() }
        while isSpace(text.last) { text.removeLast() }
        guard text.utf8.starts(with: PhraseKey.mark.utf8) else {
            throw Failure(.malformed, "the line is not JSON")
        }
        return String(text)
    }

    private static func content(of record: JSONObject) throws -> Content {
        if let failure = Failure(errorRecord: record) { throw failure }
        switch record["type"]?.string {
        case "envelope": return .envelope(ParsedEnvelope(try Envelope(record: record)))
        case "chat-name": return .chatName(record)
        case "contact":
            throw Failure(
                .malformed, "the input is a card, which has nothing to decrypt",
                hint:
                    "add it with sotto contact add FILE, or show its key with sotto fingerprint FILE"
            )
        case "message":
            throw Failure(
                .malformed, "the record is a message, which is not encrypted yet",
                hint: "to encrypt and send it: sotto encrypt | sotto send")
        default:
            if let news = try IdentityNews(record: record) { return .news(news) }
            throw Failure(
                .malformed, "the record is not an envelope",
                hint: "open another messenger's record with sotto bridge open")
        }
    }
}
