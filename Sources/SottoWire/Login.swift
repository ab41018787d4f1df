public import Sotto

/// A client's proof that it owns an id, for one relay and one nonce.
public struct Login: Sendable, Equatable {
    /// The kind of proof.
    public enum Proof: Sendable, Equatable {
        /// An Ed25519 signature over the message with the id's key, 64 bytes.
        case signature([UInt8])
        /// The answer of the id's RSA login key to the SHA-256 of the message, 256 to 512 bytes.
        case rsa([UInt8])
    }

    /// The id that logs in.
    public let id: KeyID
    /// The nonce of the relay, 32 bytes.
    public let nonce: [UInt8]
    /// The name of the relay that the client connected to: `host:port`.
    public let relay: String
    /// The proof of the id.
    public let proof: Proof
    /// The proof of an invitation to redeem, or `nil`.
    public let invitation: InvitationProof?
    /// The mark of the client's state at this relay and mailbox, 16 bytes, or `nil`. It is not signed: the
    /// relay's answer to it is a hint.
    public let instance: [UInt8]?

    /// Creates a login as `key`'s id. `relay` has at most ``WireLimits/nameBytes`` bytes, `instance` has
    /// ``WireLimits/instanceBytes``.
    public init(
        key: SigningKey, nonce: [UInt8], relay: String, invitation: InvitationCode? = nil,
        instance: [UInt8]? = nil
    ) {
        let id = KeyID(publicKey: key.publicKey)
        let message = Self.message(relay: relay, nonce: nonce, id: id)
        self.init(
            id: id, nonce: nonce, relay: relay, proof: .signature(key.sign(message)),
            invitation: invitation.map { $0.proof(for: message) }, instance: instance)
    }

    /// Creates a login as an id with the RSA login key that its owner registered at the relay.
    package init(rsaKey: RSALoginKey, id: KeyID, nonce: [UInt8], relay: String)
        throws(RSAKeyError)
    {
        let message = Self.message(relay: relay, nonce: nonce, id: id)
        self.init(
            id: id, nonce: nonce, relay: relay, proof: .rsa(try rsaKey.answer(to: sha256(message))))
    }

    init(
        id: KeyID, nonce: [UInt8], relay: String, proof: Proof,
        invitation: InvitationProof? = nil, instance: [UInt8]? = nil
    ) {
        self.id = id
        self.nonce = nonce
        self.relay = relay
        self.proof = proof
        self.invitation = invitation
        self.instance = instance
    }

    /// The bytes of the proof.
    var signature: [UInt8] {
        switch proof {
        case .signature(let bytes), .rsa(let bytes): bytes
        }
    }

    /// Whether the proof is a valid signature of the id for this relay name and nonce.
    public var isSigned: Bool {
        guard case .signature = proof else { return false }
        return verifySignature(signature, of: message, by: id.publicKey)
    }

    /// Whether the proof is a valid answer of an RSA key for this id, relay name and nonce.
    package func isProven(by key: RSALoginPublicKey) -> Bool {
        guard case .rsa(let answer) = proof else { return false }
        return key.isAnswer(answer, to: sha256(message))
    }

    /// Whether the login proves the code with this public key.
    public func provesInvitation(withKey key: [UInt8]) -> Bool {
        guard let invitation else { return false }
        return verifySignature(
            invitation.signature, of: InvitationProof.message(message), by: key)
    }

    private var message: [UInt8] { Self.message(relay: relay, nonce: nonce, id: id) }

    /// Returns the bytes to sign:
    /// `"sotto/relay/login/v1\0" ‖ length of name (1) ‖ name ‖ nonce (32) ‖ public key (32)`.
    static func message(relay: String, nonce: [UInt8], id: KeyID) -> [UInt8] {
        let name = Array(relay.utf8)
        precondition(name.count <= WireLimits.nameBytes)
        return Array("sotto/relay/login/v1\0".utf8) + [UInt8(name.count)] + name + nonce
            + id.publicKey
    }

    var payload: JSONObject {
        let member = if case .rsa = proof { "rsa" } else { "signature" }
        return JSONObject([
            ("id", .string(id.description)), ("nonce", .base64(nonce)),
            ("relay", .string(relay)), (member, .base64(signature)),
            ("invitation", invitation.map { .object($0.payload) }),
            ("instance", instance.map { .base64($0) }),
        ])
    }

    init(_ payload: Fields<FieldError>) throws(FieldError) {
        id = try payload["id"].keyID()
        nonce = try payload["nonce"].bytes(count: WireLimits.nonceBytes)
        relay = try payload["relay"].text { $0.utf8.count <= WireLimits.nameBytes ? $0 : nil }
        invitation = try payload["invitation"].optional?.object(InvitationProof.init)
        instance = try payload["instance"].optional?.bytes(count: WireLimits.instanceBytes)
        guard let signature = try payload["signature"].optional?.bytes(count: 64) else {
            proof = .rsa(try payload["rsa"].bytes { (256...512).contains($0) })
            return
        }
        guard payload["rsa"].optional == nil else { throw .member("rsa") }
        proof = .signature(signature)
    }
}
