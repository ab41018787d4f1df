/// Messages that their author sends again: the members of the body `history`. sotto-formats(5), BODIES.
///
/// A relay and a reader refuse another content under a known id, so the messages are in an envelope with an id of its own.
public struct RepeatedMessages: Sendable, Hashable {
    /// The messages, not checked. Empty in a record of a history.
    public let messages: [JSONObject]
    /// The ids of the messages in a record of a history, whose own rows have the messages.
    public let ids: [String]

    /// The value of the member `type`.
    public static let type = "history"
    /// The most messages of a body.
    public static let most = 256

    /// Creates the members of a body with 1 to ``most`` messages.
    public init(_ messages: [JSONObject]) { (self.messages, ids) = (messages, []) }

    init(_ reader: inout BodyReader) throws(BodyError) {
        let elements = try reader.take("history")?.array() ?? []
        messages = elements.compactMap(\.object)
        let list = try reader.list("ids", limit: Self.most) { json in
            json.string.flatMap { Envelope.isID($0) ? $0 : nil }
        }
        ids = list ?? []
        // The list is empty if all messages were malformed.
        guard messages.count == elements.count, messages.isEmpty == (list != nil) else {
            throw reader.malformed("history")
        }
        guard messages.count <= Self.most else { throw reader.tooLong("history", Self.most) }
    }

    var members: [(String, JSON?)] {
        [
            ("history", messages.isEmpty ? nil : .array(messages.map { .object($0) })),
            ("ids", messages.isEmpty ? .array(ids.map { .string($0) }) : nil),
        ]
    }
}
