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
    /// The post-quantum part, or `nil` for plain X3DH.
    public let kem: KEM?

    /// The fields that PQXDH adds.
    public struct KEM: Sendable, Equatable {
        /// An ML-KEM-1024 ciphertext, 1568 bytes.
        public let ciphertext: [UInt8]
        /// The number of the ML-KEM-1024 prekey.
        public let preKeyID: UInt32
    }

    /// The length of an ML-KEM-1024 ciphertext (FIPS 203).
    package static let kemCiphertextBytes = 1568

    /// The name of the session: the first 16 bytes of SHA-256(identity key ‖ ephemeral key).
    public var tag: [UInt8] { Array(sha256(identityKey + ephemeralKey)[..<16]) }

    /// The member `preKey`: `{"identityKey","ephemeralKey","signedPreKeyId","oneTimePreKeyId",
    /// "kemCiphertext","pqPreKeyId"}`.
    package var object: JSONObject {
        JSONObject([
            ("identityKey", .string(Base64.standard.encode(identityKey))),
            ("ephemeralKey", .string(Base64.standard.encode(ephemeralKey))),
            ("signedPreKeyId", .integer(Int64(signedPreKeyID))),
            ("oneTimePreKeyId", oneTimePreKeyID.map { .integer(Int64($0)) } ?? .null),
            ("kemCiphertext", kem.map { .string(Base64.standard.encode($0.ciphertext)) }),
            ("pqPreKeyId", kem.map { .integer(Int64($0.preKeyID)) }),
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

    /// Reads the member. Throws ``RatchetError/payload``.
    package init(_ object: JSONObject) throws(RatchetError) {
        func bytes(_ name: String, _ count: Int) throws(RatchetError) -> [UInt8] {
            guard let value = object[name]?.string.flatMap({ Base64.standard.decode($0) }),
                value.count == count
            else { throw .payload }
            return value
        }
        func number(_ name: String) throws(RatchetError) -> UInt32? {
            switch object[name] {
            case nil, .null: return nil
            case let value?:
                guard let number = value.integer.flatMap({ UInt32(exactly: $0) }) else {
                    throw .payload
                }
                return number
            }
        }
        guard let signed = try number("signedPreKeyId") else { throw .payload }
        var kem: KEM?
        if let id = try number("pqPreKeyId") {
            kem = KEM(
                ciphertext: try bytes("kemCiphertext", Self.kemCiphertextBytes), preKeyID: id)
        } else if object["kemCiphertext"] != nil, object["kemCiphertext"] != .null {
            throw .payload
        }
        self.init(
            identityKey: try bytes("identityKey", 32), ephemeralKey: try bytes("ephemeralKey", 32),
            signedPreKeyID: signed, oneTimePreKeyID: try number("oneTimePreKeyId"), kem: kem)
    }
}
