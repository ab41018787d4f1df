import Sotto
import SottoState

extension StoreTransaction {
    /// Changes an account, or creates it.
    func update(_ id: SessionID, _ update: AccountUpdate) throws(StateError) -> Outcome {
        let row = update.row
        let upsert = try connection.statement(
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
            """)
        upsert.bind(1, id.publicKey)
        upsert.bind(2, row.member)
        upsert.bind(3, minute)
        upsert.bind(4, row.card)
        upsert.bind(5, row.cardIssued)
        upsert.bind(6, row.loginKey)
        upsert.bind(7, row.loginKeyIssued)
        try upsert.run()
        let known = try connection.statement(
            "UPDATE mailbox SET stranger = NULL WHERE key = ? AND stranger IS NOT NULL")
        known.bind(1, id.publicKey)
        try known.run()
        return .published
    }

    /// Stores an invitation.
    func invite(_ invitation: StoredInvitation) throws(StateError) -> Outcome {
        let insert = try connection.statement(
            """
            INSERT INTO invitation (tag, key, until, owner) VALUES (?, ?, ?, x'')
            ON CONFLICT DO NOTHING
            """)
        insert.bind(1, invitation.tag)
        insert.bind(2, invitation.key)
        insert.bind(3, invitation.until)
        try insert.run()
        return .published
    }

    /// Gives an invitation to an owner for good. Repeating it for the same owner succeeds.
    func redeem(_ tag: [UInt8], by owner: SessionID) throws(StateError) -> Outcome {
        let update = try connection.statement(
            """
            UPDATE invitation SET owner = ?2
            WHERE tag = ?1 AND until > ?3 AND (owner = x'' OR owner = ?2)
            """)
        update.bind(1, tag)
        update.bind(2, owner.publicKey)
        update.bind(3, minute)
        try update.run()
        return connection.changes == 1 ? .published : .noInvitation
    }
}

extension SQLiteStore {
    func account(of id: SessionID) throws(StateError) -> Account? {
        try reader.use { connection throws(StateError) in
            let select = try connection.statement(
                "SELECT member, minute, card, login_key FROM account WHERE key = ?")
            defer { select.reset() }
            select.bind(1, id.publicKey)
            guard try select.step() else { return nil }
            return Account(
                member: select.integer(0), minute: select.integer(1), card: select.bytes(2),
                loginKey: select.bytes(3))
        }
    }

    func invitation(_ tag: [UInt8]) throws(StateError) -> StoredInvitation? {
        try reader.use { connection throws(StateError) in
            let select = try connection.statement(
                "SELECT key, until, owner FROM invitation WHERE tag = ?")
            defer { select.reset() }
            select.bind(1, tag)
            guard try select.step() else { return nil }
            return StoredInvitation(
                tag: tag, key: select.bytes(0), until: select.integer(1), owner: select.bytes(2))
        }
    }

    func known(among ids: [SessionID], byPreKeys: Bool) throws(StateError) -> Set<SessionID> {
        try reader.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT EXISTS (SELECT 1 FROM account WHERE key = ?1 AND member <> 2)
                    OR ?2 AND EXISTS (SELECT 1 FROM prekey_owner WHERE key = ?1)
                """)
            var known: Set<SessionID> = []
            for id in ids {
                defer { select.reset() }
                select.bind(1, id.publicKey)
                select.bind(2, byPreKeys ? 1 : 0)
                if try select.step(), select.integer(0) != 0 { known.insert(id) }
            }
            return known
        }
    }

    func clearStrangerFlags() throws(StateError) {
        try writer.transaction { connection throws(StateError) in
            try connection.run("UPDATE mailbox SET stranger = NULL WHERE stranger IS NOT NULL")
        }
    }

    /// Deletes accounts without activity for a year, and old invitations.
    static func forgetAccounts(_ connection: Connection, at minute: Int64, _ limit: Int64)
        throws(StateError) -> Bool
    {
        let accounts = try connection.statement(
            """
            DELETE FROM account WHERE key IN (
                SELECT key FROM account WHERE minute <= ? AND member = 0 LIMIT ?
            )
            """)
        accounts.bind(1, minute - Account.lifeMinutes)
        accounts.bind(2, limit)
        try accounts.run()
        let more = connection.changes == limit
        let cards = try connection.statement(
            """
            UPDATE account SET card = x'', login_key = x''
            WHERE minute <= ? AND (card <> x'' OR login_key <> x'')
            """)
        cards.bind(1, minute - Account.lifeMinutes)
        try cards.run()
        let invitations = try connection.statement("DELETE FROM invitation WHERE until <= ?")
        invitations.bind(1, minute - StoredInvitation.keptMinutes)
        try invitations.run()
        return more
    }

    /// Deletes mail up to a minute in mailboxes whose owners are not admitted. The ids of deleted envelopes stay
    /// known, as in other mailboxes.
    static func forgetStrangers(
        _ connection: Connection, until minute: Int64, _ limit: Int64
    ) throws(StateError) -> Bool {
        let find = try connection.statement(
            "SELECT number FROM mailbox WHERE stranger <= ? ORDER BY stranger LIMIT ?")
        find.bind(1, minute)
        find.bind(2, limit)
        var numbers: [Int64] = []
        while try find.step() { numbers.append(find.integer(0)) }
        find.reset()
        for number in numbers {
            let delete = try connection.statement(
                "DELETE FROM envelope WHERE mailbox = ? AND minute <= ?")
            delete.bind(1, number)
            delete.bind(2, minute)
            try delete.run()
            let count = try connection.statement(
                """
                UPDATE mailbox SET (messages, bytes, stranger) = (
                    SELECT count(*), coalesce(sum(length(body)), 0), coalesce(min(minute), ?2)
                    FROM envelope WHERE mailbox = ?1
                ) WHERE number = ?1
                """)
            count.bind(1, number)
            count.bind(2, .max)
            try count.run()
        }
        return numbers.count == limit
    }
}

extension Account {
    /// Creates an account from its row, in which empty means `nil`.
    init(member: Int64, minute: Int64, card: [UInt8], loginKey: [UInt8]) {
        self.init(
            isMember: member == 1, wasRemoved: member == 2, minute: minute,
            card: card.isEmpty ? nil : card,
            loginKey: loginKey.isEmpty ? nil : loginKey)
    }
}

extension StoredInvitation {
    /// Creates an invitation from its row, in which an empty owner means `nil`.
    init(tag: [UInt8], key: [UInt8], until: Int64, owner: [UInt8]) {
        self.init(
            tag: tag, key: key, until: until,
            owner: owner.isEmpty ? nil : SessionID(publicKey: owner))
    }
}
