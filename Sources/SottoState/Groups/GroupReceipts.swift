package import Sotto
import SottoDatabase

/// Receipts for messages of groups. A reader sends them to the author alone, and only in small groups: each message causes a
/// receipt of each reader.
package enum GroupReceipts {
    /// The most members of a group with receipts.
    package static let mostMembers = 20

    /// Returns whether a message with these ``Message/details`` gets receipts: the owner got a copy, and the group had at most
    /// ``mostMembers`` members.
    package static func areDue(_ details: JSONObject?) -> Bool {
        guard let members = details?["group"]?.object?["members"]?.integer else { return false }
        return members <= Int64(mostMembers)
    }
}

extension HistoryEntry {
    /// The number of members who read an own message to a small group; `nil` for another message.
    public var readerCount: Int? { readerMarks?.count }

    /// The keyed hashes of these members, or `nil`.
    fileprivate var readerMarks: Set<Int64>? { marks("readers") }

    /// Whether a copy was made for the member with a keyed hash. Not known of a message to a large group.
    func hasReader(_ mark: Int64) -> Bool { readerMarks?.contains(mark) == true }

    /// The keyed hashes of the people who were invited when the owner wrote this message to a group.
    var invitedMarks: Set<Int64> { marks("invited") ?? [] }

    private func marks(_ name: String) -> Set<Int64>? {
        guard direction == .sent, conversation.group != nil,
            let text = record["details"]?.object?[name]?.string,
            let bytes = Base64.standard.decode(text), bytes.count.isMultiple(of: 8)
        else { return nil }
        return Set(
            stride(from: 0, to: bytes.count, by: 8).compactMap { start in
                UInt64(bigEndianBytes: bytes[start..<(start + 8)]).map { Int64(bitPattern: $0) }
            })
    }
}

extension IdentityStore {
    /// Returns the number of readers of an own message to a small group who can tell that they got it: some people whom the owner
    /// knows, and those who told it. Returns `nil` for another message.
    package func answeringReaders(of view: MessageView, among people: [KeyID]) -> Int? {
        guard let readers = view.entry.readerMarks else { return nil }
        let known = people + view.receipts.map(\.from)
        return readers.intersection(known.map { mark(author: $0) }).count
    }

    /// Returns the keyed hashes of people who read an own message or are invited, 8 bytes each. The columns of events have the same ones.
    func readerMarks(_ readers: [KeyID]) -> [UInt8] {
        readers.flatMap { UInt64(bitPattern: mark(author: $0)).bigEndianBytes }
    }
}

extension StateTransaction {
    /// Returns whether a body is a receipt of a person for an own message to a group of which they got a copy.
    package func expectsReceipt(
        _ body: JSONObject, from sender: KeyID
    ) throws(StateError) -> Bool {
        guard case .receipt(let receipt)? = MessageBody(local: body)?.kind,
            let row = try rowOfGroup(receipt)
        else { return false }
        let reader = store.mark(author: sender)
        for id in receipt.ids where try sentMessage(id, in: row, readBy: reader) != nil {
            return true
        }
        return false
    }

    /// Applies a receipt for messages of a group that came from one person. It counts for the own messages of which they got a
    /// copy. A receipt for no such message is erased.
    func apply(
        _ number: Int64, _ receipt: Receipt, ofGroupFrom sender: KeyID, at time: Timestamp
    ) throws(StateError) {
        let reader = store.mark(author: sender)
        var isUsed = false
        if let row = try rowOfGroup(receipt) {
            for id in receipt.ids {
                guard let message = try sentMessage(id, in: row, readBy: reader) else { continue }
                try link(
                    number, to: store.mark(target: id, conversation: row.number), author: reader,
                    at: time)
                try connection.run(
                    "UPDATE message SET changed = ? WHERE number = ?", time.seconds,
                    message.number)
                try advance(message, id, in: row)
                isUsed = true
            }
        }
        if !isUsed { try erase(number, .deleted, at: time) }
    }

    /// Returns the row of the group that a receipt names, or `nil` without the group or its messages.
    private func rowOfGroup(_ receipt: Receipt) throws(StateError) -> ConversationRow? {
        guard let group = receipt.group.flatMap({ GroupID($0) }) else { return nil }
        if let known = conversations[.group(group)] { return known }
        return try store.conversationRow(.group(group), connection)
    }

    /// Returns an own message of a group if the person with this hash got a copy.
    private func sentMessage(
        _ id: String, in row: ConversationRow, readBy reader: Int64
    ) throws(StateError) -> HistoryEntry? {
        try store.entries(
            "WHERE mark = ? AND conversation = ?", store.mark(sent: id), row.number,
            connection: connection
        ).first { $0.hasReader(reader) }
    }

    /// Sets the state of an own message to the least one that all its readers have.
    private func advance(
        _ message: HistoryEntry, _ id: String, in row: ConversationRow
    ) throws(StateError) {
        let count = message.readerCount ?? 0
        // The receipts are decrypted only if each reader can have sent one.
        let authors = try connection.integer(
            "SELECT count(DISTINCT author) FROM event WHERE target = ?",
            store.mark(target: id, conversation: row.number))
        guard count > 0, authors >= count else { return }
        let events = try store.events(on: id, in: row, connection)
        let receipts = MessageView(message, events: events, owner: owner.id).receipts
        guard receipts.count == count,
            let least = receipts.map(\.status.rawValue).min()
        else { return }
        // A message that no relay got can have reached its readers another way.
        try connection.run(
            """
            UPDATE message SET state = ?1 WHERE number = ?2
                AND (state < ?1 OR state IN (\(HistoryEntry.State.failedValues)))
            """, least, message.number)
    }
}
