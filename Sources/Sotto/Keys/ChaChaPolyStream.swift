import CCryptoBoringSSL

/// ChaCha20-Poly1305 (RFC 8439) for large data under one key. It uses BoringSSL, which takes less than half of
/// libsodium's time on a processor with AVX2.
///
/// Several threads may use one instance at a time.
final class ChaChaPolyStream: @unchecked Sendable {
    private let context: OpaquePointer

    /// Creates an instance with a 32-byte key.
    init(key: borrowing SecretBytes) {
        let made = key.withPointer {
            CCryptoBoringSSL_EVP_AEAD_CTX_new(
                CCryptoBoringSSL_EVP_aead_chacha20_poly1305(), $0, 32, ChaChaPoly.tagSize)
        }
        guard let made else { preconditionFailure("BoringSSL takes no key") }
        context = OpaquePointer(made)
    }

    deinit { CCryptoBoringSSL_EVP_AEAD_CTX_free(.init(context)) }

    /// Encrypts `message` into `out`, which has space for 16 more bytes.
    func seal(
        _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8]
    ) {
        var count = 0
        let isDone = withUnsafeBytes(of: nonce) { nonce in
            CCryptoBoringSSL_EVP_AEAD_CTX_seal(
                .init(context), out.assumingMemoryBound(to: UInt8.self), &count,
                message.count + ChaChaPoly.tagSize,
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self), 12,
                message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count, nil, 0)
        }
        precondition(isDone == 1, "BoringSSL does not seal")
    }

    /// Decrypts `box` into `out`, which has space for as many bytes. Returns false if the tag is wrong.
    func open(
        _ box: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8]
    ) -> Bool {
        guard box.count >= ChaChaPoly.tagSize else { return false }
        var count = 0
        return withUnsafeBytes(of: nonce) { nonce in
            CCryptoBoringSSL_EVP_AEAD_CTX_open(
                .init(context), out.assumingMemoryBound(to: UInt8.self), &count,
                box.count - ChaChaPoly.tagSize,
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self), 12,
                box.baseAddress!.assumingMemoryBound(to: UInt8.self), box.count, nil, 0)
        } == 1
    }
}
