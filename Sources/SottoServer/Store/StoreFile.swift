import Glibc
import SottoDatabase

/// The file of a store, for programs other than the relay.
public enum StoreFile {
    /// Whether a file is a store, by its first 100 bytes (SQLite's file format, "The Database Header").
    public enum Kind: Sendable {
        /// A store that this relay can open.
        case store
        /// A database without tables, as far as the file shows; those of a new store may only be in its log.
        case new
        /// A store of a later version.
        case newer
        /// A database of another program or an unreleased build.
        case other
        /// Not an SQLite database.
        case noDatabase

        /// Reads a header.
        public init(header: [UInt8]) {
            guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
                self = .noDatabase
                return
            }
            func number(_ place: Int) -> Int {
                header[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            }
            let (kind, version) = (number(68), number(60))
            guard kind == Int(SQLiteStore.kind) else {
                self = kind == 0 && version == 0 ? .new : .other
                return
            }
            switch SchemaVersion(Int64(version), of: SQLiteStore.migrations) {
            case .known: self = .store
            case .later: self = .newer
            case .other: self = .other
            }
        }
    }

    /// Returns the folder with the blobs of the store at `path`.
    public static func blobs(of path: String) -> String { path + "-blobs" }

    /// Returns the number of complete blobs of the store at `path`, and their bytes.
    public static func blobUsage(of path: String) throws(StoreError) -> (count: Int, bytes: Int64) {
        let folder = blobs(of: path)
        var (count, bytes): (Int, Int64) = (0, 0)
        for name in try FileBlobs.completeNames(in: folder) {
            guard let file = try BlobFile(folder + "/" + name, O_RDONLY) else { continue }
            count += 1
            bytes += try file.count()
        }
        return (count, bytes)
    }

    /// Copies the complete blobs of the store at `path` into the folder of the blobs of `new`, and removes others there. A
    /// relay may be using the store. A file of the same file system is linked. Returns the number of blobs.
    public static func copyBlobs(of path: String, to new: String) throws(StoreError) -> Int {
        let (source, target) = (blobs(of: path), blobs(of: new))
        let names = try FileBlobs.completeNames(in: source)
        guard !names.isEmpty || access(target, F_OK) == 0 else { return 0 }
        guard mkdir(target, 0o700) == 0 || errno == EEXIST else {
            throw .database(.cannotOpen(path: target, code: errno))
        }
        for name in Set(try FileBlobs.names(in: target)).subtracting(names) {
            unlink(target + "/" + name)
        }
        var count = 0
        for name in names {
            if try copyBlob(source + "/" + name, to: target + "/" + name) { count += 1 }
        }
        try FileBlobs.synchronize(folder: target)
        return count
    }

    /// Copies or links a file. Returns false if it was deleted meanwhile.
    private static func copyBlob(_ path: String, to new: String) throws(StoreError) -> Bool {
        if link(path, new) == 0 || errno == EEXIST { return true }
        guard errno != ENOENT, let file = try BlobFile(path, O_RDONLY),
            let header = try file.header()
        else { return false }
        let part = new + FileBlobs.incompleteSuffix
        unlink(part)
        guard let copy = try BlobFile(part, O_RDWR | O_CREAT | O_EXCL) else { return false }
        try copy.write(header)
        var place: Int64 = 0
        while place < header.size {
            let bytes = try file.read(1 << 20, at: place)
            if bytes.isEmpty { break }
            try copy.write(bytes, at: place)
            place += Int64(bytes.count)
        }
        try copy.synchronize()
        guard rename(part, new) == 0 else {
            throw .database(.inputOutput(path: new, code: errno))
        }
        return true
    }

    /// Copies a store, as of one moment, to a file that is empty or does not exist. A relay may be using the store.
    public static func copy(_ path: String, to new: String) throws(StoreError) {
        do throws(DatabaseError) {
            try DatabaseCopy.make(
                of: path, to: new, kind: SQLiteStore.kind, migrations: SQLiteStore.migrations,
                tables: ["mailbox", "envelope", "seen"])
        } catch {
            throw StoreError(error)
        }
    }
}
