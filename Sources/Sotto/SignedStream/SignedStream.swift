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
    static let chunkSize = 65536
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

    static func chunkMessage(
        headerID: [UInt8], index: UInt64, isFinal: Bool, data: [UInt8]
    ) -> [UInt8] {
        Array("signed-stream/1/chunk\0".utf8) + headerID + index.bigEndianBytes
            + [isFinal ? 1 : 0] + sha256(data)
    }

    static func headerID(_ header: [UInt8]) -> [UInt8] { Array(sha512(header)[..<32]) }
}

/// Signs what is written to it and passes it on.
public final class SignedStreamWriter: ByteSink {
    private let key: SigningKey
    private let sink: any ByteSink
    private let headerID: [UInt8]
    private var index: UInt64 = 0
    private var chunk: [UInt8] = []

    /// Begins a stream by `key` for an audience of 32 bytes (``SignedStream/audience(_:)``). The salt of
    /// 16 bytes is random unless a known answer needs another.
    public init(
        by key: SigningKey, audience: [UInt8], salt: [UInt8] = randomBytes(16),
        to sink: any ByteSink
    ) throws {
        precondition(audience.count == 32 && salt.count == 16)
        self.key = key
        self.sink = sink
        var header = SignedStream.magic + key.publicKey + salt + audience
        header += key.sign(SignedStream.headerMessage(header))
        headerID = SignedStream.headerID(header)
        chunk.reserveCapacity(SignedStream.chunkSize)
        try sink.write(header)
    }

    /// Takes bytes; each full chunk leaves once it is known that another follows.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            if chunk.count == SignedStream.chunkSize { try put(isFinal: false) }
            let count = min(rest.count, SignedStream.chunkSize - chunk.count)
            chunk.append(contentsOf: rest[..<count])
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Writes the final chunk.
    public func finish() throws {
        try put(isFinal: true)
        try sink.finish()
    }

    private func put(isFinal: Bool) throws {
        let length = UInt32(chunk.count) | (isFinal ? SignedStream.finalFlag : 0)
        let signature = key.sign(
            SignedStream.chunkMessage(
                headerID: headerID, index: index, isFinal: isFinal, data: chunk))
        try sink.write(length.bigEndianBytes)
        try sink.write(chunk)
        try sink.write(signature)
        chunk.removeAll(keepingCapacity: true)
        index += 1
    }
}

/// Verifies a signed stream; gives out no byte before its chunk's signature has been verified.
public final class SignedStreamReader: ByteSource {
    /// The signer's 32-byte Ed25519 key.
    public let signer: [UInt8]
    /// For whom it was signed, 32 bytes.
    public let audience: [UInt8]
    private let source: any ByteSource
    private let headerID: [UInt8]
    private var index: UInt64 = 0
    private var chunk: [UInt8] = []
    private var start = 0
    private var isDone = false

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
        headerID = SignedStream.headerID(header)
        self.source = source
    }

    /// Reads verified data.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if start == chunk.count {
            if isDone { return 0 }
            try next()
        }
        let count = min(buffer.count, chunk.count - start)
        chunk.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<(start + count)]))
        }
        start += count
        return count
    }

    private func next() throws {
        let word = try take(4)
        let field = UInt32(bigEndianBytes: word)!
        let isFinal = field & SignedStream.finalFlag != 0
        let length = Int(field & ~SignedStream.finalFlag)
        let isValid =
            isFinal
            ? length <= SignedStream.chunkSize && (length > 0 || index == 0)
            : length == SignedStream.chunkSize
        guard isValid else { throw SignedStreamError.chunk }
        let data = try take(length)
        let signature = try take(64)
        let message = SignedStream.chunkMessage(
            headerID: headerID, index: index, isFinal: isFinal, data: data)
        guard verifySignature(signature, of: message, by: signer) else {
            throw SignedStreamError.chunk
        }
        if isFinal {
            var byte: UInt8 = 0
            let more = try withUnsafeMutableBytes(of: &byte) { try source.read(into: $0) }
            guard more == 0 else { throw SignedStreamError.trailing }
        }
        chunk = data
        start = 0
        isDone = isFinal
        index += 1
    }

    private func take(_ count: Int) throws -> [UInt8] {
        var filled = 0
        let bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            filled = try source.fill(UnsafeMutableRawBufferPointer(buffer))
            initialized = filled
        }
        guard filled == count else { throw SignedStreamError.truncated }
        return bytes
    }
}
