package import Sotto
import SottoTool

/// The content of a message, and the members of its line that are passed through.
package struct MessageText: Sendable {
    package let body: JSONObject
    package let extra: [(name: String, value: JSON)]

    package init(body: JSONObject, extra: [(name: String, value: JSON)]) {
        self.body = body
        self.extra = extra
    }

    /// Reads all of stdin as text, without one line feed at its end, or as data if it is not UTF-8.
    package static func content(ofWhole bytes: [UInt8]) throws -> MessageText {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            return MessageText(body: Message.body(of: bytes), extra: [])
        }
        if text.utf8.last == UInt8(ascii: "\n") { text.unicodeScalars.removeLast() }
        return MessageText(body: Message.textBody(text), extra: [])
    }

    /// Reads a line: a record with a body or a text, or plain text.
    package static func content(ofLine bytes: [UInt8]) throws -> MessageText {
        guard bytes.first == UInt8(ascii: "{") else {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Failure(.malformed, "the line is not UTF-8 text")
            }
            return MessageText(body: Message.textBody(text), extra: [])
        }
        let record = try JSON.object(parsing: bytes)
        if let body = record["body"]?.object, body["type"]?.string != nil {
            _ = try MessageBody(body)
            return MessageText(body: body, extra: Message.extra(of: record))
        }
        if let text = record["text"]?.string {
            var members = record
            members["text"] = nil
            return MessageText(body: Message.textBody(text), extra: Message.extra(of: members))
        }
        if let failure = Failure(errorRecord: record) { throw failure }
        throw Failure(
            .malformed, "the record has neither a body with a type nor a text",
            hint: #"a message line is {"text":"…"} or {"body":{"type":"text","text":"…"}}"#)
    }
}
