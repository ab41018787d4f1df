import Sotto

/// How rows are sealed and found again: contents under one key of the identity, names and ids as keyed hashes under
/// another, so that the file shows neither what was said nor with whom.
extension IdentityStore {
    /// What a sealed value is, which is sealed with it: a row cannot stand in another's place.
    enum Context {
        case opened(digest: [UInt8])
        case contact
        case session(tag: [UInt8])
        case preKey(kind: Int64, id: Int64)
        case bundle(peer: [UInt8])
        case request(id: String)
        case skipped(chain: [UInt8], place: UInt32)

        fileprivate var bytes: [UInt8] {
            switch self {
            case .opened(let digest): digest
            case .contact: Array("contact".utf8)
            case .session(let tag): Array("session".utf8) + tag
            case .preKey(let kind, let id): Array("prekey \(kind) \(id) ".utf8)
            case .bundle(let peer): Array("bundle".utf8) + peer
            case .request(let id): Array("request".utf8) + Array(id.utf8)
            case .skipped(let chain, let place): Array("skipped \(place) ".utf8) + chain
            }
        }
    }

    /// nonce (24) ‖ secretbox of context ‖ content.
    func seal(_ content: [UInt8], _ context: Context) -> [UInt8] {
        let nonce = randomBytes(24)
        var message = context.bytes + content
        defer { wipe(&message) }
        return nonce + NaClBox.seal(message, nonce: nonce, key: key)
    }

    /// The content of what ``seal(_:_:)`` made. Throws ``StateError/unsealable(path:)``.
    func unseal(_ sealed: [UInt8], _ context: Context) throws(StateError) -> [UInt8] {
        let prefix = context.bytes
        guard sealed.count >= 24,
            let message = NaClBox.open(
                Array(sealed[24...]), nonce: Array(sealed[..<24]), key: key),
            message.starts(with: prefix)
        else { throw .unsealable(path: database.path) }
        return Array(message[prefix.count...])
    }

    /// What stands for an id in the file: 16 bytes.
    func mark(_ id: SessionID) -> [UInt8] { keyedHash(id.publicKey, key: lookupKey) }

    /// The mark of a chain of messages in the file, 16 bytes.
    func mark(chain: [UInt8]) -> [UInt8] {
        keyedHash(Array("chain ".utf8) + chain, key: lookupKey)
    }

    /// The mark of a relay in the file, 16 bytes.
    func mark(relay: String) -> [UInt8] {
        keyedHash(Array("relay ".utf8) + Array(relay.utf8), key: lookupKey)
    }

    /// What stands for an envelope's id in the file: 64 bits, because there are many, and in no order.
    func mark(envelope id: String) -> Int64 {
        Int64(bitPattern: UInt64(bigEndianBytes: keyedHash(Array(id.utf8), key: lookupKey)[..<8])!)
    }

    /// What stands for a name in the file: 16 bytes. Names are compared without regard to ASCII case.
    func mark(name: String) -> [UInt8] {
        keyedHash(Array("name ".utf8) + Array(name.lowercased().utf8), key: lookupKey)
    }
}
