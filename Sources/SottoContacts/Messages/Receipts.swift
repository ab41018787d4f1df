package import Sotto
package import SottoState

/// Makes receipts. A contact gets them only if the user set it, and never for an event, such as a reaction or another
/// receipt, or for a message whose author is not authenticated.
package struct Receipts {
    private let store: IdentityStore
    private let status: Receipt.Status
    /// The ids of messages by their senders, in the order of the first message of each.
    private var senders: [SessionID] = []
    private var ids: [SessionID: [String]] = [:]
    private var known: [SessionID: Bool] = [:]

    package init(_ status: Receipt.Status, _ store: IdentityStore) {
        self.status = status
        self.store = store
    }

    /// Adds a message that was decrypted now.
    package mutating func add(_ message: Message) throws {
        guard message.authenticated, message.legacy == nil, let sender = message.from,
            (try? MessageBody(message.body))?.isContent == true
        else { return }
        try add(message.id, of: sender)
    }

    /// Adds a message of the history. Returns whether it gets a receipt.
    @discardableResult
    package mutating func add(_ entry: HistoryEntry) throws -> Bool {
        guard entry.direction == .received, entry.record["authenticated"]?.bool == true,
            entry.record["legacy"] == nil,
            entry.body?.isContent == true, let id = entry.id,
            let sender = entry.author(store.owner.id), sender == entry.peer
        else { return false }
        return try add(id, of: sender)
    }

    /// Returns whether a person gets receipts.
    package mutating func areSent(to sender: SessionID) throws -> Bool {
        if let known = known[sender] { return known }
        let contact = sender == store.owner.id ? nil : try store.contact(id: sender)
        let areSent =
            contact.map { $0.getsReceipts && !$0.isBlocked && $0.trust != .unverified } ?? false
        known[sender] = areSent
        return areSent
    }

    @discardableResult
    private mutating func add(_ id: String, of sender: SessionID) throws -> Bool {
        // Other messengers have ids that a receipt cannot name.
        guard Envelope.isID(id), try areSent(to: sender) else { return false }
        if ids[sender] == nil { senders.append(sender) }
        if ids[sender, default: []].contains(id) { return true }
        ids[sender, default: []].append(id)
        return true
    }

    /// The receipts: one for each sender, or several if it has more than ``BodyLimits/receiptIDs`` messages.
    package var messages: [ComposedMessage] {
        let time = Timestamp.now()
        return senders.flatMap { sender in
            let all = ids[sender] ?? []
            return stride(from: 0, to: all.count, by: BodyLimits.receiptIDs).map { start in
                let part = Array(all[start...].prefix(BodyLimits.receiptIDs))
                return ComposedMessage(
                    to: sender, time: time,
                    MessageBody(.receipt(Receipt(status, ids: part, time: time))))
            }
        }
    }
}
