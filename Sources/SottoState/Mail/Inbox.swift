public import Sotto
import SottoDatabase

/// The inbox: envelopes that are stored here and that the relay has therefore deleted.
///
/// An envelope waits, is printed, is opened and is done; or it is dead after its handling failed too often. It is kept
/// until it is done, so that it can be printed again if the reading program lost it. Its id is remembered afterwards:
/// an envelope that a relay repeats is acknowledged and not delivered again.
extension IdentityStore {
    /// The state of an envelope in the inbox; the number is stored in the file.
    /// The beginning of the statement that deletes envelopes and keeps their ids, so that later copies are known.
    static let ending =
        "UPDATE inbox SET envelope = NULL, chain = NULL, claimed = NULL, state = 3"

    enum InboxState: Int64 {
        /// It waits for the command that handles it. Only the exit of the command changes the state, not what the
        /// command does with it.
        case waiting = 0
        /// It was printed, and no program has reported that it arrived.
        case printed = 1
        /// `decrypt` has opened it and has not yet printed its content.
        case opened = 2
        /// It was handled.
        case done = 3
        /// Its handling failed too often; it is tried again only on request. A late report of a reading program that
        /// outlived its command does not count.
        case dead = 4
        /// It is being printed. If the next `recv` finds this state, the last one was killed, and the envelope is
        /// printed again.
        case printing = 5
    }

    /// The state of an id before it was received.
    public enum Received: Sendable, Equatable {
        /// Unknown; it is in the inbox now.
        case new
        /// It was in the inbox and waits for delivery.
        case waiting
        /// It was delivered.
        case handled
        /// Its delivery failed too often; it is not tried again.
        case dead
        /// Unknown, and the inbox has no room for it: it was not stored.
        case full
    }

    /// Selects envelopes of the inbox.
    public enum Kept: Sendable {
        /// Those that wait for delivery.
        case waiting
        /// Those that were printed, and that `decrypt` has not reported as done.
        case unfinished
        /// Those whose delivery failed too often.
        case dead
    }

    /// The number of failures after which an envelope is not tried again.
    public static let failureLimit = 5

    /// Days for which an id is remembered: longer than a relay keeps mail.
    private static let knownDays: Int64 = 60

    static var today: Int64 { Timestamp.now().seconds / 86_400 }

    /// The way in which envelopes are delivered.
    public enum DeliveryMode: Sendable {
        /// They are printed.
        case print
        /// A command handles each.
        case command

        fileprivate var state: InboxState {
            switch self {
            case .print: .printing
            case .command: .waiting
            }
        }
    }

    /// Stores envelopes in the inbox, to be delivered next, in one transaction, durable when this returns. Returns for
    /// each, in order, its state before. After the first ``Received/full`` no other unknown one is stored.
    public func receive(
        _ envelopes: [(id: String, envelope: [UInt8])], to mode: DeliveryMode,
        limit: InboxLimit = .standard
    ) throws(StateError) -> [Received] {
        guard !envelopes.isEmpty else { return [] }
        return try database.transaction { connection throws(StateError) in
            var room = try Self.room(within: limit, connection)
            var results: [Received] = []
            for (id, envelope) in envelopes {
                let known = try connection.rows("SELECT state FROM inbox WHERE id = ?", id) {
                    InboxState(rawValue: $0.integer(0))
                }
                guard let state = known.first else {
                    let isStored = room.take(envelope.count)
                    results.append(isStored ? .new : .full)
                    guard isStored else { continue }
                    try connection.run(
                        """
                        INSERT INTO inbox (id, arrived, failures, envelope, state)
                        VALUES (?, ?, 0, ?, ?)
                        """, id, Timestamp.now().seconds, envelope, mode.state.rawValue)
                    continue
                }
                switch state {
                case .waiting, .printing:
                    results.append(.waiting)
                    try Self.markForDelivery(id, mode, connection)
                case .dead: results.append(.dead)
                case .printed, .opened, .done, nil: results.append(.handled)
                }
            }
            return results
        }
    }

    /// Returns the room that the envelopes leave which are neither done nor dead. Early ones, and those that could not be opened,
    /// have limits of their own.
    private static func room(
        within limit: InboxLimit, _ connection: StateConnection
    ) throws(StateError) -> InboxLimit {
        let used = try connection.rows(
            """
            SELECT count(*), coalesce(sum(length(envelope)), 0) FROM inbox
            WHERE envelope IS NOT NULL AND chain IS NULL AND (claimed IS NULL OR state = 0)
                AND state <> ?
            """, InboxState.dead.rawValue
        ) { (count: $0.integer(0), bytes: $0.integer(1)) }[0]
        return InboxLimit(count: limit.count - used.count, bytes: limit.bytes - used.bytes)
    }

    /// Records that waiting or dead envelopes are delivered next.
    public func markForDelivery(_ ids: [String], _ mode: DeliveryMode) throws(StateError) {
        try database.transaction { connection throws(StateError) in
            for id in ids { try Self.markForDelivery(id, mode, connection) }
        }
    }

    private static func markForDelivery(
        _ id: String, _ mode: DeliveryMode, _ connection: StateConnection
    ) throws(StateError) {
        try connection.run(
            "UPDATE inbox SET state = ?1 WHERE id = ?2 AND state IN (0, 4, 5) AND state <> ?1",
            mode.state.rawValue, id)
    }

    /// Returns the oldest envelopes of a kind after a number, at most `limit`.
    public func kept(_ kind: Kept, after number: Int64, limit: Int) throws(StateError)
        -> [(number: Int64, id: String, envelope: [UInt8])]
    {
        try use { connection throws(StateError) in
            try connection.rows(
                """
                SELECT number, id, envelope FROM inbox WHERE envelope IS NOT NULL
                AND state IN (?, ?) AND number > ? ORDER BY number LIMIT ?
                """, kind.states.0.rawValue, kind.states.1.rawValue, number, limit
            ) { row throws(StateError) in (row.integer(0), row.text(1), row.bytes(2)) }
        }
    }

    /// Returns the number of envelopes of a kind.
    public func count(_ kind: Kept) throws(StateError) -> Int {
        try use { connection throws(StateError) in
            return Int(
                try connection.integer(
                    "SELECT count(*) FROM inbox WHERE envelope IS NOT NULL AND state IN (?, ?)",
                    kind.states.0.rawValue, kind.states.1.rawValue))
        }
    }

    /// Records that envelopes were printed. They are kept until `decrypt` has printed their content.
    public func markPrinted(_ ids: [String]) throws(StateError) {
        try mark(
            ids,
            "UPDATE inbox SET state = 1 WHERE id = ? AND envelope IS NOT NULL AND state = 5")
    }

    /// Records that envelopes were handled, and deletes them.
    public func markHandled(_ ids: [String]) throws(StateError) {
        try mark(ids, "\(Self.ending) WHERE id = ?")
    }

    private func mark(_ ids: [String], _ sql: String) throws(StateError) {
        guard !ids.isEmpty else { return }
        try database.transaction { connection throws(StateError) in
            for id in ids {
                try connection.run(sql, id)
            }
        }
    }

    /// Deletes envelopes that recv printed and decrypt opened, after their content has been printed. `ids` should be
    /// short; nothing is written if it is empty.
    public func finish(_ ids: [String]) throws(StateError) {
        guard !ids.isEmpty, try count(.unfinished) > 0 else { return }
        try mark(ids, "\(Self.ending) WHERE id = ? AND state = 2")
    }

    /// Deletes envelopes that were printed and not opened, and dead letters, so that a later copy is not printed. Returns their number.
    public func forget(_ ids: [String]) throws(StateError) -> Int {
        try database.transaction { connection throws(StateError) in
            var count = 0
            for id in ids {
                try connection.run(
                    """
                    \(Self.ending)
                    WHERE id = ? AND state IN (1, 2, 4) AND envelope IS NOT NULL
                    """, id)
                count += connection.changes
            }
            return count
        }
    }

    /// Deletes ids that no relay will repeat, and early envelopes above the limits of
    /// ``StateTransaction/markEarly(id:envelope:from:position:)``. Also deletes keys of skipped messages that no relay keeps
    /// any longer. Returns the number of deleted early envelopes.
    @discardableResult
    public func forgetOld(at time: Timestamp = .now()) throws(StateError) -> Int {
        try database.transaction { connection throws(StateError) in
            let transaction = StateTransaction(store: self, connection: connection)
            let early = try transaction.forgetEarly(at: time)
            try transaction.forgetOldSkipped(at: transaction.settledTime(at: time))
            let first = Self.today - Self.knownDays
            try connection.run(
                "DELETE FROM inbox WHERE envelope IS NULL AND arrived < ?",
                first * StateTransaction.day)
            try connection.run("DELETE FROM arrived_copy WHERE day < ?", first)
            return early
        }
    }

    /// Records that the delivery of an envelope failed. Returns whether it will be tried again. If the dead letters are
    /// above `limit`, the oldest are deleted, first those that claim to be from strangers.
    public func markFailed(
        _ id: String, limit: InboxLimit = .standard
    ) throws(StateError) -> Bool {
        try database.transaction { connection throws(StateError) in
            try connection.run(
                """
                UPDATE inbox SET failures = failures + 1,
                    state = CASE WHEN failures + 1 < ? THEN 0 ELSE 4 END WHERE id = ?
                """, Self.failureLimit, id)
            let isKept = try connection.exists(
                "SELECT 1 FROM inbox WHERE id = ? AND state = ?", id, InboxState.waiting.rawValue)
            if !isKept { try Self.forgetDead(above: limit, connection) }
            return isKept
        }
    }

    private static func forgetDead(
        above limit: InboxLimit, _ connection: StateConnection
    ) throws(StateError) {
        try connection.run(
            """
            \(Self.ending) WHERE number IN (
                SELECT number FROM (
                    SELECT number, row_number() OVER newest AS place,
                        sum(length(envelope)) OVER newest AS bytes
                    FROM inbox WHERE envelope IS NOT NULL AND state = 4
                    WINDOW newest AS (
                        ORDER BY claimed IS NOT NULL AND known = 0, number DESC))
                WHERE place > ? OR bytes > ?)
            """, limit.count, limit.bytes)
    }
}

/// The envelopes that an inbox keeps, apart from early ones and those that could not be opened. Dead letters have the same limit for
/// themselves.
public struct InboxLimit: Sendable, Equatable {
    /// The number of envelopes.
    var count: Int64
    /// The bytes of all envelopes.
    var bytes: Int64

    /// The limit of the programs.
    public static let standard = InboxLimit(count: 10_000, bytes: 256 << 20)

    /// Creates a limit.
    package init(count: Int64, bytes: Int64) { (self.count, self.bytes) = (count, bytes) }

    /// Takes room for an envelope. Without room for it, no later one gets any.
    fileprivate mutating func take(_ size: Int) -> Bool {
        count -= 1
        bytes -= Int64(size)
        return count >= 0 && bytes >= 0
    }
}

extension IdentityStore.Kept {
    fileprivate var states: (IdentityStore.InboxState, IdentityStore.InboxState) {
        switch self {
        case .waiting: (.waiting, .printing)
        case .unfinished: (.printed, .opened)
        case .dead: (.dead, .dead)
        }
    }
}

extension StateTransaction {
    /// Marks a printed envelope as opened, or as one that can never be opened. `envelope` is its printed bytes: a
    /// different envelope with the same id changes nothing. Returns whether the envelope was in the inbox.
    public func markOpened(id: String, envelope: [UInt8]) throws(StateError) -> Bool {
        if hasInbox == nil { hasInbox = try connection.exists("SELECT 1 FROM inbox LIMIT 1") }
        guard hasInbox == true else { return false }
        try connection.run(
            "UPDATE inbox SET state = 2 WHERE id = ? AND envelope = ? AND state IN (1, 2, 5)", id,
            envelope)
        return connection.changes > 0
    }

    /// Marks a printed envelope like ``markOpened(id:envelope:)``, if it was printed in the form of another messenger: it has the
    /// digest of the one in the inbox.
    package func markOpened(_ envelope: Envelope) throws(StateError) -> Bool {
        let bytes = try connection.first(
            "SELECT envelope FROM inbox WHERE id = ? AND envelope IS NOT NULL", envelope.id
        ) { $0.bytes(0) }
        guard let bytes, let record = try? JSON.object(parsing: bytes),
            let stored = try? Envelope(record: record), stored.digest == envelope.digest
        else { return false }
        return try markOpened(id: envelope.id, envelope: bytes)
    }
}
