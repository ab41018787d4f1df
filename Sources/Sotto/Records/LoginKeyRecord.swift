/// An id's word on the RSA key that may log in for it, or that none may: a record
/// `{"v":1,"type":"login-key","id","key","issued","sig"}`.
///
/// `key` is the SubjectPublicKeyInfo in DER, base64; without it earlier keys are revoked. Of two records the later
/// one counts.
public struct LoginKeyRecord: Sendable, Equatable {
    /// Why a record is none.
    public enum Invalid: Error, Sendable {
        /// A member is missing, or not of its form.
        case form
        /// It is not signed by the id.
        case signature
    }

    /// Whose logins it is about.
    public let id: SessionID
    /// The key, a SubjectPublicKeyInfo in DER; `nil` where none may log in.
    public let key: [UInt8]?
    /// When it was signed.
    public let issued: Timestamp
    /// The signed record.
    public let record: JSONObject

    /// Signs that `key` may log in for an identity, or that none may.
    public init(_ key: RSALoginPublicKey?, of identity: Identity, issued: Timestamp) {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("login-key")),
            ("id", .string(identity.id.description)),
            ("key", key.map { .string(Base64.standard.encode($0.der)) }),
            ("issued", .string(issued.description)),
        ])
        SignedRecord.sign(&record, with: identity.signingKey)
        self.init(id: identity.id, key: key?.der, issued: issued, record: record)
    }

    /// Reads a record and verifies it.
    public init(record: JSONObject) throws(Invalid) {
        guard record["type"]?.string == "login-key", record["v"]?.integer == 1,
            let id = record["id"]?.string.flatMap({ SessionID($0) }),
            let issued = record["issued"]?.string.flatMap({ Timestamp($0) })
        else { throw .form }
        guard SignedRecord.verify(record, by: id.publicKey) else { throw .signature }
        var key: [UInt8]?
        if let value = record["key"] {
            guard let der = value.string.flatMap({ Base64.standard.decode($0) }),
                RSALoginPublicKey(der: der) != nil
            else { throw .form }
            key = der
        }
        self.init(id: id, key: key, issued: issued, record: record)
    }

    private init(id: SessionID, key: [UInt8]?, issued: Timestamp, record: JSONObject) {
        self.id = id
        self.key = key
        self.issued = issued
        self.record = record
    }
}
