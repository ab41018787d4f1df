/// The id of an identity: `05` and its Ed25519 public key in hexadecimal, 66 characters.
///
/// It is self-certifying: the owner of the signing key owns the id.
public struct KeyID: Sendable, Hashable, CustomStringConvertible {
    /// The 32-byte Ed25519 public key.
    public let publicKey: [UInt8]
    /// The canonical text, in lower case.
    public let description: String

    /// Creates the id of a 32-byte public key.
    public init(publicKey: [UInt8]) {
        precondition(publicKey.count == 32)
        self.publicKey = publicKey
        description = "05" + hex(publicKey)
    }

    /// Creates the id of an account in another messenger whose owner's signing key is not known.
    ///
    /// Its bytes are not a key, so that nothing can be signed under it: SHA-256(`"sotto/account/v1\0" ‖ messenger ‖ "\0" ‖
    /// account ‖ counter`), where the counter is the first byte from 0 on with which the hash is not a key. `messenger` has no
    /// zero byte.
    public init(account: String, of messenger: String) {
        let start =
            Array("sotto/account/v1\0".utf8) + Array(messenger.utf8) + [0] + Array(account.utf8)
        // One of 16 hashes is a key, so the counter is nearly always 0.
        let hashes = (0...UInt8.max).lazy.map { sha256(start + [$0]) }
        guard let id = hashes.lazy.map({ KeyID(publicKey: $0) }).first(where: { !$0.isKey }) else {
            preconditionFailure("256 hashes are keys")
        }
        self = id
    }

    /// Whether the id is an Ed25519 key, which signatures can be verified with. It is not for an account of
    /// ``init(account:of:)``.
    public var isKey: Bool { x25519PublicKey(fromEd25519: publicKey) != nil }

    /// Reads the 66 characters in either case, or returns `nil` for any other text.
    @inlinable
    public init?(_ text: some StringProtocol) {
        let found = text.utf8.withContiguousStorageIfAvailable { KeyID(utf8: $0) }
        guard let found = found ?? Array(text.utf8).withUnsafeBufferPointer({ KeyID(utf8: $0) })
        else { return nil }
        self = found
    }

    @usableFromInline
    init?(utf8 text: UnsafeBufferPointer<UInt8>) {
        guard text.count == 66, text[0] == UInt8(ascii: "0"), text[1] == UInt8(ascii: "5"),
            let key = bytes(hexDigits: UnsafeBufferPointer(rebasing: text[2...]))
        else { return nil }
        self.init(publicKey: key)
    }

    /// Whether two ids have the same key.
    public static func == (a: KeyID, b: KeyID) -> Bool { a.publicKey == b.publicKey }

    /// Hashes the key.
    public func hash(into hasher: inout Hasher) {
        publicKey.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension Field {
    /// Returns the id of an identity.
    public func keyID() throws(Failure) -> KeyID { try text { KeyID($0) } }
}
