import Sotto
import SottoDatabase
import SottoWire

extension StoreTransaction {
    /// Changes an account, or creates it.
    func update(_ id: KeyID, _ update: AccountUpdate) throws(StoreError) -> Outcome {
        let row = update.row
        try connection.run(
            """
            INSERT INTO account
                (key, member, minute, card, card_issued, login_key, login_key_issued)
            VALUES (?1, max(?2, 0), ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (key) DO UPDATE SET
                member = CASE WHEN ?2 < 0 THEN member ELSE ?2 END,
                minute = max(minute, ?3),
                card = CASE WHEN ?5 > card_issued OR ?5 = card_issued AND ?4 > card THEN ?4
                    ELSE card END,
                card_issued = max(card_issued, ?5),
                login_key = CASE WHEN ?7 > login_key_issued OR ?7 = login_key_issued AND ?6 = x''
                    THEN ?6 ELSE login_key END,
                login_key_issued = max(login_key_issued, ?7)
            """, id.publicKey, row.member, minute, row.card, row.cardIssued, row.loginKey,
            row.loginKeyIssued)
        switch update {
        case .card: try name(id, row)
        case .revocation(let line):
            try name(id, row)
            try revokeKeys(of: id, line)
        case .seen, .membership, .loginKey: break
        }
        try connection.run(
            "UPDATE mailbox SET stranger = NULL WHERE key = ? AND stranger IS NOT NULL",
            id.publicKey)
        return .published
    }

    /// Replaces the account names of a card, unless the stored card is a later one.
    private func name(_ id: KeyID, _ row: AccountRow) throws(StoreError) {
        let stored = try connection.first(
            "SELECT card FROM account WHERE key = ?", id.publicKey
        ) { $0.bytes(0) }
        guard stored == row.card else { return }
        let known = try connection.rows(
            "SELECT name FROM card_name WHERE key = ?", id.publicKey
        ) { $0.bytes(0) }
        for name in known where !row.names.contains(where: { $0.bytes == name }) {
            try connection.run(
                "DELETE FROM card_name WHERE key = ? AND name = ?", id.publicKey, name)
        }
        for name in row.names {
            try connection.run(
                "INSERT INTO card_name (name, key, minute) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                name.bytes, id.publicKey, minute)
        }
    }

    /// Stores an invitation. A repetition succeeds.
    func invite(_ invitation: StoredInvitation, most: Int64) throws(StoreError) -> Outcome {
        if let inviter = invitation.inviter {
            let count = try connection.integer(
                SQLiteStore.countInvitations, inviter.publicKey, minute, invitation.tag)
            guard count < most else { return .noMoreInvitations }
        }
        try connection.run(
            """
            INSERT INTO invitation (tag, key, until, owner, label, inviter)
            VALUES (?, ?, ?, x'', ?, ?) ON CONFLICT DO NOTHING
            """, invitation.tag, invitation.key, invitation.until, Array(invitation.label.utf8),
            invitation.inviter?.publicKey ?? [])
        return .published
    }

    /// Deletes an invitation that was not used.
    func revoke(_ tag: [UInt8]) throws(StoreError) -> Outcome {
        try connection.run("DELETE FROM invitation WHERE tag = ? AND owner = x''", tag)
        return connection.changes == 1 ? .published : .noInvitation
    }

    /// Gives an invitation to an owner for good. Repeating it for the same owner succeeds.
    func redeem(_ tag: [UInt8], by owner: KeyID) throws(StoreError) -> Outcome {
        try connection.run(
            """
            UPDATE invitation SET owner = ?2
            WHERE tag = ?1 AND until > ?3 AND (owner = x'' OR owner = ?2)
            """, tag, owner.publicKey, minute)
        return connection.changes == 1 ? .published : .noInvitation
    }
}

extension SQLiteStore {
    func account(of id: KeyID) throws(StoreError) -> RelayAccount? {
        try reader.use { connection throws(StoreError) in
            try connection.first(
                "SELECT member, minute, card, login_key FROM account WHERE key = ?", id.publicKey
            ) { row throws(StoreError) in
                RelayAccount(
                    member: row.integer(0), minute: row.integer(1), card: row.bytes(2),
                    loginKey: row.bytes(3))
            }
        }
    }

    func cards(named name: CardName) throws(StoreError) -> [[UInt8]] {
        try reader.use { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT card FROM card_name JOIN account USING (key) WHERE name = ?
                ORDER BY card_name.minute, key LIMIT ?
                """, name.bytes, WireLimits.cardCount
            ) { row throws(StoreError) in row.bytes(0) }
        }
    }

    func invitation(_ tag: [UInt8]) throws(StoreError) -> StoredInvitation? {
        try reader.use { connection throws(StoreError) in
            try connection.first(
                "SELECT tag, key, until, owner, label, inviter FROM invitation WHERE tag = ?", tag
            ) { row throws(StoreError) in StoredInvitation(row) }
        }
    }

    func invitations() throws(StoreError) -> [StoredInvitation] {
        try reader.use { connection throws(StoreError) in
            try connection.rows("SELECT tag, key, until, owner, label, inviter FROM invitation") {
                row throws(StoreError) in StoredInvitation(row)
            }
        }
    }

    /// Counts the used and open invitations of a member, without one that has a tag.
    static let countInvitations =
        """
        SELECT count(*) FROM invitation
        WHERE inviter = ?1 AND (owner <> x'' OR until > ?2) AND tag <> ?3
        """

    func invitationCount(of inviter: KeyID, at minute: Int64) throws(StoreError) -> Int64 {
        try reader.use { connection throws(StoreError) in
            try connection.integer(Self.countInvitations, inviter.publicKey, minute, [UInt8]())
        }
    }

    func members() throws(StoreError) -> [(id: KeyID, minute: Int64)] {
        try reader.use { connection throws(StoreError) in
            try connection.rows("SELECT key, minute FROM account WHERE member = 1") {
                row throws(StoreError) in
                (id: KeyID(publicKey: row.bytes(0)), minute: row.integer(1))
            }
        }
    }

    func known(among ids: [KeyID], byPreKeys: Bool) throws(StoreError) -> Set<KeyID> {
        try reader.use { connection throws(StoreError) in
            var known: Set<KeyID> = []
            for id in ids {
                let isKnown = try connection.integer(
                    """
                    SELECT EXISTS (SELECT 1 FROM account WHERE key = ?1 AND member <> 2)
                        OR ?2 AND EXISTS (SELECT 1 FROM prekey_owner WHERE key = ?1)
                    """, id.publicKey, byPreKeys)
                if isKnown != 0 { known.insert(id) }
            }
            return known
        }
    }

    func clearStrangerFlags() throws(StoreError) {
        try writer.transaction { connection throws(StoreError) in
            try connection.run("UPDATE mailbox SET stranger = NULL WHERE stranger IS NOT NULL")
        }
    }

    /// Deletes accounts without activity for a year, old invitations and old prekeys.
    static func forgetAccounts(_ connection: StoreConnection, at minute: Int64, _ limit: Int64)
        throws(StoreError) -> Bool
    {
        try connection.run(
            "DELETE FROM card_name WHERE key IN (SELECT key FROM account WHERE minute <= ?)",
            minute - RelayAccount.lifeMinutes)
        try connection.run(
            """
            DELETE FROM account WHERE key IN (
                SELECT key FROM account WHERE minute <= ? AND member = 0 LIMIT ?
            )
            """, minute - RelayAccount.lifeMinutes, limit)
        let more = connection.changes == limit
        try connection.run(
            """
            UPDATE account SET card = x'', login_key = x''
            WHERE minute <= ? AND (card <> x'' OR login_key <> x'')
            """, minute - RelayAccount.lifeMinutes)
        try connection.run(
            """
            DELETE FROM invitation
            WHERE until <= ? AND (owner = x'' OR label = x'' AND inviter = x'')
            """,
            minute - StoredInvitation.keptMinutes)
        return try forgetPreKeys(connection, at: minute, limit) || more
    }

    /// Deletes the prekeys of owners who published none for a year.
    private static func forgetPreKeys(
        _ connection: StoreConnection, at minute: Int64, _ limit: Int64
    ) throws(StoreError) -> Bool {
        let owners = try connection.rows(
            "SELECT number, signed FROM prekey_owner WHERE minute <= ? LIMIT ?",
            minute - RelayAccount.lifeMinutes, limit
        ) { (number: $0.integer(0), signed: $0.integer(1)) }
        for owner in owners {
            try connection.run("DELETE FROM prekey_one_time WHERE owner = ?", owner.number)
            try connection.run("DELETE FROM prekey_owner WHERE number = ?", owner.number)
            // It is deleted with the claims that may name it.
            try connection.run(
                "UPDATE prekey_signed SET superseded = ? WHERE number = ?", minute, owner.signed)
        }
        return Int64(owners.count) == limit
    }

    func directoryUse() throws(StoreError) -> Int64 {
        try reader.use { connection throws(StoreError) in
            try connection.integer(
                """
                SELECT (SELECT coalesce(sum(512 + length(card) + length(login_key)), 0) FROM account)
                    + (SELECT coalesce(sum(512 + length(body)), 0) FROM room)
                    + 4096 * (SELECT count(*) FROM prekey_owner)
                    + 64 * (SELECT count(*) FROM prekey_one_time)
                    + (SELECT coalesce(sum(512 + length(url) + length(token)), 0) FROM wake)
                """)
        }
    }

    /// Deletes mail up to a minute in mailboxes whose owners are not admitted. The ids of deleted envelopes stay
    /// known, as in other mailboxes.
    static func forgetStrangers(
        _ connection: StoreConnection, until minute: Int64, _ limit: Int64
    ) throws(StoreError) -> Bool {
        let numbers = try connection.rows(
            "SELECT number FROM mailbox WHERE stranger <= ? ORDER BY stranger LIMIT ?", minute,
            limit
        ) { $0.integer(0) }
        for number in numbers {
            try connection.run(
                "DELETE FROM envelope WHERE mailbox = ? AND minute <= ?", number, minute)
            try connection.run(
                """
                UPDATE mailbox SET (messages, bytes, stranger) = (
                    SELECT count(*), coalesce(sum(length(body)), 0), coalesce(min(minute), ?2)
                    FROM envelope WHERE mailbox = ?1
                ) WHERE number = ?1
                """, number, Int64.max)
        }
        return numbers.count == limit
    }
}

extension RelayAccount {
    /// Creates an account from its row, in which empty means `nil`.
    init(member: Int64, minute: Int64, card: [UInt8], loginKey: [UInt8]) {
        self.init(
            isMember: member == 1, wasRemoved: member == 2, minute: minute,
            card: card.isEmpty ? nil : card,
            loginKey: loginKey.isEmpty ? nil : loginKey)
    }
}

extension StoredInvitation {
    /// Creates an invitation from its row, in which an empty owner or inviter means `nil`.
    init(
        tag: [UInt8], key: [UInt8], until: Int64, owner: [UInt8], label: [UInt8], inviter: [UInt8]
    ) {
        self.init(
            tag: tag, key: key, until: until,
            owner: owner.isEmpty ? nil : KeyID(publicKey: owner),
            label: String(decoding: label, as: UTF8.self),
            inviter: inviter.isEmpty ? nil : KeyID(publicKey: inviter))
    }

    /// Reads the columns tag, key, until, owner, label and inviter.
    fileprivate init(_ row: PreparedStatement<StoreError>) {
        self.init(
            tag: row.bytes(0), key: row.bytes(1), until: row.integer(2), owner: row.bytes(3),
            label: row.bytes(4), inviter: row.bytes(5))
    }
}
