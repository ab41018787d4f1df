public import Sotto
import SottoState
public import SottoWire

/// What came of an envelope, or of what an owner publishes, that was given to `send`.
public struct DeliveryResult: Sendable, Equatable {
    /// How it stands.
    public enum Status: String, Sendable {
        /// The relay has it on disk.
        case stored
        /// The relay had it already.
        case duplicate
        /// It is in the outbox, and was not sent.
        case queued
        /// It is in the outbox; the relay does not take it now.
        case deferred
        /// The relay will never take it; it is gone from the outbox.
        case rejected
    }

    /// The envelope's id; of what an owner publishes, the owner's.
    public let id: String
    /// The envelope's recipient; `nil` for what an owner publishes.
    public let to: String?
    /// How it stands.
    public let status: Status
    /// The relay's reason.
    public let refusal: Refusal?

    init(_ item: Outbox.Item, _ status: Status, _ refusal: Refusal? = nil) {
        id = item.id
        switch item.kind {
        case .envelope: to = item.to
        case .prekeys, .record: to = nil
        }
        self.status = status
        self.refusal = refusal
    }

    /// The result record.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("result")), ("id", .string(id)),
            ("to", to.map { .string($0) }), ("status", .string(status.rawValue)),
            ("code", refusal.map { .integer($0.code) }),
            ("reason", refusal.map { .string($0.reason) }),
        ])
    }
}
