package import Sotto

/// A message record that `encrypt` reads: `{"v":1,"type":"message","to","time","body"}`. It has neither `from` nor
/// `suite`, unlike a message that `decrypt` printed.
package struct ComposedMessage: Sendable, Hashable {
    /// The recipient, or `nil` if `encrypt` gets it from its command line.
    package let to: SessionID?
    /// The time of writing. `encrypt` sets its own time in the envelope.
    package let time: Timestamp
    package let body: MessageBody

    package init(to: SessionID?, time: Timestamp = .now(), _ body: MessageBody) {
        self.to = to
        self.time = time
        self.body = body
    }

    /// The record.
    package var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("message")),
            ("to", to.map { .string($0.description) }), ("time", .string(time.description)),
            ("body", .object(body.record)),
        ])
    }
}
