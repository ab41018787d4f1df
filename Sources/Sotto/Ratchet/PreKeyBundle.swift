/// Why a bundle is refused.
public enum PreKeyBundleError: Error, Sendable, Equatable {
    /// A member is missing, or not of its form.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// A prekey's signature is not by the identity.
    case signature
}

/// The public keys with which others start a session without us being there.
public struct PreKeyBundle: Sendable, Equatable {
    /// A prekey and its number.
    public struct PreKey: Sendable, Equatable {
        /// The number, unique among the owner's prekeys of its kind.
        public let id: UInt32
        /// X25519: 32 bytes. ML-KEM-1024: 1568.
        public let key: [UInt8]

        package init(id: UInt32, key: [UInt8]) {
            self.id = id
            self.key = key
        }
    }

    /// A prekey with the identity's signature: over the 32 bytes of an X25519 key, or over
    /// `"ratchet/pqspk/v1\0" ‖` the key for ML-KEM-1024.
    public struct SignedPreKey: Sendable, Equatable {
        /// The number.
        public let id: UInt32
        /// The public key.
        public let key: [UInt8]
        /// The Ed25519 signature, 64 bytes.
        public let signature: [UInt8]

        package init(id: UInt32, key: [UInt8], signature: [UInt8]) {
            self.id = id
            self.key = key
            self.signature = signature
        }
    }

    /// The owner's Ed25519 key, 32 bytes.
    public let identityKey: [UInt8]
    /// The signed prekey, renewed every seven days.
    public let signedPreKey: SignedPreKey
    /// The post-quantum one; `nil` for plain X3DH.
    public let pqSignedPreKey: SignedPreKey?
    /// A one-time prekey; `nil` when the owner has run out.
    public let oneTimePreKey: PreKey?

    /// The label before a post-quantum prekey in what its signature covers.
    package static let pqLabel = Array("ratchet/pqspk/v1\0".utf8)

    /// Verifies the signatures.
    public init(
        identityKey: [UInt8], signedPreKey: SignedPreKey, pqSignedPreKey: SignedPreKey?,
        oneTimePreKey: PreKey?
    ) throws(PreKeyBundleError) {
        guard
            verifySignature(signedPreKey.signature, of: signedPreKey.key, by: identityKey)
        else { throw .signature }
        if let pq = pqSignedPreKey {
            guard verifySignature(pq.signature, of: Self.pqLabel + pq.key, by: identityKey) else {
                throw .signature
            }
        }
        self.identityKey = identityKey
        self.signedPreKey = signedPreKey
        self.pqSignedPreKey = pqSignedPreKey
        self.oneTimePreKey = oneTimePreKey
    }
}
