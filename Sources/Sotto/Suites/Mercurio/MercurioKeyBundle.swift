/// Why a record is not a key bundle that we trust.
public enum MercurioKeyBundleError: Error, Sendable, Equatable {
    /// A member is missing, or not of its form.
    case member(String)
    /// The RSA key is not one that we use.
    case key(MercurioKeyError)
    /// The signature does not belong to the id and the key.
    case signature
}

/// An RSA key and the Session ID that it belongs to, signed by the id's Ed25519 key.
///
/// In the apps nothing binds the two. The signature is Ed25519 over `"hybrid/key/v1\0" ‖` the DER of the key's
/// SubjectPublicKeyInfo.
public struct MercurioKeyBundle: Sendable, Hashable {
    /// Whose key it is.
    public let id: SessionID
    /// The key.
    public let key: MercurioPublicKey
    /// The signature, 64 bytes.
    public let signature: [UInt8]

    private static let label = Array("hybrid/key/v1\0".utf8)

    /// Binds a key to an identity.
    public init(key: MercurioPublicKey, by identity: MercurioIdentity) {
        id = identity.id
        self.key = key
        signature = identity.signing.sign(Self.label + key.der)
    }

    /// Reads a bundle and verifies it.
    public init(record: JSONObject) throws(MercurioKeyBundleError) {
        guard let id = record["mercurio_id"]?.string.flatMap({ SessionID($0) }) else {
            throw .member("mercurio_id")
        }
        guard let pem = record["rsa_spki_pem"]?.string else { throw .member("rsa_spki_pem") }
        guard let signature = record["sig"]?.string.flatMap({ Base64.standard.decode($0) }) else {
            throw .member("sig")
        }
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
        [
            "mercurio_id": .string(id.description), "rsa_spki_pem": .string(key.pem),
            "sig": .string(Base64.standard.encode(signature)),
        ]
    }
}
