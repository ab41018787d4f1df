import SottoPadding

/// A file that is encrypted under its own key and carried apart from its message. sotto-formats(5), BLOBS.
///
/// The blob has no header: nonce (16 bytes) ‖ chunks, as the payload of an age file. Its plaintext is the file and zeros
/// up to ``paddedSize(of:)``, so that its length tells little. Each chunk is authenticated, so a reader needs no more
/// memory for a long file.
public enum Blob {
    /// The longest file, 100 MiB, in bytes.
    public static let maximumFileSize: Int64 = 100 << 20
    /// The length of the key in bytes.
    public static let keySize = 32
    /// The seconds for which a relay keeps a blob, unless its operator chose another time: seven days.
    public static let lifetime: Int64 = 7 * 86_400
    /// The shortest plaintext in bytes: Padmé alone does not hide the length of a short file.
    static let minimumPaddedSize: Int64 = 4096
    /// The `info` of HKDF-SHA-256, which derives the key of the chunks.
    static let info = "sotto/blob/v1"

    /// Returns the length of the plaintext of a blob with a file of `size` bytes.
    static func paddedSize(of size: Int64) -> Int64 {
        Int64(Padding.padme(Int(max(size, minimumPaddedSize))))
    }

    /// Returns the length of the blob with a file of `size` bytes. Both are in bytes.
    public static func size(ofFile size: Int64) -> Int64 {
        let padded = paddedSize(of: size)
        let chunks = (padded + Int64(Chunks.size) - 1) / Int64(Chunks.size)
        return Int64(AgePayload.nonceSize) + padded + chunks * Int64(ChaChaPoly.tagSize)
    }

    /// The length of the longest blob in bytes.
    public static let maximumSize = size(ofFile: maximumFileSize)
}

/// A reason to refuse a blob.
public enum BlobError: Error, Sendable, Equatable {
    /// The file is longer than ``Blob/maximumFileSize``, in bytes.
    case tooLong(limit: Int64)
    /// The key is wrong, or the blob was changed, cut or extended.
    case authentication
}

/// Encrypts a file that is written to it. ``finish()`` adds the padding; then ``pointer`` tells how to open the blob.
public final class BlobWriter: ByteSink {
    /// The length of the file so far, in bytes.
    public private(set) var fileSize: Int64 = 0
    private let key: [UInt8]
    private let hashing: HashingSink
    private let chunks: ChunkWriter

    /// Creates a writer with a fresh key. `cipher` replaces libsodium's for files of more than one chunk.
    public convenience init(cipher: (any ChunkCipher)? = nil, to sink: any ByteSink) throws {
        try self.init(
            key: randomBytes(Blob.keySize), nonce: publicRandomBytes(AgePayload.nonceSize),
            cipher: cipher, to: sink)
    }

    /// Creates a writer with a key (32 bytes) and a nonce (16 bytes), which must not be used for another file.
    package init(
        key: [UInt8], nonce: [UInt8], cipher: (any ChunkCipher)?, to sink: any ByteSink
    ) throws {
        self.key = key
        hashing = HashingSink(sink)
        chunks = try AgePayload.writer(
            fileKey: SecretBytes(copying: key), nonce: nonce, info: Blob.info, cipher: cipher,
            to: hashing)
    }

    /// Writes bytes of the file. Throws ``BlobError/tooLong(limit:)``.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        fileSize += Int64(bytes.count)
        guard fileSize <= Blob.maximumFileSize else {
            throw BlobError.tooLong(limit: Blob.maximumFileSize)
        }
        try chunks.write(bytes)
    }

    /// Writes the padding and ends the blob.
    public func finish() throws {
        var left = Int(Blob.paddedSize(of: fileSize) - fileSize)
        let zeros = [UInt8](repeating: 0, count: min(left, Chunks.size))
        while left > 0 {
            let count = min(left, zeros.count)
            try zeros.withUnsafeBytes {
                try chunks.write(UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            left -= count
        }
        try chunks.finish()
    }

    /// The pointer to the finished blob, without its place.
    public var pointer: BlobPointer {
        BlobPointer(key: key, digest: hashing.digest(), size: hashing.count)
    }
}

/// Decrypts a blob. It returns no byte before the byte's chunk was verified, and throws ``BlobError/authentication`` at
/// the end if the blob is not the one that the pointer names.
public final class BlobReader: ByteSource {
    private let pointer: BlobPointer
    private let hashing: HashingSource
    private let chunks: ChunkReader
    /// The bytes of the file, and of the padding, that were not read yet.
    private var rest: Int64
    private var padding: Int64

    /// Creates a reader. `fileSize` is the length of the file, which the message tells. Throws
    /// ``BlobError/authentication`` if the pointer's size does not belong to it.
    public init(
        _ pointer: BlobPointer, fileSize: Int64, cipher: (any ChunkCipher)? = nil,
        from source: any ByteSource
    ) throws {
        guard (0...Blob.maximumFileSize).contains(fileSize),
            pointer.size == Blob.size(ofFile: fileSize)
        else { throw BlobError.authentication }
        self.pointer = pointer
        rest = fileSize
        padding = Blob.paddedSize(of: fileSize) - fileSize
        hashing = HashingSource(source)
        do {
            chunks = try AgePayload.reader(
                fileKey: SecretBytes(copying: pointer.key), info: Blob.info, cipher: cipher,
                from: hashing)
        } catch is AgeError {
            throw BlobError.authentication
        }
    }

    /// Puts the next bytes of the file into `buffer`.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        do {
            guard rest > 0 else {
                try end()
                return 0
            }
            let room = Int(min(Int64(buffer.count), rest))
            let count = try chunks.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
            guard count > 0 else { throw BlobError.authentication }
            rest -= Int64(count)
            return count
        } catch is AgeError {
            throw BlobError.authentication
        }
    }

    /// Reads the padding and compares the digest.
    private func end() throws {
        while true {
            let block = try chunks.borrow()
            if block.isEmpty { break }
            padding -= Int64(block.count)
        }
        guard padding == 0, hashing.digest() == pointer.digest else {
            throw BlobError.authentication
        }
    }
}
