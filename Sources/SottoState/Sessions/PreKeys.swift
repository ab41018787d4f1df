public import Sotto
import SottoDatabase

/// Our prekeys: their secrets, and the time at which each is renewed.
extension StateTransaction {
    /// Days after which a signed prekey is replaced. A relay cannot cause an earlier replacement.
    public static let rotationDays: Int64 = 7
    /// The minimum number of days for which the secret of a replaced prekey is kept: 30 days for which a relay keeps
    /// mail, 14 days for which `encrypt` accepts a bundle without a warning, and one more.
    public static let graceDays: Int64 = 45
    /// The number of one-time prekeys that are created at once.
    public static let batch = 50
    /// The number of one-time prekeys at the relay below which new ones are created, once a day. A stranger who uses up
    /// prekeys and watches for new ones would otherwise learn when we are online.
    public static let replenishBelow = 20
    /// The maximum number of one-time prekeys created for one relay in a day, whatever the relay reports.
    public static let dailyLimit = 300
    /// The maximum number of one-time prekeys that relays may hand out. Above it, the oldest are replaced.
    private static let offered: Int64 = 1_000
    /// The maximum number of replaced signed prekeys of a kind that are kept without a waiting envelope. The schedule
    /// creates seven; a clock that is changed repeatedly creates more.
    private static let replacedLimit: Int64 = 60

    static let day: Int64 = 86_400
    /// The highest number that a relay may report; a billion numbers remain above it.
    private static let highestMark: UInt32 = 3 << 30

    /// Returns the current publication: the signed prekeys, renewed if they are due, and a batch of new one-time
    /// prekeys, for `relay` if the publication is for one relay only.
    ///
    /// With `replacing`, the relay deletes all earlier one-time prekeys.
    public func publication(
        at time: Timestamp = .now(), oneTime count: Int = batch, replacing: Bool = false,
        relay: String? = nil
    ) throws(StateError) -> PreKeyPublication {
        let isWanted = try takeRenewal()
        let (signed, postQuantum) = try currentPair(at: time, renewing: isWanted)
        var fresh: [PreKeyBundle.PreKey] = []
        for id in try numbers(.oneTime, count, at: time) {
            let key = SecretPreKey(.oneTime, id: id)
            try insert(key, at: time, relay: relay)
            fresh.append(key.publicHalf)
        }
        try replaceSurplus(at: time)
        try forgetReplaced(at: time)
        var from = try connection.integer(
            "SELECT min(id) FROM prekey WHERE kind = 2 AND replaced IS NULL")
        if replacing, let first = fresh.first { from = Int64(first.id) }
        return PreKeyPublication(
            by: owner, signedPreKey: signed.key.signed(by: owner, at: signed.made),
            pqSignedPreKey: postQuantum.key.signed(by: owner, at: postQuantum.made),
            oneTimePreKeys: fresh, oneTimeFrom: UInt32(clamping: from))
    }

    /// Returns the publication for `relay` after the relay reported its stock, or `nil` if the stock is sufficient or
    /// nothing was ever published. An identity that replaces another one gets its first prekeys too.
    ///
    /// A state without prekeys whose owner has some at the relay is new: the publication replaces those of the lost state.
    ///
    /// `signedID` and `oneTimeMark` are the highest numbers that the relay accepted; it accepts only higher ones. The
    /// relay's report is not authenticated, so it cannot cause an early renewal of a signed prekey or the deletion of a
    /// secret, and it causes at most ``dailyLimit`` one-time prekeys a day.
    public func replenishment(
        for relay: String, has oneTime: Int, signedID: UInt32, oneTimeMark: UInt32,
        at time: Timestamp = .now()
    ) throws(StateError) -> PreKeyPublication? {
        let signed = try newest(.signed)
        let isFirst = try !hasPreKeys()
        // An identity that replaces another one is published with its succession.
        let isSuccessor = owner.succession?.next == owner.id
        guard !isFirst || signedID > 0 || oneTimeMark > 0 || isSuccessor else { return nil }
        // The relay has seen higher numbers than this state: a later state was lost, and with it the secrets of the
        // relay's prekeys above our last number.
        let isBehind = try oneTimeMark > last(.oneTime)
        var count = 0
        let isDaily = try isRefillDue(for: relay, at: time)
        let isLow = oneTime < Self.replenishBelow && isDaily
        if isLow || isBehind {
            count = min(Self.batch, Self.dailyLimit - (try madeToday(for: relay, at: time)))
        }
        // One that cannot be read is renewed.
        let isWanted = try wantsRenewal()
        let isDue = isWanted || signed.map { Self.isDue($0.made, at: time) } ?? true
        guard isDue || count > 0 || signedID < signed?.key.id ?? 0 else { return nil }
        if count > 0 {
            try raise(.oneTime, to: oneTimeMark)
            try noteRefill(for: relay, at: time)
        }
        if isDue {
            // A lost state may have published higher numbers, and the relay accepts nothing below them.
            for kind in [SecretPreKey.Kind.signed, .postQuantum] { try raise(kind, to: signedID) }
        }
        return try publication(
            at: time, oneTime: max(0, count), replacing: (isBehind || isFirst) && count > 0,
            relay: relay)
    }

    /// Returns whether this state ever made a signed prekey.
    public func hasPreKeys() throws(StateError) -> Bool {
        try connection.exists(
            "SELECT 1 FROM prekey WHERE kind = ?", SecretPreKey.Kind.signed.rawValue)
    }

    private static let renewal = "prekeys wanted"

    /// Returns whether a relay's report that it accepted a signed prekey with this number may be proven by the prekey itself: it
    /// is later than those of the state, and no proof was taken within 30 days.
    package func canProve(signedID: UInt32, at time: Timestamp = .now()) throws(StateError) -> Bool
    {
        guard try hasPreKeys(), try signedID > last(.signed) else { return false }
        return try !wasProven(at: time)
    }

    /// Takes a bundle of the owner's own prekeys from a relay. Returns whether it proves that the state is an earlier one: the
    /// owner signed the prekey, and the state did not make it.
    package func takeOwn(
        _ bundle: PreKeyBundle, at time: Timestamp = .now()
    ) throws(StateError) -> Bool {
        guard bundle.owner == owner.id,
            try canProve(signedID: bundle.signedPreKey.id, at: time),
            let made = bundle.signedPreKey.date?.time
        else { return false }
        guard try takeProof(of: made, at: time) else { return false }
        // The relay takes only higher numbers, and two prekeys of one second have the same one.
        for kind in [SecretPreKey.Kind.signed, .postQuantum] {
            try raise(kind, to: bundle.signedPreKey.id)
        }
        return true
    }

    /// Lets the next publication have new signed prekeys, whatever the age of the present ones: the user says that the relay can
    /// have others, or a signature proves it.
    func wantRenewal() throws(StateError) { try remember(Self.renewal, 1) }

    private func wantsRenewal() throws(StateError) -> Bool { try remembered(Self.renewal) != nil }

    private func takeRenewal() throws(StateError) -> Bool {
        try connection.run("DELETE FROM number WHERE name = ?", Self.renewal)
        return connection.changes > 0
    }

    /// Returns whether a signed prekey of this date must be replaced: it is seven days old, or its date is more than a
    /// day in the future, from a clock that was ahead.
    private static func isDue(_ made: Timestamp, at time: Timestamp) -> Bool {
        time.seconds - made.seconds >= rotationDays * day || made.seconds - time.seconds > day
    }

    /// Whether a day has passed since the last one-time prekeys for a relay. A date in the future comes from a clock that
    /// was ahead.
    private func isRefillDue(for relay: String, at time: Timestamp) throws(StateError) -> Bool {
        let last = try connection.integer(
            "SELECT value FROM number WHERE name = ?", refillName(relay))
        return time.seconds - last >= Self.day || last > time.seconds
    }

    private func noteRefill(for relay: String, at time: Timestamp) throws(StateError) {
        try connection.run(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, refillName(relay), time.seconds)
    }

    private func refillName(_ relay: String) -> String { "refill " + hex(store.mark(relay: relay)) }

    func secretPreKey(_ kind: SecretPreKey.Kind, _ id: UInt32) throws(StateError) -> SecretPreKey? {
        try connection.first(
            "SELECT sealed FROM prekey WHERE kind = ? AND id = ?", kind.rawValue, id
        ) { row throws(StateError) in try secretPreKey(kind, Int64(id), row.bytes(0)) } ?? nil
    }

    private func secretPreKey(_ kind: SecretPreKey.Kind, _ id: Int64, _ sealed: [UInt8])
        throws(StateError) -> SecretPreKey?
    {
        let row =
            UInt64(bitPattern: kind.rawValue).bigEndianBytes + UInt64(bitPattern: id).bigEndianBytes
        return try store.readable(.preKey, row) { () throws(StateError) in
            var secret = try store.unseal(sealed, .preKey(kind: kind.rawValue, id: id))
            defer { wipe(&secret) }
            guard let number = UInt32(exactly: id),
                let key = SecretPreKey(kind, id: number, secret: secret)
            else { throw StateError.unsealable(path: store.database.path) }
            return key
        }
    }

    func forgetPreKey(_ kind: SecretPreKey.Kind, _ id: UInt32) throws(StateError) {
        try connection.run("DELETE FROM prekey WHERE kind = ? AND id = ?", kind.rawValue, id)
    }

    /// Returns the newest prekey of a kind, or `nil` if it cannot be read or none exists.
    private func newest(_ kind: SecretPreKey.Kind) throws(StateError) -> (
        key: SecretPreKey, made: Timestamp
    )? {
        let newest = try connection.first(
            "SELECT id, made, sealed FROM prekey WHERE kind = ? ORDER BY id DESC LIMIT 1",
            kind.rawValue
        ) { row throws(StateError) in
            (
                key: try secretPreKey(kind, row.integer(0), row.bytes(2)),
                made: Timestamp(seconds: row.integer(1))
            )
        }
        guard let newest, let key = newest.key else { return nil }
        return (key, newest.made)
    }

    /// Returns the current signed prekeys. Both are new if one is missing or due: a relay takes a post-quantum prekey
    /// only together with a new X25519 prekey.
    private func currentPair(at time: Timestamp, renewing: Bool) throws(StateError) -> (
        signed: (key: SecretPreKey, made: Timestamp),
        postQuantum: (key: SecretPreKey, made: Timestamp)
    ) {
        if !renewing, let signed = try newest(.signed),
            let postQuantum = try newest(.postQuantum),
            !Self.isDue(signed.made, at: time), !Self.isDue(postQuantum.made, at: time)
        {
            return (signed, postQuantum)
        }
        return ((try renew(.signed, at: time), time), (try renew(.postQuantum, at: time), time))
    }

    private func renew(_ kind: SecretPreKey.Kind, at time: Timestamp) throws(StateError)
        -> SecretPreKey
    {
        let key = SecretPreKey(kind, id: try numbers(kind, 1, at: time)[0])
        try connection.run(
            "UPDATE prekey SET replaced = ? WHERE kind = ? AND replaced IS NULL", time.seconds,
            kind.rawValue)
        try insert(key, at: time)
        return key
    }

    /// Limits the one-time prekeys that relays hand out to the newest. The secrets of the others are kept as long as
    /// those of replaced signed prekeys, because a message that uses one may be on its way.
    private func replaceSurplus(at time: Timestamp) throws(StateError) {
        try connection.run(
            """
            UPDATE prekey SET replaced = ?1 WHERE kind = 2 AND replaced IS NULL AND id <= (
                SELECT id FROM prekey WHERE kind = 2 AND replaced IS NULL
                ORDER BY id DESC LIMIT 1 OFFSET ?2)
            """, time.seconds, Self.offered)
    }

    /// Deletes replaced prekeys after their grace period unless a waiting envelope names them, and the records that
    /// depend on them.
    private func forgetReplaced(at time: Timestamp) throws(StateError) {
        // A date in the future comes from a clock that was ahead.
        try connection.run(
            "UPDATE prekey SET replaced = ?1 WHERE replaced > ?1 + ?2", time.seconds, Self.day)
        try forgetAwaited()
        try connection.run(
            """
            DELETE FROM prekey WHERE replaced < ?1
            AND NOT (kind = 0 AND id IN (SELECT signed FROM awaited))
            AND NOT (kind = 1 AND id IN (
                SELECT post_quantum FROM awaited WHERE post_quantum IS NOT NULL))
            AND NOT (kind = 2 AND id IN (
                SELECT one_time FROM awaited WHERE one_time IS NOT NULL))
            """, try settledTime(at: time).seconds - Self.graceDays * Self.day)
        for (kind, column) in [
            (SecretPreKey.Kind.signed, "signed"), (.postQuantum, "post_quantum"),
        ] {
            try connection.run(
                """
                DELETE FROM prekey WHERE kind = ?1 AND replaced IS NOT NULL AND id <= (
                    SELECT id FROM prekey WHERE kind = ?1 AND replaced IS NOT NULL
                    ORDER BY id DESC LIMIT 1 OFFSET ?2)
                AND id NOT IN (SELECT \(column) FROM awaited WHERE \(column) IS NOT NULL)
                """, kind.rawValue, Self.replacedLimit)
        }
        try connection.run(
            "DELETE FROM begun WHERE prekey NOT IN (SELECT id FROM prekey WHERE kind = 0)")
    }

    /// Returns the number of one-time prekeys that were created for a relay within a day and have not begun a session.
    private func madeToday(for relay: String, at time: Timestamp) throws(StateError) -> Int {
        return Int(
            try connection.integer(
                "SELECT count(*) FROM prekey WHERE kind = 2 AND relay = ? AND made > ? AND made <= ?",
                store.mark(relay: relay), time.seconds - Self.day, time.seconds))
    }

    private func insert(
        _ key: SecretPreKey, at time: Timestamp, relay: String? = nil
    ) throws(StateError) {
        var secret = key.copySecret()
        defer { wipe(&secret) }
        try connection.run(
            "INSERT INTO prekey (kind, id, made, sealed, relay) VALUES (?, ?, ?, ?, ?)",
            key.kind.rawValue, key.id, time.seconds,
            store.seal(secret, .preKey(kind: key.kind.rawValue, id: Int64(key.id))),
            relay.map { store.mark(relay: $0) })
    }

    private static func name(_ kind: SecretPreKey.Kind) -> String { "prekey \(kind.rawValue)" }

    /// Returns the last assigned number of a kind, or 0 if none was assigned.
    private func last(_ kind: SecretPreKey.Kind) throws(StateError) -> Int64 {
        return try connection.integer("SELECT value FROM number WHERE name = ?", Self.name(kind))
    }

    /// Raises the next numbers of a kind above `mark`. A relay could lie about the numbers it has seen, so its claim is
    /// accepted only up to a limit that leaves enough numbers.
    private func raise(_ kind: SecretPreKey.Kind, to mark: UInt32) throws(StateError) {
        guard mark <= Self.highestMark else { return }
        try connection.run(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)
            """, Self.name(kind), mark)
    }

    /// Returns the next numbers of a kind. They begin at the clock's time, so that an owner whose state was lost begins
    /// above all numbers that a relay has seen.
    private func numbers(_ kind: SecretPreKey.Kind, _ count: Int, at time: Timestamp)
        throws(StateError) -> [UInt32]
    {
        guard count > 0 else { return [] }
        let first = max(try last(kind) + 1, min(time.seconds, Int64(UInt32.max) / 2))
        try connection.run(
            """
            INSERT INTO number (name, value) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, Self.name(kind), first + Int64(count) - 1)
        return (0..<Int64(count)).map { UInt32(clamping: first + $0) }
    }
}

extension IdentityStore {
    /// Returns the number of one-time prekeys that were made for relays and that no sender has used.
    public func unusedPreKeys() throws(StateError) -> Int {
        try use { connection throws(StateError) in
            Int(
                try connection.integer(
                    "SELECT count(*) FROM prekey WHERE kind = ? AND replaced IS NULL",
                    SecretPreKey.Kind.oneTime.rawValue))
        }
    }
}
