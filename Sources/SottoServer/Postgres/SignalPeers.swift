import Sotto

/// The relays that use the same database, and the protection of signals between them.
///
/// PostgreSQL may write its queue of notifications to a file. So a signal is encrypted for one relay, under keys that
/// exist only in the memory of the two processes. A notification is one of
///
/// | text | meaning |
/// |---|---|
/// | `relay KEY` | a relay with this X25519 key, base64, which is made at its start; sent every few seconds |
/// | `signal TO FROM BOX` | a signal: the first 8 bytes of the two keys, hexadecimal; 24 bytes nonce and XSalsa20-Poly1305 box, base64 |
///
/// The key of a box is HKDF-SHA256 of the shared secret with the salt lower key | higher key, as bytes, and the info
/// `sotto/relay/signal/v1`.
struct SignalPeers {
    /// The longest notification of PostgreSQL, in bytes.
    private static let textBytes = 7_999
    /// Seconds after which a relay that was not heard of is forgotten.
    private static let lifetime = 10.0
    /// The most relays that are known.
    private static let limit = 64

    private final class Peer {
        let key: SecretBytes
        var heard: Double

        init(key: consuming SecretBytes, heard: Double) {
            self.key = key
            self.heard = heard
        }
    }

    private let own = KeyPair()
    private var peers: [String: Peer] = [:]

    /// The key pair of this process.
    private final class KeyPair {
        let secret = SecretBytes(randomCount: 32)
        let publicKey: [UInt8]
        let tag: String

        init() {
            publicKey = X25519.publicKey(of: secret)
            tag = SignalPeers.tag(publicKey)
        }
    }

    /// The notification that announces this relay.
    var announcement: String { "relay " + Base64.standard.encode(own.publicKey) }

    /// Whether no other relay is known.
    var isEmpty: Bool { peers.isEmpty }

    private static func tag(_ publicKey: [UInt8]) -> String { hex(Array(publicKey[..<8])) }

    /// The content of a notification.
    enum Note: Equatable {
        /// A relay that was not known before; it does not know this one yet.
        case newPeer
        /// The bytes of a signal for this relay.
        case signal([UInt8])
    }

    /// Reads a notification at a time of ``Monotonic``. Returns `nil` for any other text, and for one that is not for
    /// this relay or not authentic.
    mutating func take(_ text: String, at now: Double) -> Note? {
        let words = text.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("relay", 2): return note(words[1], at: now) ? .newPeer : nil
        case ("signal", 4):
            guard words[1] == own.tag, let peer = peers[words[2]],
                let box = Base64.standard.decode(words[3]), box.count > 24,
                let signal = NaClBox.open(
                    Array(box[24...]), nonce: Array(box[..<24]), key: peer.key)
            else { return nil }
            return .signal(signal)
        default: return nil
        }
    }

    /// Notes a relay. Returns whether it is new.
    private mutating func note(_ text: String, at now: Double) -> Bool {
        guard let publicKey = Base64.standard.decode(text), publicKey.count == 32,
            publicKey != own.publicKey
        else { return false }
        let tag = Self.tag(publicKey)
        if let known = peers[tag] {
            known.heard = now
            return false
        }
        guard peers.count < Self.limit,
            let shared = X25519.sharedSecret(own.secret, publicKey)
        else { return false }
        let keys = [own.publicKey, publicKey].sorted { $0.lexicographicallyPrecedes($1) }
        let key = hkdfSHA256(shared, salt: keys[0] + keys[1], info: "sotto/relay/signal/v1")
        peers[tag] = Peer(key: key, heard: now)
        return true
    }

    /// Forgets the relays that ended.
    mutating func forgetOld(at now: Double) {
        peers = peers.filter { now - $0.value.heard < Self.lifetime }
    }

    /// Returns the notifications that pass a signal to all other relays. A signal that is too long is not passed.
    func notifications(of signal: [UInt8]) -> [String] {
        peers.compactMap { tag, peer in
            let nonce = randomBytes(24)
            let box = nonce + NaClBox.seal(signal, nonce: nonce, key: peer.key)
            let text = "signal \(tag) \(own.tag) \(Base64.standard.encode(box))"
            return text.utf8.count <= Self.textBytes ? text : nil
        }
    }
}
