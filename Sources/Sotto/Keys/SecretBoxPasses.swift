import CSodium

/// A reason why a box could not be made or opened from a source.
package enum SecretBoxPassError: Error {
    /// The second pass read different bytes than the first.
    case changed
}

/// A NaCl `secretbox` (XSalsa20-Poly1305) over a source of any length, in bounded memory.
///
/// Its single tag comes before the ciphertext and covers all of it, so the source is read twice: the first pass
/// computes the tag, the second returns the encrypted or decrypted blocks. libsodium has no streaming secretbox. This
/// one uses libsodium's stream cipher and one-time authenticator, as `crypto_secretbox` does: the first 32 bytes of the
/// key stream are Poly1305's key, and the bytes after them encrypt the message.
///
/// The second pass compares the BLAKE2b hash of each block with that of the first pass. If the file is replaced between
/// the passes, no byte is returned that the tag did not cover.
package final class SecretBoxPasses {
    package static let nonceSize = 24
    package static let blockSize = 64 << 10
    /// The bytes of the key stream that form Poly1305's key, before those for the message.
    private static let reserved = 32

    /// The operation on the source.
    package enum Direction {
        /// The source is the message.
        case seal
        /// The source is the ciphertext.
        case open
    }

    private let source: any SeekableSource
    private let offset: Int
    private let count: Int
    private let nonce: [UInt8]
    private let key: SecretBytes
    private var digests: [[UInt8]] = []
    private var index = 0
    // The message begins 32 bytes into the key stream. With as many bytes before each block, the block starts on a
    // boundary of the stream's block counter.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: reserved + blockSize, alignment: 64)

    /// Prepares both passes over `count` bytes from `offset` on. `key` has 32 bytes, `nonce` 24.
    package init(
        _ source: any SeekableSource, from offset: Int, count: Int, nonce: [UInt8],
        key: borrowing SecretBytes
    ) {
        precondition(nonce.count == Self.nonceSize && key.count == 32)
        self.source = source
        self.offset = offset
        self.count = count
        self.nonce = nonce
        self.key = key.duplicate()
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        sodium_memzero(buffer.baseAddress!, buffer.count)
        buffer.deallocate()
    }

    /// Runs the first pass and returns the 16-byte tag over the ciphertext.
    package func tag(_ direction: Direction) throws -> [UInt8] {
        let authenticator = Poly1305(
            key: SecretBytes(count: Self.reserved) { out in
                let out = out.baseAddress!.assumingMemoryBound(to: UInt8.self)
                _ = key.withPointer {
                    crypto_stream_xsalsa20(out, UInt64(Self.reserved), nonce, $0)
                }
            })
        digests = []
        while let block = try load(digests.count) {
            digests.append(blake2b256(UnsafeRawBufferPointer(block)))
            if direction == .seal { crypt(block.count, at: digests.count - 1) }
            authenticator.update(UnsafeRawBufferPointer(block))
        }
        return authenticator.tag()
    }

    /// Continues the second pass. Returns the next block, encrypted or decrypted, or `nil` after the last. The bytes
    /// are valid until the next call.
    package func next() throws -> UnsafeRawBufferPointer? {
        guard let block = try load(index) else { return nil }
        guard constantTimeEqual(blake2b256(UnsafeRawBufferPointer(block)), digests[index]) else {
            throw SecretBoxPassError.changed
        }
        crypt(block.count, at: index)
        index += 1
        return UnsafeRawBufferPointer(block)
    }

    /// Reads a block of the source, or returns `nil` after the last.
    private func load(_ index: Int) throws -> UnsafeMutableRawBufferPointer? {
        let start = index * Self.blockSize
        guard start < count else { return nil }
        let size = min(Self.blockSize, count - start)
        let block = UnsafeMutableRawBufferPointer(
            rebasing: buffer[Self.reserved..<(Self.reserved + size)])
        guard try source.fill(block, at: offset + start) == size else {
            throw SecretBoxPassError.changed
        }
        return block
    }

    /// Encrypts or decrypts the block in the buffer.
    private func crypt(_ size: Int, at index: Int) {
        let bytes = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
        let counter = UInt64(index) * UInt64(Self.blockSize / 64)
        _ = key.withPointer {
            crypto_stream_xsalsa20_xor_ic(
                bytes, bytes, UInt64(Self.reserved + size), nonce, counter, $0)
        }
    }
}
