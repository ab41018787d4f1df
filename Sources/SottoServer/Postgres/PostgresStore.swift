import Sotto
import SottoDatabase
import SottoWire

/// The store in a PostgreSQL database, which several relays may use at the same time: it caches nothing between
/// commits.
///
/// ``PostgresSchema`` describes the tables.
final class PostgresStore: CopyableStore {
    let location: PostgresLocation
    let retention: Retention
    let writer: PostgresSession
    let reader: PostgresSession
    private let arrivals: PostgresArrivals

    /// The most rows that one sweep deletes from a table.
    private static let sweepRows: Int64 = 1_000

    /// Connects, refuses a server with unsafe settings, and upgrades the schema.
    init(url: String, retention: Retention) throws(StoreError) {
        let location = try PostgresLocation(url: url)
        self.location = location
        self.retention = retention
        writer = PostgresSession(location)
        reader = PostgresSession(location)
        arrivals = PostgresArrivals(location)
        try PostgresCheck(session: writer, location: location).run()
    }

    // MARK: Writing

    func commit(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome] {
        do throws(StoreError) {
            return try write(changes, at: minute)
        } catch .full {
            // Changes that need space are deferred; the others are tried alone.
            var outcomes = [Outcome](repeating: .diskFull, count: changes.count)
            let places = changes.indices.filter { changes[$0].growth == 0 }
            guard !places.isEmpty else { return outcomes }
            do throws(StoreError) {
                let some = try write(places.map { changes[$0] }, at: minute)
                for (place, outcome) in zip(places, some) { outcomes[place] = outcome }
            } catch .full {}
            return outcomes
        }
    }

    private func write(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome] {
        let batch = PostgresBatch(changes, at: minute, retention)
        guard !batch.queries.isEmpty else {
            return changes.map { _ in .acknowledged(removed: 0) }
        }
        let (rows, isRepeated) = try writer.transaction(batch.queries)
        guard let outcomes = batch.outcomes(rows) else {
            throw .serverRefused(
                server: location.name, state: "", reason: "the schema returned unexpected rows")
        }
        var stored: Set<KeyID> = []
        for (change, outcome) in zip(changes, outcomes) {
            // After a repetition a duplicate may be from the try whose answer was lost.
            guard outcome == .stored || isRepeated && outcome == .duplicate,
                let mailbox = change.mailbox
            else { continue }
            stored.insert(mailbox)
        }
        arrivals.announce(stored, alsoHere: isRepeated)
        return outcomes
    }

    func sweep(at minute: Int64, second: Int64, latest: Int64, strangers: Bool)
        throws(StoreError) -> Bool
    {
        var query = PostgresQuery("SELECT sotto.sweep($1, $2, $3, $4)")
        query.add(minute - retention.minutes)
        query.add(minute - retention.minutes - Retention.tombstoneMinutes)
        query.add(minute - Retention.claimMinutes)
        query.add(Self.sweepRows)
        let rows = try writer.transaction([query]).rows[0]
        var more = (0..<rows.count).contains { rows.integer($0, 0) != 0 }
        if try sweepEnded(at: second, Self.sweepRows) { more = true }
        if try sweepAccounts(at: minute, strangers: strangers, Self.sweepRows) { more = true }
        if try sweepRooms(at: minute, Self.sweepRows) { more = true }
        if try sweepMeetings(at: second, Self.sweepRows) { more = true }
        if try sweepWakes(at: minute, latest: latest, Self.sweepRows) { more = true }
        if try sweepInstances(at: minute, latest: latest, Self.sweepRows) { more = true }
        return try sweepMailboxes(latest: latest, Self.sweepRows) || more
    }

    // MARK: Reading

    func messages(
        in mailbox: KeyID, after: Int64, limit: Int, dead: Bool, at minute: Int64, second: Int64
    )
        throws(StoreError) -> Page
    {
        var query = PostgresQuery("SELECT * FROM sotto.fetch($1, $2, $3, $4, $5, $6, $7)")
        query.add(mailbox.publicKey)
        query.add(after)
        query.add(minute - retention.minutes)
        query.add(second)
        query.add(Int64(limit))
        query.add(Int64(WireLimits.fetchBytes))
        query.add(dead)
        let rows = try reader.rows(query)
        var page = Page()
        var bytes = 0
        for row in 0..<rows.count {
            let body = rows.bytes(row, 2)
            bytes += body.count
            if page.messages.count == limit || bytes > WireLimits.fetchBytes && bytes > body.count {
                page.hasMore = true
                break
            }
            page.messages.append(
                (
                    UUIDText.text(rows.bytes(row, 1)[...]),
                    Delivered(sequence: rows.integer(row, 0), envelope: body)
                ))
        }
        return page
    }

    func preKeys(of owner: KeyID) throws(StoreError) -> PreKeyStatus? {
        var query = PostgresQuery("SELECT * FROM sotto.prekeys($1)")
        query.add(owner.publicKey)
        let rows = try reader.rows(query)
        guard rows.count > 0 else { return nil }
        return PreKeyStatus(
            oneTime: Int(rows.integer(0, 0)),
            signedID: UInt32(truncatingIfNeeded: rows.integer(0, 1)),
            oneTimeMark: UInt32(truncatingIfNeeded: max(0, rows.integer(0, 2))))
    }

    // MARK: Arrivals

    func watch(
        _ mailboxes: @escaping @Sendable () -> [KeyID],
        onArrival: @escaping @Sendable (Set<KeyID>) -> Void,
        onSignal: @escaping @Sendable ([UInt8]) -> Void
    ) {
        arrivals.start(mailboxes, onArrival, onSignal)
    }

    func pass(_ signals: [AddressedEnvelope]) { arrivals.pass(signals.map(\.bytes)) }

    func openBlobs(_ limits: BlobLimits) throws(StoreError) -> (any BlobStore)? {
        PostgresBlobs(location, limits: limits)
    }

    func close() throws(StoreError) {
        arrivals.stop()
        reader.close()
        writer.close()
    }
}
