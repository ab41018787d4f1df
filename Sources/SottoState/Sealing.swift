import Sotto
import SottoDatabase

/// Encryption and lookup of rows: contents are encrypted under one key of the identity, and names and ids are stored as
/// keyed hashes under another. The file shows neither the messages nor the peers.
extension IdentityStore {
    /// The kind of an encrypted value. It is authenticated with the value, so that a row cannot replace another.
    enum Context {
        case message(mark: Int64, conversation: Int64)
        case author(message: Int64)
        case conversation(number: Int64)
        case contact
        case profile(peer: [UInt8])
        case news(peer: [UInt8])
        case deviceList(peer: [UInt8])
        case syncItem(mark: [UInt8])
        case syncValue(mark: [UInt8])
        case session(tag: [UInt8])
        case preKey(kind: Int64, id: Int64)
        case bundle(peer: [UInt8])
        case request(id: String)
        case skipped(chain: [UInt8], place: UInt32)
        case reader(mark: [UInt8])
        case group(mark: [UInt8])
        case groupChange(mark: [UInt8])
        case groupMember(group: Int64, mark: [UInt8])
        case ownChain(group: Int64)
        case groupChain(tag: [UInt8])
        case heldMessage(mark: Int64)
        case groupRoom(group: Int64)
        case groupFile(mark: [UInt8])
        case chat(mark: [UInt8])
        case foreignChain(source: [UInt8], chain: [UInt8])
        case wake(mark: [UInt8])

        /// Returns the content after the context in an opened value, or `nil` if it has another context.
        fileprivate func content(of message: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
            if case .message(let mark, let conversation) = self {
                // The same comparison without a temporary array, for a large table.
                guard message.count >= 13, message[0] == UInt8(ascii: "m"),
                    message.loadUnaligned(fromByteOffset: 1, as: Int64.self).bigEndian == mark,
                    message.loadUnaligned(fromByteOffset: 9, as: UInt32.self).bigEndian
                        == UInt32(truncatingIfNeeded: conversation)
                else { return nil }
                return UnsafeRawBufferPointer(rebasing: message[13...])
            }
            let prefix = bytes
            guard message.starts(with: prefix) else { return nil }
            return UnsafeRawBufferPointer(rebasing: message[prefix.count...])
        }

        fileprivate var bytes: [UInt8] {
            switch self {
            case .message(let mark, let conversation):
                // Short, because the table of messages is large.
                Array("m".utf8) + UInt64(bitPattern: mark).bigEndianBytes
                    + UInt32(truncatingIfNeeded: conversation).bigEndianBytes
            case .author(let message): Array("author \(message) ".utf8)
            case .conversation(let number): Array("conversation \(number) ".utf8)
            case .contact: Array("contact".utf8)
            case .profile(let peer): Array("profile".utf8) + peer
            case .news(let peer): Array("news".utf8) + peer
            case .deviceList(let peer): Array("device list".utf8) + peer
            case .syncItem(let mark): Array("sync item".utf8) + mark
            case .syncValue(let mark): Array("sync value".utf8) + mark
            case .session(let tag): Array("session".utf8) + tag
            case .preKey(let kind, let id): Array("prekey \(kind) \(id) ".utf8)
            case .bundle(let peer): Array("bundle".utf8) + peer
            case .request(let id): Array("request".utf8) + Array(id.utf8)
            case .skipped(let chain, let place): Array("skipped \(place) ".utf8) + chain
            case .reader(let mark): Array("reader".utf8) + mark
            case .group(let mark): Array("log".utf8) + mark
            case .groupChange(let mark): Array("change".utf8) + mark
            case .groupMember(let group, let mark): Array("member \(group) ".utf8) + mark
            case .ownChain(let group): Array("own chain \(group) ".utf8)
            case .groupChain(let tag): Array("chain".utf8) + tag
            case .groupRoom(let group): Array("room \(group) ".utf8)
            case .groupFile(let mark): Array("file".utf8) + mark
            case .chat(let mark): Array("chat keys".utf8) + mark
            case .foreignChain(let source, let chain):
                Array("foreign chain".utf8) + source + chain
            case .wake(let mark): Array("wake".utf8) + mark
            case .heldMessage(let mark): Array("held message \(mark) ".utf8)
            }
        }
    }

    /// Returns the number of bytes by which ``seal(_:_:)`` makes a value longer.
    static func overhead(_ context: Context) -> Int { 24 + 16 + context.bytes.count }

    /// Encrypts a value: nonce (24 bytes) ‖ secretbox of context ‖ content.
    func seal(_ content: [UInt8], _ context: Context) -> [UInt8] {
        let nonce = publicRandomBytes(24)
        var message = context.bytes + content
        defer { wipe(&message) }
        return nonce + NaClBox.seal(message, nonce: nonce, key: key)
    }

    /// Decrypts the output of ``seal(_:_:)``. Throws ``StateError/unsealable(path:)``.
    func unseal(_ sealed: [UInt8], _ context: Context) throws(StateError) -> [UInt8] {
        var content: [UInt8]?
        sealed.withUnsafeBytes { sealed in
            _ = withOpened(sealed, context) { content = Array($0) }
        }
        guard let content else { throw .unsealable(path: database.path) }
        return content
    }

    /// Decrypts the output of ``seal(_:_:)``, and calls `body` with the content. Returns `false` if it is not authentic.
    /// The content is wiped when `body` returns.
    @discardableResult
    func withOpened(
        _ sealed: UnsafeRawBufferPointer, _ context: Context,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        guard sealed.count >= 40 else { return false }
        return withUnsafeTemporaryAllocation(byteCount: sealed.count - 40, alignment: 16) {
            message in
            defer { wipe(message) }
            let isOpen = NaClBox.open(
                UnsafeRawBufferPointer(rebasing: sealed[24...]),
                nonce: UnsafeRawBufferPointer(rebasing: sealed[..<24]), key: key, into: message)
            guard isOpen, let content = context.content(of: UnsafeRawBufferPointer(message)) else {
                return false
            }
            body(content)
            return true
        }
    }

    /// Returns the keyed hash of an id, 16 bytes.
    func mark(_ id: KeyID) -> [UInt8] { keyedHash(id.publicKey, key: lookupKey) }

    /// Returns the keyed hash of a chain of messages, 16 bytes.
    func mark(chain: [UInt8]) -> [UInt8] {
        keyedHash(Array("chain ".utf8) + chain, key: lookupKey)
    }

    /// Returns the keyed hash of a relay, 16 bytes.
    func mark(relay: String) -> [UInt8] {
        keyedHash(Array("relay ".utf8) + Array(relay.utf8), key: lookupKey)
    }

    /// Returns the keyed hash of a kind of wake-ups at a relay, 16 bytes.
    func mark(wake kind: String, at relay: String) -> [UInt8] {
        keyedHash(Array("wake \(kind) ".utf8) + Array(relay.utf8), key: lookupKey)
    }

    /// Returns the keyed hash of an envelope's id, truncated to 64 bits to save space in a large table.
    func mark(envelope id: String) -> Int64 {
        Int64(bitPattern: UInt64(bigEndianBytes: keyedHash(Array(id.utf8), key: lookupKey)[..<8])!)
    }

    /// Returns the keyed hash of a sent message's id, 8 bytes. A received message with the same id has another.
    func mark(sent id: String) -> Int64 { mark(envelope: "sent " + id) }

    /// Returns the keyed hash of the id of a message to a group, 8 bytes. The id follows from the group, the author, the chain
    /// and the number. The sender of another message chooses its id, so that an equal id has another hash.
    func mark(groupMessage id: String) -> Int64 { mark(envelope: "message of a group " + id) }

    /// Returns the keyed hash of a received message's id, 8 bytes. A body about a group is in the group's conversation, but its
    /// sender chooses its id.
    func mark(received id: String, in conversation: Conversation, bodyType: String?) -> Int64 {
        conversation.group != nil && bodyType != GroupBody.type
            ? mark(groupMessage: id) : mark(envelope: id)
    }

    /// Returns the keyed hashes of a message that others name by its id, if it was received and if it was sent.
    func marks(of id: String, in conversation: Conversation) -> (received: Int64, sent: Int64) {
        (
            conversation.group == nil ? mark(envelope: id) : mark(groupMessage: id),
            mark(sent: id)
        )
    }

    /// Returns the keyed hash of a message that an event changes, 8 bytes.
    func mark(target id: String, conversation: Int64) -> Int64 {
        mark(envelope: "target \(conversation) " + id)
    }

    /// Returns the keyed hash of an event's author, 8 bytes. The claimed author of an imported event has another.
    func mark(author: KeyID, isImported: Bool = false) -> Int64 {
        mark(envelope: (isImported ? "claimed author " : "author ") + author.description)
    }

    /// Returns the keyed hash of a conversation, 16 bytes.
    func mark(_ conversation: Conversation) -> [UInt8] {
        switch conversation {
        case .peer(let peer):
            keyedHash(Array("conversation ".utf8) + peer.publicKey, key: lookupKey)
        case .chat(let id): keyedHash(Array("conversation chat \(id)".utf8), key: lookupKey)
        case .group(let id):
            keyedHash(Array("conversation group ".utf8) + id.bytes, key: lookupKey)
        case .unknown: keyedHash(Array("conversation unknown".utf8), key: lookupKey)
        }
    }

    /// Returns the keyed hash of what an item for the owner's devices is about, 16 bytes.
    func mark(sync subject: String) -> [UInt8] {
        keyedHash(Array("sync ".utf8) + Array(subject.utf8), key: lookupKey)
    }

    /// Returns the keyed hash of a reader's name, 16 bytes.
    func mark(reader: String) -> [UInt8] {
        keyedHash(Array("reader ".utf8) + Array(reader.utf8), key: lookupKey)
    }

    /// Returns the keyed hash of a name, 16 bytes. It is the same for names that ``NameRule`` takes for the same.
    func mark(name: String) -> [UInt8] {
        keyedHash(Array("name ".utf8) + NameRule.folded(name), key: lookupKey)
    }
}
