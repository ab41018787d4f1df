public import Sotto
import SottoDatabase

/// A message in the history.
public struct HistoryEntry: Sendable, Hashable {
    /// Whether the message was received or sent.
    public enum Direction: Int64, Sendable {
        /// `decrypt` opened it.
        case received = 0
        /// `encrypt` sealed it.
        case sent = 1
    }

    /// The effect of a message in its conversation.
    public enum Kind: Int64, Sendable {
        /// It has its own place.
        case content = 0
        /// It changes another message, such as a reaction, an edit, a deletion or a receipt, or is not shown at all.
        case event = 1
        /// It is an event that pins a message or removes its pin.
        case pin = 2
        /// It is the received copy of a message that the owner sent from here.
        case copy = 3
    }

    /// The progress of a message. The values of a sent message increase on its way.
    public enum State: Int64, Sendable {
        /// Another device of the owner sent the message. This one learns of its way only by receipts.
        case sentElsewhere = -2
        /// A message that was written on a device of a private list. The first device has not sent it yet.
        case waiting = -1
        /// A received message that was not read on another device, or a sent one of which nothing more is known.
        case new = 0
        /// The envelopes of the sent message were written to a file, or go to the relay in another way than by `send` in this home.
        case handedOn = 1
        /// The relay has stored the sent message.
        case stored = 2
        /// The recipient has decrypted the sent message.
        case delivered = 3
        /// The recipient has read the sent message; or a received message that counts as read, because it was read on another device.
        case read = 4
        /// The sent message was dropped from the outbox.
        case dropped = 6
        /// The time to live of the sent message ended in the outbox.
        case lapsed = 7
        /// The relay refused the sent message.
        case failed = 8
        /// A message whose author an import only claims. It is never unread, and nothing is known of its way.
        case claimed = 9
        /// The message was deleted; its record is gone.
        case deleted = 16
        /// The record cannot be read.
        case damaged = 17
        /// The message's lifetime ended, or it was older than messages are kept; its record is gone.
        case expired = 18
    }

    /// The number in the state, which never changes. A message that arrives later has a higher number.
    public let number: Int64
    /// The conversation.
    public let conversation: Conversation
    /// Whether the message was received or sent.
    public let direction: Direction
    /// The effect of the message in its conversation.
    public let kind: Kind
    /// The progress of the message.
    public let state: State
    /// The column `place`.
    let placed: Int64
    /// When the message was first stored, here or where it was imported from; `nil` if it was imported without a time.
    public let received: Timestamp?
    /// The end of the message's lifetime; `nil` without a lifetime, or if it begins when the message is read.
    public let expires: Timestamp?
    /// The record, as `decrypt` printed it. For a sent message, the record that its recipient's `decrypt` prints, with
    /// the owner as `from`. Empty if the message was deleted.
    public let record: JSONObject
    /// The member who wrote a message of a group that has no record any more, if this is known. The conversation and
    /// ``direction`` tell the author of other messages.
    public internal(set) var formerAuthor: KeyID?

    /// The place in the history.
    public var place: HistoryPlace { HistoryPlace(rank: placed, number: number) }
    /// The time of the place if it is another one than ``received``, else `nil`.
    public var otherPlace: Timestamp? {
        let seconds = HistoryPlace.seconds(placed)
        return seconds == received?.seconds ?? 0 ? nil : Timestamp(seconds: seconds)
    }
    /// The envelope's id, or `nil` if the message was deleted.
    public var id: String? { record["id"]?.string }
    /// When the sender wrote the message, as the sender claims; `nil` if it is not authenticated or was deleted.
    public var time: Timestamp? { record["time"]?.string.flatMap { Timestamp($0) } }
    /// The time for people: the earlier of ``time`` and ``received``, because a sender can claim any time.
    public var shownTime: Timestamp? {
        guard let time, let received else { return time ?? received }
        return min(time, received)
    }
    /// The peer of the conversation, or `nil` for a chat or an unauthenticated sender.
    public var peer: KeyID? { conversation.peer }
    /// The author's nickname in the group of the message at that time, or `nil`.
    public var nickname: String? {
        record["details"]?.object?["group"]?.object?["nickname"]?.string
    }
    /// Whether the message was imported, and its author is only claimed.
    public var isImported: Bool { record["imported"] == .bool(true) }
    /// Whether it is a received message whose sender is known, but not authenticated: of an account in another messenger whose
    /// signing key was not known.
    public var isUnauthenticated: Bool {
        direction == .received && peer != nil && !isImported && !isGone
            && record["authenticated"] == .bool(false)
    }
    /// Whether it is a message to a group, not a body about one.
    var isOfGroup: Bool {
        conversation.group != nil
            && record["body"]?.object?["type"]?.string != GroupBody.type
    }
    /// Whether a program of this machine made it, see ``StateTransaction/SystemEvent``. It has no envelope.
    public var isSystem: Bool {
        record["body"]?.object?["type"]?.string == "system"
    }
    /// The member `status` of a sent message, or `nil` if nothing is known of its way.
    public var status: String? { direction == .sent ? state.status : nil }
    /// Returns whether the message is unread in a conversation that was read up to a place.
    public func isUnread(after read: HistoryPlace) -> Bool {
        direction == .received && kind == .content && state == .new && place > read
    }
    /// Whether the record is gone.
    public var isGone: Bool { state.rawValue >= State.deleted.rawValue }
}

extension HistoryEntry {
    /// The body, or `nil` if the message was deleted or the body is malformed.
    public var body: MessageBody? { MessageBody(of: record) }
}

extension HistoryEntry.Kind {
    /// Returns the kind of a message with this body.
    init(_ body: MessageBody?) {
        switch body?.kind {
        case .pin, .unpin: self = .pin
        // The other signals of a call change the line of its offer.
        case .call(let signal) where signal.kind != .offer: self = .event
        // It changes no message, and is shown.
        case .other(.repair): self = .content
        case .reaction, .edit, .delete, .receipt, .typing, .presence, .profile, .history, .other:
            self = .event
        case .text, .data, .file, .timer, .call, .system, .unknown, nil: self = .content
        }
    }
}

extension MessageBody {
    /// Reads the body of a message record. Returns `nil` if it is missing or malformed.
    init?(of record: JSONObject) {
        guard let body = record["body"]?.object else { return nil }
        self.init(local: body)
    }

    /// Reads the body of a message that is here. Returns `nil` if it is malformed.
    init?(local body: JSONObject) {
        do throws(BodyError) { try self.init(body, isLocal: true) } catch { return nil }
    }

    /// The ids of the messages that the body changes.
    var targetIDs: [String] {
        switch kind {
        case .receipt(let receipt): receipt.ids
        case .history(let repeated): repeated.ids
        default: target.map { [$0.id] } ?? []
        }
    }
}

extension HistoryEntry.State {
    /// The member `status` of a sent message, or `nil`.
    public var status: String? {
        switch self {
        case .handedOn: "handedOn"
        case .stored: "stored"
        case .delivered: "delivered"
        case .read: "read"
        case .dropped, .lapsed, .failed: "failed"
        case .sentElsewhere, .waiting, .new, .claimed, .deleted, .damaged, .expired: nil
        }
    }

    /// The name of the state of a message without content, or `nil`.
    public var goneName: String? {
        switch self {
        case .deleted: "deleted"
        case .damaged: "damaged"
        case .expired: "expired"
        case .sentElsewhere, .waiting, .new, .handedOn, .stored, .delivered, .read, .dropped,
            .lapsed, .failed, .claimed:
            nil
        }
    }

    /// A reason why no relay gets a sent message, as records name it.
    public enum FailureReason: String, Sendable {
        /// It was dropped from the outbox.
        case dropped
        /// Its time to live ended in the outbox.
        case expired
        /// The relay refused it.
        case refused
    }

    /// The reason why no relay gets a sent message, or `nil`.
    public var failureReason: FailureReason? {
        switch self {
        case .dropped: .dropped
        case .lapsed: .expired
        case .failed: .refused
        case .sentElsewhere, .waiting, .new, .handedOn, .stored, .delivered, .read, .claimed,
            .deleted, .damaged, .expired:
            nil
        }
    }

    /// Whether no relay gets a sent message.
    public var isFailed: Bool { failureReason != nil }

    /// The values of the states of ``isFailed``, for a statement.
    static let failedValues = [Self.dropped, .lapsed, .failed].map { "\($0.rawValue)" }.joined(
        separator: ", ")

    /// Whether nothing is known of the way of a sent message after `encrypt`.
    var hasNoOutcome: Bool { self == .waiting || self == .new || self == .handedOn }

    /// Returns the state with this ``goneName``.
    public init?(goneName: String) {
        let states: [Self] = [.deleted, .damaged, .expired]
        guard let state = states.first(where: { $0.goneName == goneName }) else { return nil }
        self = state
    }

    /// The member `status` of a message in a backup, or `nil`.
    public var backupStatus: String? {
        switch self {
        case .sentElsewhere: "elsewhere"
        case .dropped: "dropped"
        case .lapsed: "lapsed"
        default: status
        }
    }

    /// Returns the state with this ``backupStatus``.
    public init?(backupStatus status: String) {
        let states: [Self] = [
            .sentElsewhere, .handedOn, .stored, .delivered, .read, .dropped, .lapsed, .failed,
        ]
        guard let state = states.first(where: { $0.backupStatus == status }) else { return nil }
        self = state
    }
}
