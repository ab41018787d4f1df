public import Sotto
import SottoDatabase

/// Messages that the programs of this machine add to a conversation, with a body of the type `system`. Such a
/// body is refused if it is received.
extension StateTransaction {
    /// An event that concerns a conversation.
    public enum SystemEvent: String, Sendable {
        /// A new key of the contact was accepted.
        case keyAccepted = "key-accepted"
        /// The key of the contact was compared with its owner.
        case verified
        /// The comparison was withdrawn.
        case unverified
        /// The contact sent another profile.
        case profile
        /// The contact's old key signed that another one, `next`, replaces it. The user decides about it.
        case keysUpdated = "keys_updated"
        /// The contact's key was accepted because of a succession that counts no more.
        case keysDoubtful = "keys-doubtful"
        /// The owner of the contact's key revoked it.
        case revoked
        /// The contact uses another device.
        case deviceAdded = "device-added"
        /// The contact removed a device.
        case deviceRemoved = "device-removed"
        /// The contact's key signed two lists of devices with one number.
        case deviceFork = "device-fork"

        /// Whether it is about the contact's devices, which also write to the groups of the contact.
        fileprivate var isOfDevices: Bool {
            switch self {
            case .deviceAdded, .deviceRemoved, .deviceFork: true
            default: false
            }
        }

        /// Whether the contact did it. The others are of the owner or of a program of this machine.
        fileprivate var isOfContact: Bool {
            switch self {
            case .profile, .keysUpdated, .revoked, .deviceAdded, .deviceRemoved, .deviceFork: true
            case .keyAccepted, .verified, .unverified, .keysDoubtful: false
            }
        }
    }

    /// Whether a person is a contact with a name and shares a group with the owner.
    private func isNamedMember(_ id: KeyID) throws(StateError) -> Bool {
        guard try readableContact(id: id)?.name.isEmpty == false else { return false }
        for header in try groupHeaders() {
            guard let group = try readableGroup(header.id), group.rank > .nobody else { continue }
            if group.state.ranks[id] != nil { return true }
        }
        return false
    }

    /// Adds a message about the contact `peer` to the conversation with it. It is from the contact if the contact did it, and it is
    /// never unread.
    ///
    /// `former` is the contact's id before a new key was accepted. Nothing is added if no message was exchanged under
    /// this id, except about the devices of a contact with whom the owner shares a group. `members` are further members of the body.
    public func recordSystem(
        _ event: SystemEvent, about peer: KeyID, former: KeyID? = nil,
        members: [(String, JSON?)] = [], at time: Timestamp = .now()
    ) throws(StateError) {
        guard peer != owner.id else { return }
        let isUsed = try store.conversationRow(.peer(former ?? peer), connection) != nil
        if !isUsed {
            guard event.isOfDevices, try isNamedMember(peer) else { return }
        }
        let id = Envelope.newID()
        let body = JSONObject(
            [
                ("type", .string("system")), ("event", .string(event.rawValue)),
                ("former", former.map { .string($0.description) }),
            ] + members)
        let isReceived = event.isOfContact
        let (from, to) = isReceived ? (peer, owner.id) : (owner.id, peer)
        let trust =
            isReceived
            ? try readableContact(id: peer)?.trust ?? .unverified : Message.Trust.verified
        // It has no suite, because nothing was encrypted.
        let record = JSONObject([
            ("v", .integer(1)), ("type", .string("message")), ("id", .string(id)),
            ("from", .string(from.description)), ("to", .string(to.description)),
            ("time", .string(time.description)), ("authenticated", .bool(true)),
            ("trust", .string(trust.rawValue)), ("body", .object(body)),
        ])
        let conversation = Conversation.peer(peer)
        let marks = store.marks(of: id, in: conversation)
        let new = NewMessage(
            mark: isReceived ? marks.received : marks.sent, id: id, conversation: conversation,
            packed: PackedRecord.pack(record, conversation, owner: owner.id), written: time,
            body: MessageBody(of: record), direction: isReceived ? .received : .sent,
            kind: .content, state: isReceived ? .read : .new, time: time,
            expires: nil, digest: [], author: from)
        _ = try insert(new, at: time)
    }
}
