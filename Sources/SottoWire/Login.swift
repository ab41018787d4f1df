public import Sotto

/// A client's proof that it owns an id, to one relay and for one nonce.
public struct Login: Sendable, Equatable {
    /// Whose mailbox.
    public let id: SessionID
    /// The relay's 32 bytes.
    public let nonce: [UInt8]
    /// The relay, by the name that the client dialled: `host:port`.
    public let relay: String
    /// Ed25519, 64 bytes.
    public let signature: [UInt8]

    /// Signs in as `key`'s id. `relay` is at most ``WireLimits/nameBytes`` long.
    public init(key: SigningKey, nonce: [UInt8], relay: String) {
        id = SessionID(publicKey: key.publicKey)
        self.nonce = nonce
        self.relay = relay
        signature = key.sign(Self.message(relay: relay, nonce: nonce, id: id))
    }

    init(id: SessionID, nonce: [UInt8], relay: String, signature: [UInt8]) {
        self.id = id
        self.nonce = nonce
        self.relay = relay
        self.signature = signature
    }

    /// Whether the signature is the id's, for this relay name and nonce.
    public var isSigned: Bool {
        verifySignature(
            signature, of: Self.message(relay: relay, nonce: nonce, id: id), by: id.publicKey)
    }

    /// What is signed: `"sotto/relay/login/v1\0" ‖ length of name (1) ‖ name ‖ nonce (32) ‖ public key (32)`.
    static func message(relay: String, nonce: [UInt8], id: SessionID) -> [UInt8] {
        let name = Array(relay.utf8)
        precondition(name.count <= WireLimits.nameBytes)
        return Array("sotto/relay/login/v1\0".utf8) + [UInt8(name.count)] + name + nonce
            + id.publicKey
    }

    var payload: JSONObject {
        [
            "id": .string(id.description), "nonce": .string(Base64.standard.encode(nonce)),
            "relay": .string(relay), "signature": .string(Base64.standard.encode(signature)),
        ]
    }

    init?(payload: JSONObject) {
        guard let id = payload["id"]?.string.flatMap({ SessionID($0) }),
            let nonce = payload["nonce"]?.string.flatMap({ Base64.standard.decode($0) }),
            nonce.count == WireLimits.nonceBytes,
            let relay = payload["relay"]?.string, relay.utf8.count <= WireLimits.nameBytes,
            let signature = payload["signature"]?.string.flatMap({ Base64.standard.decode($0) }),
            signature.count == 64
        else { return nil }
        self.init(id: id, nonce: nonce, relay: relay, signature: signature)
    }
}
