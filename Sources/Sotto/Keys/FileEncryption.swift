/// AES-256-GCM (NIST SP 800-38D) of one message in pieces.
///
/// swift-crypto has it for whole messages only, so a program that encrypts long files passes another implementation.
public protocol PiecewiseGCM: AnyObject {
    /// Begins the encryption or the decryption of a message without associated data. `nonce` has 12 bytes, `key` 32.
    init(isSealing: Bool, nonce: [UInt8], key: borrowing SecretBytes)

    /// Encrypts or decrypts the next bytes of the message into `out`, which has space for as many bytes.
    func process(_ piece: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer)

    /// Ends an encryption. Returns the 16-byte tag.
    func tag() -> [UInt8]

    /// Ends a decryption. Returns whether `tag`, 16 bytes, is that of the message.
    func verify(_ tag: [UInt8]) -> Bool
}

/// A reason why a file cannot be encrypted or decrypted.
package enum FileEncryptionError: Error, Sendable, Equatable {
    /// The file is longer than ``FileEncryption/limit``, in bytes.
    case tooLong(limit: Int)
    /// The key is wrong, the file was changed, or a chunk is missing. No plaintext was returned.
    case authentication
    /// The file changed while it was read. The bytes that were returned are authentic, but incomplete.
    case changed
}

/// The encryption of a whole file under its own key, which is sent in a message: `nonce(12) ‖ AES-256-GCM ‖ tag(16)`.
///
/// One tag covers the whole file, so ``FileEncryptionReader`` reads a file twice. Memory is bounded in both directions.
package enum FileEncryption {
    /// The longest file, 1 GiB. The messengers name no limit; AES-GCM permits 64 GiB.
    package static let limit = 1 << 30
    /// The number of bytes that encryption adds to a file.
    package static let overhead = AESGCM.overhead
}

/// Encrypts a file that is written to it.
package final class FileEncryptionWriter: ByteSink {
    /// The length of the file until now, in bytes.
    package private(set) var fileSize = 0
    private let gcm: any PiecewiseGCM
    private let sink: any ByteSink
    private var header: [UInt8]
    private var block = [UInt8](repeating: 0, count: TwoPassBlocks.size)

    /// Encrypts under a fresh `key` of 32 bytes, which is used once. The blob is written to `sink`.
    package init(key: borrowing SecretBytes, gcm: any PiecewiseGCM.Type, to sink: any ByteSink) {
        header = randomBytes(AESGCM.nonceSize)
        self.gcm = gcm.init(isSealing: true, nonce: header, key: key)
        self.sink = sink
    }

    /// Encrypts the next bytes of the file. Throws ``FileEncryptionError/tooLong(limit:)``, or the errors of the sink.
    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count <= FileEncryption.limit - fileSize else {
            throw FileEncryptionError.tooLong(limit: FileEncryption.limit)
        }
        fileSize += bytes.count
        try writeHeader()
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(block.count))
            rest = rest.dropFirst(piece.count)
            try block.withUnsafeMutableBytes { out in
                gcm.process(piece, into: out.baseAddress!)
                try sink.write(UnsafeRawBufferPointer(rebasing: out[..<piece.count]))
            }
        }
    }

    /// Writes the tag and finishes the sink.
    package func finish() throws {
        try writeHeader()
        try sink.write(gcm.tag())
        try sink.finish()
    }

    private func writeHeader() throws {
        guard !header.isEmpty else { return }
        try sink.write(header)
        header = []
    }
}

/// The decrypted bytes of a file.
package final class FileEncryptionReader: ByteSource {
    /// The length of the file in bytes.
    package let count: Int
    private var blocks: TwoPassBlocks
    /// The decryption of the second pass.
    private let gcm: any PiecewiseGCM
    private var sealed = [UInt8](repeating: 0, count: TwoPassBlocks.size)
    private var block = [UInt8](repeating: 0, count: TwoPassBlocks.size)
    private var rest = 0..<0

    /// Verifies a blob under its 32-byte key.
    ///
    /// Reads the blob once. Throws ``FileEncryptionError``, or the errors of the source.
    package init(
        _ blob: any SeekableSource, key: borrowing SecretBytes, gcm: any PiecewiseGCM.Type
    ) throws {
        count = try blob.count - FileEncryption.overhead
        guard count >= 0 else { throw FileEncryptionError.authentication }
        guard count <= FileEncryption.limit else {
            throw FileEncryptionError.tooLong(limit: FileEncryption.limit)
        }
        let nonce = try Self.bytes(AESGCM.nonceSize, of: blob, at: 0)
        let tag = try Self.bytes(AESGCM.tagSize, of: blob, at: AESGCM.nonceSize + count)
        blocks = TwoPassBlocks(blob, from: AESGCM.nonceSize, count: count)
        self.gcm = gcm.init(isSealing: false, nonce: nonce, key: key)
        let first = gcm.init(isSealing: false, nonce: nonce, key: key)
        do {
            while let size = try sealed.withUnsafeMutableBytes({ try blocks.readFirst(into: $0) }) {
                decrypt(size, with: first)
            }
        } catch is ChangedFileError {
            throw FileEncryptionError.changed
        }
        guard first.verify(tag) else { throw FileEncryptionError.authentication }
    }

    deinit { wipe(&block) }

    /// Reads the next bytes of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if rest.isEmpty {
            do {
                let size = try sealed.withUnsafeMutableBytes { try blocks.readNext(into: $0) }
                guard let size else { return 0 }
                decrypt(size, with: gcm)
                rest = 0..<size
            } catch is ChangedFileError {
                throw FileEncryptionError.changed
            }
        }
        let part = rest.prefix(buffer.count)
        buffer.copyBytes(from: block[part])
        rest = rest.dropFirst(part.count)
        return part.count
    }

    private static func bytes(
        _ count: Int, of source: any SeekableSource, at offset: Int
    ) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytes { try source.fill($0, at: offset) }
        guard filled == count else { throw FileEncryptionError.changed }
        return bytes
    }

    /// Decrypts the first bytes of ``sealed`` into ``block``.
    private func decrypt(_ size: Int, with gcm: any PiecewiseGCM) {
        sealed.withUnsafeBytes { sealed in
            block.withUnsafeMutableBytes {
                gcm.process(.init(rebasing: sealed[..<size]), into: $0.baseAddress!)
            }
        }
    }
}
