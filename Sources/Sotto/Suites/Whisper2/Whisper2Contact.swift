/// Somebody's Whisper2 account: the id and the keys that were pinned for it.
public struct Whisper2Contact: Sendable, Hashable {
    /// The account's name, which the server maps to keys.
    public let id: WhisperID
    /// The 32-byte X25519 key that messages are sealed to.
    public let encryptionKey: [UInt8]
    /// The 32-byte Ed25519 key that signs; `nil` where it is not known, as after scanning the code of an iPhone. What
    /// such a contact sends cannot be verified.
    public let signingKey: [UInt8]?

    /// A contact with these keys.
    public init(id: WhisperID, encryptionKey: [UInt8], signingKey: [UInt8]?) {
        precondition(encryptionKey.count == 32 && (signingKey?.count ?? 32) == 32)
        self.id = id
        self.encryptionKey = encryptionKey
        self.signingKey = signingKey
    }
}
