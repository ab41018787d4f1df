package import Sotto
package import SottoState

/// A message record that `encrypt` reads: `{"v":1,"type":"message","to"|"group","time","body"}`. It has neither `from` nor
/// `suite`, unlike a message that `decrypt` printed.
package struct ComposedMessage: Sendable, Hashable {
    /// The recipient, or `nil` if `encrypt` gets it from its command line.
    package let to: KeyID?
    /// The group, or `nil` for a person.
    package let group: GroupID?
    /// The time of writing. `encrypt` sets its own time in the envelope.
    package let time: Timestamp
    package let body: MessageBody

    package init(to: KeyID?, time: Timestamp = .now(), _ body: MessageBody) {
        self.to = to
        group = nil
        self.time = time
        self.body = body
    }

    /// Creates a message for a person or a group, or one without a recipient for any other conversation.
    package init(in conversation: Conversation, time: Timestamp = .now(), _ body: MessageBody) {
        to = conversation.peer
        group = conversation.group
        self.time = time
        self.body = body
    }

    /// The record.
    package var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("message")),
            ("to", to.map { .string($0.description) }),
            ("group", group.map { .string($0.description) }), ("time", .string(time.description)),
            ("body", .object(body.record)),
        ])
    }
}
