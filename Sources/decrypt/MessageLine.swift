import Sotto
import SottoTool

/// The kind of an input line, before its content is decrypted.
enum MessageLine {
    case envelope(Envelope)
    /// A message of Message Flow; the case names are the messenger's.
    case flow(MessageFlowMessage, isHTTP: Bool)
    /// The file format of such a message.
    case flowFile(MessageFlowContent)
    /// Another messenger's own record or text.
    case app(AppLine, Suite)
    /// An acknowledgement of Message Flow.
    case ack(MessageFlowAck)
    /// The encrypted name of a chat.
    case chatName(JSONObject)
    /// A copy that the user encrypted to the own identity key.
    case ownCopy([UInt8])

    /// Parses a line and the id that it claims. Returns `nil` for white space. `suite` is the suite of records that do
    /// not name one.
    static func read(
        _ bytes: [UInt8], suite: Suite?
    ) throws -> (content: Result<MessageLine, Failure>, id: String?, flow: FlowName?)? {
        let start = bytes.first { ![0x20, 0x09, 0x0D].contains($0) }
        guard let start else { return nil }
        guard start == UInt8(ascii: "{") else {
            return (.success(.app(try text(bytes), suite ?? .phrase)), nil, nil)
        }
        let record = try JSON.object(parsing: bytes)
        let id = record["id"] ?? record["messageId"] ?? record["message"]?.object?["id"]
        let flow = FlowName(record, suite)
        do {
            if let failure = Failure(errorRecord: record) { throw failure }
            return (.success(try read(record, suite)), id?.string, flow)
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            return (.failure(failure), id?.string, flow)
        }
    }

    /// The id of a message at Message Flow's server, and whether it came over HTTP, without a type.
    struct FlowName {
        let id: String
        let isHTTP: Bool

        init?(_ record: JSONObject, _ suite: Suite?) {
            isHTTP = record["type"] == nil
            guard record["type"]?.string == "new_message" || isHTTP && suite == .ratchet,
                let id = (record["message"]?.object ?? record)["id"]?.string
            else { return nil }
            self.id = id
        }
    }

    /// Parses a line that is a base64 copy encrypted to the own identity. Returns `nil` for white space.
    static func readOwnCopy(_ bytes: [UInt8]) -> Result<MessageLine, Failure>? {
        let text = bytes.filter { ![0x20, 0x09, 0x0D].contains($0) }
        if text.isEmpty { return nil }
        guard let copy = Base64.standard.decode(utf8: text[...]) else {
            return .failure(Failure(.malformed, "the line is not base64"))
        }
        return .success(.ownCopy(copy))
    }

    private static func text(_ bytes: [UInt8]) throws(Failure) -> AppLine {
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
        return .text(String(text))
    }

    private static func read(_ record: JSONObject, _ suite: Suite?) throws -> MessageLine {
        switch record["type"]?.string {
        case "envelope": return .envelope(try Envelope(record: record))
        case "new_message":
            return .flow(try flow { try MessageFlowMessage(record: record) }, isHTTP: false)
        case "ack": return .ack(try flow { try MessageFlowAck(record: record) })
        case "chat-name": return .chatName(record)
        case "contact":
            throw Failure(
                .malformed, "the input is a card, which has nothing to decrypt",
                hint: "add it with contact add FILE, or show its key with fingerprint FILE")
        case "send_message" where suite ?? .shainy == .shainy:
            return .app(.record(record), .shainy)
        case nil where record["encryptedPayload"] != nil && record["v"] != nil:
            return .flowFile(try flow { try MessageFlowContent(file: record) })
        case nil where suite == .ratchet:
            return .flow(try flow { try MessageFlowMessage(record: record) }, isHTTP: true)
        case let type:
            if let suite, suite != .ratchet { return .app(.record(record), suite) }
            throw Failure(
                .malformed,
                type == nil
                    ? "the record names no suite" : "the record is not an envelope",
                hint: type == nil ? "select the messenger with --suite NAME" : nil)
        }
    }

    private static func flow<T>(_ read: () throws -> T) throws -> T {
        do {
            return try read()
        } catch let error as MessageFlowError {
            switch error {
            case .member(let name):
                throw Failure(
                    .malformed, "not a Message Flow record: \"\(name)\" is missing or malformed")
            case .version: throw Failure(.malformed, "the file has a later version")
            case .payload: throw Failure(.malformed, "the envelope's payload is malformed")
            }
        }
    }
}
