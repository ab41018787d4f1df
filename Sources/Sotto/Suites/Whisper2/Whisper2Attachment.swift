/// Why an attachment was not made or opened.
public enum Whisper2AttachmentError: Error, Sendable, Equatable {
    /// The file or the blob has more bytes than this.
    case tooLong(limit: Int)
    /// The blob's tag is wrong, or it is too short to have one. Nothing was given out.
    case authentication
    /// The file was changed while it was read. What was given out before is incomplete, but true.
    case changed
}

/// A Whisper2 attachment: nonce (24 bytes) ‖ tag (16) ‖ ciphertext, a NaCl `secretbox` under a key of its own.
///
/// One tag covers all of the file, so both ways read it twice: from a file that can be rewound, not a pipe. Memory is
/// bounded, and an opened file's first byte comes after its last has been verified.
public enum Whisper2Attachment {
    /// How many bytes a blob has more than its file.
    public static let overhead = SecretBoxPasses.nonceSize + Poly1305.tagSize
    /// The longest blob, in bytes: 100 MiB, which is what the server takes.
    public static let blobLimit = 100 << 20
    /// The longest file, in bytes.
    public static let fileLimit = blobLimit - overhead
}

/// The second pass's bytes as a source.
private struct BlockQueue {
    private var block: UnsafeRawBufferPointer?

    mutating func read(
        into buffer: UnsafeMutableRawBufferPointer, from passes: SecretBoxPasses
    ) throws -> Int {
        if block?.isEmpty ?? true {
            do {
                block = try passes.next()
            } catch is SecretBoxPassError {
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

/// The blob of a file, for the upload.
public final class Whisper2AttachmentWriter: ByteSource {
    /// The blob's nonce, 24 bytes, which goes into the pointer too.
    public let nonce: [UInt8]
    /// The blob's number of bytes.
    public let count: Int
    private let passes: SecretBoxPasses
    private var header: ArraySlice<UInt8>
    private var queue = BlockQueue()

    /// Seals a file of at most ``Whisper2Attachment/fileLimit`` bytes under a fresh 32-byte key that is used once.
    ///
    /// Reads the file once; throws ``Whisper2AttachmentError``, or what the source throws.
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
        } catch is SecretBoxPassError {
            throw Whisper2AttachmentError.changed
        }
    }

    /// The blob's next bytes.
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

/// The file in a blob.
public final class Whisper2AttachmentReader: ByteSource {
    /// The file's number of bytes.
    public let count: Int
    private let passes: SecretBoxPasses
    private var queue = BlockQueue()

    /// Verifies a blob under its 32-byte key.
    ///
    /// Reads the blob once; throws ``Whisper2AttachmentError``, or what the source throws.
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
        } catch is SecretBoxPassError {
            throw Whisper2AttachmentError.changed
        }
    }

    /// The file's next bytes.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try queue.read(into: buffer, from: passes)
    }
}
