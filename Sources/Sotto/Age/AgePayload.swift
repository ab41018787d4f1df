/// The payload of an age file: STREAM over ChaCha20-Poly1305 in chunks of 64 KiB
/// (C2SP age, "Payload").
final class AgePayload: ChunkProtection {
    static let nonceSize = 16
    private let key: ChaChaPolyStream

    let before = 0
    let after = ChaChaPoly.tagSize

    private init(fileKey: borrowing SecretBytes, nonce: [UInt8]) {
        key = ChaChaPolyStream(key: hkdfSHA256(fileKey, salt: nonce, info: "payload"))
    }

    /// Writes a random nonce of ``nonceSize`` bytes to `sink` and returns where the plaintext goes.
    static func writer(
        fileKey: borrowing SecretBytes, to sink: any ByteSink
    ) throws -> ChunkWriter {
        let nonce = randomBytes(nonceSize)
        try sink.write(nonce)
        return ChunkWriter(AgePayload(fileKey: fileKey, nonce: nonce), to: sink)
    }

    /// Reads the nonce from `source` and returns where the plaintext comes from.
    static func reader(
        fileKey: borrowing SecretBytes, from source: any ByteSource
    ) throws -> ChunkReader {
        var nonce = [UInt8](repeating: 0, count: nonceSize)
        let count = try nonce.withUnsafeMutableBytes { try source.fill($0) }
        guard count == nonceSize else { throw AgeError.truncated }
        return ChunkReader(AgePayload(fileKey: fileKey, nonce: nonce), from: source)
    }

    func protect(
        _ content: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer,
        index: UInt64, isLast: Bool
    ) {
        key.seal(
            content, into: out.baseAddress!, nonce: Self.nonce(index: index, isLast: isLast))
    }

    func verify(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool) throws {
        guard chunk.count >= after else { throw AgeError.truncated }
        // An attempt that fails leaves nothing of a chunk, and of the last there may be two.
        let copy = isLast ? Array(chunk) : []
        func opens(_ box: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
            key.open(
                box, into: chunk.baseAddress!, nonce: Self.nonce(index: index, isLast: isLast))
        }
        guard opens(.init(chunk), isLast: isLast) else {
            // A chunk that is authentic, but not as the last, means that the rest is missing.
            let isCut = isLast && copy.withUnsafeBytes { opens($0, isLast: false) }
            throw isCut ? AgeError.truncated : AgeError.payload
        }
        // Only a file without content ends in a chunk without content.
        guard chunk.count > after || index == 0 else { throw AgeError.payload }
    }

    /// How many bytes of a payload of `size` are not plaintext; `nil` where no payload has so many.
    static func overhead(of size: Int) -> Int? {
        let tag = ChaChaPoly.tagSize
        let sealed = size - nonceSize
        let whole = Chunks.size + tag
        let last = sealed % whole
        // Only a file without content ends in a chunk without content.
        guard sealed >= tag, last == 0 || last > tag || sealed == tag else { return nil }
        return nonceSize + (sealed + whole - 1) / whole * tag
    }

    /// The nonce of a chunk: its index in 11 bytes, then 1 for the last.
    private static func nonce(index: UInt64, isLast: Bool) -> [12 of UInt8] {
        var nonce = [12 of UInt8](repeating: 0)
        for (place, byte) in index.bigEndianBytes.enumerated() { nonce[3 + place] = byte }
        nonce[11] = isLast ? 1 : 0
        return nonce
    }
}
