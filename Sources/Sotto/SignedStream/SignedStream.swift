/// Why a signed stream is refused.
public enum SignedStreamError: Error, Sendable, Equatable {
    /// The first bytes are not a signed stream's.
    case notSigned
    /// The header's signature is not the signer's.
    case header
    /// A chunk is not the signer's, or not at its place.
    case chunk
    /// The stream ends before its final chunk.
    case truncated
    /// Something follows the final chunk.
    case trailing
}

/// Who signed, and for whom: a stream of signed chunks that is put inside an age file.
///
/// ```
/// header(160) = "signed-stream/1\n" ‖ signer(32) ‖ salt(16) ‖ audience(32) ‖ signature(64)
/// chunk i     = u32be(length | final << 31) ‖ data ‖ signature(64)
/// ```
/// The header's signature covers `"signed-stream/1/header\0" ‖ header[0..<96]`; a chunk's covers
/// `"signed-stream/1/chunk\0" ‖ SHA-512(header)[0..<32] ‖ u64be(i) ‖ u8(final) ‖ SHA-256(data)`.
/// A chunk that is not final has 65,536 bytes; the final one at most as many, and none only if it is the first.
public enum SignedStream {
    /// The first bytes of every signed stream.
    public static let magic = Array("signed-stream/1\n".utf8)
    static let headerSize = 160
    static let finalFlag: UInt32 = 1 << 31

    /// The audience of a stream that is signed for anyone.
    public static let anyone = [UInt8](repeating: 0, count: 32)

    /// The audience of these recipient strings: SHA-256 of a label and the strings, sorted bytewise and
    /// joined by LF. Without recipients, ``anyone``.
    public static func audience(_ recipients: [String]) -> [UInt8] {
        guard !recipients.isEmpty else { return anyone }
        let text = sorted(recipients).joined(separator: "\n")
        return sha256(Array("signed-stream/1/audience\0".utf8) + Array(text.utf8))
    }

    static func sorted(_ recipients: [String]) -> [String] {
        recipients.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    static func headerMessage(_ header: some Sequence<UInt8>) -> [UInt8] {
        Array("signed-stream/1/header\0".utf8) + Array(header)
    }
}

/// What protects the chunks of a signed stream: a signature over the header, the chunk's place and its content.
private final class ChunkSigning: ChunkProtection {
    let before = 4
    let after = 64
    /// Nothing of a stream that is only verified.
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

    func protect(
        _ content: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer,
        index: UInt64, isLast: Bool
    ) {
        guard let key else { preconditionFailure("nobody signs a stream that is read") }
        let field = UInt32(content.count) | (isLast ? SignedStream.finalFlag : 0)
        let signature = key.sign(message(content, index: index, isFinal: isLast))
        out.copyBytes(from: field.bigEndianBytes)
        UnsafeMutableRawBufferPointer(rebasing: out[before...]).copyMemory(from: content)
        UnsafeMutableRawBufferPointer(rebasing: out[(before + content.count)...])
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

/// Signs what is written to it and passes it on.
public final class SignedStreamWriter: LendingSink {
    private let chunks: ChunkWriter

    /// Begins a stream by `key` for an audience of 32 bytes (``SignedStream/audience(_:)``). The salt of
    /// 16 bytes is random unless a known answer needs another.
    public init(
        by key: SigningKey, audience: [UInt8], salt: [UInt8] = randomBytes(16),
        to sink: any ByteSink
    ) throws {
        precondition(audience.count == 32 && salt.count == 16)
        var header = SignedStream.magic + key.publicKey + salt + audience
        header += key.sign(SignedStream.headerMessage(header))
        chunks = ChunkWriter(ChunkSigning(signing: header, by: key), to: sink)
        try sink.write(header)
    }

    /// Takes bytes; each full chunk leaves once it is known that another follows.
    public func write(_ bytes: UnsafeRawBufferPointer) throws { try chunks.write(bytes) }

    /// Room for bytes.
    public func lend() throws -> UnsafeMutableRawBufferPointer { try chunks.lend() }

    /// Takes bytes that were put into the room.
    public func take(_ count: Int) throws { try chunks.take(count) }

    /// Writes the final chunk.
    public func finish() throws { try chunks.finish() }
}

/// Verifies a signed stream; gives out no byte before its chunk's signature has been verified.
public final class SignedStreamReader: BorrowingSource {
    /// The signer's 32-byte Ed25519 key.
    public let signer: [UInt8]
    /// For whom it was signed, 32 bytes.
    public let audience: [UInt8]
    private let chunks: ChunkReader

    /// Reads and verifies the header.
    public init(_ source: any ByteSource) throws {
        var header = [UInt8](repeating: 0, count: SignedStream.headerSize)
        let count = try header.withUnsafeMutableBytes { try source.fill($0) }
        guard header.starts(with: SignedStream.magic) else { throw SignedStreamError.notSigned }
        guard count == SignedStream.headerSize else { throw SignedStreamError.truncated }
        signer = Array(header[16..<48])
        audience = Array(header[64..<96])
        guard
            verifySignature(
                Array(header[96...]), of: SignedStream.headerMessage(header[..<96]), by: signer)
        else { throw SignedStreamError.header }
        chunks = ChunkReader(ChunkSigning(verifying: header, by: signer), from: source)
    }

    /// Whether verified data is there, or is soon without anything more to read.
    public var isReady: Bool { chunks.isReady }

    /// Reads verified data; throws ``SignedStreamError`` at the first chunk that is not the signer's.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try chunks.read(into: buffer)
    }

    /// The next verified data, where it is; throws as ``read(into:)``.
    public func borrow() throws -> UnsafeRawBufferPointer { try chunks.borrow() }
}
