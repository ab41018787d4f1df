import COpenSSL
public import Sotto

/// OpenSSL's AES-256-GCM of one message in pieces.
public final class OpenSSLGCM: PiecewiseGCM {
    private let context: CipherContext

    /// Begins an encryption or a decryption. `nonce` has 12 bytes, `key` 32.
    public init(isSealing: Bool, nonce: [UInt8], key: borrowing SecretBytes) {
        let bytes = InlineArray<12, UInt8> { nonce[$0] }
        context = withUnsafeBytes(of: bytes) {
            CipherContext(.aes256GCM, key: key, nonce: $0, isSealing: isSealing)
        }
    }

    /// Encrypts or decrypts the next bytes into `out`, which has space for as many bytes.
    public func process(_ piece: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer) {
        precondition(context.update(piece, into: out), "OpenSSL does not encrypt")
    }

    /// Ends an encryption. Returns the 16-byte tag.
    public func tag() -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: CipherContext.tagSize)
        let isDone = tag.withUnsafeMutableBytes {
            context.finish() && context.tag(EVP_CTRL_AEAD_GET_TAG, $0.baseAddress!)
        }
        precondition(isDone, "OpenSSL makes no tag")
        return tag
    }

    /// Ends a decryption. Returns whether `tag`, 16 bytes, is that of the message.
    public func verify(_ tag: [UInt8]) -> Bool {
        precondition(tag.count == CipherContext.tagSize)
        var tag = tag
        return tag.withUnsafeMutableBytes {
            context.tag(EVP_CTRL_AEAD_SET_TAG, $0.baseAddress!) && context.finish()
        }
    }
}
