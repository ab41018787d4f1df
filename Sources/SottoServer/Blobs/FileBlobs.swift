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
    /// The work of a thread on a file without the lock. Other threads leave the blob alone until it is done.
    private enum Use {
        case none
        /// Writes this many bytes, which are counted already.
        case writing(Int64)
        /// Deletes the file. For clients the blob does not exist any more.
        case removing
    }

    private struct Entry {
        var header: BlobHeader
        var have: Int64 = 0
        var isComplete = false
        var use = Use.none
        /// Distinguishes the blob from an earlier one with the same key.
        let number: UInt64
        /// `nil` for a complete blob, and for one that an earlier process received.
        var progress: Progress?

        var isIdle: Bool { if case .none = use { true } else { false } }
        var isRemoving: Bool { if case .removing = use { true } else { false } }
        /// The bytes that the file has, or will have after the write.
        var bytes: Int64 { if case .writing(let count) = use { have + count } else { have } }
    }

    /// The part of an upload that this process received.
    private struct Progress {
        /// SHA-256 of the bytes, if this process received all of them.
        var hash: SHA256?
        let early = EarlyWrites()

        init(isWhole: Bool) { hash = isWhole ? SHA256() : nil }
    }

    private struct State {
        private(set) var entries: [[UInt8]: Entry] = [:]
        private(set) var usage = BlobUsage()
        /// The space of all blobs, and of those of each mailbox.
        private(set) var space: Int64 = 0
        private(set) var mailboxes: [[UInt8]: Int64] = [:]
        private var last: UInt64 = 0

        mutating func nextNumber() -> UInt64 {
            last += 1
            return last
        }

        /// Replaces or deletes the entry of a blob, and corrects the sums.
        mutating func set(_ key: [UInt8], _ new: Entry?) {
            if let old = entries[key] { count(old, -1) }
            if let new { count(new, 1) }
            entries[key] = new
        }

        private mutating func count(_ entry: Entry, _ sign: Int64) {
            let size = sign * BlobLimits.space(of: entry.bytes)
            usage.count += Int(sign)
            usage.bytes += sign * entry.bytes
            space += size
            mailboxes[entry.header.mailbox, default: 0] += size
            if mailboxes[entry.header.mailbox] == 0 { mailboxes[entry.header.mailbox] = nil }
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
        for name in try Self.names(in: folder) { load(name) }
    }

    /// Returns the names of the files in a folder of blobs. A folder that does not exist has no files.
    static func names(in folder: String) throws(StoreError) -> [String] {
        let (names, code) = directoryNames(folder)
        guard code == 0 || code == ENOENT else {
            throw .database(.cannotOpen(path: folder, code: code))
        }
        return names.filter { key(ofName: $0) != nil }
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

    /// Notes a file that exists at the start. One with a damaged header is deleted: it was not complete. One that cannot
    /// be read is left alone: no client can fetch or replace that blob.
    private func load(_ name: String) {
        guard let key = Self.key(ofName: name) else { return }
        let isComplete = !name.hasSuffix(Self.incompleteSuffix)
        let found: (header: BlobHeader?, have: Int64)
        do throws(StoreError) {
            guard let file = try BlobFile(folder + "/" + name, O_RDWR) else { return }
            found = (try file.header(), try file.count())
        } catch { return }
        guard let header = found.header,
            isComplete
                ? found.have == header.size : found.have <= header.size && header.digest != nil
        else {
            unlink(folder + "/" + name)
            return
        }
        state.withLock { state in
            state.set(
                key,
                Entry(
                    header: header, have: found.have, isComplete: isComplete,
                    number: state.nextNumber()))
        }
    }

    private func path(_ key: [UInt8], isComplete: Bool) -> String {
        folder + "/" + hex(key) + (isComplete ? "" : Self.incompleteSuffix)
    }

    // MARK: Uploads

    /// The begin of an upload's piece.
    private enum Start {
        case answer(BlobOutcome)
        /// The piece is counted, and this thread alone uses the file.
        case write(Entry)
    }

    func put(_ bytes: [UInt8], at offset: Int64, of key: [UInt8], _ header: BlobHeader)
        throws(BlobStoreError) -> BlobOutcome
    {
        _ = try whole(key)
        switch state.withLock({ begin(bytes.count, at: offset, of: key, header, &$0) }) {
        case .answer(let outcome): return outcome
        case .write(var entry):
            do throws(StoreError) {
                guard try write(bytes, at: offset, header, key, &entry) else {
                    state.withLock { $0.set(key, nil) }
                    return .badDigest
                }
            } catch {
                let isKept = abandon(entry, key, at: offset)
                entry.use = .none
                state.withLock { $0.set(key, isKept ? entry : nil) }
                if case .full = error { return .full }
                throw .unavailable(error)
            }
            entry.use = .none
            let have = entry.have
            state.withLock { $0.set(key, entry) }
            return .state(BlobState(size: header.size, have: have))
        }
    }

    /// Decides about a piece, and counts its space before it is used, so that several uploads together are within the
    /// limits.
    private func begin(
        _ bytes: Int, at offset: Int64, of key: [UInt8], _ header: BlobHeader,
        _ state: inout State
    ) -> Start {
        let count = Int64(bytes)
        var entry: Entry
        if let known = state.entries[key] {
            guard !known.isRemoving else { return .answer(.busy) }
            guard known.header.describesSameBlob(as: header) else { return .answer(.conflict) }
            guard !known.isComplete, known.isIdle, known.have == offset, count > 0 else {
                return .answer(.state(BlobState(size: header.size, have: known.have)))
            }
            entry = known
        } else {
            guard offset == 0, count > 0 else {
                return .answer(.state(BlobState(size: header.size, have: 0)))
            }
            entry = Entry(header: header, number: state.nextNumber())
        }
        let more = BlobLimits.space(of: bytes, at: offset)
        guard state.space <= limits.total - more, hasRoom(for: more) else { return .answer(.full) }
        guard state.mailboxes[header.mailbox, default: 0] <= limits.mailbox - more else {
            return .answer(.mailboxFull)
        }
        entry.use = .writing(count)
        state.set(key, entry)
        return .write(entry)
    }

    /// The bytes after which an upload is written to disk early.
    private static let earlyBytes: Int64 = 8 << 20

    /// Writes bytes of a blob that no other thread uses. Returns false if its digest is wrong; then the file is deleted.
    private func write(
        _ bytes: [UInt8], at offset: Int64, _ header: BlobHeader, _ key: [UInt8],
        _ entry: inout Entry
    ) throws(StoreError) -> Bool {
        var progress = entry.progress ?? Progress(isWhole: offset == 0)
        progress.hash?.update(data: bytes)
        let have = offset + Int64(bytes.count)
        let part = path(key, isComplete: false)
        guard let file = try BlobFile(part, offset == 0 ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR)
        else {
            throw .database(.inputOutput(path: part, code: ENOENT))
        }
        if offset == 0 {
            try file.write(header)
        } else if try file.count() != offset {
            // Another program cut the file.
            throw .database(.inputOutput(path: part, code: EIO))
        }
        try file.write(bytes, at: offset)
        guard have == header.size else {
            if have / Self.earlyBytes > offset / Self.earlyBytes {
                progress.early.begin(file, on: early)
            }
            (entry.header, entry.have, entry.progress) = (header, have, progress)
            return true
        }
        // A power cut may have lost pieces that an earlier process wrote.
        let own: [UInt8] =
            if let hash = progress.hash {
                Array(hash.finalize())
            } else {
                try file.digest(of: header.size)
            }
        if let digest = header.digest, own != digest {
            unlink(part)
            return false
        }
        try file.write(header)
        // From here on a failure deletes the file: the system may have dropped bytes that it could not write.
        entry.isComplete = true
        try progress.early.wait()
        try file.synchronize()
        guard rename(part, path(key, isComplete: true)) == 0 else {
            throw .database(.inputOutput(path: part, code: errno))
        }
        try Self.synchronize(folder: folder)
        (entry.header, entry.have, entry.progress) = (header, have, nil)
        return true
    }

    /// Restores the file before a piece that failed, or deletes it. Returns whether the upload can continue.
    private func abandon(_ entry: Entry, _ key: [UInt8], at offset: Int64) -> Bool {
        let part = path(key, isComplete: false)
        let count = Int(offset) + BlobHeader.size
        var status = stat()
        if offset > 0, !entry.isComplete, lstat(part, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_size >= count
        {
            truncate(part, count)
            return true
        }
        // Without its first piece the upload has not begun.
        for isComplete in [true, false] { unlink(path(key, isComplete: isComplete)) }
        return false
    }

    /// Writes the names in a folder to disk.
    static func synchronize(folder: String) throws(StoreError) {
        let code = synchronizeDirectory(folder)
        guard code == 0 else { throw .database(.inputOutput(path: folder, code: code)) }
    }

    /// Whether the disk has room for `count` bytes and another file. A twentieth of both stays free for the store.
    private func hasRoom(for count: Int64) -> Bool {
        let room = DiskSpace(path: folder)
        return !room.isScarce(after: count) && !room.hasFewFiles
    }

    // MARK: Downloads

    func state(ofKey key: [UInt8], at minute: Int64) throws(BlobStoreError) -> BlobState? {
        guard let entry = try whole(key), !entry.isRemoving, entry.header.until > minute else {
            return nil
        }
        return BlobState(size: entry.header.size, have: entry.have)
    }

    /// Returns the entry of a blob. If another program removed or cut the file of a complete blob, deletes the blob and returns
    /// `nil`: nobody is told that it is there.
    private func whole(_ key: [UInt8]) throws(BlobStoreError) -> Entry? {
        guard let entry = state.withLock({ $0.entries[key] }) else { return nil }
        guard entry.isComplete, entry.isIdle else { return entry }
        var status = stat()
        let isThere = lstat(path(key, isComplete: true), &status) == 0
        guard isThere || errno == ENOENT else {
            throw .unavailable(
                .database(.inputOutput(path: path(key, isComplete: true), code: errno)))
        }
        if isThere, Int64(status.st_size) == entry.header.size + Int64(BlobHeader.size) {
            return entry
        }
        remove { state in state.entries[key]?.number == entry.number ? [key] : [] }
        return nil
    }

    func read(key: [UInt8], offset: Int64, count: Int, at minute: Int64) throws(BlobStoreError)
        -> [UInt8]?
    {
        let found = state.withLock { $0.entries[key] }
        guard let entry = found, !entry.isRemoving, entry.isComplete, entry.isIdle,
            entry.header.until > minute, offset >= 0, offset < entry.header.size
        else { return nil }
        let wanted = Int(min(Int64(count), entry.header.size - offset))
        let path = path(key, isComplete: true)
        do throws(StoreError) {
            if let file = try BlobFile(path, O_RDONLY) {
                let bytes = try file.read(wanted, at: offset)
                if bytes.count == wanted { return bytes }
            }
        } catch {
            throw .unavailable(error)
        }
        // The blob was deleted meanwhile, or another program removed or cut the file.
        remove { state in state.entries[key]?.number == entry.number ? [key] : [] }
        return nil
    }

    // MARK: Deletion

    func delete(key: [UInt8], deletion: [UInt8]) {
        remove { state in
            let own = state.entries[key]?.header.deletion
            return own.map { constantTimeEqual(deletion, $0) } == true ? [key] : []
        }
    }

    func sweep(at minute: Int64, latest: Int64) {
        state.withLock { state in
            for (key, entry) in state.entries where entry.header.until > latest {
                var entry = entry
                entry.header.until = latest
                state.set(key, entry)
            }
        }
        remove { state in state.entries.filter { $1.header.until <= minute }.map(\.key) }
    }

    /// Deletes the blobs that `choose` returns. It leaves those alone that another thread uses.
    private func remove(_ choose: (State) -> [[UInt8]]) {
        let gone = state.withLock { state in
            let keys = choose(state).filter { state.entries[$0]?.isIdle == true }
            for key in keys { mark(key, .removing, &state) }
            return keys
        }
        for key in gone {
            // No other thread touches a blob that is marked, so its name cannot belong to another one yet.
            let isDeleted = [true, false].allSatisfy { isComplete in
                unlink(path(key, isComplete: isComplete)) == 0 || errno == ENOENT
            }
            state.withLock { state in
                // The next sweep tries again.
                if isDeleted { state.set(key, nil) } else { mark(key, .none, &state) }
            }
        }
    }

    private func mark(_ key: [UInt8], _ use: Use, _ state: inout State) {
        guard var entry = state.entries[key] else { return }
        entry.use = use
        state.set(key, entry)
    }

    func usage() -> BlobUsage { state.withLock { $0.usage } }

    func complete() -> [(key: [UInt8], header: BlobHeader)] {
        state.withLock { state in
            state.entries.filter { $1.isComplete && $1.isIdle }.map { ($0, $1.header) }
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
