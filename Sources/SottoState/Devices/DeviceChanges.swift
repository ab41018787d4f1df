public import Sotto
import SottoDatabase

/// An item that counts, and the value before it.
struct KeptItem {
    let item: SyncItem
    /// When the item of another device was taken; `nil` for an own one.
    let taken: Timestamp?
    /// The value that the item of another device changed; `nil` for an own item, and for one about something else than a contact.
    let before: String?

    /// The value of ``before`` without a contact.
    static let none = "none"

    init(_ item: SyncItem, taken: Timestamp? = nil, before: String? = nil) {
        (self.item, self.taken, self.before) = (item, taken, before)
    }

    init?(_ record: JSONObject) {
        guard let item = try? SyncItem(record: record) else { return nil }
        self.item = item
        taken = record["taken"]?.integer.map { Timestamp(seconds: $0) }
        before = record["before"]?.string
    }

    /// The record of the item with the members `taken` and `before`.
    var record: JSONObject {
        var record = item.record
        record["taken"] = taken.map { .integer($0.seconds) }
        record["before"] = before.map { .string($0) }
        return record
    }
}

/// A decision about a contact that another device of the owner made, and that holds.
public struct DeviceChange: Sendable {
    /// The change.
    public enum Change: Sendable, Equatable {
        /// It added the contact.
        case added
        /// It changed the trust.
        case trust(before: Message.Trust, after: Message.Trust)
        /// It blocked the contact, or ended the block.
        case blocked(Bool)
        /// It accepted other keys of the contact, who had this id before.
        case accepted(former: KeyID)
    }

    /// The device.
    public let device: KeyID
    /// The contact as it is now.
    public let contact: Contact
    /// The change.
    public let change: Change
    /// When it arrived here.
    public let time: Timestamp
}

/// The decisions of the owner's other devices, and the times of their last messages.
extension StateTransaction {
    /// The last days of a device whose decisions are listed.
    public static let changeDays: Int64 = 30

    /// Returns what was true before an item about a contact; `nil` for another item. Of several items of one device it is what was
    /// true before the first one of the last ``changeDays``.
    func before(
        _ item: SyncItem, _ known: KeptItem?, at time: Timestamp
    ) throws(StateError) -> String? {
        guard case .contact(let id, let decision) = item.change else { return nil }
        if let known, known.item.device == item.device, let before = known.before,
            let taken = known.taken, time.seconds - taken.seconds < Self.changeDays * Self.day
        {
            return before
        }
        let contact = try readableContact(id: id)
        switch decision {
        case .name, .removed: return contact?.name.isEmpty == false ? "present" : KeptItem.none
        case .trust: return contact?.trust.rawValue ?? KeptItem.none
        case .blocked: return String(contact?.isBlocked ?? false)
        case .replaces(let former, let card):
            let replaced = try readableContact(id: former)
            guard let card = try? Card(record: card), let replaced, !replaced.name.isEmpty,
                !replaced.hasKeys(of: card)
            else { return KeptItem.none }
            return "present"
        case .card: return nil
        }
    }

    /// Returns the decisions about contacts that other devices of the owner made in the ``changeDays`` before each was last heard
    /// of, and that still hold; those of one device if it is given. The earliest stand first.
    public func changes(
        of device: KeyID? = nil, at now: Timestamp = .now()
    ) throws(StateError) -> [DeviceChange] {
        var first: [KeyID: Int64] = [:]
        var changes: [DeviceChange] = []
        for kept in try keptItems() {
            let author = kept.item.device
            guard device == nil || device == author, let time = kept.taken,
                let before = kept.before, case .contact(let id, let decision) = kept.item.change
            else { continue }
            if first[author] == nil {
                let last = try lastHeard(of: author) ?? now
                first[author] = min(last, now).seconds - Self.changeDays * Self.day
            }
            guard time.seconds >= first[author] ?? 0, let contact = try readableContact(id: id),
                let change = DeviceChange.Change(decision, before, of: contact)
            else { continue }
            changes.append(
                DeviceChange(device: author, contact: contact, change: change, time: time))
        }
        return changes.sorted {
            ($0.time.seconds, $0.contact.id.description) < (
                $1.time.seconds, $1.contact.id.description
            )
        }
    }

    /// Returns the time of the last message of an own device that was opened here, by the clock of the device, and not after the
    /// time at which it was opened; `nil` before the first one.
    public func lastHeard(of device: KeyID) throws(StateError) -> Timestamp? {
        try note(.deviceHeard, mark: store.mark(device)).map { Timestamp(seconds: $0) }
    }

    /// Notes the time of an authentic message of an own device.
    package func noteHeard(
        of device: KeyID, sent: Timestamp, at now: Timestamp = .now()
    ) throws(StateError) {
        let time = min(sent.seconds, now.seconds)
        guard device != owner.device, try lastHeard(of: device).map({ $0.seconds < time }) ?? true
        else { return }
        try setNote(.deviceHeard, mark: store.mark(device), to: time)
    }
}

extension DeviceChange.Change {
    /// Creates the change of a decision; `nil` if the contact is as it was.
    fileprivate init?(_ decision: SyncItem.Decision, _ before: String, of contact: Contact) {
        switch decision {
        case .name:
            guard before == KeptItem.none, !contact.name.isEmpty else { return nil }
            self = .added
        case .trust(let trust, _):
            guard contact.trust == trust, let before = Message.Trust(rawValue: before),
                before != trust
            else { return nil }
            self = .trust(before: before, after: trust)
        case .blocked(let value):
            guard contact.isBlocked == value, before != String(value) else { return nil }
            self = .blocked(value)
        case .replaces(let former, _):
            guard before != KeptItem.none, !contact.name.isEmpty else { return nil }
            self = .accepted(former: former)
        case .removed, .card: return nil
        }
    }
}
