/// A mailbox address for one sender only. The owner can stop receiving mail at it without affecting other senders.
///
/// A relay treats it as any other mailbox; it has its own key. Others cannot derive it, so that two senders who compare
/// their addresses do not learn that both belong to one owner.
public struct SendAddress: Sendable, Hashable {
    /// The length of the salt in bytes.
    public static let saltSize = 16

    /// The salt that makes the address unique: 16 random bytes. It is useless without the identity.
    public let salt: [UInt8]

    /// Creates a new address.
    public init() { salt = randomBytes(Self.saltSize) }

    /// Creates the address of a salt, or returns `nil` unless the salt has 16 bytes.
    public init?(salt: [UInt8]) {
        guard salt.count == Self.saltSize else { return nil }
        self.salt = salt
    }

    /// Returns the key of its mailbox: HKDF-SHA256 (RFC 5869) of the identity's signing seed, with the salt and
    /// `sotto/address/v1`.
    public func key(of identity: Identity) -> SigningKey {
        SigningKey(
            seed: hkdfSHA256(identity.signingSeed(), salt: salt, info: "sotto/address/v1"))
    }

    /// Returns the id of its mailbox.
    public func id(of identity: Identity) -> KeyID {
        KeyID(publicKey: key(of: identity).publicKey)
    }
}
