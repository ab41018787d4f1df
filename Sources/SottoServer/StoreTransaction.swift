import Sotto
import SottoState
import SottoWire

/// A row of `mailbox`: the counts of its envelopes.
struct MailboxRow {
    let number: Int64
    var live = Amount()
    var dead = Amount()

    /// A number of envelopes, and their bytes.
    struct Amount {
        var messages: Int64 = 0
        var bytes: Int64 = 0

        mutating func add(_ size: Int64) {
            messages += 1
            bytes += size
        }

        mutating func remove(_ size: Int64) {
            messages -= 1
            bytes -= size
        }
    }
}

/// One transaction of the writer; `minute` is the time of its rows.
struct StoreTransaction {
    let connection: Connection
    let minute: Int64
    let retention: Retention
    /// Whether the store has no space for new mailboxes and owners.
    var isScarce = false

    /// Applies a change that concerns no mailbox.
    func apply(_ change: Change) throws(StateError) -> Outcome {
        switch change {
        case .publish(let publication, let head): return try publish(publication, head)
        case .claim(let owner, let id): return try claim(EnvelopeID.bytes(id), of: owner)
        case .update(let id, let change): return try update(id, change)
        case .invite(let invitation): return try invite(invitation)
        case .redeem(let tag, let owner): return try redeem(tag, by: owner)
        case .store, .acknowledge: preconditionFailure("a change to a mailbox without its row")
        }
    }

    /// Applies a change to a mailbox.
    func apply(_ change: Change, _ row: inout MailboxRow, _ sequence: inout Int64)
        throws(StateError) -> Outcome
    {
        switch change {
        case .store(let envelope):
            return try store(envelope, &row, &sequence)
        case .acknowledge(_, let ids, let handled):
            var removed = 0
            for id in ids where try acknowledge(id, handled, &row) { removed += 1 }
            return .acknowledged(removed: removed)
        case .publish, .claim, .update, .invite, .redeem: return try apply(change)
        }
    }

    // MARK: Rows of mailboxes

    /// Returns the row of a mailbox, or `nil`. If `makes` is true, it creates a missing row unless space is scarce.
    func row(of mailbox: SessionID, makes: Bool) throws(StateError) -> MailboxRow? {
        let select = try connection.statement(
            "SELECT number, messages, bytes, dead, dead_bytes FROM mailbox WHERE key = ?")
        defer { select.reset() }
        select.bind(1, mailbox.publicKey)
        if try select.step() {
            return MailboxRow(
                number: select.integer(0),
                live: .init(messages: select.integer(1), bytes: select.integer(2)),
                dead: .init(messages: select.integer(3), bytes: select.integer(4)))
        }
        guard makes, !isScarce else { return nil }
        let insert = try connection.statement(
            """
            INSERT INTO mailbox (key, messages, bytes, stranger) VALUES (?1, 0, 0,
                CASE WHEN ?2 AND NOT EXISTS (SELECT 1 FROM account WHERE key = ?1) THEN ?3 END)
            """)
        insert.bind(1, mailbox.publicKey)
        insert.bind(2, retention.strangerMinutes == nil ? 0 : 1)
        insert.bind(3, minute)
        try insert.run()
        return MailboxRow(number: connection.lastRow)
    }

    /// Writes a row of `mailbox`.
    func update(_ row: MailboxRow) throws(StateError) {
        let update = try connection.statement(
            """
            UPDATE mailbox SET messages = ?, bytes = ?, dead = ?, dead_bytes = ?,
                stranger = min(stranger, ?)
            WHERE number = ?
            """)
        update.bind(1, row.live.messages)
        update.bind(2, row.live.bytes)
        update.bind(3, row.dead.messages)
        update.bind(4, row.dead.bytes)
        update.bind(5, minute)
        update.bind(6, row.number)
        try update.run()
    }

    // MARK: Envelopes

    private func store(
        _ envelope: AddressedEnvelope, _ row: inout MailboxRow, _ sequence: inout Int64
    ) throws(StateError) -> Outcome {
        let id = EnvelopeID.bytes(envelope.id)
        let digest = Array(sha256(envelope.bytes)[..<16])
        let size = Int64(envelope.bytes.count)
        let isFull =
            row.live.messages >= retention.mailboxMessages
            || row.live.bytes + size > retention.mailboxBytes
        if !isFull {
            let mark = try connection.statement(
                """
                INSERT INTO seen (mailbox, id, digest, seq, minute) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """)
            mark.bind(1, row.number)
            mark.bind(2, id)
            mark.bind(3, digest)
            mark.bind(4, sequence)
            mark.bind(5, minute)
            try mark.run()
        }
        guard !isFull, connection.changes == 1 else {
            let known = try connection.statement(
                "SELECT digest FROM seen WHERE mailbox = ? AND id = ?")
            defer { known.reset() }
            known.bind(1, row.number)
            known.bind(2, id)
            guard try known.step() else { return .mailboxFull }
            return known.bytes(0) == digest ? .duplicate : .conflict
        }
        let insert = try connection.statement(
            """
            INSERT INTO envelope (seq, mailbox, minute, failures, id, body)
            VALUES (?, ?, ?, 0, ?, ?)
            """)
        insert.bind(1, sequence)
        insert.bind(2, row.number)
        insert.bind(3, minute)
        insert.bind(4, id)
        insert.bind(5, envelope.bytes)
        try insert.run()
        sequence += 1
        row.live.add(size)
        return .stored
    }

    /// Deletes an envelope, or counts a failure. Returns whether it deleted one.
    private func acknowledge(
        _ id: String, _ handled: Request.Handled, _ row: inout MailboxRow
    ) throws(StateError) -> Bool {
        let find = try connection.statement(
            """
            SELECT envelope.seq, length(body), failures
            FROM seen JOIN envelope ON envelope.seq = seen.seq
            WHERE seen.mailbox = ? AND seen.id = ?
            """)
        find.bind(1, row.number)
        find.bind(2, EnvelopeID.bytes(id))
        guard try find.step() else {
            find.reset()
            return false
        }
        let (sequence, size, failures) = (find.integer(0), find.integer(1), find.integer(2))
        find.reset()
        switch handled {
        case .delivered:
            try delete(sequence)
            if failures >= WireLimits.failures {
                row.dead.remove(size)
            } else {
                row.live.remove(size)
            }
            return true
        case .failed:
            let count = try connection.statement(
                "UPDATE envelope SET failures = failures + 1 WHERE seq = ?")
            count.bind(1, sequence)
            try count.run()
            if failures + 1 == WireLimits.failures {
                row.live.remove(size)
                row.dead.add(size)
                try limitDeadLetters(&row)
            }
            return false
        }
    }

    private func delete(_ sequence: Int64) throws(StateError) {
        let delete = try connection.statement("DELETE FROM envelope WHERE seq = ?")
        delete.bind(1, sequence)
        try delete.run()
    }

    /// Deletes the oldest dead letters until the others are within their limits; the newest one stays.
    private func limitDeadLetters(_ row: inout MailboxRow) throws(StateError) {
        while row.dead.messages > 1,
            row.dead.messages > retention.deadMessages || row.dead.bytes > retention.deadBytes
        {
            let oldest = try connection.statement(
                """
                SELECT seq, length(body) FROM envelope WHERE mailbox = ? AND failures >= 5
                ORDER BY seq LIMIT 1
                """)
            oldest.bind(1, row.number)
            let isThere = try oldest.step()
            let (sequence, size) = (oldest.integer(0), oldest.integer(1))
            oldest.reset()
            guard isThere else { return }
            try delete(sequence)
            row.dead.remove(size)
        }
    }
}
