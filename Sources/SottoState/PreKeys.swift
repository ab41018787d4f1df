public import Sotto

/// Our prekeys: their secrets, and when each is renewed.
extension StateTransaction {
    /// Days after which a signed prekey is replaced.
    public static let rotationDays: Int64 = 7
    /// Days for which the secret of a replaced one is kept: as long as a relay keeps mail.
    public static let graceDays: Int64 = 30
    /// How many one-time prekeys are made at once.
    public static let batch = 50
    /// Below how many at the relay new ones are made.
    public static let replenishBelow = 20
    /// How many secrets of one-time prekeys are kept; the oldest beyond go.
    private static let oneTimeKept: Int64 = 1_000

    private static let day: Int64 = 86_400
    /// The highest number that a relay may have seen: a billion are left above it.
    private static let highestMark: UInt32 = 3 << 30

    /// What to publish now: the signed prekeys, renewed if it is time, and a batch of fresh one-time prekeys.
    ///
    /// With `replacing`, a relay lets go of all earlier one-time prekeys.
    public func publication(
        at time: Timestamp = .now(), oneTime count: Int = batch, replacing: Bool = false
    ) throws(StateError) -> PreKeyPublication {
        let signed = try current(.signed, at: time)
        let postQuantum = try current(.postQuantum, at: time)
        try forgetReplaced(at: time)
        var fresh: [PreKeyBundle.PreKey] = []
        for id in try numbers(.oneTime, count, at: time) {
            let key = SecretPreKey(.oneTime, id: id)
            try insert(key, at: time)
            fresh.append(key.publicHalf)
        }
        try connection.run(
            """
            DELETE FROM prekey WHERE kind = 2 AND id <= (
                SELECT id FROM prekey WHERE kind = 2 ORDER BY id DESC LIMIT 1 OFFSET \(Self.oneTimeKept))
            """)
        var from = try connection.integer("SELECT min(id) FROM prekey WHERE kind = 2")
        if replacing, let first = fresh.first { from = Int64(first.id) }
        return PreKeyPublication(
            by: owner, signedPreKey: signed.key.signed(by: owner, at: signed.made),
            pqSignedPreKey: postQuantum.key.signed(by: owner, at: postQuantum.made),
            oneTimePreKeys: fresh, oneTimeFrom: UInt32(clamping: from))
    }

    /// What to publish after a relay said what it has: `nil` when that is enough, or when nothing was ever published.
    ///
    /// `signedID` and `oneTimeMark` are the highest numbers that the relay took; it takes only higher ones.
    public func replenishment(
        relayHas oneTime: Int, signedID: UInt32, oneTimeMark: UInt32, at time: Timestamp = .now()
    ) throws(StateError) -> PreKeyPublication? {
        guard let signed = try newest(.signed) else { return nil }
        let isOld = time.seconds - signed.made.seconds >= Self.rotationDays * Self.day
        let isShort = oneTime < Self.replenishBelow
        // A state that is ahead of ours was lost, and with it what the relay has above our last number.
        let isBehind = try oneTimeMark > last(.oneTime)
        guard isOld || isShort || isBehind || signedID != signed.key.id else { return nil }
        try raise(.oneTime, to: oneTimeMark)
        if signedID > signed.key.id {
            // What the relay hands out is of no use to anybody.
            for kind in [SecretPreKey.Kind.signed, .postQuantum] {
                try raise(kind, to: signedID)
                try renew(kind, at: time)
            }
        }
        return try publication(
            at: time, oneTime: isShort || isBehind ? Self.batch : 0, replacing: isBehind)
    }

    func secretPreKey(_ kind: SecretPreKey.Kind, _ id: UInt32) throws(StateError) -> SecretPreKey? {
        let select = try connection.statement("SELECT sealed FROM prekey WHERE kind = ? AND id = ?")
        defer { select.reset() }
        select.bind(1, kind.rawValue)
        select.bind(2, Int64(id))
        return try select.step() ? try secretPreKey(kind, Int64(id), select.bytes(0)) : nil
    }

    private func secretPreKey(_ kind: SecretPreKey.Kind, _ id: Int64, _ sealed: [UInt8])
        throws(StateError) -> SecretPreKey
    {
        var secret = try store.unseal(sealed, .preKey(kind: kind.rawValue, id: id))
        defer { wipe(&secret) }
        guard let number = UInt32(exactly: id),
            let key = SecretPreKey(kind, id: number, secret: secret)
        else { throw .unsealable(path: store.database.path) }
        return key
    }

    func forgetPreKey(_ kind: SecretPreKey.Kind, _ id: UInt32) throws(StateError) {
        let delete = try connection.statement("DELETE FROM prekey WHERE kind = ? AND id = ?")
        delete.bind(1, kind.rawValue)
        delete.bind(2, Int64(id))
        try delete.run()
    }

    private func newest(_ kind: SecretPreKey.Kind) throws(StateError) -> (
        key: SecretPreKey, made: Timestamp
    )? {
        let select = try connection.statement(
            "SELECT id, made, sealed FROM prekey WHERE kind = ? ORDER BY id DESC LIMIT 1")
        defer { select.reset() }
        select.bind(1, kind.rawValue)
        guard try select.step() else { return nil }
        return (
            try secretPreKey(kind, select.integer(0), select.bytes(2)),
            Timestamp(seconds: select.integer(1))
        )
    }

    /// The signed prekey of a kind that is handed out now, made or replaced when it is time.
    private func current(_ kind: SecretPreKey.Kind, at time: Timestamp) throws(StateError) -> (
        key: SecretPreKey, made: Timestamp
    ) {
        let known = try newest(kind)
        if let known, time.seconds - known.made.seconds < Self.rotationDays * Self.day {
            return known
        }
        return (try renew(kind, at: time), time)
    }

    @discardableResult
    private func renew(_ kind: SecretPreKey.Kind, at time: Timestamp) throws(StateError)
        -> SecretPreKey
    {
        let key = SecretPreKey(kind, id: try numbers(kind, 1, at: time)[0])
        let replace = try connection.statement(
            "UPDATE prekey SET replaced = ? WHERE kind = ? AND replaced IS NULL")
        replace.bind(1, time.seconds)
        replace.bind(2, kind.rawValue)
        try replace.run()
        try insert(key, at: time)
        return key
    }

    /// Lets go of signed prekeys after their grace, and of all but one predecessor; and of what was remembered for
    /// their sake.
    private func forgetReplaced(at time: Timestamp) throws(StateError) {
        for kind in [SecretPreKey.Kind.signed, .postQuantum] {
            let delete = try connection.statement(
                """
                DELETE FROM prekey WHERE kind = ?1 AND replaced IS NOT NULL AND (replaced < ?2 OR id < (
                    SELECT max(id) FROM prekey WHERE kind = ?1 AND replaced IS NOT NULL))
                """)
            delete.bind(1, kind.rawValue)
            delete.bind(2, time.seconds - Self.graceDays * Self.day)
            try delete.run()
        }
        try connection.run(
            "DELETE FROM begun WHERE prekey NOT IN (SELECT id FROM prekey WHERE kind = 0)")
    }

    private func insert(_ key: SecretPreKey, at time: Timestamp) throws(StateError) {
        var secret = key.copySecret()
        defer { wipe(&secret) }
        let insert = try connection.statement(
            "INSERT INTO prekey (kind, id, made, sealed) VALUES (?, ?, ?, ?)")
        insert.bind(1, key.kind.rawValue)
        insert.bind(2, Int64(key.id))
        insert.bind(3, time.seconds)
        insert.bind(
            4, store.seal(secret, .preKey(kind: key.kind.rawValue, id: Int64(key.id))))
        try insert.run()
    }

    private static func name(_ kind: SecretPreKey.Kind) -> String { "prekey \(kind.rawValue)" }

    /// The last number of a kind that was given out; 0 before the first.
    private func last(_ kind: SecretPreKey.Kind) throws(StateError) -> Int64 {
        let select = try connection.statement("SELECT value FROM number WHERE name = ?")
        defer { select.reset() }
        select.bind(1, Self.name(kind))
        return try select.step() ? select.integer(0) : 0
    }

    /// Has the next numbers of a kind be above `mark`. What a relay claims to have seen is believed only as far as it
    /// leaves numbers enough for ever: it could be lying.
    private func raise(_ kind: SecretPreKey.Kind, to mark: UInt32) throws(StateError) {
        guard mark <= Self.highestMark else { return }
        let raise = try connection.statement(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
            """)
        raise.bind(1, Self.name(kind))
        raise.bind(2, Int64(mark))
        try raise.run()
    }

    /// The next numbers of a kind. They begin at the clock, so that an owner whose state was lost begins above all that
    /// a relay has seen.
    private func numbers(_ kind: SecretPreKey.Kind, _ count: Int, at time: Timestamp)
        throws(StateError) -> [UInt32]
    {
        guard count > 0 else { return [] }
        let first = max(try last(kind) + 1, min(time.seconds, Int64(UInt32.max) / 2))
        let set = try connection.statement(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """)
        set.bind(1, Self.name(kind))
        set.bind(2, first + Int64(count) - 1)
        try set.run()
        return (0..<Int64(count)).map { UInt32(clamping: first + $0) }
    }
}
