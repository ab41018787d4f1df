import Glibc
import SottoServer
import SottoState

/// Whether a store can be kept where it is wanted. Nothing is made or changed there but a file without a name,
/// for a moment.
struct StoreChecks {
    let path: String
    private let directory: String

    /// Checks of the store in the file at `path`.
    init(path: String) {
        self.path = path
        let slash = path.lastIndex(of: "/")
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// What was found, from the file outward.
    func findings() -> [Finding] {
        guard !path.contains("://") else {
            return [Finding(.warning, "store", "a store that is no file is not checked")]
        }
        var status = stat()
        guard stat(directory, &status) == 0 else {
            return [Finding(.error, "store", "the directory \(directory) is not there")]
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            return [Finding(.error, "store", "the directory \(directory) cannot be written to")]
        }
        return file() + fileSystem() + synchronisation()
    }

    // MARK: The file

    private func file() -> [Finding] {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return [Finding(.ok, "store", "\(path) will be made")]
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return [Finding(.error, "store", "\(path) is no file")]
        }
        guard access(path, R_OK | W_OK) == 0 else {
            return [Finding(.error, "store", "\(path) cannot be read and written")]
        }
        var findings = [content(Int(status.st_size))]
        if status.st_mode & 0o077 != 0 {
            findings.append(
                Finding(
                    .warning, "permissions",
                    "others may use \(path): mode \(String(status.st_mode & 0o777, radix: 8)), "
                        + "not 600"))
        } else {
            findings.append(Finding(.ok, "permissions", "\(path) is its owner's alone"))
        }
        if status.st_uid != geteuid() {
            findings.append(Finding(.warning, "permissions", "\(path) has another owner"))
        }
        if access(path + "-lock", F_OK) == 0 {
            if let lock = try? FileLock(path: path + "-lock"), lock.tryLock() {
                lock.unlock()
            } else {
                findings.append(Finding(.error, "lock", "another relay uses \(path)"))
            }
        }
        if Int(status.st_mtim.tv_sec) > time(nil) + 120 {
            findings.append(
                Finding(.warning, "clock", "\(path) was written in the future: is the clock right?")
            )
        }
        return findings
    }

    /// Looks at the header of the file, which has the version of the tables.
    private func content(_ size: Int) -> Finding {
        var header = [UInt8](repeating: 0, count: 100)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return Finding(.error, "store", "\(path) cannot be read") }
        defer { close(descriptor) }
        let count = read(descriptor, &header, header.count)
        if count == 0 { return Finding(.ok, "store", "\(path) is empty") }
        guard count == header.count, header.starts(with: Array("SQLite format 3\0".utf8)) else {
            return Finding(.error, "store", "\(path) is no SQLite database")
        }
        let version = header[60..<64].reduce(0) { $0 << 8 | Int($1) }
        guard version <= StoreFile.versions else {
            return Finding(.error, "store", "\(path) was written by a newer relay")
        }
        return Finding(.ok, "store", "\(path) has \(size) bytes")
    }

    /// Whether the clock agrees with the newest time that the store saw; `nil` for a store that is not there, or of
    /// another version, which is not opened.
    func clock() -> Finding? {
        guard !path.contains("://") else { return nil }
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > 0,
            Self.version(of: path) == StoreFile.versions,
            let minutes = try? StoreClock.error(in: StoreLocation(path))
        else { return nil }
        let text = StoreClock.explanation(minutes, store: path)
        return minutes == 0 ? nil : Finding(.warning, "clock", text)
    }

    /// The version of a store's tables, from its header; -1 for a file that cannot be read.
    private static func version(of path: String) -> Int {
        var header = [UInt8](repeating: 0, count: 100)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return -1 }
        defer { close(descriptor) }
        guard read(descriptor, &header, header.count) == header.count else { return -1 }
        return header[60..<64].reduce(0) { $0 << 8 | Int($1) }
    }

    // MARK: The file system

    /// The most free bytes that are few.
    private static let few: UInt64 = 256 << 20
    /// What a store keeps free for taking messages out.
    private static let reserve: UInt64 = 16 << 20

    private func fileSystem() -> [Finding] {
        var space = statvfs()
        guard statvfs(directory, &space) == 0 else {
            return [Finding(.error, "disk", "cannot ask about the file system of \(directory)")]
        }
        let free = UInt64(space.f_bavail) * UInt64(space.f_frsize)
        let megabytes = "\(free / 1_000_000) MB are free"
        var findings = [
            free < Self.reserve
                ? Finding(.error, "disk", "only \(megabytes): no message would be stored")
                : Finding(free < Self.few ? .warning : .ok, "disk", megabytes)
        ]
        let type = MountTable.type(of: directory)
        switch type {
        case nil: break
        case "tmpfs"?, "ramfs"?:
            findings.append(
                Finding(
                    .warning, "file-system",
                    "\(type ?? "") is in memory: what was stored is gone when the machine stops"))
        case let type? where MountTable.isNetwork(type):
            findings.append(
                Finding(
                    .warning, "file-system",
                    "\(type) is a network's: its locks and its synchronisation may not hold"))
        case "overlay"?:
            findings.append(
                Finding(
                    .warning, "file-system",
                    "overlay is perhaps a container's own: the store may go with it"))
        case let type?: findings.append(Finding(.ok, "file-system", "\(type) is a disk's"))
        }
        return findings
    }

    /// Writes and synchronises 20 blocks in a file without a name, as SQLite would commit them.
    private func synchronisation() -> [Finding] {
        // O_TMPFILE, which Swift does not import: a macro of two flags.
        let unnamed: Int32 = 0o20_000_000 | O_DIRECTORY
        var descriptor = open(directory, unnamed | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor < 0 {
            var template = Array((path + ".check.XXXXXX").utf8CString)
            descriptor = mkstemp(&template)
            if descriptor >= 0 { unlink(template) }
        }
        guard descriptor >= 0 else {
            return [Finding(.error, "sync", "cannot make a file in \(directory)")]
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
                return [Finding(.error, "sync", "cannot synchronise in \(directory): \(reason)")]
            }
            times.append(Monotonic.seconds() - start)
        }
        let median = times.sorted()[times.count / 2] * 1_000
        let text = "a synchronisation takes \(Self.rounded(median)) ms"
        switch median {
        case ..<0.03:
            return [Finding(.warning, "sync", text + ": too quick for a disk, is it one?")]
        case 50...: return [Finding(.warning, "sync", text + ", and a commit no less")]
        default: return [Finding(.ok, "sync", text)]
        }
    }

    private static func rounded(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
