import Glibc
public import Sotto
import SottoDatabase

/// The folder `blobs` of the state: encrypted files that wait to be sent, and encrypted files that are being fetched.
///
/// A file is named by SHA-256 of the blob's id. The ciphertext alone tells nothing without its key.
public struct BlobFolder: Sendable {
    private let path: String

    /// Days after which an unused file is removed.
    private static let days = 30

    /// Opens or creates the folder in `directory`.
    public init(directory: StateDirectory) throws(StateError) {
        path = directory.file("blobs")
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .database(.cannotOpen(path: path, code: errno))
        }
    }

    /// Returns the folder in the directory of a database of the state. It is created when a file is stored.
    init(besideDatabase path: String) {
        let directory = path.lastIndex(of: "/").map { path[..<$0] } ?? "."
        self.path = directory + "/blobs"
    }

    /// Returns the path of a blob that waits to be sent.
    public func outgoing(_ id: [UInt8]) -> String { path + "/out-" + hex(sha256(id)) }

    /// Returns the path of a blob that is being fetched, or was fetched, for the group that it has changes of.
    public func incoming(_ id: [UInt8]) -> String { path + "/in-" + hex(sha256(id)) }

    /// Returns the path of a blob that is being fetched, or was fetched, for the message with a record. Another message can have
    /// a blob with the same id: its file has another path.
    public func incoming(_ id: [UInt8], of record: JSONObject) -> String {
        let message = JSONObject(
            ["id", "from", "group"].map { ($0, record[$0]) } + [("blob", .base64(id))])
        return incoming(message.serialized())
    }

    /// Returns the path of a file that does not exist, for a blob without an id yet.
    public func new() -> String { path + "/new-" + hex(randomBytes(16)) }

    /// Returns the path of a blob that a message of the owner points to. It is kept for further recipients, and to send it again.
    /// `digest` is the blob's SHA-256.
    public func composed(_ digest: [UInt8]) -> String { path + "/composed-" + hex(digest) }

    /// Moves the file at ``new()`` to ``composed(_:)``. It is on disk when this returns.
    public func keep(_ file: String, digest: [UInt8]) throws(StateError) {
        guard rename(file, composed(digest)) == 0 else {
            throw .database(.cannotOpen(path: composed(digest), code: errno))
        }
        try synchronize()
    }

    /// Stores a blob at ``composed(_:)``, unless it is there. It is on disk when this returns.
    func keep(composed blob: [UInt8], digest: [UInt8]) throws(StateError) {
        guard access(composed(digest), F_OK) != 0 else { return }
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .database(.cannotOpen(path: path, code: errno))
        }
        let file = new()
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .database(.cannotOpen(path: file, code: errno)) }
        defer { close(descriptor) }
        let code = writeAll(blob, to: descriptor)
        guard code == 0 else { throw failure(code, of: file) }
        let synced = synchronizeFile(descriptor)
        guard synced == 0 else { throw failure(synced, of: file) }
        try keep(file, digest: digest)
    }

    /// Removes a file that cannot be written, and returns the error.
    private func failure(_ code: Int32, of file: String) -> StateError {
        unlink(file)
        return .database(
            code == ENOSPC ? .full(path: file) : .inputOutput(path: file, code: code))
    }

    /// Gives the file at ``composed(_:)`` the names of the blobs with these ids. The names are on disk when this returns.
    public func name(composed digest: [UInt8], _ ids: [[UInt8]]) throws(StateError) {
        for id in ids {
            guard link(composed(digest), outgoing(id)) == 0 || errno == EEXIST else {
                throw .database(.cannotOpen(path: outgoing(id), code: errno))
            }
        }
        try synchronize()
    }

    /// Whether the bytes of a blob are here that the owner sent.
    public func keeps(_ pointer: BlobPointer) -> Bool {
        var paths = [composed(pointer.digest)]
        if let id = pointer.place?.id { paths.append(outgoing(id)) }
        return paths.contains { access($0, R_OK) == 0 }
    }

    /// Prepares a blob to be sent again at its place. Returns whether its bytes are here.
    public func prepareAgain(_ pointer: BlobPointer) throws(StateError) -> Bool {
        guard let id = pointer.place?.id, keeps(pointer) else { return false }
        if access(outgoing(id), R_OK) != 0 { try name(composed: pointer.digest, [id]) }
        // send removes old files before it reads its input.
        utimes(outgoing(id), nil)
        return true
    }

    /// Writes the names of the folder to disk.
    private func synchronize() throws(StateError) {
        let code = synchronizeDirectory(path)
        guard code == 0 else { throw .database(.inputOutput(path: path, code: code)) }
    }

    /// Whether a blob is being fetched, or was fetched.
    var hasIncoming: Bool { names.contains { $0.hasPrefix("in-") } }

    /// Removes the files that were not changed for ``days``, except those whose paths are in `used`.
    public func removeOld(except used: Set<String>) {
        let limit = time(nil) - Self.days * 86_400
        for name in names {
            let file = path + "/" + name
            var status = stat()
            guard !used.contains(file), stat(file, &status) == 0,
                Int(status.st_mtim.tv_sec) < limit
            else { continue }
            unlink(file)
        }
    }

    /// The names of the files.
    private var names: [String] { directoryNames(path).names.filter { !$0.hasPrefix(".") } }
}

/// A blob that was fetched completely. It is locked: a program that fetches it does not write to it any more.
final class FetchedBlob: ByteSource {
    private let path: String
    private let descriptor: Int32

    /// Opens the file of a blob. Returns `nil` if it does not have `size` bytes yet, or if another process uses it.
    init?(_ path: String, size: Int64) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        self.path = path
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, Int64(status.st_size) == size,
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw StateError.database(.inputOutput(path: path, code: errno))
            }
            return count
        }
    }

    func remove() { unlink(path) }
}
