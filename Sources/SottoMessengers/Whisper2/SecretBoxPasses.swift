import CSodium
import Sotto
import SottoBytes

/// A NaCl `secretbox` (XSalsa20-Poly1305) over a source of any length, in bounded memory.
///
/// Its single tag comes before the ciphertext and covers all of it, so the source is read twice: the first pass
/// computes the tag, the second returns the encrypted or decrypted blocks. libsodium has no streaming secretbox. This
/// one uses libsodium's stream cipher and one-time authenticator, as `crypto_secretbox` does: the first 32 bytes of the
/// key stream are Poly1305's key, and the bytes after them encrypt the message.
final class SecretBoxPasses {
    static let nonceSize = 24
    /// The bytes of the key stream that form Poly1305's key, before those for the message.
    private static let reserved = 32

    /// The operation on the source.
    enum Direction {
        /// The source is the message.
        case seal
        /// The source is the ciphertext.
        case open
    }

    private var blocks: TwoPassBlocks
    private let nonce: [UInt8]
    private let key: SecretBytes
    // The message begins 32 bytes into the key stream. With as many bytes before each block, the block starts on a
    // boundary of the stream's block counter.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: reserved + TwoPassBlocks.size, alignment: 64)

    /// Prepares both passes over `count` bytes from `offset` on. `key` has 32 bytes, `nonce` 24.
    init(
        _ source: any SeekableSource, from offset: Int, count: Int, nonce: [UInt8],
        key: borrowing SecretBytes
    ) {
        precondition(nonce.count == Self.nonceSize && key.count == 32)
        blocks = TwoPassBlocks(source, from: offset, count: count)
        self.nonce = nonce
        self.key = key.duplicate()
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        sodium_memzero(buffer.baseAddress!, buffer.count)
        buffer.deallocate()
    }

    /// Runs the first pass and returns the 16-byte tag over the ciphertext.
    func tag(_ direction: Direction) throws -> [UInt8] {
        let authenticator = Poly1305(
            key: SecretBytes(count: Self.reserved) { out in
                let out = out.baseAddress!.assumingMemoryBound(to: UInt8.self)
                _ = key.withPointer {
                    crypto_stream_xsalsa20(out, UInt64(Self.reserved), nonce, $0)
                }
            })
        var index = 0
        while let size = try blocks.readFirst(into: message) {
            if direction == .seal { crypt(size, at: index) }
            authenticator.update(UnsafeRawBufferPointer(rebasing: message[..<size]))
            index += 1
        }
        return authenticator.tag()
    }

    /// Continues the second pass. Returns the next block, encrypted or decrypted, or `nil` after the last. The bytes
    /// are valid until the next call. Throws ``ChangedFileError``.
    func next() throws -> UnsafeRawBufferPointer? {
        let index = blocks.next
        guard let size = try blocks.readNext(into: message) else { return nil }
        crypt(size, at: index)
        return UnsafeRawBufferPointer(rebasing: message[..<size])
    }

    /// The part of the buffer for a block.
    private var message: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer[Self.reserved...])
    }

    /// Encrypts or decrypts the block in the buffer.
    private func crypt(_ size: Int, at index: Int) {
        let bytes = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
        let counter = UInt64(index) * UInt64(TwoPassBlocks.size / 64)
        _ = key.withPointer {
            crypto_stream_xsalsa20_xor_ic(
                bytes, bytes, UInt64(Self.reserved + size), nonce, counter, $0)
        }
    }
}
