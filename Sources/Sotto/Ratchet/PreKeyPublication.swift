/// The prekeys that an owner publishes at a relay: the current signed prekeys and fresh one-time prekeys, under one
/// signature.
///
/// Numbers only grow. A relay accepts only numbers above those it has seen, so that a repeated or replayed upload
/// changes nothing.
public struct PreKeyPublication: Sendable, Equatable {
    /// The most one-time prekeys in one publication.
    public static let oneTimeLimit = 100

    /// The owner of the prekeys.
    public let owner: KeyID
    /// The signed prekey.
    public let signedPreKey: PreKeyBundle.SignedPreKey
    /// The post-quantum signed prekey, or `nil` for plain X3DH.
    public let pqSignedPreKey: PreKeyBundle.SignedPreKey?
    /// The signature over both signed prekeys, or `nil` if one is absent or has no date.
    public let pairSignature: PreKeyBundle.PairSignature?
    /// The one-time prekeys, sorted by number. May be empty.
    public let oneTimePreKeys: [PreKeyBundle.PreKey]
    /// The lowest number of a one-time prekey whose secret the owner still has. Prekeys below it at a relay are
    /// useless. An owner who lost their state starts above all earlier numbers.
    public let oneTimeFrom: UInt32
    /// The signed record: `{"v":1,"type":"prekeys","id","signedPreKey","pqSignedPreKey","pairSignature",
    /// "oneTimeFrom","oneTimePreKeys","relay","sig"}`; `relay` is the relay to publish it at, if the identity has one.
    public let record: JSONObject

    /// Signs a publication.
    public init(
        by identity: Identity, signedPreKey: PreKeyBundle.SignedPreKey,
        pqSignedPreKey: PreKeyBundle.SignedPreKey?, oneTimePreKeys: [PreKeyBundle.PreKey],
        oneTimeFrom: UInt32 = 0
    ) {
        owner = identity.device
        self.signedPreKey = signedPreKey
        self.pqSignedPreKey = pqSignedPreKey
        pairSignature = PreKeyBundle.PairSignature(
            by: identity.signingKey, signedPreKey, pqSignedPreKey)
        self.oneTimePreKeys = oneTimePreKeys
        self.oneTimeFrom = oneTimeFrom
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("prekeys")), ("id", .string(owner.description)),
            ("signedPreKey", .object(signedPreKey.object)),
            ("pqSignedPreKey", (pqSignedPreKey?.object).map { .object($0) }),
            ("pairSignature", (pairSignature?.object).map { .object($0) }),
            ("oneTimeFrom", .integer(Int64(oneTimeFrom))),
            ("oneTimePreKeys", .array(oneTimePreKeys.map { .object($0.object) })),
            ("relay", identity.relay.map { .string($0) }),
        ])
        SignedRecord.sign(&record, with: identity.signingKey)
        self.record = record
    }

    /// Reads a publication and verifies its form and all of its signatures.
    public init(record: JSONObject) throws(PreKeyBundleError) {
        do throws(RecordFormError) {
            try RecordForm.preKeys.canonical(record)
        } catch {
            throw .form(error)
        }
        let fields = Fields<PreKeyBundleError>(record)
        try fields.header("prekeys")
        owner = try fields["id"].keyID()
        guard SignedRecord.verify(record, by: owner.publicKey) else { throw .signature }
        oneTimePreKeys = try fields["oneTimePreKeys"].list(counts: 0...Self.oneTimeLimit) {
            key throws(PreKeyBundleError) in try key.preKey()
        }
        guard zip(oneTimePreKeys, oneTimePreKeys.dropFirst()).allSatisfy({ $0.id < $1.id }) else {
            throw .member("oneTimePreKeys")
        }
        oneTimeFrom = try fields["oneTimeFrom"].integer(
            in: 0...(oneTimePreKeys.first?.id ?? .max))
        signedPreKey = try fields.signedPreKey()
        pqSignedPreKey = try fields.pqSignedPreKey()
        try PreKeyBundle.checkKeys(
            [signedPreKey.key] + oneTimePreKeys.map(\.key), pqSignedPreKey?.key)
        pairSignature = try fields.pairSignature()
        self.record = record
        _ = try bundle(oneTime: nil)
    }

    /// Returns the bundle for a claim; `oneTime` is `nil` if no one-time prekey is left. Throws
    /// ``PreKeyBundleError/signature``, which cannot happen for a publication that was read.
    public func bundle(oneTime: PreKeyBundle.PreKey?) throws(PreKeyBundleError) -> PreKeyBundle {
        try PreKeyBundle(
            identityKey: owner.publicKey, signedPreKey: signedPreKey,
            pqSignedPreKey: pqSignedPreKey, pairSignature: pairSignature, oneTimePreKey: oneTime)
    }
}
