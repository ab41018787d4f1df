import Sotto
import SottoDatabase

/// Copies for people who are no members any more, which wait in the outbox.
///
/// The transaction that finds such people holds the copies, so that `send` skips them, and stores a token in the state.
/// After its commit the copies are deleted. If the program ends before, the next one that opens the state deletes the copies
/// with a token that is in the state, and releases the others: their transaction was rolled back.
extension IdentityStore {
    /// Seconds to wait for another program that writes to the outbox, while this one has the lock of the state.
    private static let holdTimeout = 2.0
    /// Seconds to wait for it later.
    private static let settleTimeout = 10.0

    /// Holds those of some copies that wait in the outbox. Returns the token, or `nil` if none waits.
    func hold(copies ids: [String]) throws(StateError) -> Int64? {
        guard !ids.isEmpty, Outbox.exists(in: directory) else { return nil }
        let outbox = try HeldItems(directory, lockTimeout: Self.holdTimeout)
        let token = Int64(bitPattern: UInt64(bigEndianBytes: publicRandomBytes(8)[...]) ?? 0)
        return try outbox.hold(Set(ids), by: outboxHolder, token) > 0 ? token : nil
    }

    /// Deletes the held copies of transactions that were committed, and releases those of the others.
    func settleHeldCopies() throws(StateError) {
        guard Outbox.exists(in: directory) else { return }
        let tokens = try HeldItems(directory, lockTimeout: Self.settleTimeout)
            .tokens(of: outboxHolder)
        // No transaction that held copies before is running while this one has the lock of the state. The lock is not
        // held while the outbox is written.
        let hasDiscarded = try database.use { connection throws(StateError) in
            try connection.exists("SELECT 1 FROM discarded LIMIT 1")
        }
        guard hasDiscarded || !tokens.isEmpty else { return }
        let committed = try database.transaction {
            (connection: StateConnection) throws(StateError) in
            try connection.rows("SELECT token FROM discarded") { $0.integer(0) }
        }
        let outbox = try Outbox(directory: directory, lockTimeout: Self.settleTimeout)
        for token in tokens {
            if committed.contains(token) {
                try outbox.drop(held: token, by: outboxHolder)
            } else {
                try outbox.release(held: token, by: outboxHolder)
            }
        }
        try database.transaction { (connection: StateConnection) throws(StateError) in
            for token in committed {
                try connection.run("DELETE FROM discarded WHERE token = ?", token)
            }
        }
    }

    /// Settles the held copies, if the state has a group. If the outbox cannot be used now, a later program settles them.
    func settleHeldCopiesIfPossible() {
        do throws(StateError) {
            let hasGroup = try database.use { (connection: StateConnection) throws(StateError) in
                try connection.exists("SELECT 1 FROM group_log LIMIT 1")
            }
            if hasGroup { try settleHeldCopies() }
        } catch {
            // `send` reports an outbox that cannot be used.
        }
    }

    /// The keyed hash that names this state in the outbox.
    private var outboxHolder: Int64 { mark(envelope: "outbox holder") }
}

extension StateTransaction {
    /// Holds the copies for ``formerMembers`` that wait in the outbox. Returns whether any waits.
    func holdCopies() throws(StateError) -> Bool {
        guard let token = try store.hold(copies: copiesForFormerMembers()) else { return false }
        try connection.run("INSERT INTO discarded (token) VALUES (?)", token)
        return true
    }

    /// Returns the ids of the copies for ``formerMembers`` of messages without an outcome.
    func copiesForFormerMembers() throws(StateError) -> [String] {
        guard !formerMembers.isEmpty else { return [] }
        var ids: [String] = []
        for (row, conversation) in try sentToGroups()
        where HistoryEntry.State(rawValue: row.state)?.hasNoOutcome == true {
            guard let group = conversation.group, let people = formerMembers[group],
                let id = try store.entry(row, conversation, now: .min).id, Envelope.isID(id)
            else { continue }
            ids += people.map { store.copyID(of: id, for: $0) }
        }
        return ids
    }
}

/// The held items of the outbox, without the work of ``Outbox``.
private struct HeldItems {
    private let database: DurableDatabase

    init(_ directory: StateDirectory, lockTimeout: Double) throws(StateError) {
        database = try Outbox.database(in: directory, lockTimeout: lockTimeout)
    }

    /// Holds the waiting envelopes with some ids. Returns how many.
    func hold(_ ids: Set<String>, by holder: Int64, _ token: Int64) throws(StateError) -> Int {
        let waiting = try database.use { (connection: StateConnection) throws(StateError) in
            try connection.rows(
                "SELECT number, id FROM outbox WHERE kind = 0 AND outcome IS NULL AND held IS NULL"
            ) { row throws(StateError) in (number: row.integer(0), id: row.text(1)) }
        }
        let numbers = waiting.filter { ids.contains($0.id) }.map(\.number)
        guard !numbers.isEmpty else { return 0 }
        return try database.transaction { connection throws(StateError) in
            var count = 0
            for number in numbers {
                try connection.run(
                    """
                    UPDATE outbox SET holder = ?, held = ? WHERE number = ? AND outcome IS NULL
                    """, holder, token, number)
                count += connection.changes
            }
            return count
        }
    }

    /// Returns the tokens of the items that are held.
    func tokens(of holder: Int64) throws(StateError) -> [Int64] {
        try database.use { (connection: StateConnection) throws(StateError) in
            try connection.rows(
                "SELECT DISTINCT held FROM outbox WHERE holder = ? AND held IS NOT NULL", holder
            ) { row throws(StateError) in row.integer(0) }
        }
    }
}

extension Outbox {
    /// Removes the items that are held with a token. A blob that they need stays.
    fileprivate func drop(held token: Int64, by holder: Int64) throws(StateError) {
        let numbers = try read(
            """
            SELECT number FROM outbox WHERE holder = ? AND held = ? AND held IS NOT NULL
            AND outcome IS NULL
            """, holder, token
        ) { $0.integer(0) }
        try settle(numbers.map { ($0, OutcomeStatus.dropped.rawValue) })
    }

    /// Lets the items that are held with a token be sent.
    fileprivate func release(held token: Int64, by holder: Int64) throws(StateError) {
        try write { connection throws(StateError) in
            try connection.run(
                """
                UPDATE outbox SET holder = NULL, held = NULL
                WHERE holder = ? AND held = ? AND held IS NOT NULL
                """, holder, token)
        }
    }
}
