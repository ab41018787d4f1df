/// The record inside an envelope, before padding and encryption: the content, and copies of the envelope's `id`, `to`,
/// `time` and `ttl`. The outer values are for delivery; an outer value that differs from the inner one is a forgery.
package struct MessageContent {
    /// The message's id.
    package let id: String
    /// The time of creation, or `nil` without one.
    package let time: Timestamp?
    /// The content.
    package let body: JSONObject
    /// All members of the record.
    package let members: JSONObject

    /// The longest record in bytes. It fits a frame of 32,768 bytes, so that the envelope is below the relay's limit of
    /// 64 KiB.
    static let limit = RecordForm.message.bytes

    /// Returns the bytes of the record.
    package static func encode(
        body: JSONObject, extra: [(name: String, value: JSON)], id: String, to: KeyID?,
        time: Timestamp, ttl: Int64?
    ) -> [UInt8] {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("message")), ("id", .string(id)),
            ("to", to.map { .string($0.description) }), ("time", .string(time.description)),
            ("ttl", ttl.map { .integer($0) }), ("body", .object(body)),
        ])
        for (name, value) in extra { record[name] = value }
        return record.serialized()
    }

    /// Whether the record of a message is certainly not longer than ``limit``.
    static func isShort(body: JSONObject, extra: [(name: String, value: JSON)]) -> Bool {
        let members = JSONObject(extra.map { ($0.name, $0.value) } + [("body", .object(body))])
        return 6 * JSON.object(members).lengthWithoutEscapes + otherMembers <= limit
    }

    /// The most bytes of the members beside the body and those that are passed through.
    private static let otherMembers = 512

    /// Reads the record inside `envelope`. Returns `nil` if it is malformed or belongs to another envelope.
    package init?(_ bytes: [UInt8], of envelope: Envelope) {
        guard let record = try? JSON.object(parsing: bytes) else { return nil }
        self.init(record: record, to: envelope.to)
        guard id == envelope.id,
            record["time"]?.string == envelope.time.description,
            record["ttl"] == envelope.ttl.map({ .integer($0) })
        else { return nil }
    }

    /// Reads a record for the mailbox `to`, or returns `nil`.
    package init?(record: JSONObject, to: KeyID?) {
        guard record["v"] == .integer(1), let id = record["id"]?.string,
            let time = record["time"]?.string.flatMap({ Timestamp($0) }),
            record["to"]?.string == to?.description,
            record["type"]?.string == "message", let body = record["body"]?.object
        else { return nil }
        (self.id, self.time, self.body) = (id, time, body)
        members = record
    }

    /// Creates the content of a plain text.
    package init(text: String, id: String, time: Timestamp?) {
        self.init(body: Message.textBody(text), id: id, time: time)
    }

    /// Creates the content of a body without a record.
    package init(body: JSONObject, id: String, time: Timestamp?) {
        self.body = body
        members = JSONObject()
        (self.id, self.time) = (id, time)
    }
}

/// Reads plaintexts that are not Sotto's records. Two decoders with one name are the same.
package struct PlaintextDecoder: Sendable, Hashable {
    /// The name of the form.
    let name: String
    /// Reads the plaintext of an envelope. Returns `nil` if it is malformed or belongs to another envelope.
    let read: @Sendable (_ plaintext: [UInt8], _ envelope: Envelope) -> MessageContent?

    /// Creates a decoder.
    package init(
        name: String,
        read: @escaping @Sendable (_ plaintext: [UInt8], _ envelope: Envelope) -> MessageContent?
    ) {
        (self.name, self.read) = (name, read)
    }

    /// Compares the names.
    package static func == (a: PlaintextDecoder, b: PlaintextDecoder) -> Bool { a.name == b.name }

    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Envelope {
    /// Reads the decrypted plaintext. Returns `nil` if it is malformed or belongs to another envelope.
    func content(of plaintext: [UInt8]) -> MessageContent? {
        decoder.map { $0.read(plaintext, self) } ?? MessageContent(plaintext, of: self)
    }
}
