/// The payload of an age file: STREAM over ChaCha20-Poly1305 in chunks of 64 KiB
/// (C2SP age, "Payload").
enum AgePayload {
    static let chunkSize = 64 << 10
    static let sealedChunkSize = chunkSize + ChaChaPoly.tagSize

    static func key(fileKey: borrowing SecretBytes, nonce: [UInt8]) -> SecretBytes {
        hkdfSHA256(fileKey, salt: nonce, info: "payload")
    }

    /// The nonce of a chunk: its index in 11 bytes, then 1 for the last.
    static func nonce(index: UInt64, isLast: Bool) -> [12 of UInt8] {
        var nonce = [12 of UInt8](repeating: 0)
        for (place, byte) in index.bigEndianBytes.enumerated() { nonce[3 + place] = byte }
        nonce[11] = isLast ? 1 : 0
        return nonce
    }
}

/// Seals what is written to it and passes it on.
final class AgePayloadWriter: ByteSink {
    private let sink: any ByteSink
    private let key: SecretBytes
    private var index: UInt64 = 0
    private let chunk = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AgePayload.chunkSize, alignment: 64)
    private let sealed = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AgePayload.sealedChunkSize, alignment: 64)
    private var filled = 0

    init(fileKey: borrowing SecretBytes, to sink: any ByteSink) throws {
        let nonce = randomBytes(16)
        key = AgePayload.key(fileKey: fileKey, nonce: nonce)
        self.sink = sink
        try sink.write(nonce)
    }

    deinit {
        chunk.initializeMemory(as: UInt8.self, repeating: 0)
        chunk.deallocate()
        sealed.deallocate()
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            // A full chunk waits until something follows: only then is it known not to be the last.
            if filled == AgePayload.chunkSize { try put(isLast: false) }
            let count = min(rest.count, AgePayload.chunkSize - filled)
            UnsafeMutableRawBufferPointer(rebasing: chunk[filled..<(filled + count)])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
            filled += count
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    func finish() throws {
        try put(isLast: true)
        try sink.finish()
    }

    private func put(isLast: Bool) throws {
        ChaChaPoly.seal(
            UnsafeRawBufferPointer(rebasing: chunk[..<filled]), into: sealed.baseAddress!,
            nonce: AgePayload.nonce(index: index, isLast: isLast), key: key)
        try sink.write(UnsafeRawBufferPointer(rebasing: sealed[..<(filled + ChaChaPoly.tagSize)]))
        index += 1
        filled = 0
    }
}

/// Opens a payload; gives out no byte before its chunk's tag has been verified.
final class AgePayloadReader: ByteSource {
    private let source: any ByteSource
    private let key: SecretBytes
    private var index: UInt64 = 0
    // One byte more than a chunk: whether it is there tells whether the chunk is the last.
    private let sealed = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AgePayload.sealedChunkSize + 1, alignment: 64)
    private var carried = 0
    private let chunk = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AgePayload.chunkSize, alignment: 64)
    private var start = 0
    private var end = 0
    private var isDone = false

    init(fileKey: borrowing SecretBytes, from source: any ByteSource) throws {
        var nonce = [UInt8](repeating: 0, count: 16)
        let count = try nonce.withUnsafeMutableBytes { try source.fill($0) }
        guard count == 16 else { throw AgeError.truncated }
        key = AgePayload.key(fileKey: fileKey, nonce: nonce)
        self.source = source
    }

    deinit {
        chunk.initializeMemory(as: UInt8.self, repeating: 0)
        chunk.deallocate()
        sealed.deallocate()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if start == end {
            if isDone { return 0 }
            try next()
            if start == end { return 0 }
        }
        let count = min(buffer.count, end - start)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: chunk[start..<(start + count)]))
        start += count
        return count
    }

    private func next() throws {
        let filled =
            carried
            + (try source.fill(UnsafeMutableRawBufferPointer(rebasing: sealed[carried...])))
        let isLast = filled <= AgePayload.sealedChunkSize
        let size = min(filled, AgePayload.sealedChunkSize)
        guard size >= ChaChaPoly.tagSize else { throw AgeError.truncated }
        let box = UnsafeRawBufferPointer(rebasing: sealed[..<size])
        guard
            ChaChaPoly.open(
                box, into: chunk.baseAddress!,
                nonce: AgePayload.nonce(index: index, isLast: isLast), key: key)
        else {
            // A chunk that is authentic, but not as the last, means that the rest is missing.
            let isCut =
                isLast
                && ChaChaPoly.open(
                    box, into: chunk.baseAddress!,
                    nonce: AgePayload.nonce(index: index, isLast: false), key: key)
            throw isCut ? AgeError.truncated : AgeError.payload
        }
        // Only a file without content ends in a chunk without content.
        guard size > ChaChaPoly.tagSize || index == 0 else { throw AgeError.payload }
        (start, end) = (0, size - ChaChaPoly.tagSize)
        isDone = isLast
        index += 1
        if !isLast {
            sealed[0] = sealed[AgePayload.sealedChunkSize]
            carried = 1
        }
    }
}
