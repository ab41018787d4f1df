import Crypto
import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoWire
import Synchronization

/// The blobs of a store in a file, in a folder with its name: one file for each, named by SHA-256 of the blob's id in hex, so that a
/// copy of the folder gives no access to the blobs. An incomplete blob has the suffix `.part`.
///
/// A file begins with a ``BlobHeader``. The memory has the headers of all files, and the folder is read at the start.
final class FileBlobs: BlobStore {
    private struct Entry {
        var header: BlobHeader
        var have: Int64
        var isComplete: Bool
        /// The bytes that a thread is writing without the lock, or 0.
        var writing: Int64 = 0
        /// `nil` for a complete blob, and for one that an earlier process received.
        var progress: Progress?

        var isBusy: Bool { writing > 0 }
    }

    /// The part of an upload that this process received.
    private struct Progress {
        /// SHA-256 of the bytes, if this process received all of them.
        var hash: SHA256?
        let early = EarlyWrites()

        init(isWhole: Bool) { hash = isWhole ? SHA256() : nil }
    }

    private struct State {
        var entries: [[UInt8]: Entry] = [:]
        var usage = BlobUsage()
        var mailboxes: [[UInt8]: Int64] = [:]

        mutating func count(_ header: BlobHeader, _ bytes: Int64, blobs: Int = 0) {
            usage.count += blobs
            usage.bytes += bytes
            mailboxes[header.mailbox, default: 0] += bytes
            if mailboxes[header.mailbox] == 0 { mailboxes[header.mailbox] = nil }
        }
    }

    private let folder: String
    private let limits: BlobLimits
    private let state = Mutex(State())
    private let early = DispatchQueue(label: "relay.blobs.early")

    /// Opens or creates the folder, which only this relay uses.
    init(folder: String, limits: BlobLimits) throws(StoreError) {
        self.folder = folder
        self.limits = limits
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw .database(.cannotOpen(path: folder, code: errno))
        }
        for name in try Self.names(in: folder) { try load(name) }
    }

    /// Returns the names of the files in a folder of blobs. A folder that does not exist has no files.
    static func names(in folder: String) throws(StoreError) -> [String] {
        guard let directory = opendir(folder) else {
            if errno == ENOENT { return [] }
            throw .database(.cannotOpen(path: folder, code: errno))
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if key(ofName: name) != nil { names.append(name) }
        }
        return names
    }

    /// Returns the names of the complete blobs in a folder.
    static func completeNames(in folder: String) throws(StoreError) -> [String] {
        try names(in: folder).filter { !$0.hasSuffix(incompleteSuffix) }
    }

    /// The suffix of the name of an incomplete blob.
    static let incompleteSuffix = ".part"

    /// Returns the SHA-256 in a file's name, or `nil` for a foreign file.
    private static func key(ofName name: String) -> [UInt8]? {
        let digits = name.hasSuffix(incompleteSuffix) ? name.dropLast(5) : name[...]
        guard digits.utf8.count == 64 else { return nil }
        return bytes(hex: digits)
    }

    /// Notes a file that exists at the start. One with a damaged header is deleted: it was not complete.
    private func load(_ name: String) throws(StoreError) {
        guard let key = Self.key(ofName: name) else { return }
        let isComplete = !name.hasSuffix(Self.incompleteSuffix)
        let file = try BlobFile(folder + "/" + name, O_RDWR)
        guard let header = try file?.header(), let have = try file?.count(),
            isComplete ? have == header.size : have <= header.size && header.digest != nil
        else {
            unlink(folder + "/" + name)
            return
        }
        state.withLock { state in
            state.entries[key] = Entry(header: header, have: have, isComplete: isComplete)
            state.count(header, have, blobs: 1)
        }
    }

    private func path(_ key: [UInt8], isComplete: Bool) -> String {
        folder + "/" + hex(key) + (isComplete ? "" : Self.incompleteSuffix)
    }

    // MARK: Uploads

    func put(_ bytes: [UInt8], at offset: Int64, of key: [UInt8], _ header: BlobHeader)
        throws(StoreError) -> BlobOutcome
    {
        let count = Int64(bytes.count)
        var progress: Progress?
        let answer: BlobOutcome? = state.withLock { state in
            if let entry = state.entries[key] {
                guard entry.header.describesSameBlob(as: header) else { return .conflict }
                guard !entry.isComplete, !entry.isBusy, entry.have == offset, count > 0
                else { return .state(BlobState(size: header.size, have: entry.have)) }
            } else if offset > 0 || count == 0 {
                return .state(BlobState(size: header.size, have: 0))
            }
            guard state.usage.bytes + count <= limits.total, hasRoom(for: count) else {
                return .full
            }
            guard state.mailboxes[header.mailbox, default: 0] + count <= limits.mailbox else {
                return .mailboxFull
            }
            if state.entries[key] == nil {
                state.entries[key] = Entry(header: header, have: 0, isComplete: false)
                state.count(header, 0, blobs: 1)
            }
            // The space is counted before it is used, so that several uploads together are within the limit.
            state.count(header, count)
            state.entries[key]?.writing = count
            progress = state.entries[key]?.progress
            return nil
        }
        if let answer { return answer }
        do throws(StoreError) {
            return try write(
                bytes, at: offset, header, key, progress ?? Progress(isWhole: offset == 0))
        } catch {
            state.withLock { state in
                guard state.entries[key] != nil else { return }
                state.count(header, -count)
                state.entries[key]?.writing = 0
                // Without its first piece the upload has not begun.
                if offset == 0 {
                    state.entries[key] = nil
                    state.count(header, 0, blobs: -1)
                }
            }
            guard case .full = error else { throw error }
            return .full
        }
    }

    /// The bytes after which an upload is written to disk early.
    private static let earlyBytes: Int64 = 8 << 20

    /// Writes bytes of a blob that no other thread writes.
    private func write(
        _ bytes: [UInt8], at offset: Int64, _ header: BlobHeader, _ key: [UInt8],
        _ progress: Progress
    ) throws(StoreError) -> BlobOutcome {
        var progress = progress
        progress.hash?.update(data: bytes)
        let have = offset + Int64(bytes.count)
        let part = path(key, isComplete: false)
        guard let file = try BlobFile(part, offset == 0 ? O_RDWR | O_CREAT : O_RDWR) else {
            throw .database(.inputOutput(path: part, code: ENOENT))
        }
        if offset == 0 { try file.write(header) }
        try file.write(bytes, at: offset)
        let isComplete = have == header.size
        if isComplete {
            // A power cut may have lost pieces that an earlier process wrote.
            let own: [UInt8] =
                if let hash = progress.hash {
                    Array(hash.finalize())
                } else {
                    try file.digest(of: header.size)
                }
            if let digest = header.digest, own != digest {
                unlink(part)
                forget(key)
                return .badDigest
            }
            try file.write(header)
            do throws(StoreError) {
                try progress.early.wait()
                try file.synchronize()
            } catch {
                // The system may have dropped bytes that it could not write: the upload begins again.
                unlink(part)
                forget(key)
                throw error
            }
            guard rename(part, path(key, isComplete: true)) == 0 else {
                throw .database(.inputOutput(path: part, code: errno))
            }
            try Self.synchronize(folder: folder)
        } else if have / Self.earlyBytes > offset / Self.earlyBytes {
            progress.early.begin(file, on: early)
        }
        state.withLock { state in
            state.entries[key] = Entry(
                header: header, have: have, isComplete: isComplete,
                progress: isComplete ? nil : progress)
        }
        return .state(BlobState(size: header.size, have: have))
    }

    /// Writes the names in a folder to disk.
    static func synchronize(folder: String) throws(StoreError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw .database(.inputOutput(path: folder, code: errno))
        }
    }

    /// Whether the disk has room for `count` bytes. A twentieth of it stays free for the store.
    private func hasRoom(for count: Int64) -> Bool {
        StoreRoom(path: folder).isScarce(after: count) == false
    }

    // MARK: Downloads

    func state(ofKey key: [UInt8], at minute: Int64) -> BlobState? {
        state.withLock { state in
            guard let entry = state.entries[key], entry.header.until > minute else {
                return nil
            }
            return BlobState(size: entry.header.size, have: entry.have)
        }
    }

    func read(key: [UInt8], offset: Int64, count: Int, at minute: Int64) throws(StoreError)
        -> [UInt8]?
    {
        guard let state = state(ofKey: key, at: minute), state.isComplete, offset < state.size
        else {
            return nil
        }
        let wanted = Int(min(Int64(count), state.size - offset))
        if let file = try BlobFile(path(key, isComplete: true), O_RDONLY) {
            let bytes = try file.read(wanted, at: offset)
            if bytes.count == wanted { return bytes }
        }
        // The file was removed or cut by another program.
        remove(key)
        return nil
    }

    // MARK: Deletion

    func delete(key: [UInt8], deletion: [UInt8]) {
        let isAllowed = state.withLock { state in
            guard let entry = state.entries[key], !entry.isBusy, let own = entry.header.deletion
            else { return false }
            return constantTimeEqual(deletion, own)
        }
        if isAllowed { remove(key) }
    }

    func sweep(at minute: Int64, latest: Int64) {
        let expired = state.withLock { state in
            for (key, entry) in state.entries where entry.header.until > latest {
                state.entries[key]?.header.until = latest
            }
            return state.entries.filter { !$0.value.isBusy && $0.value.header.until <= minute }
                .keys
        }
        for key in expired { remove(key) }
    }

    private func remove(_ key: [UInt8]) {
        for isComplete in [true, false] { unlink(path(key, isComplete: isComplete)) }
        forget(key)
    }

    private func forget(_ key: [UInt8]) {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: key) else { return }
            state.count(entry.header, -entry.have - entry.writing, blobs: -1)
        }
    }

    func usage() -> BlobUsage { state.withLock { $0.usage } }

    func complete() -> [(key: [UInt8], header: BlobHeader)] {
        state.withLock { state in
            state.entries.filter(\.value.isComplete).map { ($0.key, $0.value.header) }
        }
    }
}

/// Writes of one file to disk while its upload continues, so that the last one takes less time.
private final class EarlyWrites: Sendable {
    private struct State {
        var isPending = false
        var error: StoreError?
    }

    private let group = DispatchGroup()
    private let state = Mutex(State())

    /// Begins one, unless one is pending.
    func begin(_ file: BlobFile, on queue: DispatchQueue) {
        let isFirst = state.withLock { state in
            defer { state.isPending = true }
            return !state.isPending
        }
        guard isFirst else { return }
        queue.async(group: group) {
            var failure: StoreError?
            do throws(StoreError) { try file.synchronize() } catch { failure = error }
            self.state.withLock { state in
                state.isPending = false
                state.error = state.error ?? failure
            }
        }
    }

    /// Waits for the pending one. Throws the error of any: the system reports it to one descriptor only.
    func wait() throws(StoreError) {
        group.wait()
        if let error = state.withLock({ $0.error }) { throw error }
    }
}
