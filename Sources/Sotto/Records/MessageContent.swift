/// The record inside an envelope, before padding and encryption: the content, and copies of the envelope's `id`, `to`,
/// `time` and `ttl`. The outer values are for delivery; an outer value that differs from the inner one is a forgery.
struct MessageContent {
    /// The message's id.
    let id: String
    /// The time of creation, or `nil` for a file without one.
    let time: Timestamp?
    /// The content.
    let body: JSONObject
    /// All members of the record.
    let members: JSONObject

    /// The longest record in bytes. It fits a frame of 32,768 bytes, so that the envelope is below the relay's limit of
    /// 64 KiB.
    static let limit = RecordForm.message.bytes

    /// Returns the bytes of the record.
    static func encode(
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

    /// Reads the record inside `envelope`. Returns `nil` if it is malformed or belongs to another envelope.
    init?(_ bytes: [UInt8], of envelope: Envelope) {
        let parsed = try? JSON.object(parsing: bytes)
        if envelope.foreignForm != nil, parsed?["type"]?.string != "message",
            let text = String(validating: bytes, as: UTF8.self)
        {
            body = Message.textBody(text)
            members = JSONObject()
            id = envelope.id
            time = envelope.foreignForm == .file ? nil : envelope.time
            return
        }
        guard let record = parsed, record["v"] == .integer(1), let id = record["id"]?.string,
            let time = record["time"]?.string.flatMap({ Timestamp($0) }),
            record["to"]?.string == envelope.to?.description,
            record["type"]?.string == "message", let body = record["body"]?.object
        else { return nil }
        if envelope.foreignForm != .file {
            guard id == envelope.id, record["time"]?.string == envelope.time.description,
                record["ttl"] == envelope.ttl.map({ .integer($0) })
            else { return nil }
        }
        self.id = id
        self.time = time
        self.body = body
        members = record
    }
}
