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
        /// The devices of the contact changed.
        case devices
    }

    /// Records which devices of a contact are new or removed.
    func recordDevices(_ list: DeviceList, before: DeviceList?) throws(StateError) {
        let members = Self.changes(of: list, before: before)
        guard !members.isEmpty else { return }
        try recordSystem(.devices, about: list.owner, members: members)
    }

    /// Returns the body of the event that the devices of a person changed, as a program shows it.
    package static func body(of list: DeviceList, before: DeviceList?) -> JSONObject {
        JSONObject(
            [
                ("type", .string("system")),
                ("event", .string(SystemEvent.devices.rawValue)),
            ] + changes(of: list, before: before))
    }

    /// Returns the members of the event: the names of the new devices, each with the time at which it was added, and those of the
    /// removed ones.
    private static func changes(of list: DeviceList, before: DeviceList?) -> [(String, JSON?)] {
        let added = list.devices.filter { before?.device($0.id) == nil }
        let removed = (before?.devices ?? []).filter { list.device($0.id) == nil }
        var members: [(String, JSON?)] = []
        if !added.isEmpty {
            let devices = added.map { device in
                JSON.object([
                    "name": .string(device.name), "since": .string(device.added.description),
                ])
            }
            members.append(("added", .array(devices)))
        }
        if !removed.isEmpty {
            members.append(("removed", .array(removed.map { .string($0.name) })))
        }
        return members
    }

    /// Adds a message about the contact `peer` to the conversation with it.
    ///
    /// `former` is the contact's id before a new key was accepted. Nothing is added if no message was exchanged under
    /// this id. `members` are further members of the body.
    public func recordSystem(
        _ event: SystemEvent, about peer: KeyID, former: KeyID? = nil,
        members: [(String, JSON?)] = [], at time: Timestamp = .now()
    ) throws(StateError) {
        let isUsed = try store.conversationRow(.peer(former ?? peer), connection) != nil
        guard isUsed, peer != owner.id else { return }
        let id = Envelope.newID()
        let body = JSONObject(
            [
                ("type", .string("system")), ("event", .string(event.rawValue)),
                ("former", former.map { .string($0.description) }),
            ] + members)
        // It has no suite, because nothing was encrypted.
        let record = JSONObject([
            ("v", .integer(1)), ("type", .string("message")), ("id", .string(id)),
            ("from", .string(owner.id.description)), ("to", .string(peer.description)),
            ("time", .string(time.description)), ("authenticated", .bool(true)),
            ("trust", .string(Message.Trust.verified.rawValue)), ("body", .object(body)),
        ])
        let conversation = Conversation.peer(peer)
        let new = NewMessage(
            mark: store.mark(sent: id), id: id, conversation: conversation,
            packed: PackedRecord.pack(record, conversation, owner: owner.id), written: time,
            body: MessageBody(of: record), direction: .sent, kind: .content, time: time,
            expires: nil, digest: [], author: owner.id)
        _ = try insert(new, at: time)
    }
}
