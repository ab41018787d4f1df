package import Sotto
import SottoBytes
package import SottoState

/// The owner's chain in a group, and the members who have it.
package struct OwnSenderKey: Sendable {
    package var chain: SenderKeyChain
    /// The members who got the distribution of the chain.
    package var holders: Set<KeyID>

    /// Creates a new chain that nobody has.
    package init(groupID: String) {
        (chain, holders) = (SenderKeyChain(groupID: groupID), [])
    }

    /// The stored form: the number of holders (u16, big-endian) ‖ their keys, 32 bytes each ‖ ``SenderKeyChain/encoded()``.
    fileprivate init?(encoded bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard let count = reader.integer(UInt16.self) else { return nil }
        holders = []
        for _ in 0..<count {
            guard let key = reader.bytes(32) else { return nil }
            holders.insert(KeyID(publicKey: Array(key)))
        }
        var rest = Array(reader.remaining)
        defer { wipe(&rest) }
        guard let chain = SenderKeyChain(encoded: rest) else { return nil }
        self.chain = chain
    }

    fileprivate func encoded() -> [UInt8] {
        var rest = chain.encoded()
        defer { wipe(&rest) }
        let keys = holders.map(\.publicKey).sorted { $0.lexicographicallyPrecedes($1) }
        return UInt16(keys.count).bigEndianBytes + keys.flatMap(\.self) + rest
    }
}

/// The chain of a member of a group, who sent it.
package struct MemberSenderKey: Sendable {
    /// The member, who signs all messages of the chain.
    package let member: KeyID
    package var chain: ReceivedSenderKeyChain

    fileprivate init(_ distribution: SenderKeyDistribution, of member: KeyID) {
        (self.member, chain) = (member, ReceivedSenderKeyChain(distribution))
    }

    /// Returns a message of the member: a message record, or plain text. The time is only in a record. When it throws, the chain is
    /// unchanged.
    package mutating func open(
        _ message: SenderKeyMessage, to owner: KeyID
    ) throws(SenderKeyError) -> Message {
        let plaintext = try chain.open(message)
        let record = try? JSON.object(parsing: plaintext)
        let content: MessageContent
        if let record, record["type"]?.string == "message" {
            guard let read = MessageContent(record: record, to: nil) else { throw .payload }
            content = read
        } else {
            guard let text = String(validating: plaintext, as: UTF8.self) else { throw .payload }
            content = MessageContent(text: text, id: message.id, time: nil)
        }
        return Message(
            id: Envelope.isID(content.id) ? content.id : message.id, from: member, to: owner,
            time: content.time, suite: .kecalek, authenticated: true,
            details: ["group": .string(chain.groupID)], body: content.body,
            members: content.members)
    }

    /// The stored form: the member's key, 32 bytes ‖ ``ReceivedSenderKeyChain/encoded()``.
    fileprivate init?(encoded bytes: [UInt8]) {
        var rest = Array(bytes.dropFirst(32))
        defer { wipe(&rest) }
        guard bytes.count > 32, let chain = ReceivedSenderKeyChain(encoded: rest) else {
            return nil
        }
        (member, self.chain) = (KeyID(publicKey: Array(bytes[..<32])), chain)
    }

    fileprivate func encoded() -> [UInt8] {
        var rest = chain.encoded()
        defer { wipe(&rest) }
        return member.publicKey + rest
    }

    fileprivate var source: [UInt8] {
        Array("member ".utf8) + member.publicKey + Array(chain.groupID.utf8)
    }
}

extension SuiteName {
    /// The sender keys of Kecalek's groups.
    package static let kecalek = SuiteName(rawValue: "kecalek")
}

extension SenderKeyChain {
    /// Encrypts a message record, as ``seal(_:)-([UInt8])`` does.
    package mutating func seal(_ draft: Draft) throws(SenderKeyError) -> SenderKeyMessage {
        try seal(
            MessageContent.encode(
                body: draft.body, extra: draft.extra, id: draft.id, to: nil, time: draft.time,
                ttl: nil))
    }
}

extension SenderKeyMessage {
    /// The id of the message in Sotto if its text has none, from its ciphertext.
    package var id: String { Envelope.id(of: combined) }

    /// SHA-256 over the members that the signature covers.
    package var digest: [UInt8] {
        Envelope.digest(
            [SuiteName.kecalek.rawValue], ["chainId", "iteration", "ciphertext"], of: payload)
    }

    /// The value that the message shares with its repeats. Another member's chain can have the same id and number.
    package var repeatID: String { "kecalek/" + hex(digest) }
}

extension SenderKeyDistribution {
    /// The type of the body that has a distribution.
    package static let type = "sender_key"

    /// The object without the key.
    package var shown: JSONObject {
        [
            "type": .string(Self.type), "groupId": .string(groupID),
            "chainId": .string(hex(chainID)), "iteration": .integer(Int64(iteration)),
        ]
    }
}

/// The chains of Kecalek's groups in the state.
extension StateTransaction {
    /// The number of chains of one member in one group that are kept. A later one follows when a member has left.
    private static let chainsPerMember = 5

    /// The most members of a group.
    package static let senderKeyHolders = Int(UInt16.max)

    /// Returns the owner's chain in a group, or `nil`.
    package func ownSenderKey(in group: String) throws(StateError) -> OwnSenderKey? {
        guard var bytes = try lastForeignChain(of: Self.source(in: group)) else { return nil }
        defer { wipe(&bytes) }
        return OwnSenderKey(encoded: bytes)
    }

    /// Stores the owner's chain in a group. Call it before a message of the chain is released.
    package func keep(_ key: OwnSenderKey) throws(StateError) {
        var bytes = key.encoded()
        defer { wipe(&bytes) }
        // Its messages do not come back, so that the id of no member's chain is the same.
        let id = Array("own ".utf8) + key.chain.chainID
        try keep(foreignChain: bytes, id: id, of: Self.source(in: key.chain.groupID), limit: 1)
    }

    private static func source(in group: String) -> [UInt8] {
        Array("own ".utf8) + Array(group.utf8)
    }

    /// Stores the chain that a member sent over a session. A known chain stays as it is, because its position is later.
    package func keep(_ distribution: SenderKeyDistribution, of member: KeyID) throws(StateError) {
        let new = MemberSenderKey(distribution, of: member)
        guard
            try !memberSenderKeys(id: distribution.chainID).contains(where: {
                $0.source == new.source
            })
        else { return }
        try keep(new)
    }

    /// Returns the chains with an id. Only the one whose member signed a message opens it.
    package func memberSenderKeys(id: [UInt8]) throws(StateError) -> [MemberSenderKey] {
        var keys: [MemberSenderKey] = []
        for var bytes in try foreignChains(id: id) {
            if let key = MemberSenderKey(encoded: bytes) { keys.append(key) }
            wipe(&bytes)
        }
        return keys
    }

    /// Stores the position of a member's chain after a message.
    package func keep(_ key: MemberSenderKey) throws(StateError) {
        var bytes = key.encoded()
        defer { wipe(&bytes) }
        try keep(
            foreignChain: bytes, id: key.chain.chainID, of: key.source,
            limit: Self.chainsPerMember)
    }
}
