/// The record inside an envelope, before it is padded and encrypted: what is said, and the envelope's own
/// `id`, `to` and `time` again. Outside they are for the carrier; a difference between the two is a forgery.
struct MessageContent {
    /// The message's id.
    let id: String
    /// When it was made; `nil` for a file that says nothing of it.
    let time: Timestamp?
    /// What is said.
    let body: JSONObject
    /// All members of the record.
    let members: JSONObject

    /// The longest record: what fits a frame of 32,768 bytes, so that the envelope stays below the 64 KiB
    /// that a relay takes.
    static let limit = 32768 - Padding.overhead

    /// The bytes of the record.
    static func encode(
        body: JSONObject, extra: [(name: String, value: JSON)], id: String, to: SessionID?,
        time: Timestamp
    ) -> [UInt8] {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("message")), ("id", .string(id)),
            ("to", to.map { .string($0.description) }), ("time", .string(time.description)),
            ("body", .object(body)),
        ])
        for (name, value) in extra { record[name] = value }
        return record.serialized()
    }

    /// Reads the record that was inside `envelope`; `nil` when it is none, or another envelope's.
    init?(_ bytes: [UInt8], of envelope: Envelope) {
        let parsed = try? JSON.object(parsing: bytes)
        if envelope.stand != nil, parsed?["type"]?.string != "message",
            let text = String(validating: bytes, as: UTF8.self)
        {
            body = Message.textBody(text)
            members = JSONObject()
            id = envelope.id
            time = envelope.stand == .file ? nil : envelope.time
            return
        }
        guard let record = parsed, record["v"] == .integer(1), let id = record["id"]?.string,
            let time = record["time"]?.string.flatMap({ Timestamp($0) }),
            record["to"]?.string == envelope.to?.description,
            record["type"]?.string == "message", let body = record["body"]?.object
        else { return nil }
        if envelope.stand != .file {
            guard id == envelope.id, record["time"]?.string == envelope.time.description else {
                return nil
            }
        }
        self.id = id
        self.time = time
        self.body = body
        members = record
    }
}
