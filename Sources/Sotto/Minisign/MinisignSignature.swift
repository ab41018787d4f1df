import CSodium

/// A reason why a detached signature cannot be made or is refused.
public enum MinisignError: Error, Sendable, Equatable {
    /// The text does not have the four lines of a signature.
    case form
    /// The signature is over the file itself and not over its hash: minisign's legacy form.
    case legacy
    /// A comment has a control character or more than ``MinisignSignature/commentLimit`` bytes.
    case comment(limit: Int)
    /// The signature is over another file or by another key.
    case signature
    /// The signature over the file is valid, but the trusted comment was changed.
    case trustedComment
}

/// BLAKE2b-512 of a stream: the hash that is signed.
public final class MinisignHash: ByteSink {
    private let memory = UnsafeMutableRawPointer.allocate(
        byteCount: crypto_generichash_statebytes(), alignment: 64)
    private var state: OpaquePointer { OpaquePointer(memory) }
    private var hash: [UInt8] = []

    /// Creates the hash of an empty stream.
    public init() {
        Sodium.start()
        crypto_generichash_init(state, nil, 0, 64)
    }

    deinit { memory.deallocate() }

    /// Adds `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        crypto_generichash_update(
            state, base.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// Ends the stream and computes ``value``.
    public func finish() {
        hash = [UInt8](repeating: 0, count: 64)
        crypto_generichash_final(state, &hash, hash.count)
    }

    /// The hash, 64 bytes. Empty before ``finish()``.
    public var value: [UInt8] { hash }
}

/// A detached signature in minisign's prehashed format: an Ed25519 signature (RFC 8032 §5.1) over the file's
/// BLAKE2b-512, and a second signature over the first signature and the trusted comment.
public struct MinisignSignature: Sendable, Equatable {
    /// The longest comment of a new signature, in bytes.
    public static let commentLimit = 4096
    /// The number of first bytes of a signature file that are read: minisign's longest lines.
    public static let limit = 16 << 10
    private static let algorithm = Array("ED".utf8)
    private static let untrusted = "untrusted comment: "
    private static let trusted = "trusted comment: "

    /// The id of the signing key, 8 bytes. It proves nothing.
    public let keyID: [UInt8]
    /// The signature over the hash, 64 bytes.
    let signature: [UInt8]
    /// The comment that was signed with the file, in any encoding.
    private let comment: [UInt8]
    /// The signature over `signature ‖ trustedComment`, 64 bytes.
    let globalSignature: [UInt8]

    /// Signs a file's `hash` of 64 bytes and a comment. Throws ``MinisignError/comment(limit:)``.
    public init(
        hash: [UInt8], trustedComment comment: String, by key: SigningKey
    ) throws(MinisignError) {
        precondition(hash.count == 64)
        guard comment.utf8.count <= Self.commentLimit, Self.isPlain(comment) else {
            throw .comment(limit: Self.commentLimit)
        }
        keyID = MinisignKey.id(of: key.publicKey)
        signature = key.sign(hash)
        self.comment = Array(comment.utf8)
        globalSignature = key.sign(signature + self.comment)
    }

    /// Reads a signature file without verifying it.
    ///
    /// As minisign does, it reads four lines, each up to the first CR, and ignores what follows them. Comments may have
    /// any encoding.
    public init(_ file: [UInt8]) throws(MinisignError) {
        let lines = file.split(separator: 0x0A, maxSplits: 4, omittingEmptySubsequences: false)
            .map { $0.prefix { $0 != 0x0D } }
        guard lines.count >= 4, lines[0].starts(with: Self.untrusted.utf8),
            let body = Base64.standard.decode(utf8: lines[1]), body.count == 74,
            lines[2].starts(with: Self.trusted.utf8),
            let global = Base64.standard.decode(utf8: lines[3]), global.count == 64
        else { throw .form }
        guard body.starts(with: Self.algorithm) else {
            throw body.starts(with: MinisignKey.algorithm) ? .legacy : .form
        }
        keyID = Array(body[2..<10])
        signature = Array(body[10...])
        comment = Array(lines[2].dropFirst(Self.trusted.utf8.count))
        globalSignature = global
    }

    /// The comment that was signed with the file; bytes that are not UTF-8 are replaced. Trust it only after
    /// ``verify(hash:by:)``.
    public var trustedComment: String { String(decoding: comment, as: UTF8.self) }

    /// The signature file, four lines.
    public var text: String {
        """
        \(Self.untrusted)signature from key \(keyName)
        \(Base64.standard.encode(Self.algorithm + keyID + signature))
        \(Self.trusted)\(trustedComment)
        \(Base64.standard.encode(globalSignature))

        """
    }

    /// The id of the key as minisign prints it, at most 16 hexadecimal digits.
    public var keyName: String { MinisignKey.text(id: keyID) }

    /// Whether the key id is that of `publicKey`, as exported here.
    public func names(_ publicKey: [UInt8]) -> Bool { keyID == MinisignKey.id(of: publicKey) }

    /// Whether the signature over `hash` is by the 32-byte `publicKey`. The trusted comment is not checked.
    public func isSignature(of hash: [UInt8], by publicKey: [UInt8]) -> Bool {
        verifySignature(signature, of: hash, by: publicKey)
    }

    /// Whether the 32-byte `publicKey` made the signature, over any file.
    ///
    /// The global signature shows this even if the file was changed or the key id is different: minisign's ids are
    /// random and not authenticated.
    public func isMade(by publicKey: [UInt8]) -> Bool {
        verifySignature(globalSignature, of: signature + comment, by: publicKey)
    }

    /// Verifies the signature over the 64-byte `hash` of a file, under a 32-byte public key.
    public func verify(hash: [UInt8], by publicKey: [UInt8]) throws(MinisignError) {
        guard isSignature(of: hash, by: publicKey) else { throw .signature }
        guard isMade(by: publicKey) else { throw .trustedComment }
    }

    /// Whether a text has no control characters other than tabs.
    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0 == "\t" || $0.value >= 0x20 && $0.value != 0x7F }
    }
}
