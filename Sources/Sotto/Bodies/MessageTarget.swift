/// The message that a reaction, an edit, a deletion or a pin is for. The author belongs to it, because two authors can
/// choose the same id.
public struct MessageTarget: Sendable, Hashable {
    /// The id of the message's envelope.
    public let id: String
    /// The author of the message.
    public let from: KeyID

    /// Creates a target.
    public init(id: String, from: KeyID) {
        self.id = id
        self.from = from
    }

    /// The object with `id` and `from`.
    public var record: JSONObject {
        ["id": .string(id), "from": .string(from.description)]
    }

    init(_ reader: inout BodyReader) throws(BodyError) {
        id = try reader.require("id").uuid()
        from = try reader.require("from").keyID()
    }
}
