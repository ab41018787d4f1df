import Sotto

/// The inbox: envelopes that a relay gave up because they are here.
///
/// An id stays known after its envelope was handed on, so that a relay that repeats it is answered, and
/// nobody is bothered twice.
extension IdentityStore {
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

    /// The failure to hand an envelope on after which it is not tried again.
    public static let failureLimit = 5

    /// Days for which a handled id stays known: longer than a relay keeps anything.
    private static let knownDays: Int64 = 60

    private static var today: Int64 { Timestamp.now().seconds / 86_400 }

    /// Puts envelopes into the inbox in one transaction, durable when this returns; says of each, in order,
    /// what was known about it before.
    public func receive(_ envelopes: [(id: String, envelope: [UInt8])]) throws(StateError)
        -> [Received]
    {
        guard !envelopes.isEmpty else { return [] }
        return try database.transaction { connection throws(StateError) in
            var results: [Received] = []
            for (id, envelope) in envelopes {
                let insert = try connection.statement(
                    """
                    INSERT INTO inbox (id, day, failures, envelope) VALUES (?, ?, 0, ?)
                    ON CONFLICT (id) DO NOTHING
                    """)
                insert.bind(1, id)
                insert.bind(2, Self.today)
                insert.bind(3, envelope)
                try insert.run()
                if connection.changes == 1 {
                    results.append(.new)
                    continue
                }
                let known = try connection.statement(
                    "SELECT envelope IS NULL, failures FROM inbox WHERE id = ?")
                defer { known.reset() }
                known.bind(1, id)
                _ = try known.step()
                results.append(
                    known.integer(0) == 0
                        ? .waiting : known.integer(1) < Self.failureLimit ? .handled : .dead)
            }
            return results
        }
    }

    /// The oldest envelopes after a number that wait to be handed on, at most `limit`.
    public func waiting(after number: Int64, limit: Int) throws(StateError)
        -> [(number: Int64, id: String, envelope: [UInt8])]
    {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT number, id, envelope FROM inbox
                WHERE envelope IS NOT NULL AND number > ? ORDER BY number LIMIT ?
                """)
            defer { select.reset() }
            select.bind(1, number)
            select.bind(2, Int64(limit))
            var rows: [(number: Int64, id: String, envelope: [UInt8])] = []
            while try select.step() {
                rows.append((select.integer(0), select.text(1), select.bytes(2)))
            }
            return rows
        }
    }

    /// Notes that envelopes were handed on.
    public func markHandled(_ ids: [String]) throws(StateError) {
        guard !ids.isEmpty else { return }
        try database.transaction { connection throws(StateError) in
            for id in ids {
                let update = try connection.statement(
                    "UPDATE inbox SET envelope = NULL, failures = 0 WHERE id = ?")
                update.bind(1, id)
                try update.run()
            }
        }
    }

    /// Forgets ids that no relay will repeat any more.
    public func forgetOld() throws(StateError) {
        try database.use { connection throws(StateError) in
            let forget = try connection.statement(
                "DELETE FROM inbox WHERE envelope IS NULL AND day < ?")
            forget.bind(1, Self.today - Self.knownDays)
            try forget.run()
        }
    }

    /// Notes that an envelope could not be handed on; says whether it will be tried again.
    public func markFailed(_ id: String) throws(StateError) -> Bool {
        try database.transaction { connection throws(StateError) in
            let update = try connection.statement(
                """
                UPDATE inbox SET failures = failures + 1,
                    envelope = CASE WHEN failures + 1 < ? THEN envelope END WHERE id = ?
                """)
            update.bind(1, Int64(Self.failureLimit))
            update.bind(2, id)
            try update.run()
            let count = try connection.statement("SELECT failures FROM inbox WHERE id = ?")
            defer { count.reset() }
            count.bind(1, id)
            return try count.step() && count.integer(0) < Self.failureLimit
        }
    }
}
