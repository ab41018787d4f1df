public import Sotto
import SottoDatabase

/// Messages that the programs of this machine add to a conversation, with a body of the type `system`. Such a
/// body is refused if it is received.
extension StateTransaction {
    /// An event that concerns a conversation.
    public enum SystemEvent: String, Sendable {
        /// A new key of the contact was accepted.
        case keyAccepted = "key-accepted"
        /// The key of the contact was compared with its owner.
        case verified
        /// The comparison was withdrawn.
        case unverified
    }

    /// Adds a message about the contact `peer` to the conversation with it.
    ///
    /// `former` is the contact's id before a new key was accepted. Nothing is added if no message was exchanged under
    /// this id.
    public func recordSystem(
        _ event: SystemEvent, about peer: SessionID, former: SessionID? = nil,
        at time: Timestamp = .now()
    ) throws(StateError) {
        let isUsed = try store.conversationRow(.peer(former ?? peer), connection) != nil
        guard isUsed, peer != owner.id else { return }
        let id = Envelope.newID()
        let body = JSONObject([
            ("type", .string("system")), ("event", .string(event.rawValue)),
            ("former", former.map { .string($0.description) }),
        ])
        try recordSent(
            id: id,
            record: JSONObject([
                ("v", .integer(1)), ("type", .string("message")), ("id", .string(id)),
                ("from", .string(owner.id.description)), ("to", .string(peer.description)),
                ("time", .string(time.description)), ("authenticated", .bool(true)),
                ("trust", .string(Message.Trust.verified.rawValue)), ("body", .object(body)),
            ]), at: time)
    }
}
