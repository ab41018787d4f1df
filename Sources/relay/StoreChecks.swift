import Glibc
import SottoBytes
import SottoDatabase
import SottoServer
import SottoTool

/// Checks whether a store can be kept at its place. It changes nothing there; it only creates an unnamed file for a
/// moment.
struct StoreChecks {
    let path: String
    /// Whether a relay runs with the store.
    let isInUse: Bool
    private let directory: String
    /// The error of a lock file that cannot be opened, or `nil`.
    private let lockError: DatabaseError?

    /// Creates the checks of the store in the file at `path`.
    init(path: String) {
        self.path = path
        let slash = path.lastIndex(of: "/")
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        (isInUse, lockError) = Self.probe(path)
    }

    /// Returns whether a process holds the lock file of the store at `path`, or the error if it cannot be opened.
    private static func probe(_ path: String) -> (isHeld: Bool, error: DatabaseError?) {
        guard !path.contains("://"), access(path + "-lock", F_OK) == 0 else { return (false, nil) }
        do throws(DatabaseError) {
            let lock = try FileLock(path: path + "-lock")
            defer { lock.unlock() }
            return (!lock.tryLock(), nil)
        } catch {
            return (false, error)
        }
    }

    /// Returns the findings about the file, its file system and its disk.
    func findings() -> [Finding] {
        guard !path.contains("://") else {
            return [Finding(.warning, "store", "only a store in a file is checked")]
        }
        var status = stat()
        guard stat(directory, &status) == 0 else {
            return [Finding(.error, "store", "the directory \(directory) does not exist")]
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            return [Finding(.error, "store", "the directory \(directory) is not writable")]
        }
        return file() + fileSystem() + synchronisation()
    }

    // MARK: The file

    private func file() -> [Finding] {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return [Finding(.ok, "store", "\(path) will be created")]
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return [Finding(.error, "store", "\(path) is not a regular file")]
        }
        guard access(path, R_OK | W_OK) == 0 else {
            return [Finding(.error, "store", "\(path) is not readable and writable")]
        }
        var findings = [content(Int(status.st_size))]
        if status.st_mode & 0o077 != 0 {
            findings.append(
                Finding(
                    .warning, "permissions",
                    "other users have access to \(path): mode \(String(status.st_mode & 0o777, radix: 8)), "
                        + "not 600"))
        } else {
            findings.append(Finding(.ok, "permissions", "only the owner has access to \(path)"))
        }
        if status.st_uid != geteuid() {
            findings.append(Finding(.warning, "permissions", "\(path) has another owner"))
        }
        do throws(StoreError) {
            let usage = try StoreFile.blobUsage(of: path)
            if usage.count > 0 {
                findings.append(
                    Finding(.ok, "blobs", "\(usage.count) blobs have \(usage.bytes) bytes"))
            }
        } catch {
            findings.append(Finding(.error, "blobs", error.failure.message))
        }
        if isInUse { findings.append(Finding(.ok, "lock", "a relay runs with \(path)")) }
        if let lockError {
            findings.append(Finding(.error, "lock", lockError.failure.message))
        }
        if Int(status.st_mtim.tv_sec) > time(nil) + 120 {
            findings.append(
                Finding(.warning, "clock", "\(path) has a time in the future; check the clock")
            )
        }
        return findings
    }

    /// Checks the header of the file.
    private func content(_ size: Int) -> Finding {
        guard let header = header() else {
            return Finding(.error, "store", "\(path) cannot be read")
        }
        if header.isEmpty { return Finding(.ok, "store", "\(path) is empty") }
        return switch StoreFile.Kind(header: header) {
        case .store, .new: Finding(.ok, "store", "\(path) has \(size) bytes")
        case .newer: Finding(.error, "store", "\(path) was written by a newer relay")
        case .other: Finding(.error, "store", "no released relay wrote \(path)")
        case .noDatabase: Finding(.error, "store", "\(path) is not an SQLite database")
        }
    }

    /// Compares the clock with the newest time in the store. Returns `nil` if they agree, and for a store that does
    /// not exist or has another version, which is not opened.
    func clock() -> Finding? {
        guard !path.contains("://"), let header = header(),
            case .store = StoreFile.Kind(header: header),
            let minutes = try? StoreClock.error(in: StoreLocation(path))
        else { return nil }
        let text = StoreClock.explanation(minutes, store: path)
        return minutes == 0 ? nil : Finding(.warning, "clock", text)
    }

    /// Returns the first 100 bytes of the file, fewer of a short one, or `nil` if it cannot be read.
    private func header() -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 100)
        let count = read(descriptor, &header, header.count)
        return count < 0 ? nil : Array(header[..<count])
    }

    // MARK: The file system

    /// The free bytes below which the disk gets a warning.
    private static let few: UInt64 = 256 << 20
    /// The bytes that a store keeps free for deletions.
    private static let reserve: UInt64 = 16 << 20

    private func fileSystem() -> [Finding] {
        var space = statvfs()
        guard statvfs(directory, &space) == 0 else {
            return [Finding(.error, "disk", "cannot read the file system of \(directory)")]
        }
        let free = UInt64(space.f_bavail) * UInt64(space.f_frsize)
        let megabytes = "\(free / 1_000_000) MB free"
        var findings = [
            free < Self.reserve
                ? Finding(.error, "disk", "only \(megabytes); the relay could store no message")
                : Finding(free < Self.few ? .warning : .ok, "disk", megabytes)
        ]
        let type = MountTable.type(of: directory)
        switch type {
        case nil: break
        case "tmpfs"?, "ramfs"?:
            findings.append(
                Finding(
                    .warning, "file-system",
                    "\(type ?? "") is in memory: the store is lost when the machine stops"))
        case let type? where MountTable.isNetwork(type):
            findings.append(
                Finding(
                    .warning, "file-system",
                    "\(type) is a network file system: locks and synchronization may not work"))
        case "overlay"?:
            findings.append(
                Finding(
                    .warning, "file-system",
                    "overlay may belong to a container: the store may be deleted with it"))
        case let type?: findings.append(Finding(.ok, "file-system", "\(type) is on a disk"))
        }
        return findings
    }

    /// Writes and synchronizes 20 blocks in an unnamed file, as SQLite commits do.
    private func synchronisation() -> [Finding] {
        // O_TMPFILE, a macro of two flags that Swift does not import.
        let unnamed: Int32 = 0o20_000_000 | O_DIRECTORY
        var descriptor = open(directory, unnamed | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor < 0 {
            var template = Array((path + ".check.XXXXXX").utf8CString)
            descriptor = mkstemp(&template)
            if descriptor >= 0 { unlink(template) }
        }
        guard descriptor >= 0 else {
            return [Finding(.error, "sync", "cannot create a file in \(directory)")]
        }
        defer { close(descriptor) }
        let block = [UInt8](repeating: 0x5A, count: 4_096)
        var times: [Double] = []
        for _ in 0..<20 {
            let start = Monotonic.seconds()
            guard write(descriptor, block, block.count) == block.count,
                fdatasync(descriptor) == 0
            else {
                let reason = String(cString: strerror(errno))
                return [
                    Finding(.error, "sync", "cannot synchronize a file in \(directory): \(reason)")
                ]
            }
            times.append(Monotonic.seconds() - start)
        }
        let median = times.sorted()[times.count / 2] * 1_000
        let text = "a synchronization takes \(Self.rounded(median)) ms"
        switch median {
        case ..<0.03:
            return [
                Finding(
                    .warning, "sync", text + ", which is too fast for a disk; check that it is one")
            ]
        case 50...: return [Finding(.warning, "sync", text + ", and a commit at least as long")]
        default: return [Finding(.ok, "sync", text)]
        }
    }

    private static func rounded(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
