public import Sotto
import SottoDatabase

/// The received messages of the history, each with its printed record.
extension IdentityStore {
    /// The state of an envelope id.
    public enum Opened: Sendable, Equatable {
        /// Nothing was opened under the id.
        case new
        /// The message was taken from a repeat before. The envelope's message is the same if its author and content are.
        case repeated(number: Int64, record: JSONObject)
        /// The envelope was opened; `record` is what was printed, `number` its number in the state.
        case same(number: Int64, record: JSONObject)
        /// An envelope with this id was opened, and its message was deleted.
        case deleted
        /// A different envelope with this id was opened.
        case different
    }

    /// A message that was opened.
    public struct OpenedMessage: Sendable, Equatable {
        /// The message's number: higher than the numbers of all messages opened earlier.
        public let number: Int64
        /// The record that was printed.
        public let record: JSONObject
        /// Whether a program of this machine made it, see ``HistoryEntry/isSystem``.
        public let isSystem: Bool
    }

    /// A point in the history.
    public enum Point: Sendable, Equatable {
        /// The message with this number.
        case number(Int64)
        /// A time.
        case time(Timestamp)
    }

    /// Returns the oldest received messages after a point and after a number, at most `limit`. Deleted ones are left out.
    ///
    /// The messages after a time are those that arrived at it or later.
    public func opened(
        since point: Point, after number: Int64, limit: Int
    ) throws(StateError) -> [OpenedMessage] {
        try use { connection throws(StateError) in
            let (start, time): (Int64, Int64?) =
                switch point {
                case .number(let first): (max(first, number), nil)
                case .time(let time): (number, time.seconds)
                }
            return try entries(
                """
                WHERE number > ?1 AND (?2 IS NULL OR coalesce(arrived, time) >= ?2) AND sent = 0
                AND sealed IS NOT NULL ORDER BY number LIMIT ?3
                """, start, time, limit, connection: connection
            ).map { OpenedMessage(number: $0.number, record: $0.record, isSystem: $0.isSystem) }
        }
    }
}

extension StateTransaction {
    /// Returns whether a message with an envelope id is in the history.
    public func hasOpened(_ id: String) throws(StateError) -> Bool {
        try connection.exists("SELECT 1 FROM message WHERE mark = ?", store.mark(envelope: id))
    }

    /// Returns the state of an envelope id. `digest` is ``Envelope/digest``.
    ///
    /// An imported message with a claimed author does not block an envelope with its id: the envelope's message replaces
    /// it. With `isOfGroup`, the id is that of a message to a group. It belongs to the place in the chain, so no other message
    /// can have it. A message that its author showed here is the same.
    public func opened(
        id: String, digest: [UInt8], isOfGroup: Bool = false
    ) throws(StateError) -> IdentityStore.Opened {
        let found = try connection.first(
            "SELECT \(StoredMessage.columns) FROM message WHERE mark = ?",
            isOfGroup ? store.mark(groupMessage: id) : store.mark(envelope: id)
        ) { StoredMessage($0) }
        guard let found else {
            guard !isOfGroup, let number = try message(ofCopy: id, digest) else { return .new }
            let entry = try store.entries(
                "WHERE number = ?", number, connection: connection
            ).first
            guard let entry, !entry.isGone else { return .deleted }
            return .same(number: number, record: entry.record)
        }
        if found.state == HistoryEntry.State.claimed.rawValue {
            replaced.insert(found.mark)
            return .new
        }
        // An envelope whose message cannot be read any more is not opened again.
        guard
            let conversation = try store.conversationRow(number: found.conversation, connection)?
                .conversation
        else { return .deleted }
        let isExpired = found.expires.map { $0 <= Timestamp.now().seconds } ?? false
        guard let sealed = found.sealed, !isExpired else { return .deleted }
        let content = try store.readable(.message, found.number) { () throws(StateError) in
            try store.record(sealed, found, conversation)
        }
        guard let (known, record) = content else { return .deleted }
        let hasNoDigest = known.allSatisfy { $0 == 0 }
        if known.elementsEqual(StoredMessage.repeatDigest) {
            return .repeated(number: found.number, record: record)
        }
        if isOfGroup, hasNoDigest { return .same(number: found.number, record: record) }
        guard known.elementsEqual(digest.prefix(StoredMessage.digestLength)) else {
            return .different
        }
        return .same(number: found.number, record: record)
    }
}
