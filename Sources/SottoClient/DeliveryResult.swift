public import Sotto
import SottoState
public import SottoWire

/// The fate of an envelope, or of an owner's publication, that was given to `send`.
public struct DeliveryResult: Sendable, Equatable {
    /// The kinds of fates.
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
        /// It was dropped from the outbox on request.
        case dropped
        /// Another process took it out of the outbox and noted an outcome that cannot be read.
        case unknown
    }

    /// The envelope's id; of what an owner publishes, the owner's.
    public let id: String
    /// The envelope's recipient; `nil` for what an owner publishes.
    public let to: String?
    /// Its status.
    public let status: Status
    /// The relay's reason.
    public let refusal: Refusal?
    /// The relay's address, without a pin; `nil` where it is not known.
    public let relay: String?

    init(
        _ item: Outbox.Item, _ status: Status, _ refusal: Refusal? = nil, relay: String? = nil
    ) {
        id = item.id
        switch item.kind {
        case .envelope: to = item.to
        case .prekeys, .record: to = nil
        }
        self.status = status
        self.refusal = refusal
        self.relay = relay
    }

    /// The result of an item that was dropped with ``Outbox/drop(id:outcome:)``.
    public init(droppedID id: String) {
        self.id = id
        to = nil
        status = .dropped
        refusal = nil
        relay = nil
    }

    /// The result record.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("result")), ("id", .string(id)),
            ("to", to.map { .string($0) }), ("status", .string(status.rawValue)),
            ("code", refusal.map { .integer($0.code) }),
            ("reason", refusal.map { .string($0.reason) }),
            ("relay", relay.map { .string($0) }),
        ])
    }
}

/// The fate of an item, as it is noted in the outbox for the process that put it there.
public struct DeliveryOutcome: Sendable, Equatable {
    /// The status of the item, never ``DeliveryResult/Status/queued`` or ``DeliveryResult/Status/deferred``.
    public let status: DeliveryResult.Status
    /// The relay's reason.
    public let refusal: Refusal?

    /// An outcome of these parts.
    public init(_ status: DeliveryResult.Status, _ refusal: Refusal? = nil) {
        self.status = status
        self.refusal = refusal
    }

    /// The text in the outbox: the status, and with a refusal its code and its reason.
    public var text: String {
        status.rawValue + (refusal.map { " \($0.code) \($0.reason)" } ?? "")
    }

    /// Reads such a text. Any other text, such as one of a later version, is ``DeliveryResult/Status/unknown``: nothing
    /// tells whether the relay has the item.
    public init(text: String) {
        let words = text.split(separator: " ", maxSplits: 2).map(String.init)
        let status = words.first.flatMap { DeliveryResult.Status(rawValue: $0) }
        switch status {
        case .stored?, .duplicate?, .rejected?, .dropped?: break
        case .queued?, .deferred?, .unknown?, nil:
            self.init(.unknown)
            return
        }
        guard let status, words.count != 2 else {
            self.init(.unknown)
            return
        }
        guard words.count == 3 else {
            self.init(status)
            return
        }
        guard let code = Int64(words[1]) else {
            self.init(.unknown)
            return
        }
        self.init(status, Refusal(code: code, reason: words[2]))
    }
}
