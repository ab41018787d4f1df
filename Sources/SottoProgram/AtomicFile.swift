import CLinux
import Glibc
import SottoBytes

/// A file that gets its name only after it is complete and synchronized.
///
/// It is created without a name (`O_TMPFILE`) in its final directory, so that not even `kill -9` leaves an incomplete
/// file. On a file system without this feature it has a temporary name, which a signal handler removes. Its mode is
/// 0600.
final class AtomicFile {
    let descriptor: Int32
    private let path: String
    private let replacing: Bool
    private var temporary: String?
    private var isCommitted = false
    /// The size of the file, and how much of it the system was told to write to disk.
    private var size: Int64 = 0
    private var begun: Int64 = 0

    /// The least number of bytes that the system is told to write to disk.
    private static let writeBehindBytes: Int64 = 32 << 20

    /// Creates a file that will get the name `path`. With `replacing` false, an existing file is not replaced and
    /// causes a failure, here or in ``commit()``.
    init(path: String, replacing: Bool) throws(Failure) {
        self.path = path
        self.replacing = replacing
        if !replacing, access(path, F_OK) == 0 { throw Self.exists(path) }
        let directory = Self.directory(of: path)
        let unnamed = open(directory, unnamedFile | O_RDWR | O_CLOEXEC, 0o600)
        if unnamed >= 0 {
            descriptor = unnamed
            return
        }
        guard errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL else {
            throw Self.failure(errno, path)
        }
        // A separate name, because the longest names leave no space for a suffix.
        var template = Array((directory + "/.sotto-XXXXXX").utf8CString)
        let named = mkstemp(&template)
        guard named >= 0 else {
            throw Self.failure(errno, path)
        }
        let name = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        Interrupts.removeOnSignal(name)
        temporary = name
        descriptor = named
    }

    deinit {
        close(descriptor)
        if !isCommitted, let temporary {
            unlink(temporary)
            Interrupts.keepOnSignal()
        }
    }

    /// Counts bytes that were written, and lets the system begin to write them to disk, so that ``commit()`` takes less time.
    func writeBehind(_ count: Int) {
        size += Int64(count)
        guard size - begun >= Self.writeBehindBytes else { return }
        beginWriting(descriptor, from: begun, count: size - begun)
        begun = size
    }

    /// Synchronizes the file and gives it its name. A second call does nothing: it would leave a second link, because
    /// rename(2) keeps both names of one file.
    func commit() throws(Failure) {
        guard !isCommitted else { return }
        let synced = synchronizeFile(descriptor)
        guard synced == 0 else { throw Failure(errno: synced, "write", path) }
        if let temporary {
            if replacing {
                guard rename(temporary, path) == 0 else {
                    throw Failure(errno: errno, "create", path)
                }
            } else {
                guard link(temporary, path) == 0 else { throw linkFailure() }
                unlink(temporary)
            }
            isCommitted = true
            Interrupts.keepOnSignal()
        } else {
            try giveName()
            isCommitted = true
        }
        let code = synchronizeDirectory(Self.directory(of: path))
        guard code == 0 else { throw Failure(errno: code, "write", path) }
    }

    private func giveName() throws(Failure) {
        let source = "/proc/self/fd/\(descriptor)"
        if linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 { return }
        guard errno == EEXIST, replacing else { throw linkFailure() }
        // linkat(2) never replaces: link under a temporary name, then rename over the old file.
        for attempt in 0..<100 {
            let beside = "\(Self.directory(of: path))/.sotto-\(getpid())-\(attempt)"
            if linkat(AT_FDCWD, source, AT_FDCWD, beside, AT_SYMLINK_FOLLOW) == 0 {
                if rename(beside, path) == 0 { return }
                let code = errno
                unlink(beside)
                throw Failure(errno: code, "create", path)
            }
            guard errno == EEXIST else { break }
        }
        throw linkFailure()
    }

    private func linkFailure() -> Failure {
        errno == EEXIST ? Self.exists(path) : Failure(errno: errno, "create", path)
    }

    private static func exists(_ path: String) -> Failure {
        Failure(
            .cannotCreate, "\(path) exists and is not overwritten",
            hint: "choose another name, or move the old file away")
    }

    /// The failure of creating a file.
    static func failure(_ code: Int32, _ path: String) -> Failure {
        Failure(
            code == EACCES || code == EPERM ? .permission : .cannotCreate,
            "cannot create \(path): \(Failure.text(of: code))")
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// `O_TMPFILE`, a macro of two flags that Swift does not import.
private let unnamedFile: Int32 = 0o20_000_000 | O_DIRECTORY

/// Lets the system begin to write a part of a file to disk, so that it is synchronized sooner. `start` and `count` are in bytes.
package func beginWriting(_ descriptor: Int32, from start: Int64, count: Int64) {
    _ = sync_file_range(descriptor, start, count, UInt32(SOTTO_SYNC_FILE_RANGE_WRITE))
}
