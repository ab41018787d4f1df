import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Prints messages: records, or lines for people.
final class MessageShowing {
    private let history: OpenHistory
    private let output: Output
    private var text: TextLayout?
    private let isMixed: Bool
    private var read: [Conversation: HistoryPlace] = [:]
    private let people: People
    /// The displayed names of groups.
    private var groups: [Conversation: String] = [:]
    /// The ways of the messages that are shown together and have no outcome.
    private var departures: [Int64: Departure] = [:]

    /// `isMixed` tells that the messages are of several conversations.
    init(_ history: OpenHistory, _ output: Output, text: Bool, isMixed: Bool) {
        self.history = history
        self.output = output
        self.isMixed = isMixed
        people = People(history)
        if text { self.text = TextLayout(output) }
    }

    /// Prints messages in this order.
    func print(_ views: [MessageView]) throws {
        people.forget()
        groups = [:]
        departures = try history.departures(of: views.map(\.entry))
        let names = try views.map { try name(of: $0.entry, isLabel: text != nil) }
        if text != nil {
            text?.prepare(
                try zip(views, names).map { try mixedName(of: $0.entry, $1) },
                numbers: views.map(\.entry.number))
        }
        for (view, name) in zip(views, names) {
            if text != nil {
                let shown = try isMixed ? mixedName(of: view.entry, name) : name
                try text?.print(
                    view, name: shown, reactions: people.reactions(to: view),
                    forwarded: people.origin(of: view), answering: people.answering(view),
                    quotation: Quotation(view, history.store),
                    about: TargetWords.of(view, history.store),
                    group: group(of: view.entry),
                    departure: mark(of: view.entry))
            } else {
                try output.writeRecord(record(of: view, name))
            }
        }
        if !output.isFile { try output.flush() }
    }

    /// Prints messages in this order, with the changes of their group before each of them.
    func print(_ views: [MessageView], among changes: inout ShownChanges) throws {
        text?.prepare([], numbers: views.map(\.entry.number))
        var part: [MessageView] = []
        for view in views {
            let before = changes.next(before: view.entry.place)
            if !before.isEmpty, !part.isEmpty {
                try print(part)
                part = []
            }
            try print(before)
            part.append(view)
        }
        if !part.isEmpty { try print(part) }
    }

    /// Prints changes of a group.
    func print(_ changes: [ShownChange]) throws {
        for change in changes {
            if text != nil {
                try text?.print(change)
            } else {
                try output.writeRecord(change.record)
            }
        }
        if !changes.isEmpty, !output.isFile { try output.flush() }
    }

    /// Returns the record of a message as it stands now.
    func record(of view: MessageView) throws -> JSONObject {
        people.forget()
        departures = try history.departures(of: [view.entry])
        return try record(of: view, name(of: view.entry))
    }

    /// Returns the record of a message or an event as it was stored.
    func record(raw entry: HistoryEntry) throws -> JSONObject {
        departures = try history.departures(of: [entry])
        return try storedRecord(of: entry)
    }

    /// Prints the events themselves, as they were stored.
    func print(raw entries: [HistoryEntry]) throws {
        people.forget()
        departures = try history.departures(of: entries)
        for entry in entries { try output.writeRecord(storedRecord(of: entry)) }
        if !output.isFile { try output.flush() }
    }

    private func storedRecord(of entry: HistoryEntry) throws -> JSONObject {
        var record = try base(of: entry, name(of: entry))
        addStatus(of: entry, to: &record)
        return record
    }

    private func name(of entry: HistoryEntry, isLabel: Bool = false) throws -> String {
        try (isLabel ? people.label(of: entry) : people.author(of: entry)) ?? entry.chatName.map {
            "[\($0)]"
        } ?? (entry.isGone ? "-" : "unknown sender")
    }

    /// Returns the name in a list of several conversations: a sent message has its recipient.
    private func mixedName(of entry: HistoryEntry, _ name: String) throws -> String {
        guard isMixed, entry.direction == .sent else { return name }
        if let peer = entry.peer {
            return peer == history.store.owner.id ? name : "to " + (try people.person(peer).name)
        }
        return entry.chatName.map { "to [\($0)]" } ?? name
    }

    /// Returns the name of a message's group, in a list of several conversations.
    private func group(of entry: HistoryEntry) throws -> String? {
        guard isMixed, entry.conversation.group != nil else { return nil }
        if let known = groups[entry.conversation] { return known }
        let name = try history.store.summary(of: entry.conversation).map {
            try history.name(of: $0)
        }
        groups[entry.conversation] = name
        return name
    }

    /// Returns the record with the present name and trust of its sender.
    private func base(of entry: HistoryEntry, _ name: String) throws -> JSONObject {
        var record = entry.record
        if entry.isGone {
            record = ["v": .integer(1), "type": .string("message")]
            if let peer = entry.peer {
                let parties = [history.store.owner.id, peer].map { JSON.string($0.description) }
                let isSent = entry.direction == .sent
                (record["from"], record["to"]) = (parties[isSent ? 0 : 1], parties[isSent ? 1 : 0])
            } else {
                let isSent = entry.direction == .sent
                let author = isSent ? history.store.owner.id : entry.formerAuthor
                record["from"] = author.map { .string($0.description) }
                record["group"] = entry.conversation.group.map { .string($0.description) }
            }
            let isNamed = record["from"] != nil && record["from"]?.string != name
            record["name"] = isNamed ? .string(name) : nil
        } else if let author = entry.author(history.store.owner.id) {
            record["name"] = name == author.description ? nil : .string(name)
            // The author of an imported message is only claimed.
            let trust = entry.isImported ? .unverified : try people.person(author).trust
            record["trust"] = .string(trust.rawValue)
        }
        record["number"] = .integer(entry.number)
        record["direction"] = .string(entry.direction.name)
        record["received"] = entry.received.map { .string($0.description) }
        record["place"] = entry.otherPlace.map { .string($0.description) }
        record["expires"] = entry.expires.map { .string($0.description) }
        return record
    }

    /// Returns what the lines of an export need of a person.
    func known(of id: KeyID) throws -> HistoryLines.Person {
        let known = try people.person(id)
        return HistoryLines.Person(
            name: known.name == id.description ? nil : known.name, trust: known.trust)
    }

    private func record(of view: MessageView, _ name: String) throws -> JSONObject {
        let entry = view.entry
        var record = try base(of: entry, name)
        if let body = view.body {
            record["body"] = .object(body)
        } else {
            record["body"] = nil
            record["deleted"] = .bool(true)
        }
        addStatus(of: entry, to: &record)
        if view.body != nil { record["unread"] = try isUnread(entry) ? .bool(true) : nil }
        record["fileExpired"] = view.hasExpiredFile() ? .bool(true) : nil
        record["quotation"] = try Quotation(view, history.store).map { .string($0.name) }
        if view.isEdited, let last = view.versions.last {
            record["edited"] = .object(
                JSONObject([
                    ("time", last.time.map { .string($0.description) }),
                    ("versions", .integer(Int64(view.versions.count))),
                ]))
        }
        if !view.reactions.isEmpty {
            record["reactions"] = .array(
                view.reactions.map {
                    .object(
                        JSONObject([
                            ("from", $0.from.map { .string($0.description) }),
                            ("emoji", .string($0.emoji)),
                            ("time", $0.time.map { .string($0.description) }),
                        ]))
                })
        }
        record["pinned"] = view.pin.map {
            .object(
                JSONObject([
                    ("from", $0.from.map { .string($0.description) }),
                    ("time", $0.time.map { .string($0.description) }),
                    ("until", $0.until.map { .string($0.description) }),
                ]))
        }
        if !view.dropped.isEmpty {
            record["dropped"] = .array(
                view.dropped.map {
                    .object(
                        JSONObject([
                            ("from", $0.from.map { .string($0.description) }),
                            ("count", .integer(Int64($0.count))),
                        ]))
                })
        }
        if !view.receipts.isEmpty {
            record["receipts"] = .array(
                view.receipts.map {
                    .object(
                        JSONObject([
                            ("from", .string($0.from.description)),
                            ("status", .string($0.status == .read ? "read" : "delivered")),
                            ("time", $0.time.map { .string($0.description) }),
                        ]))
                })
        }
        return record
    }

    /// Prints a message with all its versions.
    func print(withVersions view: MessageView) throws {
        guard text == nil else {
            try print([view])
            try text?.print(versions: view.versions.dropLast())
            return
        }
        var record = try record(of: view, name(of: view.entry))
        record["versions"] = .array(
            view.versions.map { version in
                .object(
                    JSONObject([
                        ("time", version.time.map { .string($0.description) }),
                        ("body", .object(version.body)),
                    ]))
            })
        try output.writeRecord(record)
    }

    private func addStatus(of entry: HistoryEntry, to record: inout JSONObject) {
        entry.addStatus(to: &record)
        guard let departure = departures[entry.number] else { return }
        switch departure {
        case .partly(let lacking):
            record["lacking"] = .array(lacking.map { .string($0.description) })
        case .invited(let people):
            record["invited"] = .array(people.map { .string($0.description) })
        case .queued, .unsent, .handedOn: break
        }
        guard let status = departure.status else { return }
        (record["status"], record["failure"]) = (.string(status), nil)
    }

    /// Returns the mark for the way of a message that follows it for people, or `nil`.
    private func mark(of entry: HistoryEntry) throws -> String? {
        guard let departure = departures[entry.number] else { return nil }
        let group = entry.conversation.group
        return switch departure {
        case .partly(let lacking): "not sent to " + (try people.members(lacking, of: group))
        case .invited(let invited):
            "not sent to \(try people.members(invited, of: group)), invited"
        case .queued, .unsent, .handedOn: departure.mark
        }
    }

    private func isUnread(_ entry: HistoryEntry) throws -> Bool {
        if read[entry.conversation] == nil {
            read[entry.conversation] =
                try history.store.summary(of: entry.conversation)?.readPlace ?? .start
        }
        return entry.isUnread(after: read[entry.conversation] ?? .start)
    }
}

extension ShownChange {
    /// The record `change`.
    fileprivate var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("change")), ("group", body["group"]),
            ("number", number.map { .integer($0) }), ("time", .string(time.description)),
            ("body", .object(body)),
        ])
    }
}

extension Departure {
    /// The member `status` of the record, or `nil` if it is that of the message.
    fileprivate var status: String? {
        switch self {
        case .queued: "queued"
        case .unsent: "unsent"
        case .handedOn: "handedOn"
        case .partly, .invited: nil
        }
    }

    /// The mark that follows the message for people, or `nil` if it needs names.
    fileprivate var mark: String? {
        switch self {
        case .queued: "queued"
        case .unsent(isRecent: true): "not sent yet"
        case .unsent(isRecent: false): "not sent"
        case .handedOn: "handed on"
        case .partly, .invited: nil
        }
    }
}

extension HistoryEntry {
    /// Adds what is known of the message.
    fileprivate func addStatus(to record: inout JSONObject) {
        record["status"] = status.map { .string($0) }
        record["failure"] =
            direction == .sent ? state.failureReason.map { .string($0.rawValue) } : nil
        switch state {
        case .sentElsewhere, .waiting, .new, .handedOn, .stored, .delivered, .read, .dropped,
            .lapsed, .failed, .claimed:
            break
        case .deleted: record["deleted"] = .bool(true)
        case .expired:
            record["deleted"] = .bool(true)
            record["expired"] = .bool(true)
        case .damaged: record["damaged"] = .bool(true)
        }
    }
}
