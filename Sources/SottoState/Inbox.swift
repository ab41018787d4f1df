public import Sotto

/// The inbox: envelopes that a relay gave up because they are here.
///
/// An envelope waits, is printed, is opened and is done; or its handling failed too often, and it is dead. It is kept
/// until it is done, so that what a reader lost can be printed again. Its id stays known after that: a relay that
/// repeats it is answered, and nobody is bothered twice.
extension IdentityStore {
    /// Where an envelope of the inbox stands; the number is the one in the file.
    enum InboxState: Int64 {
        /// It waits for the command that handles it. Whatever the command does with it, only its end counts.
        case waiting = 0
        /// It was handed on; nobody has said that it arrived.
        case printed = 1
        /// `decrypt` has opened it, and has not yet printed what it says.
        case opened = 2
        /// It is done.
        case done = 3
        /// Handing it on failed too often; it is not tried again unasked. What a reader says of it that outlived its
        /// command does not count.
        case dead = 4
        /// It is being printed. Found like this by the next `recv`, it is printed again: the last was killed.
        case printing = 5
    }

    /// What the inbox knows about an id.
    public enum Received: Sendable, Equatable {
        /// Nothing; it is in the inbox now.
        case new
        /// It was in the inbox and waits to be handed on.
        case waiting
        /// It was handed on.
        case handled
        /// Handing it on failed too often; it is not tried again.
        case dead
    }

    /// Which envelopes of the inbox to look at.
    public enum Kept: Sendable {
        /// Those that wait to be handed on.
        case waiting
        /// Those that were printed, and that `decrypt` has not reported as done.
        case unfinished
        /// Those whose handling failed too often.
        case dead
    }

    /// The failure to hand an envelope on after which it is not tried again.
    public static let failureLimit = 5

    /// Days for which an id stays known: longer than a relay keeps anything.
    private static let knownDays: Int64 = 60
    /// How many envelopes that are not done are kept; beyond, the oldest go. Not by their age: a clock may be wrong.
    private static let keptCount: Int64 = 10_000

    static var today: Int64 { Timestamp.now().seconds / 86_400 }

    /// How envelopes are handed on.
    public enum Handing: Sendable {
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

    /// Puts envelopes into the inbox, to be handed on next, in one transaction, durable when this returns; says of
    /// each, in order, what was known about it before.
    public func receive(
        _ envelopes: [(id: String, envelope: [UInt8])], to handing: Handing
    ) throws(StateError) -> [Received] {
        guard !envelopes.isEmpty else { return [] }
        return try database.transaction { connection throws(StateError) in
            var results: [Received] = []
            for (id, envelope) in envelopes {
                let insert = try connection.statement(
                    """
                    INSERT INTO inbox (id, day, failures, envelope, state) VALUES (?, ?, 0, ?, ?)
                    ON CONFLICT (id) DO NOTHING
                    """)
                insert.bind(1, id)
                insert.bind(2, Self.today)
                insert.bind(3, envelope)
                insert.bind(4, handing.state.rawValue)
                try insert.run()
                if connection.changes == 1 {
                    results.append(.new)
                    continue
                }
                let known = try connection.statement("SELECT state FROM inbox WHERE id = ?")
                defer { known.reset() }
                known.bind(1, id)
                _ = try known.step()
                switch InboxState(rawValue: known.integer(0)) {
                case .waiting, .printing:
                    results.append(.waiting)
                    try Self.hand(on: id, handing, connection)
                case .dead: results.append(.dead)
                case .printed, .opened, .done, nil: results.append(.handled)
                }
            }
            return results
        }
    }

    /// Notes that envelopes which wait or are dead are handed on next.
    public func hand(on ids: [String], _ handing: Handing) throws(StateError) {
        try database.transaction { connection throws(StateError) in
            for id in ids { try Self.hand(on: id, handing, connection) }
        }
    }

    private static func hand(
        on id: String, _ handing: Handing, _ connection: Connection
    ) throws(StateError) {
        let update = try connection.statement(
            "UPDATE inbox SET state = ?1 WHERE id = ?2 AND state IN (0, 4, 5) AND state <> ?1")
        update.bind(1, handing.state.rawValue)
        update.bind(2, id)
        try update.run()
    }

    /// The oldest envelopes of a kind after a number, at most `limit`.
    public func kept(_ kind: Kept, after number: Int64, limit: Int) throws(StateError)
        -> [(number: Int64, id: String, envelope: [UInt8])]
    {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT number, id, envelope FROM inbox WHERE envelope IS NOT NULL
                AND state IN (?, ?) AND number > ? ORDER BY number LIMIT ?
                """)
            defer { select.reset() }
            let (first, second) = kind.states
            select.bind(1, first.rawValue)
            select.bind(2, second.rawValue)
            select.bind(3, number)
            select.bind(4, Int64(limit))
            var rows: [(number: Int64, id: String, envelope: [UInt8])] = []
            while try select.step() {
                rows.append((select.integer(0), select.text(1), select.bytes(2)))
            }
            return rows
        }
    }

    /// How many envelopes of a kind there are.
    public func count(_ kind: Kept) throws(StateError) -> Int {
        try database.use { connection throws(StateError) in
            let count = try connection.statement(
                "SELECT count(*) FROM inbox WHERE envelope IS NOT NULL AND state IN (?, ?)")
            defer { count.reset() }
            let (first, second) = kind.states
            count.bind(1, first.rawValue)
            count.bind(2, second.rawValue)
            return try count.step() ? Int(count.integer(0)) : 0
        }
    }

    /// Notes that envelopes were printed. They are kept until `decrypt` has printed what they say.
    public func markPrinted(_ ids: [String]) throws(StateError) {
        try mark(
            ids,
            "UPDATE inbox SET state = 1 WHERE id = ? AND envelope IS NOT NULL AND state = 5")
    }

    /// Notes that envelopes were handled, and deletes them.
    public func markHandled(_ ids: [String]) throws(StateError) {
        try mark(ids, "UPDATE inbox SET envelope = NULL, chain = NULL, state = 3 WHERE id = ?")
    }

    private func mark(_ ids: [String], _ sql: String) throws(StateError) {
        guard !ids.isEmpty else { return }
        try database.transaction { connection throws(StateError) in
            for id in ids {
                let update = try connection.statement(sql)
                update.bind(1, id)
                try update.run()
            }
        }
    }

    /// Deletes envelopes that were printed by recv and opened, after what they say has been printed. They
    /// need not be many; with none, nothing is written.
    public func finish(_ ids: [String]) throws(StateError) {
        guard !ids.isEmpty, try count(.unfinished) > 0 else { return }
        try mark(
            ids,
            "UPDATE inbox SET envelope = NULL, chain = NULL, state = 3 WHERE id = ? AND state = 2")
    }

    /// Forgets ids that no relay will repeat any more, and deletes envelopes that were not opened: those that are
    /// early beyond the limits of ``StateTransaction/markEarly(id:envelope:from:position:)``, and the oldest where
    /// there are too many. Keys of skipped messages that no relay keeps go too. Returns how many early ones were deleted.
    @discardableResult
    public func forgetOld(at time: Timestamp = .now()) throws(StateError) -> Int {
        try database.transaction { connection throws(StateError) in
            let transaction = StateTransaction(store: self, connection: connection)
            let early = try transaction.forgetEarly(at: time)
            try transaction.forgetOldSkipped(at: transaction.settledTime(at: time))
            let drop = try connection.statement(
                """
                UPDATE inbox SET envelope = NULL, chain = NULL, state = 3
                WHERE envelope IS NOT NULL AND chain IS NULL AND state NOT IN (0, 5)
                AND number <= (
                    SELECT number FROM inbox
                    WHERE envelope IS NOT NULL AND chain IS NULL AND state NOT IN (0, 5)
                    ORDER BY number DESC LIMIT 1 OFFSET ?)
                """)
            drop.bind(1, Self.keptCount)
            try drop.run()
            let forget = try connection.statement(
                "DELETE FROM inbox WHERE envelope IS NULL AND day < ?")
            forget.bind(1, Self.today - Self.knownDays)
            try forget.run()
            return early
        }
    }

    /// Notes that an envelope could not be handed on; says whether it will be tried again.
    public func markFailed(_ id: String) throws(StateError) -> Bool {
        try database.transaction { connection throws(StateError) in
            let update = try connection.statement(
                """
                UPDATE inbox SET failures = failures + 1,
                    state = CASE WHEN failures + 1 < ? THEN 0 ELSE 4 END WHERE id = ?
                """)
            update.bind(1, Int64(Self.failureLimit))
            update.bind(2, id)
            try update.run()
            let state = try connection.statement("SELECT state FROM inbox WHERE id = ?")
            defer { state.reset() }
            state.bind(1, id)
            return try state.step() && state.integer(0) == InboxState.waiting.rawValue
        }
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
    /// Marks an envelope that was printed as opened, or as one that will never open. `envelope` are its bytes as
    /// they were printed: another envelope that uses the id changes nothing. Says whether it was there.
    public func markOpened(id: String, envelope: [UInt8]) throws(StateError) -> Bool {
        let update = try connection.statement(
            "UPDATE inbox SET state = 2 WHERE id = ? AND envelope = ? AND state IN (1, 2, 5)")
        update.bind(1, id)
        update.bind(2, envelope)
        try update.run()
        return connection.changes > 0
    }
}
