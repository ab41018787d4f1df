import Sotto
import SottoDatabase

/// The copies of the owner's messages to groups. The id of a copy is a keyed hash, so that a relay cannot tell which copies
/// belong to one message, and the owner finds the message of an outcome.
extension IdentityStore {
    /// Returns the id of the envelope with the copy of an own message for a reader. It looks like a random one.
    func copyID(of message: String, for reader: KeyID) -> String {
        UUIDText.text(copyBytes(of: Envelope.idBytes(message), for: reader)[...])
    }

    /// Returns the own message of which an envelope had a copy, for a device of the recipient, a device of the owner or a member of a
    /// group; or `nil` if it is not here or is older than ``Outbox/outcomeDays``.
    package func sentMessage(ofCopy id: String) throws -> HistoryEntry? {
        guard Envelope.isID(id) else { return nil }
        return try preview { try $0.sentMessage(ofCopy: id) }
    }

    /// Returns the 16 bytes of ``copyID(of:for:)``: the keyed hash of `copy ` ‖ message id (16) ‖ public key of the reader, with
    /// the version and the variant of a random UUID.
    fileprivate func copyBytes(of message: [UInt8], for reader: KeyID) -> [UInt8] {
        Envelope.idBytes(
            of: keyedHash(Array("copy ".utf8) + message + reader.publicKey, key: lookupKey))
    }
}

extension HistoryEntry {
    /// The number of the copies of an own message to a group, or `nil`.
    var copies: Int? { record["details"]?.object?["copies"]?.integer.map { Int($0) } }
}

/// The copies that ``StateTransaction/copies(with:)`` found.
struct FoundCopies {
    /// A message with the outcomes of some of its copies.
    struct OfMessage {
        /// The keyed hash of the message's id.
        let mark: Int64
        /// Its state before.
        let state: HistoryEntry.State
        /// The message. A repeat stands for the messages in it.
        let entry: HistoryEntry
        /// The number of all its copies.
        let count: Int
        /// The outcomes of copies, by the first 8 bytes of the copy's id.
        var outcomes: [Int64: HistoryEntry.State] = [:]
    }

    var messages: [OfMessage] = []
    /// The ids of the copies with an outcome.
    var ids: [String] = []
    /// The hash of the outcomes that belong to no message, or `nil` if it is known already.
    var rest: Int64?

    /// Returns the mark of a copy: the first 8 bytes of its id.
    static func mark(of copy: [UInt8]) -> Int64 {
        Int64(bitPattern: UInt64(bigEndianBytes: copy[..<8]) ?? 0)
    }

    /// Whether the state does not have it yet.
    var isNews: Bool { !ids.isEmpty || rest != nil }
}

/// Outcomes of copies. The state counts the outcomes of a message until all its copies have one.
extension StateTransaction {
    /// The newest rows of the history that can be messages without outcomes.
    private static let newestMessages: Int64 = 10_000
    /// The most ids that are made at once: for 300 messages to 1,000 readers.
    private static let mostIDs = 300_000
    /// The most of them for messages that are stored. They have outcomes only if a program was killed.
    private static let mostIDsOfStored = 20_000
    /// The name of the hash of the outcomes that belong to no message.
    private static let restName = "other outcomes"

    /// Whether the state has a group.
    var hasGroups: Bool {
        get throws(StateError) { try connection.exists("SELECT 1 FROM group_log LIMIT 1") }
    }

    fileprivate func sentMessage(ofCopy id: String) throws(StateError) -> HistoryEntry? {
        let envelope = store.mark(sent: id)
        if let mark = try message(ofDeviceCopy: envelope) {
            return try store.entries("WHERE mark = ?", mark, connection: connection).first
        }
        if let entry = try message(toldIn: envelope) { return entry }
        let copy = Envelope.idBytes(id)
        var people: [GroupID: [KeyID]] = [:]
        var made = 0
        for (row, conversation) in try sentToGroups() where made < Self.mostIDs {
            let entry = try store.entry(row, conversation, now: .min)
            guard let id = entry.id, Envelope.isID(id), let group = conversation.group else {
                continue
            }
            if people[group] == nil { people[group] = try self.people(of: group) }
            let message = Envelope.idBytes(id)
            let isFound = people[group]?.contains { store.copyBytes(of: message, for: $0) == copy }
            if isFound == true { return entry }
            made += people[group]?.count ?? 0
        }
        return nil
    }

    /// Finds the own messages to groups whose copies have these outcomes: first those that are not stored, and the newest
    /// first. Older messages than ``Outbox/outcomeDays`` are left out.
    ///
    /// Does nothing if the outcomes are those that belonged to no message before: they can be of another identity.
    func copies(with outcomes: [SentOutcome]) throws(StateError) -> FoundCopies {
        var found = FoundCopies()
        guard try remembered(Self.restName) != rest(of: outcomes) else { return found }
        var left: [[UInt8]: SentOutcome] = [:]
        for outcome in outcomes where Envelope.isID(outcome.id) {
            guard IdentityStore.state(of: outcome.outcome) != nil else { continue }
            left[Envelope.idBytes(outcome.id)] = outcome
        }
        var people: [GroupID: [KeyID]] = [:]
        var (made, madeOfStored) = (0, 0)
        for (row, conversation) in try sentToGroups() {
            let isStored = row.state == HistoryEntry.State.stored.rawValue
            guard !left.isEmpty, made < Self.mostIDs, madeOfStored < Self.mostIDsOfStored else {
                break
            }
            let entry = try store.entry(row, conversation, now: .min)
            guard let id = entry.id, Envelope.isID(id), let group = conversation.group,
                let count = entry.copies
            else { continue }
            if people[group] == nil { people[group] = try self.people(of: group) }
            var copies = FoundCopies.OfMessage(
                mark: row.mark, state: entry.state, entry: entry, count: count)
            let message = Envelope.idBytes(id)
            for person in people[group] ?? [] {
                let copy = store.copyBytes(of: message, for: person)
                guard let outcome = left.removeValue(forKey: copy) else { continue }
                copies.outcomes[FoundCopies.mark(of: copy)] = IdentityStore.state(
                    of: outcome.outcome)
                found.ids.append(outcome.id)
            }
            made += people[group]?.count ?? 0
            if isStored { madeOfStored += people[group]?.count ?? 0 }
            if !copies.outcomes.isEmpty { found.messages.append(copies) }
        }
        let known = Set(found.ids)
        found.rest = rest(of: outcomes.filter { !known.contains($0.id) })
        return found
    }

    /// Records the outcomes of copies. A message has the state `stored` when all its copies have an outcome and a relay has
    /// stored one, and a failed state when no relay has. The members whose copies the relay refused then lack the message.
    func record(_ found: FoundCopies) throws(StateError) {
        guard found.isNews else { return }
        let day = Timestamp.now().seconds / 86_400
        for message in found.messages { try record(message, day) }
        // The other copies of these messages have no outcome any more.
        let last = day - Outbox.outcomeDays
        try connection.run(
            """
            UPDATE message SET state = ? WHERE state IN (?, ?)
            AND mark IN (SELECT message FROM copy WHERE stored = 1 AND day < ?)
            """, HistoryEntry.State.stored.rawValue, HistoryEntry.State.new.rawValue,
            HistoryEntry.State.handedOn.rawValue, last)
        try connection.run("DELETE FROM copy WHERE day < ?", last)
        if let rest = found.rest { try remember(Self.restName, rest) }
    }

    private func record(_ message: FoundCopies.OfMessage, _ day: Int64) throws(StateError) {
        guard message.state.hasNoOutcome else {
            // A copy was sent again after all had failed. Other outcomes came twice, or after the receipts.
            if message.outcomes.values.contains(.stored) {
                try connection.run(
                    """
                    UPDATE message SET state = ? WHERE mark = ?
                        AND state IN (\(HistoryEntry.State.failedValues))
                    """, HistoryEntry.State.stored.rawValue, message.mark)
            }
            try connection.run("DELETE FROM copy WHERE message = ?", message.mark)
            return
        }
        let earlier = try connection.rows(
            "SELECT copy, stored FROM copy WHERE message = ?", message.mark
        ) { (copy: $0.integer(0), state: Self.copyState(of: $0.integer(1))) }
        var outcomes = message.outcomes
        for (copy, state) in earlier where state == .stored || outcomes[copy] == nil {
            outcomes[copy] = state
        }
        let isStored = outcomes.values.contains(.stored)
        if outcomes.count >= message.count {
            let states: [HistoryEntry.State] = [.stored, .failed, .lapsed, .dropped]
            let state = states.first { outcomes.values.contains($0) } ?? .failed
            try connection.run(
                "UPDATE message SET state = ? WHERE mark = ? AND state IN (?, ?)", state.rawValue,
                message.mark, HistoryEntry.State.new.rawValue,
                HistoryEntry.State.handedOn.rawValue)
            if isStored {
                try storeRepeated(by: message.mark)
                try oweRefused(message.entry, outcomes)
            }
            try connection.run("DELETE FROM copy WHERE message = ?", message.mark)
            return
        }
        for copy in message.outcomes.keys {
            try connection.run(
                "INSERT OR REPLACE INTO copy (message, copy, stored, day) VALUES (?, ?, ?, ?)",
                message.mark, copy, Self.copyStates.firstIndex(of: outcomes[copy] ?? .failed) ?? 0,
                day)
        }
    }

    /// The states of a copy with an outcome, by their values in the table `copy`.
    private static let copyStates: [HistoryEntry.State] = [.failed, .stored, .dropped, .lapsed]

    private static func copyState(of value: Int64) -> HistoryEntry.State {
        copyStates.indices.contains(Int(value)) ? copyStates[Int(value)] : .failed
    }

    /// Notes the members whose copies of a message the relay refused: they lack it.
    private func oweRefused(
        _ entry: HistoryEntry, _ outcomes: [Int64: HistoryEntry.State]
    ) throws(StateError) {
        guard outcomes.values.contains(.failed), let group = entry.conversation.group,
            let id = entry.id, let group = try readableGroup(group)
        else { return }
        let message = Envelope.idBytes(id)
        let lacking = try people(of: group.id).filter { person in
            outcomes[FoundCopies.mark(of: store.copyBytes(of: message, for: person))] == .failed
        }
        try noteOwed(entry.isRepeat ? entry.body?.targetIDs ?? [] : [id], to: lacking, in: group)
    }

    /// Returns the own messages and events of groups that can have outcomes: first those that are not stored, and the newest
    /// first.
    func sentToGroups() throws(StateError) -> [(StoredMessage, Conversation)] {
        let groups = try store.conversationRows(connection).filter {
            $0.conversation.group != nil
        }
        let conversations = Dictionary(
            uniqueKeysWithValues: groups.map { ($0.number, $0.conversation) })
        let last = try connection.integer("SELECT max(number) FROM message")
        let first = Timestamp.now().seconds - Outbox.outcomeDays * Self.day
        return try connection.rows(
            """
            SELECT \(StoredMessage.columns) FROM message
            WHERE number > ? AND sent = 1 AND time >= ? AND sealed IS NOT NULL
            ORDER BY state = ?, number DESC
            """, last - Self.newestMessages, first, HistoryEntry.State.stored.rawValue
        ) { StoredMessage($0) }.compactMap { row in
            conversations[row.conversation].map { (row, $0) }
        }
    }

    /// Returns the people who are or were members of a group: those with a note. For a damaged group the
    /// list is empty, so that the messages of other groups get a status.
    func people(of id: GroupID) throws(StateError) -> [KeyID] {
        let number = try connection.first(
            "SELECT number FROM group_log WHERE mark = ?", store.mark(id)
        ) { $0.integer(0) }
        guard let number else { return [] }
        do throws(StateError) {
            return Array(try notes(ofGroup: number).keys)
        } catch .unsealable {
            return []
        } catch {
            throw error
        }
    }

    /// Returns the hash of outcomes.
    private func rest(of outcomes: [SentOutcome]) -> Int64 {
        let lines = outcomes.map { "\($0.id) \($0.outcome)\n" }.sorted()
        return store.mark(envelope: "outcomes " + lines.joined())
    }
}
