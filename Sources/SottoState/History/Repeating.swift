package import Sotto
import SottoDatabase

/// Messages that their author sends again, in the body `history` of an envelope with another id.
///
/// The author's history has each message once. The repeat is an event on the messages in it: its outcome is theirs. The reader's
/// history has each message once too, whichever of the two envelopes arrives first.
extension HistoryEntry {
    /// Whether the entry is an event that sent messages again.
    var isRepeat: Bool { record["body"]?.object?["type"]?.string == RepeatedMessages.type }
}

extension JSONObject {
    /// The body of a message of an author as the history has it: of messages that are sent again, whose content is in their own
    /// rows, the ids alone, each once, without that of the message with the body.
    package func recorded(
        in group: GroupID?, by author: KeyID, of container: String? = nil
    ) -> JSONObject {
        guard self["type"]?.string == RepeatedMessages.type, let messages = self["history"]?.array
        else { return self }
        var ids: [String] = []
        for message in messages.compactMap(\.object) {
            guard let id = (try? EarlierMessage(message))?.id(in: group, of: author),
                id != container, !ids.contains(id)
            else { continue }
            ids.append(id)
        }
        return [
            "type": .string(RepeatedMessages.type), "ids": .array(ids.map { .string($0) }),
        ]
    }

    /// Whether a body is the same content as another one. The same file can be at another place.
    func isSameContent(as other: JSONObject) -> Bool {
        withoutPlaceOfFile.canonical() == other.withoutPlaceOfFile.canonical()
    }

    private var withoutPlaceOfFile: JSONObject {
        guard var blob = self["blob"]?.object else { return self }
        (blob["id"], blob["relay"]) = (nil, nil)
        var body = self
        body["blob"] = .object(blob)
        return body
    }

    fileprivate func canonical() -> [UInt8] { JSON.object(self).canonical() }
}

extension StoredMessage {
    /// The digest of a message that was taken from a repeat. The digest of no envelope is expected to have this value.
    static let repeatDigest = [UInt8](repeating: 0, count: digestLength - 1) + [1]
}

/// A message that arrived again, compared with the state.
package enum KnownMessage: Sendable {
    /// Nothing.
    case new
    /// The same content of the same author.
    case same(number: Int64, record: JSONObject)
    /// It was deleted, or its lifetime ended.
    case deleted
    /// Another content or author.
    case different
}

/// The reader of a repeat.
extension StateTransaction {
    /// Returns a message that its author sends again in a message. `nil` if the owner has no right to it: in a group, the message
    /// is older than the owner's membership, or its author may not write it now.
    ///
    /// Throws ``BodyError``.
    package func message(
        _ earlier: EarlierMessage, in container: Message
    ) throws -> Message? {
        let group = container.group.flatMap { GroupID($0) }
        // The row of the message with the repeat has its id.
        guard let author = container.from, let id = earlier.id(in: group, of: author),
            id != container.id
        else {
            throw BodyError.member(RepeatedMessages.type)
        }
        let body = try MessageBody(earlier.body)
        switch body.kind {
        case .call, .typing, .presence, .history, .other, .system: throw BodyError.member("type")
        default: break
        }
        guard let group else {
            return Message(
                id: id, from: author, to: container.to, name: container.name, time: earlier.time,
                suite: container.suite, authenticated: true, trust: container.trust,
                body: earlier.body)
        }
        guard let stored = try self.group(group), let rank = stored.state.ranks[author],
            rank >= stored.state.policy.post, stored.permits(body, by: author, rank: rank)
        else { return nil }
        if stored.state.policy.visibility == .joined,
            let joined = stored.log.joined(owner.id), earlier.time < joined
        {
            return nil
        }
        var message = try stored.message(
            id: id, from: author, called: memberName(of: author, in: stored), rank: rank,
            time: earlier.time, trust: container.trust, body: earlier.body)
        message.name = container.name
        return message
    }

    /// Returns what the state has of a message that arrived again.
    package func known(_ message: Message) throws(StateError) -> KnownMessage {
        let mark =
            message.group == nil
            ? store.mark(envelope: message.id) : store.mark(groupMessage: message.id)
        let row = try connection.first(
            "SELECT \(StoredMessage.columns) FROM message WHERE mark = ?", mark
        ) { StoredMessage($0) }
        guard let row else { return .new }
        if row.state == HistoryEntry.State.claimed.rawValue {
            replaced.insert(mark)
            return .new
        }
        let entry = try store.entries(
            "WHERE number = ?", row.number, connection: connection
        ).first
        guard let entry, !entry.isGone else { return .deleted }
        return message.isSame(as: entry.record)
            ? .same(number: entry.number, record: entry.record) : .different
    }

    /// Records a message that was taken from a repeat. Returns its number.
    package func recordRepeated(_ message: Message) throws(StateError) -> Int64 {
        try recordOpened(id: message.id, digest: StoredMessage.repeatDigest, message)
    }
}

extension Message {
    /// Whether a record of the history has the same author and the same content.
    package func isSame(as record: JSONObject) -> Bool {
        guard let from, record["from"]?.string == from.description else { return false }
        return record["body"]?.object?.isSameContent(as: body) ?? false
    }
}

/// An own message, and whether it can be sent again.
package enum RepeatableMessage: Sendable {
    /// The message as it is sent.
    case ready(EarlierMessage)
    /// Its content is gone, or it has no name in its conversation.
    case gone
    /// A reader of the group, who came later, may not read it.
    case hidden
}

/// The author of a repeat.
extension StateTransaction {
    /// Returns an own message as it is sent again: its body as first written. `lastUnread` has ``lastUnread(in:)`` of the groups
    /// of earlier calls in the same transaction.
    package func earlier(
        _ entry: HistoryEntry, _ lastUnread: inout [GroupID: HistoryPlace?]
    ) throws(StateError) -> RepeatableMessage {
        guard entry.direction == .sent, !entry.isGone, !entry.isRepeat, let time = entry.time,
            let body = entry.record["body"]?.object, body["type"]?.string != RepairBody.type
        else { return .gone }
        guard let id = entry.conversation.group else {
            guard entry.conversation.peer != nil, let id = entry.id, Envelope.isID(id) else {
                return .gone
            }
            return .ready(EarlierMessage(.id(id), time: time, body: body))
        }
        guard let place = entry.groupPlace, let group = try group(id) else { return .gone }
        let last: HistoryPlace?
        if let known = lastUnread[id] {
            last = known
        } else {
            last = try self.lastUnread(in: group)
            lastUnread[id] = .some(last)
        }
        // All present readers get the repeat.
        guard let last, entry.place > last else { return .hidden }
        return .ready(EarlierMessage(.place(place), time: time, body: group.sendable(body)))
    }

    /// Returns the place after which all present readers of a group may read the owner's messages, or `nil` if one of them could
    /// read none since joining.
    private func lastUnread(in group: StoredGroup) throws(StateError) -> HistoryPlace? {
        let notes = try notes(of: group)
        var last = HistoryPlace.start
        for reader in try entitled(group, notes) {
            let note = notes[reader] ?? GroupMemberNote(id: reader)
            guard let first = try lastUnread(by: note, in: group) else { return nil }
            last = max(last, first)
        }
        return last
    }

    /// Records that a relay has the messages of a repeat. `mark` is the keyed hash of an own message; that of another event
    /// changes nothing.
    func storeRepeated(by mark: Int64) throws(StateError) {
        let event = try store.entries(
            "WHERE mark = ? AND kind = ? AND sealed IS NOT NULL", mark,
            HistoryEntry.Kind.event.rawValue, connection: connection
        ).first
        guard case .history(let repeated)? = event?.body?.kind else { return }
        for id in repeated.ids {
            try connection.run(
                """
                UPDATE message SET state = ? WHERE mark = ?
                    AND state IN (?, ?, ?, \(HistoryEntry.State.failedValues))
                """,
                HistoryEntry.State.stored.rawValue, store.mark(sent: id),
                HistoryEntry.State.sentElsewhere.rawValue,
                HistoryEntry.State.new.rawValue, HistoryEntry.State.handedOn.rawValue)
        }
    }
}
