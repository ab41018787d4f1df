/// A reason to refuse a signed stream.
public enum SignedStreamError: Error, Sendable, Equatable {
    /// The stream does not begin with ``SignedStream/magic``.
    case notSigned
    /// The signature of the header is not the signer's.
    case header
    /// A chunk was changed or moved, or its signature is not the signer's.
    case chunk
    /// The stream ends before its final chunk.
    case truncated
    /// Bytes follow the final chunk.
    case trailing
}

/// A stream of signed chunks inside an age file. It authenticates the signer and the audience.
///
/// ```
/// header(160) = "signed-stream/1\n" ‖ signer(32) ‖ salt(16) ‖ audience(32) ‖ signature(64)
/// chunk i     = u32be(length | final << 31) ‖ data ‖ signature(64)
/// ```
/// The header's signature covers `"signed-stream/1/header\0" ‖ header[0..<96]`; a chunk's covers
/// `"signed-stream/1/chunk\0" ‖ SHA-512(header)[0..<32] ‖ u64be(i) ‖ u8(final) ‖ SHA-256(data)`.
/// A chunk other than the final one has 65,536 bytes. The final chunk has 1 to 65,536 bytes, or 0 if it is the first.
public enum SignedStream {
    /// The first bytes of every signed stream.
    public static let magic = Array("signed-stream/1\n".utf8)
    static let headerSize = 160
    static let finalFlag: UInt32 = 1 << 31

    /// The audience of a stream that anyone may verify.
    public static let anyone = [UInt8](repeating: 0, count: 32)

    /// Returns the audience of recipient strings: SHA-256 of a label and the strings, sorted bytewise and joined by LF.
    /// Without recipients it is ``anyone``.
    public static func audience(_ recipients: [String]) -> [UInt8] {
        guard !recipients.isEmpty else { return anyone }
        let text = sorted(recipients).joined(separator: "\n")
        return sha256(Array("signed-stream/1/audience\0".utf8) + Array(text.utf8))
    }

    /// Returns the audience of the backup of a history. No signed file for recipients has it, so that no other file that
    /// the owner signed is taken for a backup. `owner` is the text of the owner's id.
    package static func backupAudience(of owner: String) -> [UInt8] {
        audience(["history-backup " + owner])
    }

    static func sorted(_ recipients: [String]) -> [String] {
        recipients.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private static func headerMessage(_ header: some Sequence<UInt8>) -> [UInt8] {
        Array("signed-stream/1/header\0".utf8) + Array(header)
    }

    /// Returns the header of a stream that `key` signs.
    fileprivate static func header(
        by key: SigningKey, _ audience: [UInt8], salt: [UInt8]
    ) -> [UInt8] {
        precondition(audience.count == 32 && salt.count == 16)
        let header = magic + key.publicKey + salt + audience
        return header + key.sign(headerMessage(header))
    }

    /// Verifies a header. `header` is shorter than ``headerSize`` if the stream is.
    fileprivate static func verify(
        header: [UInt8]
    ) throws -> (signer: [UInt8], audience: [UInt8]) {
        guard header.starts(with: magic) else { throw SignedStreamError.notSigned }
        guard header.count == headerSize else { throw SignedStreamError.truncated }
        let signer = Array(header[16..<48])
        guard
            verifySignature(
                Array(header[96...]), of: headerMessage(header[..<96]), by: signer)
        else { throw SignedStreamError.header }
        return (signer, Array(header[64..<96]))
    }

    /// Signs a content in memory and returns the whole stream.
    package static func seal(
        _ content: [UInt8], by key: SigningKey, audience: [UInt8]
    ) -> [UInt8] {
        let header = header(by: key, audience, salt: randomBytes(16))
        return header + ChunkSigning(signing: header, by: key).protected(content)
    }

    /// Verifies a whole stream in memory. Throws ``SignedStreamError``.
    package static func open(
        _ stream: [UInt8]
    ) throws -> (signer: [UInt8], audience: [UInt8], content: [UInt8]) {
        let header = Array(stream.prefix(headerSize))
        let (signer, audience) = try verify(header: header)
        let content = try ChunkSigning(verifying: header, by: signer).verified(
            stream.dropFirst(headerSize))
        return (signer, audience, content)
    }
}

/// Signs the chunks of a signed stream: each signature covers the header, the chunk's index and its content.
private final class ChunkSigning: ChunkProtection {
    let before = 4
    let after = 64
    /// The signing key, or `nil` for a stream that is verified.
    private let key: SigningKey?
    private let publicKey: [UInt8]
    private let prefix: [UInt8]

    init(signing header: [UInt8], by key: SigningKey) {
        self.key = key
        publicKey = key.publicKey
        prefix = Self.prefix(header)
    }

    init(verifying header: [UInt8], by publicKey: [UInt8]) {
        key = nil
        self.publicKey = publicKey
        prefix = Self.prefix(header)
    }

    func protect(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool) {
        guard let key else { preconditionFailure("a stream that is verified has no signing key") }
        let count = chunk.count - before - after
        let field = UInt32(count) | (isLast ? SignedStream.finalFlag : 0)
        let signature = key.sign(message(content(of: chunk, count), index: index, isFinal: isLast))
        chunk.copyBytes(from: field.bigEndianBytes)
        UnsafeMutableRawBufferPointer(rebasing: chunk[(before + count)...])
            .copyBytes(from: signature)
    }

    func verify(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool) throws {
        guard let field = UInt32(bigEndianBytes: chunk.prefix(before)) else {
            throw SignedStreamError.truncated
        }
        let isFinal = field & SignedStream.finalFlag != 0
        let count = Int(field & ~SignedStream.finalFlag)
        let isValid =
            isFinal ? count <= Chunks.size && (count > 0 || index == 0) : count == Chunks.size
        guard isValid else { throw SignedStreamError.chunk }
        let size = before + count + after
        guard chunk.count >= size else { throw SignedStreamError.truncated }
        let message = message(content(of: chunk, count), index: index, isFinal: isFinal)
        guard
            verifySignature(Array(chunk[(before + count)..<size]), of: message, by: publicKey)
        else { throw SignedStreamError.chunk }
        guard isFinal else {
            if isLast { throw SignedStreamError.truncated }
            return
        }
        guard isLast, chunk.count == size else { throw SignedStreamError.trailing }
    }

    private func content(
        of chunk: UnsafeMutableRawBufferPointer, _ count: Int
    ) -> UnsafeRawBufferPointer {
        .init(rebasing: chunk[before..<(before + count)])
    }

    private func message(
        _ content: UnsafeRawBufferPointer, index: UInt64, isFinal: Bool
    ) -> [UInt8] {
        prefix + index.bigEndianBytes + [isFinal ? 1 : 0] + sha256(content)
    }

    private static func prefix(_ header: [UInt8]) -> [UInt8] {
        Array("signed-stream/1/chunk\0".utf8) + sha512(header)[..<32]
    }
}

/// Signs the content that is written to it and passes the stream on.
public final class SignedStreamWriter: LendingSink {
    private let chunks: ChunkWriter

    /// Begins a stream that `key` signs for an audience of 32 bytes (``SignedStream/audience(_:)``). The salt has 16
    /// bytes; only test vectors set it.
    public init(
        by key: SigningKey, audience: [UInt8], salt: [UInt8] = randomBytes(16),
        to sink: any ByteSink
    ) throws {
        let header = SignedStream.header(by: key, audience, salt: salt)
        chunks = ChunkWriter(ChunkSigning(signing: header, by: key), to: sink)
        try sink.write(header)
    }

    /// Writes content. A full chunk is passed on when more content follows it.
    public func write(_ bytes: UnsafeRawBufferPointer) throws { try chunks.write(bytes) }

    /// Returns free space for content.
    public func lend() throws -> UnsafeMutableRawBufferPointer { try chunks.lend() }

    /// Writes the first `count` bytes of the space that was lent. Full chunks wait while `more` bytes are ready.
    public func take(_ count: Int, more: () -> Bool) throws {
        try chunks.take(count, more: more)
    }

    /// Writes the final chunk.
    public func finish() throws { try chunks.finish() }
}

/// Verifies a signed stream. It returns no byte before the signature of the byte's chunk was verified.
public final class SignedStreamReader: BorrowingSource {
    /// The signer's 32-byte Ed25519 key.
    public let signer: [UInt8]
    /// The audience of the stream, 32 bytes.
    public let audience: [UInt8]
    private let chunks: ChunkReader

    /// Reads and verifies the header. Throws ``SignedStreamError``.
    public init(_ source: any ByteSource) throws {
        var header = [UInt8](repeating: 0, count: SignedStream.headerSize)
        let count = try header.withUnsafeMutableBytes { try source.fill($0) }
        header.removeLast(header.count - count)
        (signer, audience) = try SignedStream.verify(header: header)
        chunks = ChunkReader(ChunkSigning(verifying: header, by: signer), from: source)
    }

    /// Whether verified content is available, or soon will be without reading more.
    public var isReady: Bool { chunks.isReady }

    /// Reads verified content. Throws ``SignedStreamError`` at the first chunk that is not authentic.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try chunks.read(into: buffer)
    }

    /// Returns the next verified content without copying it. Throws as ``read(into:)`` does.
    public func borrow() throws -> UnsafeRawBufferPointer { try chunks.borrow() }
}
