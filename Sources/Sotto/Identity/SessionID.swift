/// The id of an identity: `05` and its Ed25519 public key in hexadecimal, 66 characters.
///
/// It is self-certifying: the owner of the signing key owns the id.
public struct SessionID: Sendable, Hashable, CustomStringConvertible {
    /// The 32-byte Ed25519 public key.
    public let publicKey: [UInt8]

    /// Creates the id of a 32-byte public key.
    public init(publicKey: [UInt8]) {
        precondition(publicKey.count == 32)
        self.publicKey = publicKey
    }

    /// Reads the 66 characters in either case, or returns `nil` for any other text.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == 66, text.hasPrefix("05"), let key = bytes(hex: text.dropFirst(2)),
            key.count == 32
        else { return nil }
        publicKey = key
    }

    /// The canonical text, in lower case.
    public var description: String { "05" + hex(publicKey) }
}

extension Field {
    /// Returns the id of an identity.
    public func sessionID() throws(Failure) -> SessionID { try text { SessionID($0) } }
}
