package import Sotto
package import SottoState

/// Makes receipts. A contact gets them only if the user set it, and never for an event, such as a reaction or another
/// receipt, or for a message whose author is not authenticated. The receipts for messages of a group are for their author
/// alone, and only in a small group.
package struct Receipts {
    /// A sender, and the group of the messages or `nil`.
    private struct Source: Hashable {
        let sender: KeyID
        let group: GroupID?
    }

    private let store: IdentityStore
    private let status: Receipt.Status
    /// The ids of messages by their sources, in the order of the first message of each.
    private var sources: [Source] = []
    private var ids: [Source: [String]] = [:]
    private var known: [KeyID: Bool] = [:]

    package init(_ status: Receipt.Status, _ store: IdentityStore) {
        self.status = status
        self.store = store
    }

    /// Adds a message that was decrypted now.
    package mutating func add(_ message: Message) throws {
        guard message.authenticated, message.legacy == nil, let sender = message.from,
            (try? MessageBody(message.body))?.isContent == true
        else { return }
        let group = message.group.flatMap { GroupID($0) }
        guard group == nil || GroupReceipts.areDue(message.details) else { return }
        try add(message.id, of: Source(sender: sender, group: group))
    }

    /// Adds a message of the history. Returns whether it gets a receipt.
    @discardableResult
    package mutating func add(_ entry: HistoryEntry) throws -> Bool {
        guard entry.direction == .received, entry.record["authenticated"]?.bool == true,
            entry.record["legacy"] == nil,
            entry.body?.isContent == true, let id = entry.id,
            let sender = entry.author(store.owner.id)
        else { return false }
        let group = entry.conversation.group
        let isDue =
            group == nil
            ? sender == entry.peer : GroupReceipts.areDue(entry.record["details"]?.object)
        return try isDue && add(id, of: Source(sender: sender, group: group))
    }

    /// Returns whether a person gets receipts.
    package mutating func areSent(to sender: KeyID) throws -> Bool {
        if let known = known[sender] { return known }
        let contact = sender == store.owner.id ? nil : try store.readableContact(id: sender)
        let areSent =
            contact.map { $0.getsReceipts && !$0.isBlocked && $0.trust != .unverified } ?? false
        known[sender] = areSent
        return areSent
    }

    @discardableResult
    private mutating func add(_ id: String, of source: Source) throws -> Bool {
        // Other messengers have ids that a receipt cannot name.
        guard Envelope.isID(id), try areSent(to: source.sender) else { return false }
        if ids[source] == nil { sources.append(source) }
        if ids[source, default: []].contains(id) { return true }
        ids[source, default: []].append(id)
        return true
    }

    /// The receipts: one for each sender and group, or several if there are more than ``BodyLimits/receiptIDs`` messages.
    package var messages: [ComposedMessage] {
        let time = Timestamp.now()
        return sources.flatMap { source in
            let all = ids[source] ?? []
            return stride(from: 0, to: all.count, by: BodyLimits.receiptIDs).map { start in
                let part = Array(all[start...].prefix(BodyLimits.receiptIDs))
                let receipt = Receipt(
                    status, ids: part, time: time, group: source.group?.description)
                return ComposedMessage(
                    to: source.sender, time: time, MessageBody(.receipt(receipt)))
            }
        }
    }
}
