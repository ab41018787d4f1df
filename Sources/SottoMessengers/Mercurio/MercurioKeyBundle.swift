public import Sotto

/// A reason to refuse a record as a key bundle.
public enum MercurioKeyBundleError: UnversionedRecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The RSA key is invalid or unsupported.
    case key(MercurioKeyError)
    /// The signature is not that of the id over the key.
    case signature
}

/// An RSA key and the Session ID of its owner, signed by the id's Ed25519 key.
///
/// In the apps nothing binds the key to the id. The signature is Ed25519 over `"hybrid/key/v1\0" ‖` the DER of the
/// key's SubjectPublicKeyInfo.
public struct MercurioKeyBundle: Sendable, Hashable {
    /// The id of the key's owner.
    public let id: KeyID
    /// The RSA key.
    public let key: MercurioPublicKey
    /// The signature, 64 bytes, or `nil` for a key from the app, which is not bound to the id. Pin such a key.
    public let signature: [UInt8]?

    private static let label = Array("hybrid/key/v1\0".utf8)

    /// Signs that a key belongs to an identity.
    public init(key: MercurioPublicKey, by identity: MercurioIdentity) {
        id = identity.id
        self.key = key
        signature = identity.signing.sign(Self.label + key.der)
    }

    /// Reads a key as in the app's directory, usually unsigned: `{"mercurio_id"}` with `modulus` and `exponent` in one
    /// of the apps' forms, or with `rsa_spki_pem`. If it has a `sig`, the signature is verified.
    public init(pinning record: JSONObject) throws(MercurioKeyBundleError) {
        if record["sig"] != nil {
            try self.init(record: record)
            return
        }
        let id = try Fields<MercurioKeyBundleError>(record)["mercurio_id"].keyID()
        do throws(MercurioKeyError) {
            let key: MercurioPublicKey
            if let pem = record["rsa_spki_pem"]?.string {
                key = try MercurioPublicKey(pem: pem)
            } else if let modulus = record["modulus"]?.string,
                let exponent = record["exponent"]?.string
            {
                key = try MercurioPublicKey(modulus: modulus, exponent: exponent)
            } else {
                throw MercurioKeyError.encoding
            }
            self.init(id: id, key: key, signature: nil)
        } catch {
            throw .key(error)
        }
    }

    private init(id: KeyID, key: MercurioPublicKey, signature: [UInt8]?) {
        self.id = id
        self.key = key
        self.signature = signature
    }

    /// Returns the key in one of the apps' forms: `{"mercurio_id","modulus","exponent"}`.
    public func record(_ form: MercurioPublicKey.Form) -> JSONObject {
        let text = key.text(form)
        return [
            "mercurio_id": .string(id.description), "modulus": .string(text.modulus),
            "exponent": .string(text.exponent),
        ]
    }

    /// Reads a bundle and verifies its signature.
    public init(record: JSONObject) throws(MercurioKeyBundleError) {
        let fields = Fields<MercurioKeyBundleError>(record)
        let id = try fields["mercurio_id"].keyID()
        let pem = try fields["rsa_spki_pem"].text()
        let signature = try fields["sig"].bytes()
        let key: MercurioPublicKey
        do throws(MercurioKeyError) {
            key = try MercurioPublicKey(pem: pem)
        } catch {
            throw .key(error)
        }
        guard verifySignature(signature, of: Self.label + key.der, by: id.publicKey) else {
            throw .signature
        }
        self.id = id
        self.key = key
        self.signature = signature
    }

    /// The record.
    public var record: JSONObject {
        JSONObject([
            ("mercurio_id", .string(id.description)), ("rsa_spki_pem", .string(key.pem)),
            ("sig", signature.map { .base64($0) }),
        ])
    }
}
