import Glibc
import SottoState

/// How much a store may still write on its file system.
///
/// What is written needs room twice: in the log at once, and in the file when the log is folded into it, unless
/// pages of the file are free there. A reserve stays unused, so that taking something out still works on
/// a disk that is full for everything else.
struct StoreRoom {
    /// Bytes that stay free for acknowledgements and their log.
    let reserve: Int64
    /// Bytes below which nobody new gets a mailbox: a twentieth of the disk or 256 MiB.
    private let scarce: Int64
    private let path: String

    /// The room of the store in the file at `path`.
    init(path: String) {
        self.path = path
        var space = statvfs()
        reserve =
            statvfs(path, &space) == 0
            ? Int64(min(16 << 20, UInt64(space.f_blocks) * UInt64(space.f_frsize) / 8)) : 0
        let twentieth = UInt64(space.f_blocks) * UInt64(space.f_frsize) / 20
        scarce = max(2 * reserve, Int64(min(256 << 20, twentieth)))
    }

    /// Whether there is so little that what is left is for those who are here.
    var isScarce: Bool { free.map { $0 < scarce } ?? false }

    /// How many of the first changes may be written now, in one transaction.
    ///
    /// When there is little room, the log is folded into the file first, while it still can be.
    func count(of changes: ArraySlice<Change>, in database: DurableDatabase) throws(StateError)
        -> Int
    {
        let growth = changes.reduce(0) { $0 + $1.growth }
        guard growth > 0, let free, free < reserve + 2 * log + 2 * (growth + Self.logged(changes))
        else { return changes.count }
        guard try fold(database), let left = self.free else { return 0 }
        let inside = try database.use { connection throws(StateError) in
            try connection.integer("PRAGMA freelist_count")
                * (try connection.integer("PRAGMA page_size"))
        }
        // A reader may have kept the log from being emptied.
        let room = left - log
        var (logged, grown): (Int64, Int64) = (0, 0)
        var count = 0
        for change in changes {
            logged += Self.logged([change])
            grown += change.growth
            // The log is still there while it is folded.
            let isTight = room - logged - max(0, grown - inside) < reserve / 2
            if change.growth > 0, isTight || room + inside - grown < reserve { return count }
            count += 1
        }
        return count
    }

    /// About how many bytes some changes add to the log: their own, and the pages around them.
    private static func logged(_ changes: ArraySlice<Change>) -> Int64 {
        changes.reduce(0) { $0 + ($1.growth > 0 ? $1.growth + $1.growth / 16 + 12_288 : 0) }
    }

    /// Folds the log into the file and makes it empty. Says whether there was room for that.
    @discardableResult
    func fold(_ database: DurableDatabase) throws(StateError) -> Bool {
        guard log > 0 else { return true }
        do throws(StateError) {
            try database.use { connection throws(StateError) in
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
