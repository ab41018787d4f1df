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
