/// The header of a pre-key message (X3DH §3.3, PQXDH §3.3): the member `preKey` of a payload.
///
/// The initiator sends it with each message until the responder answers. The responder needs it for the same key
/// agreement.
public struct PreKeyHeader: Sendable, Equatable {
    /// The initiator's Ed25519 identity key, 32 bytes.
    public let identityKey: [UInt8]
    /// The initiator's ephemeral X25519 key, 32 bytes.
    public let ephemeralKey: [UInt8]
    /// The number of the signed prekey.
    public let signedPreKeyID: UInt32
    /// The number of the one-time prekey, or `nil` if the bundle had none.
    public let oneTimePreKeyID: UInt32?
    /// The post-quantum part, or `nil` for plain X3DH. With it the session is hybrid.
    public let kem: KEM?

    /// The fields that PQXDH adds.
    public struct KEM: Sendable, Equatable {
        /// An ML-KEM-1024 ciphertext, 1568 bytes.
        public let ciphertext: [UInt8]
        /// The number of the ML-KEM-1024 prekey.
        public let preKeyID: UInt32
    }

    /// The name of the session: the first 16 bytes of SHA-256(identity key ‖ ephemeral key).
    public var tag: [UInt8] { Array(sha256(identityKey + ephemeralKey)[..<16]) }

    /// The member `preKey`: `{"identityKey","ephemeralKey","signedPreKeyId","oneTimePreKeyId",
    /// "kemCiphertext","pqPreKeyId","ratchet"}`.
    package var object: JSONObject {
        JSONObject([
            ("identityKey", .base64(identityKey)),
            ("ephemeralKey", .base64(ephemeralKey)),
            ("signedPreKeyId", .integer(Int64(signedPreKeyID))),
            ("oneTimePreKeyId", oneTimePreKeyID.map { .integer(Int64($0)) } ?? .null),
            ("kemCiphertext", kem.map { .base64($0.ciphertext) }),
            ("pqPreKeyId", kem.map { .integer(Int64($0.preKeyID)) }),
            ("ratchet", kem.map { _ in .string(RatchetKind.hybridName) }),
        ])
    }

    package init(
        identityKey: [UInt8], ephemeralKey: [UInt8], signedPreKeyID: UInt32,
        oneTimePreKeyID: UInt32?, kem: KEM?
    ) {
        self.identityKey = identityKey
        self.ephemeralKey = ephemeralKey
        self.signedPreKeyID = signedPreKeyID
        self.oneTimePreKeyID = oneTimePreKeyID
        self.kem = kem
    }

    /// Reads the member. Throws ``RatchetError/payload``, or ``RatchetError/laterKind`` for an unknown `ratchet`.
    package init(_ object: JSONObject) throws(RatchetError) {
        let fields = Fields<RatchetError>(object)
        let kind = try fields["ratchet"].nullable?.text()
        guard kind == nil || kind == RatchetKind.hybridName else { throw .laterKind }
        let preKeyID: UInt32? = try fields["pqPreKeyId"].nullable?.integer()
        let ciphertext = try fields["kemCiphertext"].nullable?.bytes(
            count: MLKEM.ciphertextBytes1024)
        guard (preKeyID == nil) == (ciphertext == nil), (kind == nil) == (ciphertext == nil) else {
            throw .payload
        }
        self.init(
            identityKey: try fields["identityKey"].bytes(count: 32),
            ephemeralKey: try fields["ephemeralKey"].bytes(count: 32),
            signedPreKeyID: try fields["signedPreKeyId"].integer(),
            oneTimePreKeyID: try fields["oneTimePreKeyId"].nullable?.integer(),
            kem: preKeyID.map { KEM(ciphertext: ciphertext!, preKeyID: $0) })
    }
}
