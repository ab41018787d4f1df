import CCryptoBoringSSL

/// ChaCha20-Poly1305 (RFC 8439) for much data under one key: BoringSSL's, which takes less than half the time of
/// libsodium's where a processor has AVX2.
///
/// Several threads may use it at once.
final class ChaChaPolyStream: @unchecked Sendable {
    private let context: OpaquePointer

    /// Keeps a key of 32 bytes.
    init(key: borrowing SecretBytes) {
        let made = key.withPointer {
            CCryptoBoringSSL_EVP_AEAD_CTX_new(
                CCryptoBoringSSL_EVP_aead_chacha20_poly1305(), $0, 32, ChaChaPoly.tagSize)
        }
        guard let made else { preconditionFailure("BoringSSL takes no key") }
        context = OpaquePointer(made)
    }

    deinit { CCryptoBoringSSL_EVP_AEAD_CTX_free(.init(context)) }

    /// Seals `message` into `out`, which has room for 16 bytes more.
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

    /// Opens `box` into `out`, which has room for as much; false unless the tag is right.
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
