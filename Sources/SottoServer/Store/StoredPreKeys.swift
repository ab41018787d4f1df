import Sotto
import SottoDatabase
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
    /// Returns the line of a bundle. `head` is its stored beginning, up to the value of the one-time prekey, or the whole line of
    /// the revocation in place of the bundle.
    static func line(head: [UInt8], _ oneTime: PreKey?) -> [UInt8] {
        if head.last == UInt8(ascii: "}") { return head }
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
    func publish(_ publication: PreKeyPublication, _ head: [UInt8]) throws(StoreError) -> Outcome {
        try publish(
            of: publication.owner, signed: Int64(publication.signedPreKey.id), head,
            from: Int64(publication.oneTimeFrom), publication.oneTimePreKeys)
    }

    /// Puts a revocation in place of an owner's bundles.
    func revokeKeys(of id: KeyID, _ line: [UInt8]) throws(StoreError) {
        _ = try publish(of: id, signed: AccountUpdate.revokedKey, line, from: .max, [])
    }

    private func publish(
        of id: KeyID, signed signedID: Int64, _ head: [UInt8], from oneTimeFrom: Int64,
        _ oneTimePreKeys: [PreKeyBundle.PreKey]
    ) throws(StoreError) -> Outcome {
        var owner: Owner
        var lostMark: Int64 = -1
        if let known = try find(id) {
            owner = known
            if signedID > owner.signedID {
                try connection.run(
                    "UPDATE prekey_signed SET superseded = ? WHERE number = ?", minute, owner.signed
                )
                owner.signed = try insert(head: head)
                owner.signedID = signedID
                if let first = oneTimePreKeys.first, Int64(first.id) <= owner.mark {
                    try dropOneTimePreKeys(of: owner, below: .max)
                    lostMark = owner.mark
                    owner.mark = Int64(first.id) - 1
                }
            }
        } else {
            guard !isScarce else { return .diskFull }
            let signed = try insert(head: head)
            try connection.run(
                """
                INSERT INTO prekey_owner (key, signed, signed_id, one_time_mark, minute)
                VALUES (?, ?, ?, -1, ?)
                """, id.publicKey, signed, signedID, minute)
            owner = Owner(
                number: connection.lastRow, signed: signed, signedID: signedID, mark: -1)
        }
        // The owner no longer has the secrets of lower ones.
        try dropOneTimePreKeys(of: owner, below: oneTimeFrom)
        try add(oneTimePreKeys, to: &owner)
        owner.mark = max(owner.mark, lostMark)
        try connection.run(
            """
            UPDATE prekey_owner SET signed = ?, signed_id = ?, one_time_mark = ?,
                minute = max(minute, ?) WHERE number = ?
            """, owner.signed, owner.signedID, owner.mark, minute, owner.number)
        return .published
    }

    /// Hands out a bundle, with a one-time prekey that no other claim gets.
    ///
    /// All of it is in this transaction: a client that lost the reply and repeats the claim gets the same bundle, and a
    /// deleted one-time prekey is in the row of exactly one claim.
    /// With no more than `reserve` one-time prekeys, the bundle has none.
    func claim(
        _ id: [UInt8], of owner: KeyID, reserve: Int64
    ) throws(StoreError) -> Outcome {
        if let earlier = try repeated(id, of: owner) { return earlier }
        guard let row = try find(owner) else { return .noBundle }
        guard let oneTime = try takeOneTimePreKey(of: row, reserve: reserve) else {
            // Without a one-time prekey the claim need not be repeatable.
            return .bundle(PreKeyBundle.line(head: try head(row.signed), nil))
        }
        try connection.run(
            """
            INSERT INTO prekey_claim (id, owner, signed, one_time, key, minute)
            VALUES (?, ?, ?, ?, ?, ?)
            """, id, row.number, row.signed, oneTime.id, oneTime.key, minute)
        return .bundle(PreKeyBundle.line(head: try head(row.signed), oneTime))
    }

    /// Hands out the bundles of a batch.
    func claim(_ claims: [Request.Claim]) throws(StoreError) -> Outcome {
        .bundles(
            try claims.map { claim throws(StoreError) in
                try self.claim(
                    Envelope.idBytes(claim.id), of: claim.owner, reserve: Retention.reservedOneTime
                ).bundle
            })
    }

    private func head(_ signed: Int64) throws(StoreError) -> [UInt8] {
        try connection.first("SELECT head FROM prekey_signed WHERE number = ?", signed) {
            $0.bytes(0)
        } ?? []
    }

    /// Returns the result of an earlier claim with this id, or `nil`.
    private func repeated(_ id: [UInt8], of owner: KeyID) throws(StoreError) -> Outcome? {
        let select = try connection.statement(
            """
            SELECT prekey_owner.key, head, one_time, prekey_claim.key FROM prekey_claim
            JOIN prekey_owner ON prekey_owner.number = owner
            JOIN prekey_signed ON prekey_signed.number = prekey_claim.signed
            WHERE prekey_claim.id = ?
            """, id)
        defer { select.reset() }
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

    private func find(_ id: KeyID) throws(StoreError) -> Owner? {
        try connection.first(
            "SELECT number, signed, signed_id, one_time_mark FROM prekey_owner WHERE key = ?",
            id.publicKey
        ) {
            Owner(
                number: $0.integer(0), signed: $0.integer(1), signedID: $0.integer(2),
                mark: $0.integer(3))
        }
    }

    private func insert(head: [UInt8]) throws(StoreError) -> Int64 {
        try connection.run("INSERT INTO prekey_signed (head) VALUES (?)", head)
        return connection.lastRow
    }

    private func add(_ keys: [PreKeyBundle.PreKey], to owner: inout Owner) throws(StoreError) {
        var room =
            Int64(WireLimits.oneTimePreKeys)
            - (try connection.integer(
                "SELECT count(*) FROM prekey_one_time WHERE owner = ?", owner.number))
        for key in keys where Int64(key.id) > owner.mark && room > 0 {
            try connection.run(
                "INSERT INTO prekey_one_time (owner, id, key) VALUES (?, ?, ?)", owner.number,
                key.id, key.key)
            owner.mark = Int64(key.id)
            room -= 1
        }
    }

    private func dropOneTimePreKeys(of owner: Owner, below id: Int64) throws(StoreError) {
        try connection.run(
            "DELETE FROM prekey_one_time WHERE owner = ? AND id < ?", owner.number, id)
    }

    private func takeOneTimePreKey(
        of owner: Owner, reserve: Int64
    ) throws(StoreError) -> PreKeyBundle.PreKey? {
        let first = try connection.first(
            """
            SELECT id, key FROM prekey_one_time WHERE owner = ?1
                AND EXISTS (SELECT 1 FROM prekey_one_time WHERE owner = ?1 LIMIT 1 OFFSET ?2)
            ORDER BY id LIMIT 1
            """, owner.number, reserve
        ) {
            PreKeyBundle.PreKey(id: UInt32(truncatingIfNeeded: $0.integer(0)), key: $0.bytes(1))
        }
        guard let key = first else { return nil }
        try connection.run(
            "DELETE FROM prekey_one_time WHERE owner = ? AND id = ?", owner.number, key.id)
        return key
    }
}

extension SQLiteStore {
    func preKeys(of owner: KeyID) throws(StoreError) -> PreKeyStatus? {
        try reader.use { connection throws(StoreError) in
            try connection.first(
                """
                SELECT (SELECT count(*) FROM prekey_one_time WHERE owner = number), signed_id,
                    one_time_mark
                FROM prekey_owner WHERE key = ?
                """, owner.publicKey
            ) { row throws(StoreError) in
                PreKeyStatus(
                    oneTime: Int(row.integer(0)),
                    signedID: UInt32(truncatingIfNeeded: row.integer(1)),
                    oneTimeMark: UInt32(truncatingIfNeeded: max(0, row.integer(2))))
            }
        }
    }
}
