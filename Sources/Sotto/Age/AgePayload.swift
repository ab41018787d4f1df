/// The payload of an age file: STREAM over ChaCha20-Poly1305 in chunks of 64 KiB
/// (C2SP age, "Payload").
final class AgePayload: ChunkProtection {
    static let nonceSize = 16
    private let key: SecretBytes
    private let cipher: (any ChunkCipher)?

    let before = 0
    let after = ChaChaPoly.tagSize

    /// The `info` of HKDF-SHA-256 in an age file.
    static let info = "payload"

    private init(
        fileKey: borrowing SecretBytes, nonce: [UInt8], info: String, cipher: (any ChunkCipher)?
    ) {
        key = hkdfSHA256(fileKey, salt: nonce, info: info)
        self.cipher = cipher
    }

    /// Writes a nonce of ``nonceSize`` bytes, by default a random one, to `sink` and returns the sink for the plaintext.
    static func writer(
        fileKey: borrowing SecretBytes, nonce: [UInt8] = randomBytes(AgePayload.nonceSize),
        info: String = AgePayload.info, cipher: (any ChunkCipher)? = nil, to sink: any ByteSink
    ) throws -> ChunkWriter {
        try sink.write(nonce)
        return ChunkWriter(
            AgePayload(fileKey: fileKey, nonce: nonce, info: info, cipher: cipher), to: sink)
    }

    /// Reads the nonce from `source` and returns the source of the plaintext.
    static func reader(
        fileKey: borrowing SecretBytes, info: String = AgePayload.info,
        cipher: (any ChunkCipher)? = nil,
        from source: any ByteSource
    ) throws -> ChunkReader {
        var nonce = [UInt8](repeating: 0, count: nonceSize)
        let count = try nonce.withUnsafeMutableBytes { try source.fill($0) }
        guard count == nonceSize else { throw AgeError.truncated }
        return ChunkReader(
            AgePayload(fileKey: fileKey, nonce: nonce, info: info, cipher: cipher), from: source)
    }

    /// Returns the payload of a plaintext in memory.
    static func seal(_ plaintext: [UInt8], fileKey: borrowing SecretBytes) -> [UInt8] {
        let nonce = randomBytes(nonceSize)
        let payload = AgePayload(fileKey: fileKey, nonce: nonce, info: info, cipher: nil)
        return nonce + payload.protected(plaintext)
    }

    /// Returns the plaintext of a payload in memory.
    static func open(_ payload: ArraySlice<UInt8>, fileKey: borrowing SecretBytes) throws -> [UInt8]
    {
        guard payload.count >= nonceSize else { throw AgeError.truncated }
        let nonce = Array(payload.prefix(nonceSize))
        return try AgePayload(fileKey: fileKey, nonce: nonce, info: info, cipher: nil).verified(
            payload.dropFirst(nonceSize))
    }

    func protect(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool) {
        let nonce = Self.nonce(index: index, isLast: isLast)
        let content = UnsafeRawBufferPointer(rebasing: chunk.dropLast(after))
        let out = chunk.baseAddress!
        if let cipher = cipher(index: index, isLast: isLast) {
            cipher.seal(content, into: out, nonce: nonce, key: key)
        } else {
            ChaChaPoly.seal(content, into: out, nonce: nonce, key: key)
        }
    }

    func verify(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool) throws {
        guard chunk.count >= after else { throw AgeError.truncated }
        // A failed attempt destroys the chunk, and the last chunk may need two attempts.
        let copy = isLast ? Array(chunk) : []
        func opens(_ box: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
            let nonce = Self.nonce(index: index, isLast: isLast)
            let out = chunk.baseAddress!
            return if let cipher = cipher(index: index, isLast: isLast) {
                cipher.open(box, into: out, nonce: nonce, key: key)
            } else {
                ChaChaPoly.open(box, into: out, nonce: nonce, key: key)
            }
        }
        guard opens(.init(chunk), isLast: isLast) else {
            // A chunk that is authentic, but not as the last one, shows that the rest is missing.
            let isCut = isLast && copy.withUnsafeBytes { opens($0, isLast: false) }
            throw isCut ? AgeError.truncated : AgeError.payload
        }
        // Only an empty file may end in an empty chunk.
        guard chunk.count > after || index == 0 else { throw AgeError.payload }
    }

    /// Returns the cipher for a chunk, or `nil` for libsodium's, which protects the only chunk of a file.
    private func cipher(index: UInt64, isLast: Bool) -> (any ChunkCipher)? {
        index == 0 && isLast ? nil : cipher
    }

    /// Returns the bytes of a payload of `size` bytes that are not plaintext, or `nil` if no payload has this size.
    static func overhead(of size: Int) -> Int? {
        let tag = ChaChaPoly.tagSize
        let sealed = size - nonceSize
        let whole = Chunks.size + tag
        let last = sealed % whole
        // Only an empty file may end in an empty chunk.
        guard sealed >= tag, last == 0 || last > tag || sealed == tag else { return nil }
        return nonceSize + (sealed + whole - 1) / whole * tag
    }

    /// Returns the nonce of a chunk: its index in 11 bytes, then 1 for the last chunk and 0 for the others.
    private static func nonce(index: UInt64, isLast: Bool) -> [12 of UInt8] {
        var nonce = [12 of UInt8](repeating: 0)
        for (place, byte) in index.bigEndianBytes.enumerated() { nonce[3 + place] = byte }
        nonce[11] = isLast ? 1 : 0
        return nonce
    }
}
