/// A reason to refuse a bundle or a publication of prekeys.
public enum PreKeyBundleError: Error, Sendable, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// A signature is not by the identity.
    case signature
}

/// The public keys with which an initiator starts a session while the owner is offline.
public struct PreKeyBundle: Sendable, Equatable {
    /// A prekey and its number.
    public struct PreKey: Sendable, Equatable {
        /// The number, unique among the owner's prekeys of its kind.
        public let id: UInt32
        /// X25519: 32 bytes. ML-KEM-1024: 1568.
        public let key: [UInt8]

        /// Creates a prekey with this number.
        public init(id: UInt32, key: [UInt8]) {
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
        /// The time of creation, if the owner has signed it.
        public let date: Date?

        /// A time with the identity's signature over `"ratchet/spkdate/v1\0" ‖ u64be(seconds) ‖ u32be(number) ‖` the
        /// key.
        ///
        /// The signature of X3DH does not cover a time, so that a relay could serve an old bundle for ever.
        public struct Date: Sendable, Equatable {
            /// The time.
            public let time: Timestamp
            /// The Ed25519 signature, 64 bytes.
            public let signature: [UInt8]

            static func message(_ time: Timestamp, _ id: UInt32, _ key: [UInt8]) -> [UInt8] {
                Array("ratchet/spkdate/v1\0".utf8) + UInt64(max(0, time.seconds)).bigEndianBytes
                    + id.bigEndianBytes + key
            }
        }

        /// Creates a signed prekey without verifying its signatures.
        public init(id: UInt32, key: [UInt8], signature: [UInt8], date: Date? = nil) {
            self.id = id
            self.key = key
            self.signature = signature
            self.date = date
        }

        func verify(by identityKey: [UInt8], label: [UInt8] = []) -> Bool {
            verifySignature(signature, of: label + key, by: identityKey)
                && date.map {
                    verifySignature(
                        $0.signature, of: Date.message($0.time, id, key), by: identityKey)
                } ?? true
        }
    }

    /// The owner's Ed25519 key, 32 bytes.
    public let identityKey: [UInt8]
    /// The signed prekey, renewed every seven days.
    public let signedPreKey: SignedPreKey
    /// The post-quantum signed prekey, or `nil` for plain X3DH.
    public let pqSignedPreKey: SignedPreKey?
    /// A one-time prekey, or `nil` if the owner has none left.
    public let oneTimePreKey: PreKey?

    /// The id of the owner.
    public var owner: SessionID { SessionID(publicKey: identityKey) }

    /// The label before the post-quantum prekey in the message that its signature covers.
    package static let pqLabel = Array("ratchet/pqspk/v1\0".utf8)

    /// Creates a bundle and verifies its signatures. Throws ``PreKeyBundleError/signature``.
    public init(
        identityKey: [UInt8], signedPreKey: SignedPreKey, pqSignedPreKey: SignedPreKey?,
        oneTimePreKey: PreKey?
    ) throws(PreKeyBundleError) {
        guard signedPreKey.verify(by: identityKey),
            pqSignedPreKey?.verify(by: identityKey, label: Self.pqLabel) ?? true
        else { throw .signature }
        self.identityKey = identityKey
        self.signedPreKey = signedPreKey
        self.pqSignedPreKey = pqSignedPreKey
        self.oneTimePreKey = oneTimePreKey
    }

    // MARK: The record

    /// The record, one line of JSON: `{"v":1,"type":"bundle","userId","identityKey","signedPreKey",
    /// "pqSignedPreKey","oneTimePreKey"}`.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("bundle")), ("userId", .string(owner.description)),
            ("identityKey", .string(Base64.standard.encode(identityKey))),
            ("signedPreKey", .object(signedPreKey.object)),
            ("pqSignedPreKey", (pqSignedPreKey?.object).map { .object($0) }),
            ("oneTimePreKey", (oneTimePreKey?.object).map { .object($0) } ?? .null),
        ])
    }

    /// Reads a bundle record and verifies its signatures. `userId` must match the key if it has the form of an id;
    /// another implementation may put any name there.
    public init(record: JSONObject) throws(PreKeyBundleError) {
        guard record["type"] == nil || record["type"]?.string == "bundle" else {
            throw .member("type")
        }
        guard let version = record["v"]?.integer else { throw .member("v") }
        guard version == 1 else { throw .version(version) }
        guard
            let key = record["identityKey"]?.string.flatMap({ Base64.standard.decode($0) }),
            key.count == 32
        else { throw .member("identityKey") }
        if let owner = record["userId"]?.string.flatMap({ SessionID($0) }), owner.publicKey != key {
            throw .member("userId")
        }
        let oneTime: PreKey?
        switch record["oneTimePreKey"] {
        case nil, .null: oneTime = nil
        case let value?:
            guard let preKey = value.object.flatMap({ PreKey($0, count: KeyBytes.x25519) }) else {
                throw .member("oneTimePreKey")
            }
            oneTime = preKey
        }
        try self.init(
            identityKey: key, signedPreKey: try Self.signedPreKey(record),
            pqSignedPreKey: try Self.pqSignedPreKey(record), oneTimePreKey: oneTime)
    }

    static func signedPreKey(_ record: JSONObject) throws(PreKeyBundleError) -> SignedPreKey {
        guard
            let preKey = record["signedPreKey"]?.object.flatMap({
                SignedPreKey($0, count: KeyBytes.x25519)
            })
        else { throw .member("signedPreKey") }
        return preKey
    }

    static func pqSignedPreKey(_ record: JSONObject) throws(PreKeyBundleError) -> SignedPreKey? {
        switch record["pqSignedPreKey"] {
        case nil, .null: return nil
        case let value?:
            guard
                let preKey = value.object.flatMap({ SignedPreKey($0, count: KeyBytes.mlkem1024) })
            else { throw .member("pqSignedPreKey") }
            return preKey
        }
    }
}

/// Lengths of the public keys in bundles.
private enum KeyBytes {
    static let x25519 = 32
    static let mlkem1024 = 1568
}

extension PreKeyBundle.PreKey {
    var object: JSONObject {
        ["id": .integer(Int64(id)), "key": .string(Base64.standard.encode(key))]
    }

    init?(_ object: JSONObject, count: Int) {
        guard let id = object["id"]?.integer.flatMap({ UInt32(exactly: $0) }),
            let key = object["key"]?.string.flatMap({ Base64.standard.decode($0) }),
            key.count == count
        else { return nil }
        self.init(id: id, key: key)
    }
}

extension PreKeyBundle.SignedPreKey {
    var object: JSONObject {
        JSONObject([
            ("id", .integer(Int64(id))), ("key", .string(Base64.standard.encode(key))),
            ("signature", .string(Base64.standard.encode(signature))),
            ("time", date.map { .string($0.time.description) }),
            ("timeSignature", date.map { .string(Base64.standard.encode($0.signature)) }),
        ])
    }

    init?(_ object: JSONObject, count: Int) {
        guard let preKey = PreKeyBundle.PreKey(object, count: count),
            let signature = object["signature"]?.string.flatMap({ Base64.standard.decode($0) }),
            signature.count == 64
        else { return nil }
        var date: Date?
        if object["time"] != nil || object["timeSignature"] != nil {
            guard let time = object["time"]?.string.flatMap({ Timestamp($0) }),
                let dated = object["timeSignature"]?.string.flatMap({ Base64.standard.decode($0) }),
                dated.count == 64
            else { return nil }
            date = Date(time: time, signature: dated)
        }
        self.init(id: preKey.id, key: preKey.key, signature: signature, date: date)
    }
}
