package import Sotto
import SottoDatabase

/// A change of a group, as people see it among the messages.
package struct ShownChange: Sendable {
    /// The place among the messages.
    package let place: HistoryPlace
    /// The number of the message that brought it, or `nil` for a change of the owner.
    package var number: Int64?
    /// When the change arrived, or when the owner made it.
    package let time: Timestamp
    /// A body of the type `group` with the events.
    package var body: JSONObject

    /// Returns the change without the events of an author, or `nil` if no other is left.
    fileprivate func without(author: KeyID) -> ShownChange? {
        let id = JSON.string(author.description)
        let events = (body["events"]?.array ?? []).filter { event in
            (event.object?["by"] ?? event.object?["who"]) != id
        }
        guard !events.isEmpty else { return nil }
        var change = self
        change.body["events"] = .array(events)
        return change
    }
}

extension IdentityStore {
    /// The events that a history shows: entries, departures, ranks and new values.
    private static let shownKinds: Set<String> = [
        "joined", "left", "role", "renamed", "changed", "conversation_deleted",
    ]
    /// The number of rows that are read at once.
    private static let changeBatch = 1_000

    /// Returns the changes of a group that the history has, and the owner's own ones, which are in the log of the group, in the
    /// order of their places from `start` on and before `end`. The events have the present names of people.
    package func shownChanges(
        of id: GroupID, from start: HistoryPlace = .start, before end: HistoryPlace = .end
    ) throws -> [ShownChange] {
        let received = try receivedChanges(of: id, from: start, before: end)
        return try preview { transaction in
            guard let group = try transaction.readableGroup(id) else { return received }
            let own = ownChanges(in: group).filter { $0.place >= start && $0.place < end }
            // Another device of the owner sent the owner's changes too.
            let ofOthers = received.compactMap { $0.without(author: owner.id) }
            return try (ofOthers + own).sorted { $0.place < $1.place }.map { change in
                ShownChange(
                    place: change.place, number: change.number, time: change.time,
                    body: try transaction.named(change.body, in: group))
            }
        }
    }

    /// Returns the changes that members sent, with the events that they had here.
    private func receivedChanges(
        of id: GroupID, from start: HistoryPlace, before end: HistoryPlace
    ) throws(StateError) -> [ShownChange] {
        try use { connection throws(StateError) -> [ShownChange] in
            guard let row = try conversationRow(.group(id), connection) else { return [] }
            var changes: [ShownChange] = []
            var first = start
            while true {
                let rows = try entries(
                    """
                    WHERE conversation = ? AND kind = 1 AND (place, number) >= (?, ?)
                    AND (place, number) < (?, ?) ORDER BY place, number LIMIT ?
                    """, row.number, first.rank, first.number, end.rank, end.number,
                    Self.changeBatch, connection: connection)
                changes += rows.compactMap(\.shownChange)
                guard rows.count == Self.changeBatch, let last = rows.last?.place else {
                    return changes
                }
                first = HistoryPlace(rank: last.rank, number: last.number + 1)
            }
        }
    }

    /// Returns the owner's changes of a group. They are before the messages that arrived in the same second.
    private func ownChanges(in group: StoredGroup) -> [ShownChange] {
        var changes: [ShownChange] = []
        var policy: GroupPolicy?
        for change in group.log.changes {
            let isOwn = change.by == owner.id && group.log.isEffective(change, in: group.state)
            let events = isOwn ? change.events(after: policy) : []
            if let new = change.newPolicy { policy = new }
            guard !events.isEmpty else { continue }
            changes.append(
                ShownChange(
                    place: HistoryPlace(
                        rank: HistoryPlace.rank(change.time.seconds), number: Int64(changes.count)),
                    time: change.time, body: .events(events, of: group.id)))
        }
        return changes
    }

    /// Returns the events of a body that a history shows.
    fileprivate static func shownEvents(in body: JSONObject) -> [JSONObject] {
        (body["events"]?.array ?? []).compactMap(\.object).filter { event in
            event["event"]?.string.map { shownKinds.contains($0) } ?? false
        }
    }
}

extension HistoryEntry {
    /// The change of a group that a member sent, or `nil` for another event and for a claim.
    fileprivate var shownChange: ShownChange? {
        guard !isGone, !isImported, direction == .received,
            let body = record["body"]?.object, body["type"]?.string == GroupBody.type,
            let group = conversation.group, let time = received ?? self.time
        else { return nil }
        let events = IdentityStore.shownEvents(in: body)
        guard !events.isEmpty else { return nil }
        return ShownChange(
            place: place, number: number, time: time, body: .events(events, of: group))
    }
}

extension JSONObject {
    /// Returns a body with events of a group, without the name of the group.
    fileprivate static func events(_ events: [JSONObject], of group: GroupID) -> JSONObject {
        [
            "type": .string(GroupBody.type), "group": .string(group.description),
            "events": .array(events.map { .object($0) }),
        ]
    }
}

extension StateTransaction {
    /// Returns a body with events of a group and the present names of the people in them.
    fileprivate func named(
        _ body: JSONObject, in group: StoredGroup
    ) throws(StateError) -> JSONObject {
        var body = body
        body["events"] = .array(
            try (body["events"]?.array ?? []).map { event throws(StateError) -> JSON in
                guard let object = event.object else { return event }
                return .object(try self.named(event: object, in: group))
            })
        return body
    }
}
