/// An implementation of ChaCha20-Poly1305 (RFC 8439) without additional data, for files of more than one chunk.
///
/// The core has libsodium's. A program that encrypts long files passes a faster one to ``AgeFile`` or
/// ``AgeFileReader``; it is first called when a second chunk exists, so that its start-up costs short files nothing.
/// Several threads may use one instance at a time. A key has 32 bytes.
public protocol ChunkCipher: Sendable {
    /// Encrypts `message` into `out`, which may be the start of `message` and has space for 16 more bytes: the ciphertext,
    /// then the tag.
    func seal(
        _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes)

    /// Decrypts `box`, a ciphertext and its tag, into `out`, which may be the start of `box` and has space for 16 fewer
    /// bytes. Returns false if the tag is wrong; the bytes in `out` are then undefined.
    func open(
        _ box: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes
    ) -> Bool
}
