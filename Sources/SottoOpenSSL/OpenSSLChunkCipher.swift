internal import COpenSSL
public import Sotto

/// OpenSSL's ChaCha20-Poly1305, which takes about half of libsodium's time for a long chunk.
///
/// The first call initialises OpenSSL, in about a millisecond and without its configuration file.
public struct OpenSSLChunkCipher: ChunkCipher {
    /// Creates an instance. It does not initialise OpenSSL.
    public init() {}

    /// Encrypts `message` into `out`, which may be the start of `message` and has space for 16 more bytes.
    public func seal(
        _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes
    ) {
        let context = Self.context(key, nonce, isSealing: true)
        let isDone =
            context.update(message, into: out) && context.finish()
            && context.tag(EVP_CTRL_AEAD_GET_TAG, out + message.count)
        precondition(isDone, "OpenSSL does not encrypt")
    }

    /// Decrypts `box` into `out`, which may be the start of `box`. Returns false if the tag is wrong.
    public func open(
        _ box: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes
    ) -> Bool {
        guard let base = box.baseAddress, box.count >= CipherContext.tagSize else { return false }
        let size = box.count - CipherContext.tagSize
        let context = Self.context(key, nonce, isSealing: false)
        return context.tag(EVP_CTRL_AEAD_SET_TAG, UnsafeMutableRawPointer(mutating: base + size))
            && context.update(.init(rebasing: box[..<size]), into: out) && context.finish()
    }

    private static func context(
        _ key: borrowing SecretBytes, _ nonce: [12 of UInt8], isSealing: Bool
    ) -> CipherContext {
        withUnsafeBytes(of: nonce) {
            CipherContext(.chaCha20Poly1305, key: key, nonce: $0, isSealing: isSealing)
        }
    }
}
