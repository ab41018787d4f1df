/// A reason to refuse a bundle or a publication of prekeys.
public enum PreKeyBundleError: RecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// A signature is not by the identity.
    case signature
    /// No session can begin with one of the keys.
    case key
    /// The record as a whole is not in its form.
    case form(RecordFormError)
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

    /// The identity's signature over both signed prekeys and one time.
    ///
    /// The signatures of the two prekeys do not name each other, so that a relay could pair a new prekey with an old one.
    public struct PairSignature: Sendable, Equatable {
        /// The earlier time of creation of the two.
        public let time: Timestamp
        /// The Ed25519 signature, 64 bytes, over `"ratchet/prekeys/v1\0" ‖ u64be(seconds) ‖` the number and the key of
        /// the X25519 prekey `‖` those of the ML-KEM-1024 prekey, the numbers as u32be.
        public let signature: [UInt8]

        /// Creates a signature without verifying it.
        public init(time: Timestamp, signature: [UInt8]) {
            self.time = time
            self.signature = signature
        }

        /// Signs two prekeys. Returns `nil` unless both have a date.
        init?(by key: SigningKey, _ signed: SignedPreKey, _ postQuantum: SignedPreKey?) {
            guard let postQuantum, let first = signed.date, let second = postQuantum.date else {
                return nil
            }
            time = min(first.time, second.time)
            signature = key.sign(Self.message(time, signed, postQuantum))
        }

        func verify(by key: [UInt8], _ signed: SignedPreKey, _ postQuantum: SignedPreKey) -> Bool {
            verifySignature(signature, of: Self.message(time, signed, postQuantum), by: key)
        }

        private static func message(
            _ time: Timestamp, _ signed: SignedPreKey, _ postQuantum: SignedPreKey
        ) -> [UInt8] {
            Array("ratchet/prekeys/v1\0".utf8) + UInt64(max(0, time.seconds)).bigEndianBytes
                + signed.id.bigEndianBytes + signed.key
                + postQuantum.id.bigEndianBytes + postQuantum.key
        }
    }

    /// The owner's Ed25519 key, 32 bytes.
    public let identityKey: [UInt8]
    /// The signed prekey, renewed every seven days.
    public let signedPreKey: SignedPreKey
    /// The post-quantum signed prekey, or `nil` for plain X3DH.
    public let pqSignedPreKey: SignedPreKey?
    /// The signature over both signed prekeys, or `nil` without it or without a post-quantum prekey.
    public let pairSignature: PairSignature?
    /// A one-time prekey, or `nil` if all were claimed.
    public let oneTimePreKey: PreKey?

    /// The id of the owner.
    public var owner: KeyID { KeyID(publicKey: identityKey) }

    /// The label before the post-quantum prekey in the message that its signature covers.
    package static let pqLabel = Array("ratchet/pqspk/v1\0".utf8)

    /// The time of creation of the older signed prekey, or `nil` if a signed prekey has no signed time.
    public var date: Timestamp? {
        if let pairSignature { return pairSignature.time }
        guard let time = signedPreKey.date?.time else { return nil }
        guard let pqSignedPreKey else { return time }
        return pqSignedPreKey.date.map { min(time, $0.time) }
    }

    /// Creates a bundle and verifies its signatures. Throws ``PreKeyBundleError/signature``.
    ///
    /// Without a post-quantum prekey, `pairSignature` cannot be verified and is ignored.
    public init(
        identityKey: [UInt8], signedPreKey: SignedPreKey, pqSignedPreKey: SignedPreKey?,
        pairSignature: PairSignature? = nil, oneTimePreKey: PreKey?
    ) throws(PreKeyBundleError) {
        self.init(
            verified: identityKey, signedPreKey, pqSignedPreKey, pairSignature, oneTimePreKey)
        try verify()
    }

    private init(
        verified identityKey: [UInt8], _ signedPreKey: SignedPreKey,
        _ pqSignedPreKey: SignedPreKey?, _ pairSignature: PairSignature?, _ oneTimePreKey: PreKey?
    ) {
        self.identityKey = identityKey
        self.signedPreKey = signedPreKey
        self.pqSignedPreKey = pqSignedPreKey
        self.pairSignature = pqSignedPreKey == nil ? nil : pairSignature
        self.oneTimePreKey = oneTimePreKey
    }

    /// Throws ``PreKeyBundleError/signature`` unless all signatures are by the identity.
    private func verify() throws(PreKeyBundleError) {
        guard signedPreKey.verify(by: identityKey),
            pqSignedPreKey?.verify(by: identityKey, label: Self.pqLabel) ?? true
        else { throw .signature }
        guard let pqSignedPreKey, let pairSignature else { return }
        guard pairSignature.verify(by: identityKey, signedPreKey, pqSignedPreKey) else {
            throw .signature
        }
    }

    /// Returns the bundle without its post-quantum prekey, for a session with another messenger.
    public func classical() throws(PreKeyBundleError) -> PreKeyBundle {
        try PreKeyBundle(
            identityKey: identityKey, signedPreKey: signedPreKey, pqSignedPreKey: nil,
            oneTimePreKey: oneTimePreKey)
    }

    // MARK: The record

    /// The record, one line of JSON: `{"v":1,"type":"bundle","userId","identityKey","signedPreKey",
    /// "pqSignedPreKey","pairSignature","oneTimePreKey"}`.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("bundle")), ("userId", .string(owner.description)),
            ("identityKey", .base64(identityKey)),
            ("signedPreKey", .object(signedPreKey.object)),
            ("pqSignedPreKey", (pqSignedPreKey?.object).map { .object($0) }),
            ("pairSignature", (pairSignature?.object).map { .object($0) }),
            ("oneTimePreKey", (oneTimePreKey?.object).map { .object($0) } ?? .null),
        ])
    }

    /// Reads a bundle record and verifies its signatures. `userId` must match the key if it has the form of an id;
    /// another implementation may put any name there.
    public init(record: JSONObject) throws(PreKeyBundleError) {
        try self.init(stored: record)
        try verify()
    }

    /// Reads the record of a bundle whose signatures were verified when it was stored.
    package init(stored record: JSONObject) throws(PreKeyBundleError) {
        do throws(RecordFormError) {
            try RecordForm.bundle.check(record)
        } catch {
            throw .form(error)
        }
        let fields = Fields<PreKeyBundleError>(record)
        if record["type"] == nil { try fields.version() } else { try fields.header("bundle") }
        let key = try fields["identityKey"].bytes(count: 32)
        if let owner = record["userId"]?.string.flatMap({ KeyID($0) }), owner.publicKey != key {
            throw .member("userId")
        }
        let signed = try fields.signedPreKey()
        let postQuantum = try fields.pqSignedPreKey()
        let oneTime = try fields["oneTimePreKey"].nullable?.preKey()
        try Self.checkKeys([signed.key, oneTime?.key], postQuantum?.key)
        self.init(verified: key, signed, postQuantum, try fields.pairSignature(), oneTime)
    }

    /// Throws ``PreKeyBundleError/key`` for an X25519 key of low order, and for an ML-KEM-1024 key whose coefficients are not
    /// reduced.
    static func checkKeys(
        _ x25519: [[UInt8]?], _ postQuantum: [UInt8]?
    ) throws(PreKeyBundleError) {
        guard x25519.compactMap(\.self).allSatisfy({ !X25519.isLowOrder($0) }),
            postQuantum.map({ MLKEM.isReduced($0) }) ?? true
        else { throw .key }
    }
}

extension Fields {
    /// Returns the member `signedPreKey`, an X25519 key.
    func signedPreKey() throws(Failure) -> PreKeyBundle.SignedPreKey {
        try self["signedPreKey"].signedPreKey(count: 32)
    }

    /// Returns the member `pqSignedPreKey`, an ML-KEM-1024 key, or `nil` if it is absent or null.
    func pqSignedPreKey() throws(Failure) -> PreKeyBundle.SignedPreKey? {
        try self["pqSignedPreKey"].nullable?.signedPreKey(count: MLKEM.keyBytes1024)
    }

    /// Returns the member `pairSignature`, or `nil` if it is absent or null. It is not verified.
    func pairSignature() throws(Failure) -> PreKeyBundle.PairSignature? {
        try self["pairSignature"].nullable?.object { fields throws(Failure) in
            PreKeyBundle.PairSignature(
                time: try fields["time"].time(),
                signature: try fields["signature"].bytes(count: 64))
        }
    }
}

extension Field {
    /// Returns a prekey whose key has `count` bytes.
    func preKey(count: Int = 32) throws(Failure) -> PreKeyBundle.PreKey {
        try object { fields throws(Failure) in
            PreKeyBundle.PreKey(
                id: try fields["id"].integer(), key: try fields["key"].bytes(count: count))
        }
    }

    /// Returns a signed prekey whose key has `count` bytes. The signature is not verified.
    func signedPreKey(count: Int) throws(Failure) -> PreKeyBundle.SignedPreKey {
        let preKey = try preKey(count: count)
        return try object { fields throws(Failure) in
            let time = try fields["time"].optional?.time()
            let signature = try fields["timeSignature"].optional?.bytes(count: 64)
            guard (time == nil) == (signature == nil) else { throw failure }
            return PreKeyBundle.SignedPreKey(
                id: preKey.id, key: preKey.key,
                signature: try fields["signature"].bytes(count: 64),
                date: time.map { PreKeyBundle.SignedPreKey.Date(time: $0, signature: signature!) })
        }
    }
}

extension PreKeyBundle.PreKey {
    var object: JSONObject {
        ["id": .integer(Int64(id)), "key": .base64(key)]
    }

}

extension PreKeyBundle.PairSignature {
    var object: JSONObject {
        ["time": .string(time.description), "signature": .base64(signature)]
    }
}

extension PreKeyBundle.SignedPreKey {
    var object: JSONObject {
        JSONObject([
            ("id", .integer(Int64(id))), ("key", .base64(key)),
            ("signature", .base64(signature)),
            ("time", date.map { .string($0.time.description) }),
            ("timeSignature", date.map { .base64($0.signature) }),
        ])
    }

}
