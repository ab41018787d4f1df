internal import COpenSSL
public import Sotto

/// OpenSSL's ChaCha20-Poly1305, which takes about half of libsodium's time for a long chunk.
///
/// The first call initialises OpenSSL, in about a millisecond and without its configuration file.
public struct OpenSSLChunkCipher: ChunkCipher {
    /// Creates an instance. It does not initialise OpenSSL.
    public init() {}

    /// Encrypts `message` into `out`, which has space for 16 more bytes.
    public func seal(
        _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes
    ) {
        let context = Context(key: key, nonce: nonce, isSealing: true)
        let isDone =
            context.process(message, into: out)
            && context.tag(EVP_CTRL_AEAD_GET_TAG, out + message.count)
        precondition(isDone, "OpenSSL does not encrypt")
    }

    /// Decrypts `box` into `out`, which may be the start of `box`. Returns false if the tag is wrong.
    public func open(
        _ box: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes
    ) -> Bool {
        guard let base = box.baseAddress, box.count >= Context.tagSize else { return false }
        let size = box.count - Context.tagSize
        let context = Context(key: key, nonce: nonce, isSealing: false)
        return context.tag(EVP_CTRL_AEAD_SET_TAG, UnsafeMutableRawPointer(mutating: base + size))
            && context.process(.init(rebasing: box[..<size]), into: out)
    }
}

/// One encryption or decryption.
private struct Context: ~Copyable {
    static let tagSize = 16

    /// Fetched once: each fetch takes a lock and a search. It is never freed.
    private nonisolated(unsafe) static let algorithm: OpaquePointer = {
        let options = UInt64(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT)
        guard OPENSSL_init_crypto(options, nil) == 1,
            let algorithm = EVP_CIPHER_fetch(nil, "ChaCha20-Poly1305", nil)
        else { preconditionFailure("OpenSSL has no ChaCha20-Poly1305") }
        return algorithm
    }()

    private let context: OpaquePointer

    init(key: borrowing SecretBytes, nonce: [12 of UInt8], isSealing: Bool) {
        guard let context = EVP_CIPHER_CTX_new() else {
            preconditionFailure("out of memory for OpenSSL")
        }
        self.context = context
        let isReady = withUnsafeBytes(of: nonce) { nonce in
            key.withPointer { key in
                EVP_CipherInit_ex2(
                    context, Self.algorithm, key,
                    nonce.baseAddress!.assumingMemoryBound(to: UInt8.self), isSealing ? 1 : 0, nil)
            }
        }
        precondition(isReady == 1, "OpenSSL takes no key")
    }

    // OpenSSL wipes the key.
    deinit { EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts the whole text into `out`. Returns false if the tag is wrong.
    func process(_ text: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer) -> Bool {
        let out = out.assumingMemoryBound(to: UInt8.self)
        var count: Int32 = 0
        if let input = text.baseAddress?.assumingMemoryBound(to: UInt8.self), !text.isEmpty {
            guard EVP_CipherUpdate(context, out, &count, input, Int32(text.count)) == 1 else {
                return false
            }
        }
        return EVP_CipherFinal_ex(context, out + Int(count), &count) == 1
    }

    /// Gets or sets the tag at `tag`, which has ``tagSize`` bytes.
    func tag(_ command: Int32, _ tag: UnsafeMutableRawPointer) -> Bool {
        EVP_CIPHER_CTX_ctrl(context, command, Int32(Self.tagSize), tag) == 1
    }
}
