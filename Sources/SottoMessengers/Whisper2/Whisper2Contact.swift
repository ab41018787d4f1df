public import Sotto

/// A contact's Whisper2 account: the id and the keys that were pinned for it.
public struct Whisper2Contact: Sendable, Hashable {
    /// The account's id, which the server maps to keys.
    public let id: WhisperID
    /// The 32-byte X25519 key that messages are encrypted to.
    public let encryptionKey: [UInt8]
    /// The 32-byte Ed25519 signing key, or `nil` if it is not known, as after scanning the code of an iPhone. Messages
    /// of such a contact cannot be verified.
    public let signingKey: [UInt8]?

    /// Creates a contact with these keys.
    public init(id: WhisperID, encryptionKey: [UInt8], signingKey: [UInt8]?) {
        precondition(encryptionKey.count == 32 && (signingKey?.count ?? 32) == 32)
        self.id = id
        self.encryptionKey = encryptionKey
        self.signingKey = signingKey
    }

    /// The id of a contact with only this account: the signing key, or ``WhisperID/accountID`` without one.
    public var contactID: KeyID {
        signingKey.map { KeyID(publicKey: $0) } ?? id.accountID
    }
}
