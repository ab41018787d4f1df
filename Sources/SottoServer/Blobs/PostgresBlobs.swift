import Sotto
import SottoDatabase
import SottoWire
import Synchronization

/// Blobs in a PostgreSQL database, in rows of pieces. ``PostgresSchema`` describes the functions.
final class PostgresBlobs: BlobStore {
    private let session: PostgresSession
    private let name: String
    private let limits: BlobLimits
    private let total = Mutex(Total())

    /// The total size of all blobs at the last count, and the bytes stored since.
    private struct Total {
        var bytes: Int64 = 0
        var until = 0.0
    }

    /// Seconds for which the sum over all blobs is used: other relays may store meanwhile.
    private static let totalSeconds = 10.0
    /// The most blobs that one sweep deletes.
    private static let sweepBlobs: Int64 = 100

    /// Creates the blobs of a database with the schema.
    init(_ location: PostgresLocation, limits: BlobLimits) {
        session = PostgresSession(location)
        name = location.name
        self.limits = limits
    }

    func put(_ bytes: [UInt8], at offset: Int64, of key: [UInt8], _ header: BlobHeader)
        throws(StoreError) -> BlobOutcome
    {
        if !bytes.isEmpty, let outcome = try refusal(of: bytes, for: header.mailbox) {
            return outcome
        }
        // A row has at most `blobPieceBytes`: ``read(key:offset:count:at:)`` finds rows by that length.
        let starts = stride(
            from: 0, to: max(bytes.count, 1), by: WireLimits.blobPieceBytes)
        let queries = starts.map { start in
            var query = PostgresQuery(
                "SELECT * FROM sotto.put_blob($1, $2, $3, $4, $5, $6, $7, $8)")
            query.add(key)
            query.add(header.mailbox)
            query.add(header.size)
            query.add(header.until)
            query.add(optional: header.digest)
            query.add(optional: header.deletion)
            query.add(offset + Int64(start))
            query.add(Array(bytes[start...].prefix(WireLimits.blobPieceBytes)))
            return query
        }
        let rows: PostgresRows
        do throws(StoreError) {
            rows = try session.transaction(queries).rows[queries.count - 1]
        } catch .full {
            return .full
        }
        guard rows.count > 0 else {
            throw .serverRefused(
                server: name, state: "", reason: "the schema returned unexpected rows")
        }
        switch rows.integer(0, 0) {
        case 2: return .conflict
        case 3:
            forgetTotal()
            return .badDigest
        default:
            total.withLock { $0.bytes += Int64(bytes.count) }
            return .state(BlobState(size: header.size, have: rows.integer(0, 1)))
        }
    }

    /// Returns the outcome if a limit is reached.
    private func refusal(
        of bytes: [UInt8], for mailbox: [UInt8]
    ) throws(StoreError) -> BlobOutcome? {
        let count = Int64(bytes.count)
        let now = Monotonic.seconds()
        let isDue = total.withLock { $0.until <= now }
        let use = try use(of: mailbox, wantsAll: isDue)
        let all = total.withLock { total in
            if isDue { total = Total(bytes: use.all.bytes, until: now + Self.totalSeconds) }
            return total.bytes
        }
        guard all <= limits.total - count else { return .full }
        return use.mailbox <= limits.mailbox - count ? nil : .mailboxFull
    }

    private func use(
        of mailbox: [UInt8], wantsAll: Bool
    ) throws(StoreError) -> (mailbox: Int64, all: BlobUsage) {
        var query = PostgresQuery("SELECT * FROM sotto.blob_use($1, $2)")
        query.add(mailbox)
        query.add(wantsAll)
        let rows = try session.rows(query)
        var use: (mailbox: Int64, all: BlobUsage) = (0, BlobUsage())
        // Behind PL/Proxy there is one row for each partition.
        for row in 0..<rows.count {
            use.mailbox += rows.integer(row, 0)
            use.all.count += Int(rows.integer(row, 1))
            use.all.bytes += rows.integer(row, 2)
        }
        return use
    }

    private func forgetTotal() { total.withLock { $0.until = 0 } }

    func state(ofKey key: [UInt8], at minute: Int64) throws(StoreError) -> BlobState? {
        var query = PostgresQuery("SELECT * FROM sotto.blob($1, $2)")
        query.add(key)
        query.add(minute)
        let rows = try session.rows(query)
        guard rows.count > 0 else { return nil }
        return BlobState(size: rows.integer(0, 0), have: rows.integer(0, 1))
    }

    func read(key: [UInt8], offset: Int64, count: Int, at minute: Int64) throws(StoreError)
        -> [UInt8]?
    {
        var query = PostgresQuery("SELECT * FROM sotto.blob_pieces($1, $2, $3, $4)")
        query.add(key)
        query.add(offset)
        query.add(Int64(count))
        query.add(minute)
        let rows = try session.rows(query)
        var bytes: [UInt8] = []
        for row in 0..<rows.count {
            let place = rows.integer(row, 0)
            bytes += rows.bytes(row, 1).dropFirst(Int(max(0, offset - place)))
        }
        return bytes.isEmpty ? nil : Array(bytes.prefix(count))
    }

    func delete(key: [UInt8], deletion: [UInt8]) throws(StoreError) {
        var query = PostgresQuery("SELECT sotto.drop_blob($1, $2)")
        query.add(key)
        query.add(deletion)
        _ = try session.transaction([query])
        forgetTotal()
    }

    func sweep(at minute: Int64, latest: Int64) throws(StoreError) {
        var isPartial = true
        while isPartial {
            var query = PostgresQuery("SELECT sotto.sweep_blobs($1, $2, $3)")
            query.add(minute)
            query.add(latest)
            query.add(Self.sweepBlobs)
            let rows = try session.transaction([query]).rows[0]
            isPartial = (0..<rows.count).contains { rows.integer($0, 0) != 0 }
        }
        forgetTotal()
    }

    func usage() throws(StoreError) -> BlobUsage {
        try use(of: [], wantsAll: true).all
    }

    func complete() throws(StoreError) -> [(key: [UInt8], header: BlobHeader)] {
        let rows = try session.rows(PostgresQuery("SELECT * FROM sotto.blobs()"))
        return (0..<rows.count).map { row in
            func optional(_ column: Int32) -> [UInt8]? {
                rows.isNull(row, column) ? nil : rows.bytes(row, column)
            }
            return (
                rows.bytes(row, 0),
                BlobHeader(
                    mailbox: rows.bytes(row, 1), size: rows.integer(row, 2),
                    until: rows.integer(row, 3), digest: optional(4), deletion: optional(5))
            )
        }
    }
}
