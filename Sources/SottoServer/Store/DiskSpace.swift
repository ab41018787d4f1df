import Glibc
import SottoDatabase

/// The space that a store may still use on its file system.
///
/// Data needs space twice: in the log at once, and in the file when the log is checkpointed, unless the file has free
/// pages. A reserve stays unused, so that deleting still works on a disk that is full for everything else.
struct DiskSpace {
    /// Bytes that stay free for acknowledgements and their log.
    let reserve: Int64
    /// Free bytes below which no new mailbox is created: a twentieth of the disk, 256 MiB at most, and at least twice
    /// the reserve.
    private let scarce: Int64
    private let path: String

    /// Measures the file system of the store at `path`.
    init(path: String) {
        self.path = path
        var space = statvfs()
        reserve =
            statvfs(path, &space) == 0
            ? Int64(min(16 << 20, UInt64(space.f_blocks) * UInt64(space.f_frsize) / 8)) : 0
        let twentieth = UInt64(space.f_blocks) * UInt64(space.f_frsize) / 20
        scarce = max(2 * reserve, Int64(min(256 << 20, twentieth)))
    }

    /// Whether the free space is reserved for existing mailboxes.
    var isScarce: Bool { isScarce(after: 0) }

    /// Whether the free space is reserved for existing mailboxes after `count` more bytes are used.
    func isScarce(after count: Int64) -> Bool { free.map { $0 - count < scarce } ?? false }

    /// Whether less than a twentieth of the file system's files is left. Some file systems have no such limit.
    var hasFewFiles: Bool {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return false }
        return space.f_favail < space.f_files / 20
    }

    /// Returns how many of the changes may be written now, from the first on, in one transaction.
    ///
    /// With little space it checkpoints the log first, while that is still possible.
    func count(of changes: ArraySlice<Change>, in database: DurableDatabase) throws(StoreError)
        -> Int
    {
        let growth = changes.reduce(0) { $0 + $1.growth }
        guard growth > 0, let free, free < reserve + 2 * log + 2 * (growth + Self.logged(changes))
        else { return changes.count }
        guard try checkpoint(database), let left = self.free else { return 0 }
        let inside = try database.use { connection throws(StoreError) in
            try connection.integer("PRAGMA freelist_count")
                * (try connection.integer("PRAGMA page_size"))
        }
        // A reader may have kept the log from being truncated.
        let room = left - log
        var (logged, grown): (Int64, Int64) = (0, 0)
        var count = 0
        for change in changes {
            logged += Self.logged([change])
            grown += change.growth
            // The log keeps its space until the checkpoint is done.
            let isTight = room - logged - max(0, grown - inside) < reserve / 2
            if change.growth > 0, isTight || room + inside - grown < reserve { return count }
            count += 1
        }
        return count
    }

    /// The approximate bytes that changes add to the log: their own, and the pages around them.
    private static func logged(_ changes: ArraySlice<Change>) -> Int64 {
        changes.reduce(0) { $0 + ($1.growth > 0 ? $1.growth + $1.growth / 16 + 12_288 : 0) }
    }

    /// Checkpoints the log into the file and truncates it. Returns false if the disk was too full for that.
    @discardableResult
    func checkpoint(_ database: DurableDatabase) throws(StoreError) -> Bool {
        guard log > 0 else { return true }
        do throws(StoreError) {
            try database.use { connection throws(StoreError) in
                try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            }
            return true
        } catch .full {
            return false
        }
    }

    private var log: Int64 {
        var status = stat()
        return stat(path + "-wal", &status) == 0 ? Int64(status.st_size) : 0
    }

    private var free: Int64? {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        return Int64(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize))
    }
}
