/// A signed statement of an id about the RSA key that may log in for it: a record
/// `{"v":1,"type":"login-key","id","key","issued","sig"}`.
///
/// `key` is a SubjectPublicKeyInfo in DER, in base64. A record without `key` revokes earlier keys. The later of two
/// records is valid.
package struct LoginKeyRecord: Sendable, Equatable {
    /// A reason to refuse a record.
    package enum Invalid: UnversionedRecordError, Equatable {
        /// A member is missing or malformed.
        case member(String)
        /// The signature is not the id's.
        case signature
        /// The record as a whole is not in the form of a login key.
        case form(RecordFormError)
    }

    /// The id whose logins the record controls.
    package let id: KeyID
    /// The key, a SubjectPublicKeyInfo in DER, or `nil` if no key may log in.
    package let key: [UInt8]?
    /// The time of the signature.
    package let issued: Timestamp
    /// The signed record.
    package let record: JSONObject

    /// Signs that `key` may log in for an identity, or with `nil` that no key may.
    package init(_ key: RSALoginPublicKey?, of identity: Identity, issued: Timestamp) {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("login-key")),
            ("id", .string(identity.device.description)),
            ("key", key.map { .base64($0.der) }),
            ("issued", .string(issued.description)),
        ])
        SignedRecord.sign(&record, with: identity.signingKey)
        self.init(id: identity.device, key: key?.der, issued: issued, record: record)
    }

    /// Reads a record and verifies its form and its signature.
    package init(record: JSONObject) throws(Invalid) {
        do throws(RecordFormError) {
            try RecordForm.loginKey.canonical(record)
        } catch {
            throw .form(error)
        }
        let fields = Fields<Invalid>(record)
        try fields.header("login-key")
        let id = try fields["id"].keyID()
        let issued = try fields["issued"].time()
        guard SignedRecord.verify(record, by: id.publicKey) else { throw .signature }
        let key = try fields["key"].optional?.bytes()
        if let key, RSALoginPublicKey(der: key) == nil { throw .member("key") }
        self.init(id: id, key: key, issued: issued, record: record)
    }

    private init(id: KeyID, key: [UInt8]?, issued: Timestamp, record: JSONObject) {
        self.id = id
        self.key = key
        self.issued = issued
        self.record = record
    }
}
