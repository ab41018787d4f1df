import Sotto
import SottoDatabase
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
    let connection: StoreConnection
    let minute: Int64
    let retention: Retention
    /// Whether the store has no space for new mailboxes and owners.
    var isScarce = false

    /// Applies a change that concerns no mailbox.
    func apply(_ change: Change) throws(StoreError) -> Outcome {
        switch change {
        case .publish(let publication, let head): return try publish(publication, head)
        case .claim(let owner, let id, let reserve):
            return try claim(Envelope.idBytes(id), of: owner, reserve: reserve)
        case .claims(let claims): return try claim(claims)
        case .update(let id, let change): return try update(id, change)
        case .publishRoom(let room): return try publish(room)
        case .invite(let invitation, let most): return try invite(invitation, most: most)
        case .revoke(let tag): return try revoke(tag)
        case .registerWake(let wake): return try register(wake)
        case .unregisterWake(let mailbox, let kind): return try unregister(mailbox, kind)
        case .noteInstance(let instance): return try note(instance)
        case .redeem(let tag, let owner): return try redeem(tag, by: owner)
        case .meeting(let change): return try apply(change)
        case .store, .acknowledge: preconditionFailure("a change to a mailbox without its row")
        }
    }

    /// Applies a change to a mailbox.
    func apply(_ change: Change, _ row: inout MailboxRow, _ sequence: inout Int64)
        throws(StoreError) -> Outcome
    {
        switch change {
        case .store(let envelope, let until):
            return try store(envelope, until: until, &row, &sequence)
        case .acknowledge(_, let ids, let handled):
            var removed = 0
            for id in ids where try acknowledge(id, handled, &row) { removed += 1 }
            return .acknowledged(removed: removed)
        case .publish, .claim, .claims, .update, .publishRoom, .invite, .revoke, .redeem, .meeting,
            .registerWake, .unregisterWake, .noteInstance:
            return try apply(change)
        }
    }

    // MARK: Rows of mailboxes

    /// Returns the row of a mailbox, or `nil`. If `makes` is true, it creates a missing row unless space is scarce.
    func row(of mailbox: KeyID, makes: Bool) throws(StoreError) -> MailboxRow? {
        let known = try connection.first(
            "SELECT number, messages, bytes, dead, dead_bytes FROM mailbox WHERE key = ?",
            mailbox.publicKey
        ) {
            MailboxRow(
                number: $0.integer(0),
                live: .init(messages: $0.integer(1), bytes: $0.integer(2)),
                dead: .init(messages: $0.integer(3), bytes: $0.integer(4)))
        }
        if let known { return known }
        guard makes, !isScarce else { return nil }
        try connection.run(
            """
            INSERT INTO mailbox (key, stranger) VALUES (?1,
                CASE WHEN ?2 AND NOT EXISTS (SELECT 1 FROM account WHERE key = ?1) THEN ?3 END)
            """, mailbox.publicKey, retention.strangerMinutes == nil ? 0 : 1, minute)
        return MailboxRow(number: connection.lastRow)
    }

    /// Writes a row of `mailbox`.
    func update(_ row: MailboxRow) throws(StoreError) {
        try connection.run(
            """
            UPDATE mailbox SET messages = ?, bytes = ?, dead = ?, dead_bytes = ?,
                stranger = min(stranger, ?)
            WHERE number = ?
            """, row.live.messages, row.live.bytes, row.dead.messages, row.dead.bytes, minute,
            row.number)
    }

    // MARK: Envelopes

    private func store(
        _ envelope: AddressedEnvelope, until: Int64?, _ row: inout MailboxRow,
        _ sequence: inout Int64
    ) throws(StoreError) -> Outcome {
        let id = Envelope.idBytes(envelope.id)
        let digest = Array(sha256(envelope.bytes)[..<16])
        let size = Int64(envelope.bytes.count)
        let isFull =
            row.live.messages >= retention.mailboxMessages
            || row.live.bytes + size > retention.mailboxBytes
        if !isFull {
            try connection.run(
                """
                INSERT INTO seen (mailbox, id, digest, seq, minute) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """, row.number, id, digest, sequence, minute)
        }
        guard !isFull, connection.changes == 1 else {
            let known = try connection.first(
                "SELECT digest FROM seen WHERE mailbox = ? AND id = ?", row.number, id
            ) { $0.bytes(0) }
            guard let known else { return .mailboxFull }
            return known == digest ? .duplicate : .conflict
        }
        try connection.run(
            """
            INSERT INTO envelope (seq, mailbox, minute, failures, id, body, until)
            VALUES (?, ?, ?, 0, ?, ?, ?)
            """, sequence, row.number, minute, id, envelope.bytes, until)
        sequence += 1
        row.live.add(size)
        return .stored
    }

    /// Deletes an envelope, or counts a failure. Returns whether it deleted one.
    private func acknowledge(
        _ id: String, _ handled: Request.Handled, _ row: inout MailboxRow
    ) throws(StoreError) -> Bool {
        let found = try connection.first(
            """
            SELECT envelope.seq, length(body), failures
            FROM seen JOIN envelope ON envelope.seq = seen.seq
            WHERE seen.mailbox = ? AND seen.id = ?
            """, row.number, Envelope.idBytes(id)
        ) { ($0.integer(0), $0.integer(1), $0.integer(2)) }
        guard let (sequence, size, failures) = found else { return false }
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
            try connection.run(
                "UPDATE envelope SET failures = failures + 1 WHERE seq = ?", sequence)
            if failures + 1 == WireLimits.failures {
                row.live.remove(size)
                row.dead.add(size)
                try limitDeadLetters(&row)
            }
            return false
        }
    }

    private func delete(_ sequence: Int64) throws(StoreError) {
        try connection.run("DELETE FROM envelope WHERE seq = ?", sequence)
    }

    /// Deletes the oldest dead letters until the others are within their limits; the newest one stays.
    private func limitDeadLetters(_ row: inout MailboxRow) throws(StoreError) {
        while row.dead.messages > 1,
            row.dead.messages > retention.deadMessages || row.dead.bytes > retention.deadBytes
        {
            let oldest = try connection.first(
                """
                SELECT seq, length(body) FROM envelope WHERE mailbox = ? AND failures >= 5
                ORDER BY seq LIMIT 1
                """, row.number
            ) { ($0.integer(0), $0.integer(1)) }
            guard let (sequence, size) = oldest else { return }
            try delete(sequence)
            row.dead.remove(size)
        }
    }
}
