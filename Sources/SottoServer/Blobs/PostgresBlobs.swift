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

    /// The space of all blobs at the last count, and the space that pieces took since.
    private struct Total {
        var space: Int64 = 0
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
        throws(BlobStoreError) -> BlobOutcome
    {
        let space = BlobLimits.space(of: bytes.count, at: offset)
        if !bytes.isEmpty, let outcome = try reserve(space, for: header.mailbox) {
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
        do throws(BlobStoreError) {
            rows = try transaction(queries)[queries.count - 1]
        } catch {
            forgetTotal()
            guard case .store(.full) = error else { throw error }
            return .full
        }
        guard rows.count > 0 else {
            throw .unavailable(
                .serverRefused(
                    server: name, state: "", reason: "the schema returned unexpected rows"))
        }
        switch rows.integer(0, 0) {
        case 2: return .conflict
        case 3:
            forgetTotal()
            return .badDigest
        default: return .state(BlobState(size: header.size, have: rows.integer(0, 1)))
        }
    }

    /// Counts the space of a piece, or returns the outcome if a limit is reached.
    private func reserve(
        _ space: Int64, for mailbox: [UInt8]
    ) throws(BlobStoreError) -> BlobOutcome? {
        let now = Monotonic.seconds()
        let isDue = total.withLock { $0.until <= now }
        let use = try use(of: mailbox, wantsAll: isDue)
        guard use.mailboxSpace <= limits.mailbox - space else { return .mailboxFull }
        return total.withLock { total in
            // Another piece may have brought a sum meanwhile, and is counted in it.
            if isDue, total.until <= now {
                total = Total(space: use.space, until: now + Self.totalSeconds)
            }
            guard total.space <= limits.total - space else { return .full }
            total.space += space
            return nil
        }
    }

    /// The blobs of a store and their space, and the space of the blobs of one mailbox.
    private struct Use {
        var mailboxSpace: Int64 = 0
        var all = BlobUsage()
        var space: Int64 = 0
    }

    private func use(of mailbox: [UInt8], wantsAll: Bool) throws(BlobStoreError) -> Use {
        var query = PostgresQuery("SELECT * FROM sotto.blob_use($1, $2)")
        query.add(mailbox)
        query.add(wantsAll)
        let rows = try self.rows(query)
        var use = Use()
        // Behind PL/Proxy there is one row for each partition.
        for row in 0..<rows.count {
            use.mailboxSpace += rows.integer(row, 0)
            use.all.count += Int(rows.integer(row, 1))
            use.all.bytes += rows.integer(row, 2)
            use.space += rows.integer(row, 3)
        }
        return use
    }

    private func rows(_ query: PostgresQuery) throws(BlobStoreError) -> PostgresRows {
        do throws(StoreError) { return try session.rows(query) } catch { throw Self.error(error) }
    }

    private func transaction(_ queries: [PostgresQuery]) throws(BlobStoreError) -> [PostgresRows] {
        do throws(StoreError) {
            return try session.transaction(queries).rows
        } catch {
            throw Self.error(error)
        }
    }

    /// A statement that the server refuses because of its data or for lack of memory concerns one blob (PostgreSQL,
    /// Appendix A: classes 22, 23, 53 and 54). Other errors are those of the store.
    private static func error(_ error: StoreError) -> BlobStoreError {
        guard case .serverRefused(_, let state, _) = error,
            ["22", "23", "53", "54"].contains(where: { state.hasPrefix($0) })
        else { return .store(error) }
        return .unavailable(error)
    }

    private func forgetTotal() { total.withLock { $0.until = 0 } }

    func state(ofKey key: [UInt8], at minute: Int64) throws(BlobStoreError) -> BlobState? {
        var query = PostgresQuery("SELECT * FROM sotto.blob($1, $2)")
        query.add(key)
        query.add(minute)
        let rows = try self.rows(query)
        guard rows.count > 0 else { return nil }
        return BlobState(size: rows.integer(0, 0), have: rows.integer(0, 1))
    }

    func read(key: [UInt8], offset: Int64, count: Int, at minute: Int64) throws(BlobStoreError)
        -> [UInt8]?
    {
        // The server's sums of places would overflow.
        guard offset < Blob.maximumSize else { return nil }
        var query = PostgresQuery("SELECT * FROM sotto.blob_pieces($1, $2, $3, $4)")
        query.add(key)
        query.add(offset)
        query.add(Int64(count))
        query.add(minute)
        let rows = try self.rows(query)
        var bytes: [UInt8] = []
        for row in 0..<rows.count {
            let place = rows.integer(row, 0)
            bytes += rows.bytes(row, 1).dropFirst(Int(max(0, offset - place)))
        }
        return bytes.isEmpty ? nil : Array(bytes.prefix(count))
    }

    func delete(key: [UInt8], deletion: [UInt8]) throws(BlobStoreError) {
        var query = PostgresQuery("SELECT sotto.drop_blob($1, $2)")
        query.add(key)
        query.add(deletion)
        _ = try transaction([query])
        forgetTotal()
    }

    func sweep(at minute: Int64, latest: Int64) throws(BlobStoreError) {
        var isPartial = true
        while isPartial {
            var query = PostgresQuery("SELECT sotto.sweep_blobs($1, $2, $3)")
            query.add(minute)
            query.add(latest)
            query.add(Self.sweepBlobs)
            let rows = try transaction([query])[0]
            isPartial = (0..<rows.count).contains { rows.integer($0, 0) != 0 }
        }
        forgetTotal()
    }

    func usage() throws(BlobStoreError) -> BlobUsage {
        try use(of: [], wantsAll: true).all
    }

    func complete() throws(BlobStoreError) -> [(key: [UInt8], header: BlobHeader)] {
        let rows = try self.rows(PostgresQuery("SELECT * FROM sotto.blobs()"))
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
