import COpenSSL
import Sotto

/// One encryption or decryption with an authenticated cipher of OpenSSL that has a 12-byte nonce.
struct CipherContext: ~Copyable {
    /// An algorithm of OpenSSL.
    struct Algorithm: Sendable {
        fileprivate nonisolated(unsafe) let cipher: OpaquePointer

        static let chaCha20Poly1305 = Algorithm("ChaCha20-Poly1305")
        static let aes256GCM = Algorithm("AES-256-GCM")

        /// Fetches an algorithm once, because each fetch takes a lock and a search. It is never freed.
        private init(_ name: String) {
            let options = UInt64(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT)
            guard OPENSSL_init_crypto(options, nil) == 1,
                let cipher = EVP_CIPHER_fetch(nil, name, nil)
            else { preconditionFailure("OpenSSL has no \(name)") }
            self.cipher = cipher
        }
    }

    static let tagSize = 16

    private let context: OpaquePointer

    /// Begins an operation. `nonce` has 12 bytes, `key` 32.
    init(
        _ algorithm: Algorithm, key: borrowing SecretBytes, nonce: UnsafeRawBufferPointer,
        isSealing: Bool
    ) {
        precondition(nonce.count == 12 && key.count == 32)
        guard let context = EVP_CIPHER_CTX_new() else {
            preconditionFailure("out of memory for OpenSSL")
        }
        self.context = context
        let isReady = key.withPointer { key in
            EVP_CipherInit_ex2(
                context, algorithm.cipher, key,
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self), isSealing ? 1 : 0, nil)
        }
        precondition(isReady == 1, "OpenSSL takes no key")
    }

    // OpenSSL wipes the key.
    deinit { EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts `text` into `out`, which has space for as many bytes.
    func update(_ text: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer) -> Bool {
        guard let input = text.baseAddress?.assumingMemoryBound(to: UInt8.self), !text.isEmpty
        else { return true }
        var count: Int32 = 0
        return EVP_CipherUpdate(
            context, out.assumingMemoryBound(to: UInt8.self), &count, input, Int32(text.count))
            == 1
    }

    /// Ends the operation. Returns false if the tag is wrong.
    func finish() -> Bool {
        // These ciphers write no bytes here.
        var (byte, count): (UInt8, Int32) = (0, 0)
        return EVP_CipherFinal_ex(context, &byte, &count) == 1
    }

    /// Gets or sets the tag at `tag`, which has ``tagSize`` bytes.
    func tag(_ command: Int32, _ tag: UnsafeMutableRawPointer) -> Bool {
        EVP_CIPHER_CTX_ctrl(context, command, Int32(Self.tagSize), tag) == 1
    }
}
