import Sotto
import SottoDatabase

extension PostgresStore {
    func account(of id: KeyID) throws(StoreError) -> RelayAccount? {
        var query = PostgresQuery("SELECT * FROM sotto.account($1)")
        query.add(id.publicKey)
        let rows = try reader.rows(query)
        guard rows.count > 0 else { return nil }
        return RelayAccount(
            member: rows.integer(0, 0), minute: rows.integer(0, 1), card: rows.bytes(0, 2),
            loginKey: rows.bytes(0, 3))
    }

    func invitation(_ tag: [UInt8]) throws(StoreError) -> StoredInvitation? {
        var query = PostgresQuery("SELECT * FROM sotto.invitation($1)")
        query.add(tag)
        let rows = try reader.rows(query)
        guard rows.count > 0 else { return nil }
        return StoredInvitation(
            tag: tag, key: rows.bytes(0, 0), until: rows.integer(0, 1), owner: rows.bytes(0, 2),
            label: rows.bytes(0, 3), inviter: rows.bytes(0, 4))
    }

    func invitations() throws(StoreError) -> [StoredInvitation] {
        let rows = try reader.rows(PostgresQuery("SELECT * FROM sotto.invitations()"))
        return (0..<rows.count).map {
            StoredInvitation(
                tag: rows.bytes($0, 0), key: rows.bytes($0, 1), until: rows.integer($0, 2),
                owner: rows.bytes($0, 3), label: rows.bytes($0, 4), inviter: rows.bytes($0, 5))
        }
    }

    func invitationCount(of inviter: KeyID, at minute: Int64) throws(StoreError) -> Int64 {
        var query = PostgresQuery("SELECT * FROM sotto.invitation_count($1, $2)")
        query.add(minute)
        query.add(inviter.publicKey)
        let rows = try reader.rows(query)
        // Behind PL/Proxy there is one row for each partition.
        return (0..<rows.count).reduce(0) { $0 + rows.integer($1, 0) }
    }

    func members() throws(StoreError) -> [(id: KeyID, minute: Int64)] {
        let rows = try reader.rows(PostgresQuery("SELECT * FROM sotto.members()"))
        return (0..<rows.count).map {
            (id: KeyID(publicKey: rows.bytes($0, 0)), minute: rows.integer($0, 1))
        }
    }

    func directoryUse() throws(StoreError) -> Int64 {
        let rows = try reader.rows(PostgresQuery("SELECT * FROM sotto.directory_use()"))
        // Behind PL/Proxy there is one row for each partition.
        return (0..<rows.count).reduce(0) { $0 + rows.integer($1, 0) }
    }

    func clearStrangerFlags() throws(StoreError) {
        _ = try writer.transaction([PostgresQuery("SELECT sotto.adopt()")])
    }

    /// Deletes old accounts and invitations, and, if not every id may have a mailbox, strangers' old mail.
    func sweepAccounts(at minute: Int64, strangers: Bool, _ limit: Int64) throws(StoreError) -> Bool
    {
        var query = PostgresQuery("SELECT sotto.sweep_accounts($1, $2, $3, $4)")
        query.add(minute - RelayAccount.lifeMinutes)
        query.add(minute - StoredInvitation.keptMinutes)
        query.add(strangers ? retention.strangerMinutes.map { minute - $0 } ?? -1 : -1)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }
}
