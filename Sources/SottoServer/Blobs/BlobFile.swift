import Crypto
import Glibc
import Sotto
import SottoDatabase
import SottoProgram
import SottoWire

/// The description of a blob at the beginning of its file.
///
/// magic (8 bytes) ‖ mailbox (32) ‖ size (8, big-endian) ‖ minute of expiry (8, big-endian) ‖ flags (1) ‖ digest (32) ‖
/// deletion (32) ‖ zeros. Flag 1 is set if there is a digest, flag 2 if there is a deletion value.
struct BlobHeader: Sendable, Equatable {
    /// The length of the header in bytes.
    static let size = 128
    private static let magic = Array("sottob1\n".utf8)

    /// The public key of the mailbox, 32 bytes.
    let mailbox: [UInt8]
    let size: Int64
    /// The minute from which the blob is not delivered any more.
    var until: Int64
    let digest: [UInt8]?
    let deletion: [UInt8]?

    init(_ piece: BlobPiece, until: Int64) {
        mailbox = piece.to.publicKey
        size = piece.size
        self.until = until
        digest = piece.digest
        deletion = piece.deletion
    }

    init(
        mailbox: [UInt8], size: Int64, until: Int64, digest: [UInt8]?, deletion: [UInt8]?
    ) {
        self.mailbox = mailbox
        self.size = size
        self.until = until
        self.digest = digest
        self.deletion = deletion
    }

    /// Parses a header. Returns `nil` for other bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size, bytes.starts(with: Self.magic),
            let size = UInt64(bigEndianBytes: bytes[40..<48]),
            let until = UInt64(bigEndianBytes: bytes[48..<56])
        else { return nil }
        mailbox = Array(bytes[8..<40])
        self.size = Int64(truncatingIfNeeded: size)
        self.until = Int64(truncatingIfNeeded: until)
        digest = bytes[56] & 1 != 0 ? Array(bytes[57..<89]) : nil
        deletion = bytes[56] & 2 != 0 ? Array(bytes[89..<121]) : nil
        guard self.size > 0 else { return nil }
    }

    /// The bytes of the header.
    var bytes: [UInt8] {
        let none = [UInt8](repeating: 0, count: 32)
        var bytes = Self.magic + mailbox
        bytes += UInt64(bitPattern: size).bigEndianBytes
        bytes += UInt64(bitPattern: until).bigEndianBytes
        bytes.append((digest == nil ? 0 : 1) | (deletion == nil ? 0 : 2))
        bytes += (digest ?? none) + (deletion ?? none)
        return bytes + [UInt8](repeating: 0, count: Self.size - bytes.count)
    }

    /// Whether two headers differ at most in the time of expiry.
    func describesSameBlob(as other: BlobHeader) -> Bool {
        var other = other
        other.until = until
        return self == other
    }
}

/// An open file of a blob. Places are those in the blob, without the header.
final class BlobFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// Opens a file with mode 0600. Returns `nil` if it does not exist.
    init?(_ path: String, _ flags: Int32) throws(StoreError) {
        self.path = path
        descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor < 0 else { return }
        if errno == ENOENT { return nil }
        throw Self.error(errno, path)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns the store's error for an error number.
    private static func error(_ code: Int32, _ path: String) -> StoreError {
        switch code {
        case ENOSPC, EDQUOT: .full(name: path)
        case let code: .database(.inputOutput(path: path, code: code))
        }
    }

    /// The number of bytes of the blob in the file.
    func count() throws(StoreError) -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.error(errno, path) }
        return Int64(status.st_size) - Int64(BlobHeader.size)
    }

    /// Returns the header, or `nil` for other bytes.
    func header() throws(StoreError) -> BlobHeader? {
        BlobHeader(try readFully(BlobHeader.size, at: 0))
    }

    func write(_ header: BlobHeader) throws(StoreError) { try writeFully(header.bytes, at: 0) }

    /// Writes bytes, and lets the system begin to write them to disk, so that ``synchronize()`` takes less time.
    func write(_ bytes: [UInt8], at offset: Int64) throws(StoreError) {
        let place = offset + Int64(BlobHeader.size)
        try writeFully(bytes, at: place)
        if bytes.count >= Self.writeBehindBytes {
            beginWriting(descriptor, from: place, count: Int64(bytes.count))
        }
    }

    /// The least bytes that the system is told to write.
    private static let writeBehindBytes = 128 << 10

    private func writeFully(_ bytes: [UInt8], at offset: Int64) throws(StoreError) {
        let code = writeAll(bytes, to: descriptor, at: offset)
        guard code == 0 else { throw Self.error(code, path) }
    }

    /// Reads `count` bytes of the blob, fewer at its end.
    func read(_ count: Int, at offset: Int64) throws(StoreError) -> [UInt8] {
        try readFully(count, at: offset + Int64(BlobHeader.size))
    }

    private func readFully(_ count: Int, at offset: Int64) throws(StoreError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let some = pread(
                    descriptor, buffer.baseAddress! + filled, count - filled, Int(offset) + filled)
                if some < 0, errno == EINTR { continue }
                if some < 0 { code = errno }
                if some <= 0 { break }
                filled += some
            }
        }
        guard code == 0 else { throw .database(.inputOutput(path: path, code: code)) }
        return bytes
    }

    /// Returns SHA-256 of the first `size` bytes of the blob.
    func digest(of size: Int64) throws(StoreError) -> [UInt8] {
        var hash = SHA256()
        var offset: Int64 = 0
        while offset < size {
            let bytes = try read(Int(min(256 << 10, size - offset)), at: offset)
            if bytes.isEmpty { break }
            hash.update(data: bytes)
            offset += Int64(bytes.count)
        }
        return Array(hash.finalize())
    }

    /// Writes the file's data to disk.
    func synchronize() throws(StoreError) {
        let code = synchronizeFile(descriptor)
        guard code == 0 else { throw Self.error(code, path) }
    }
}
