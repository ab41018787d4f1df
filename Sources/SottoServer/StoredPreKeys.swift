import Sotto
import SottoState
import SottoWire

extension PreKeyPublication {
    /// The line of these prekeys' bundle up to the value of its last member, `oneTimePreKey`.
    var bundleHead: [UInt8]? {
        guard var record = try? bundle(oneTime: nil).record else { return nil }
        record["oneTimePreKey"] = nil
        return Array(record.serialized().dropLast()) + Array(",\"oneTimePreKey\":".utf8)
    }
}

extension PreKeyBundle {
    /// Returns the line of a bundle, from its head in the store.
    static func line(head: [UInt8], _ oneTime: PreKey?) -> [UInt8] {
        guard let oneTime else { return head + Array("null}".utf8) }
        let key = Base64.standard.encode(oneTime.key)
        return head + Array("{\"id\":\(oneTime.id),\"key\":\"\(key)\"}}".utf8)
    }
}

/// Prekeys in the store. Owners of prekeys need no mailbox, and owners of mailboxes no prekeys.
extension StoreTransaction {
    /// An owner's row, without the one-time prekeys.
    private struct Owner {
        let number: Int64
        var signed: Int64
        var signedID: Int64
        var mark: Int64
    }

    /// Stores the new prekeys of a publication: the signed prekey if its number is above the stored one, and the
    /// one-time prekeys above the highest number that was ever stored, up to the limit.
    ///
    /// Both numbers of an owner only increase. If the signed prekey is newer but the one-time prekeys are not, the
    /// owner lost the state after its last publication: the stored one-time prekeys are useless and are deleted.
    func publish(_ publication: PreKeyPublication, _ head: [UInt8]) throws(StateError) -> Outcome {
        let signedID = Int64(publication.signedPreKey.id)
        var owner: Owner
        var lostMark: Int64 = -1
        if let known = try find(publication.owner) {
            owner = known
            if signedID > owner.signedID {
                let supersede = try connection.statement(
                    "UPDATE prekey_signed SET superseded = ? WHERE number = ?")
                supersede.bind(1, minute)
                supersede.bind(2, owner.signed)
                try supersede.run()
                owner.signed = try insert(head: head)
                owner.signedID = signedID
                if let first = publication.oneTimePreKeys.first, Int64(first.id) <= owner.mark {
                    try dropOneTimePreKeys(of: owner, below: .max)
                    lostMark = owner.mark
                    owner.mark = Int64(first.id) - 1
                }
            }
        } else {
            guard !isScarce else { return .diskFull }
            let signed = try insert(head: head)
            let insert = try connection.statement(
                """
                INSERT INTO prekey_owner (key, signed, signed_id, one_time_mark)
                VALUES (?, ?, ?, -1)
                """)
            insert.bind(1, publication.owner.publicKey)
            insert.bind(2, signed)
            insert.bind(3, signedID)
            try insert.run()
            owner = Owner(
                number: connection.lastRow, signed: signed, signedID: signedID, mark: -1)
        }
        // The owner no longer has the secrets of lower ones.
        try dropOneTimePreKeys(of: owner, below: Int64(publication.oneTimeFrom))
        try add(publication.oneTimePreKeys, to: &owner)
        owner.mark = max(owner.mark, lostMark)
        let update = try connection.statement(
            """
            UPDATE prekey_owner SET signed = ?, signed_id = ?, one_time_mark = ? WHERE number = ?
            """)
        update.bind(1, owner.signed)
        update.bind(2, owner.signedID)
        update.bind(3, owner.mark)
        update.bind(4, owner.number)
        try update.run()
        return .published
    }

    /// Hands out a bundle, with a one-time prekey that no other claim gets.
    ///
    /// All of it is in this transaction: a client that lost the reply and repeats the claim gets the same bundle, and a
    /// deleted one-time prekey is in the row of exactly one claim.
    func claim(_ id: [UInt8], of owner: SessionID) throws(StateError) -> Outcome {
        if let earlier = try repeated(id, of: owner) { return earlier }
        guard let row = try find(owner) else { return .noBundle }
        guard let oneTime = try takeOneTimePreKey(of: row) else {
            // Without a one-time prekey the claim need not be repeatable.
            return .bundle(PreKeyBundle.line(head: try head(row.signed), nil))
        }
        let insert = try connection.statement(
            """
            INSERT INTO prekey_claim (id, owner, signed, one_time, key, minute)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        insert.bind(1, id)
        insert.bind(2, row.number)
        insert.bind(3, row.signed)
        insert.bind(4, Int64(oneTime.id))
        insert.bind(5, oneTime.key)
        insert.bind(6, minute)
        try insert.run()
        return .bundle(PreKeyBundle.line(head: try head(row.signed), oneTime))
    }

    private func head(_ signed: Int64) throws(StateError) -> [UInt8] {
        let head = try connection.statement("SELECT head FROM prekey_signed WHERE number = ?")
        defer { head.reset() }
        head.bind(1, signed)
        _ = try head.step()
        return head.bytes(0)
    }

    /// Returns the result of an earlier claim with this id, or `nil`.
    private func repeated(_ id: [UInt8], of owner: SessionID) throws(StateError) -> Outcome? {
        let select = try connection.statement(
            """
            SELECT prekey_owner.key, head, one_time, prekey_claim.key FROM prekey_claim
            JOIN prekey_owner ON prekey_owner.number = owner
            JOIN prekey_signed ON prekey_signed.number = prekey_claim.signed
            WHERE prekey_claim.id = ?
            """)
        defer { select.reset() }
        select.bind(1, id)
        guard try select.step() else { return nil }
        guard select.bytes(0) == owner.publicKey else { return .claimReused }
        let oneTime =
            select.isNull(2)
            ? nil
            : PreKeyBundle.PreKey(
                id: UInt32(truncatingIfNeeded: select.integer(2)), key: select.bytes(3))
        return .bundle(PreKeyBundle.line(head: select.bytes(1), oneTime))
    }

    // MARK: Rows

    private func find(_ id: SessionID) throws(StateError) -> Owner? {
        let select = try connection.statement(
            "SELECT number, signed, signed_id, one_time_mark FROM prekey_owner WHERE key = ?")
        defer { select.reset() }
        select.bind(1, id.publicKey)
        guard try select.step() else { return nil }
        return Owner(
            number: select.integer(0), signed: select.integer(1), signedID: select.integer(2),
            mark: select.integer(3))
    }

    private func insert(head: [UInt8]) throws(StateError) -> Int64 {
        let insert = try connection.statement("INSERT INTO prekey_signed (head) VALUES (?)")
        insert.bind(1, head)
        try insert.run()
        return connection.lastRow
    }

    private func add(_ keys: [PreKeyBundle.PreKey], to owner: inout Owner) throws(StateError) {
        let count = try connection.statement("SELECT count(*) FROM prekey_one_time WHERE owner = ?")
        count.bind(1, owner.number)
        _ = try count.step()
        var room = Int64(WireLimits.oneTimePreKeys) - count.integer(0)
        count.reset()
        for key in keys where Int64(key.id) > owner.mark && room > 0 {
            let insert = try connection.statement(
                "INSERT INTO prekey_one_time (owner, id, key) VALUES (?, ?, ?)")
            insert.bind(1, owner.number)
            insert.bind(2, Int64(key.id))
            insert.bind(3, key.key)
            try insert.run()
            owner.mark = Int64(key.id)
            room -= 1
        }
    }

    private func dropOneTimePreKeys(of owner: Owner, below id: Int64) throws(StateError) {
        let drop = try connection.statement(
            "DELETE FROM prekey_one_time WHERE owner = ? AND id < ?")
        drop.bind(1, owner.number)
        drop.bind(2, id)
        try drop.run()
    }

    private func takeOneTimePreKey(of owner: Owner) throws(StateError) -> PreKeyBundle.PreKey? {
        let select = try connection.statement(
            "SELECT id, key FROM prekey_one_time WHERE owner = ? ORDER BY id LIMIT 1")
        select.bind(1, owner.number)
        guard try select.step() else {
            select.reset()
            return nil
        }
        let key = PreKeyBundle.PreKey(
            id: UInt32(truncatingIfNeeded: select.integer(0)), key: select.bytes(1))
        select.reset()
        let delete = try connection.statement(
            "DELETE FROM prekey_one_time WHERE owner = ? AND id = ?")
        delete.bind(1, owner.number)
        delete.bind(2, Int64(key.id))
        try delete.run()
        return key
    }
}

extension SQLiteStore {
    func preKeys(of owner: SessionID) throws(StateError) -> PreKeyStatus? {
        try reader.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT (SELECT count(*) FROM prekey_one_time WHERE owner = number), signed_id,
                    one_time_mark
                FROM prekey_owner WHERE key = ?
                """)
            defer { select.reset() }
            select.bind(1, owner.publicKey)
            guard try select.step() else { return nil }
            return PreKeyStatus(
                oneTime: Int(select.integer(0)),
                signedID: UInt32(truncatingIfNeeded: select.integer(1)),
                oneTimeMark: UInt32(truncatingIfNeeded: max(0, select.integer(2))))
        }
    }
}
