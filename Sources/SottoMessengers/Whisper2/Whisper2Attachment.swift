public import Sotto

/// A reason why an attachment cannot be made or opened.
public enum Whisper2AttachmentError: Error, Sendable, Equatable {
    /// The file or the blob is longer than the limit, in bytes.
    case tooLong(limit: Int)
    /// The blob's tag is wrong, or the blob is too short. No plaintext was returned.
    case authentication
    /// The file changed while it was read. The bytes that were returned are authentic, but incomplete.
    case changed
}

/// A Whisper2 attachment: nonce (24 bytes) ‖ tag (16) ‖ ciphertext, a NaCl `secretbox` under its own key.
///
/// One tag covers the whole file, so both directions read the source twice: it must be a file that can be rewound, not
/// a pipe. Memory is bounded, and the first byte of an opened file is returned after its last byte was verified.
public enum Whisper2Attachment {
    /// The number of bytes that a blob is longer than its file.
    public static let overhead = SecretBoxPasses.nonceSize + Poly1305.tagSize
    /// The longest blob, in bytes: 100 MiB, the server's limit.
    public static let blobLimit = 100 << 20
    /// The longest file, in bytes.
    public static let fileLimit = blobLimit - overhead
}

/// A source of the bytes of the second pass.
private struct BlockQueue {
    private var block: UnsafeRawBufferPointer?

    mutating func read(
        into buffer: UnsafeMutableRawBufferPointer, from passes: SecretBoxPasses
    ) throws -> Int {
        if block?.isEmpty ?? true {
            do {
                block = try passes.next()
            } catch is ChangedFileError {
                throw Whisper2AttachmentError.changed
            }
        }
        guard let bytes = block else { return 0 }
        let count = min(buffer.count, bytes.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        block = UnsafeRawBufferPointer(rebasing: bytes[count...])
        return count
    }
}

/// The encrypted blob of a file, for an upload.
public final class Whisper2AttachmentWriter: ByteSource {
    /// The blob's nonce, 24 bytes, which is also in the pointer.
    public let nonce: [UInt8]
    /// The length of the blob in bytes.
    public let count: Int
    private let passes: SecretBoxPasses
    private var header: ArraySlice<UInt8>
    private var queue = BlockQueue()

    /// Encrypts a file of at most ``Whisper2Attachment/fileLimit`` bytes under a fresh 32-byte key that is used once.
    ///
    /// Reads the file once. Throws ``Whisper2AttachmentError``, or the errors of the source.
    public convenience init(_ file: any SeekableSource, key: borrowing SecretBytes) throws {
        try self.init(file, key: key, nonce: randomBytes(24))
    }

    init(_ file: any SeekableSource, key: borrowing SecretBytes, nonce: [UInt8]) throws {
        let size = try file.count
        guard size <= Whisper2Attachment.fileLimit else {
            throw Whisper2AttachmentError.tooLong(limit: Whisper2Attachment.fileLimit)
        }
        self.nonce = nonce
        count = size + Whisper2Attachment.overhead
        passes = SecretBoxPasses(file, from: 0, count: size, nonce: nonce, key: key)
        do {
            header = (nonce + (try passes.tag(.seal)))[...]
        } catch is ChangedFileError {
            throw Whisper2AttachmentError.changed
        }
    }

    /// Reads the next bytes of the blob.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard header.isEmpty else {
            let count = min(buffer.count, header.count)
            buffer.copyBytes(from: header.prefix(count))
            header = header.dropFirst(count)
            return count
        }
        return try queue.read(into: buffer, from: passes)
    }
}

/// The decrypted file of a blob.
public final class Whisper2AttachmentReader: ByteSource {
    /// The length of the file in bytes.
    public let count: Int
    private let passes: SecretBoxPasses
    private var queue = BlockQueue()

    /// Verifies a blob under its 32-byte key.
    ///
    /// Reads the blob once. Throws ``Whisper2AttachmentError``, or the errors of the source.
    public init(_ blob: any SeekableSource, key: borrowing SecretBytes) throws {
        let size = try blob.count - Whisper2Attachment.overhead
        guard size >= 0 else { throw Whisper2AttachmentError.authentication }
        guard size <= Whisper2Attachment.fileLimit else {
            throw Whisper2AttachmentError.tooLong(limit: Whisper2Attachment.blobLimit)
        }
        count = size
        var header = [UInt8](repeating: 0, count: Whisper2Attachment.overhead)
        let filled = try header.withUnsafeMutableBytes { try blob.fill($0, at: 0) }
        guard filled == header.count else { throw Whisper2AttachmentError.changed }
        passes = SecretBoxPasses(
            blob, from: header.count, count: size, nonce: Array(header[..<24]), key: key)
        do {
            guard constantTimeEqual(try passes.tag(.open), Array(header[24...])) else {
                throw Whisper2AttachmentError.authentication
            }
        } catch is ChangedFileError {
            throw Whisper2AttachmentError.changed
        }
    }

    /// Reads the next bytes of the file.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try queue.read(into: buffer, from: passes)
    }
}
