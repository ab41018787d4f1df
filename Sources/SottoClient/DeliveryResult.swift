public import Sotto
import SottoState
public import SottoWire

/// The result of an envelope or a publication that was given to `send`.
public struct DeliveryResult: Sendable, Equatable {
    /// The kinds of results.
    public enum Status: String, Sendable {
        /// The relay has stored it on disk.
        case stored
        /// The relay had stored it before.
        case duplicate
        /// It is in the outbox and was not sent.
        case queued
        /// It is in the outbox; the relay does not accept it now.
        case deferred
        /// The relay will never accept it; it was deleted from the outbox.
        case rejected
        /// The relay has taken an envelope with a time to live of 0. It pushes the envelope if the recipient is
        /// connected, and does not tell whether it is.
        case accepted
        /// It was deleted from the outbox on request; or it has a time to live of 0 and could not be sent.
        case dropped
        /// It was deleted from the outbox, because its time to live ended there.
        case expired
        /// Another process removed it from the outbox and recorded an outcome that cannot be read.
        case unknown
    }

    /// The reason for a blob whose file is not in this home.
    package static let noFile = "no_file"

    /// The envelope's id; for a publication, its owner's id; for a blob, its id in hex.
    public let id: String
    /// The envelope's recipient; `nil` for a publication.
    public let to: String?
    /// Whether it is an envelope with a time to live of 0.
    public let isSignal: Bool
    /// Whether it is a blob.
    package let isBlob: Bool
    /// Its status.
    public let status: Status
    /// The relay's reason.
    public let refusal: Refusal?
    /// The relay's address without a pin; `nil` if it is unknown.
    public let relay: String?

    init(
        _ item: Outbox.Item, _ status: Status, _ refusal: Refusal? = nil, relay: String? = nil
    ) {
        id = item.id
        isSignal = item.kind == .signal
        isBlob = item.kind == .blob
        switch item.kind {
        case .envelope, .signal, .blob: to = item.to
        case .prekeys, .record: to = nil
        }
        self.status = status
        self.refusal = refusal
        self.relay = relay
    }

    /// Creates the result of an item that was deleted with ``Outbox/drop(id:outcome:)``.
    public init(droppedID id: String) {
        self.id = id
        to = nil
        (isSignal, isBlob) = (false, false)
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

/// The outcome of an item, as recorded in the outbox for the process that added it.
public struct DeliveryOutcome: Sendable, Equatable {
    /// The status of the item, never ``DeliveryResult/Status/queued``, ``DeliveryResult/Status/deferred`` or
    /// ``DeliveryResult/Status/accepted``.
    public let status: DeliveryResult.Status
    /// The relay's reason.
    public let refusal: Refusal?

    /// Creates an outcome.
    public init(_ status: DeliveryResult.Status, _ refusal: Refusal? = nil) {
        self.status = status
        self.refusal = refusal
    }

    /// The text in the outbox: the status, followed by the code and reason of a refusal.
    public var text: String {
        status.rawValue + (refusal.map { " \($0.code) \($0.reason)" } ?? "")
    }

    /// Reads such a text. Any other text, such as one of a later version, becomes ``DeliveryResult/Status/unknown``,
    /// because it does not tell whether the relay has the item.
    public init(text: String) {
        let words = text.split(separator: " ", maxSplits: 2).map(String.init)
        let known = OutcomeStatus(outcome: text).flatMap {
            DeliveryResult.Status(rawValue: $0.rawValue)
        }
        guard let status = known, words.count != 2 else {
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
