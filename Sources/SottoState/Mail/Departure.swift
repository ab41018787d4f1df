public import Sotto
import SottoDatabase

/// The way of an own message from `encrypt` to `send`, while the message has no outcome.
///
/// The state and the outbox are two files, and `send` cannot read the state. So nothing is stored about this way: the ids of a
/// message's envelopes are looked up in the outbox, which has each envelope from its commit until 30 days after its outcome.
public enum Departure: Sendable, Equatable {
    /// An envelope of the message waits in the outbox.
    case queued
    /// No envelope of the message reached the outbox, or of a message to a group not all of them. `isRecent` tells that it can still be
    /// on its way: the message is less than a minute old, or the first device has not sent it yet.
    case unsent(isRecent: Bool)
    /// The message was sent again, in an envelope that was handed on.
    case handedOn
    /// The message was sent, and no copy was made for these members of the group, who may read it.
    case partly(lacking: [KeyID])
    /// The message was sent, and these people were invited to the group then and are invited now. They get it if their entries, which
    /// can be on their way, are from before it.
    case invited([KeyID])

    /// Seconds for which an envelope can be on its way from `encrypt` to the outbox.
    static let recent: Int64 = 60
    /// Seconds after which it is not told any more that a message was not sent.
    static let lifetime = Outbox.outcomeDays * StateTransaction.day
}

extension Outbox {
    /// The outcome of an envelope that reached the outbox.
    enum Arrival: Int, Comparable {
        /// No relay gets it.
        case failed
        /// A relay has it.
        case settled
        /// It waits.
        case waiting

        static func < (a: Arrival, b: Arrival) -> Bool { a.rawValue < b.rawValue }
    }

    /// The envelopes that reached the outbox, without those whose outcome is from before a day. An envelope changes from one table to
    /// the other in one transaction, and is read here in one statement.
    private static let arrivalRows = """
        SELECT id, outcome FROM outbox WHERE kind = 0
        UNION ALL SELECT id, outcome FROM outcome WHERE day >= ?
        """

    private static func arrival(
        _ row: PreparedStatement<StateError>
    ) -> (id: String, arrival: Arrival) {
        guard !row.isNull(1) else { return (id: row.text(0), arrival: .waiting) }
        let isFailed = IdentityStore.state(of: row.text(1))?.isFailed ?? false
        return (id: row.text(0), arrival: isFailed ? .failed : .settled)
    }

    /// Returns the ids of the envelopes that reached the outbox.
    func reachedIDs() throws(StateError) -> [String: Arrival] {
        let rows = try read(Self.arrivalRows, Int64.min) { Self.arrival($0) }
        return Dictionary(rows.map { ($0.id, $0.arrival) }, uniquingKeysWith: max)
    }

    /// Returns the ids of the envelopes that reached the outbox of `directory`, without those whose outcome is from a day before
    /// `time`, in seconds since 1970. It does not need the work of ``init(directory:lockTimeout:)``.
    static func arrivals(
        in directory: StateDirectory, since time: Int64
    ) throws(StateError) -> [(id: String, arrival: Arrival)] {
        guard exists(in: directory) else { return [] }
        let file = try database(in: directory, lockTimeout: readTimeout)
        return try file.use { (connection: StateConnection) throws(StateError) in
            try connection.rows(arrivalRows, time / 86_400) { arrival($0) }
        }
    }

    /// Seconds to wait for another program that uses the outbox, while this one has the lock of the state.
    private static let readTimeout = 2.0
}

extension IdentityStore {
    /// Returns the ways of those of some messages that wait in the outbox or did not reach it, or that members of a group lack, by
    /// their numbers. `outbox` is `nil` if the home has no outbox.
    public func departures(
        of entries: [HistoryEntry], in outbox: Outbox?, at now: Timestamp = .now()
    ) throws -> [Int64: Departure] {
        let open = entries.filter {
            $0.direction == .sent && ($0.state.hasNoOutcome || $0.state.isFailed)
        }
        let toGroups = entries.filter {
            $0.direction == .sent && $0.conversation.group != nil && !$0.isGone && !$0.isRepeat
                && $0.isRecentDeparture(at: now)
        }
        guard !open.isEmpty || !toGroups.isEmpty else { return [:] }
        // The outbox is read before the state: a collected outcome is in the state before it is deleted from the outbox.
        let reached = try outbox?.reachedIDs() ?? [:]
        let hasWaiting = reached.values.contains(.waiting)
        return try preview { transaction in
            var departures: [Int64: Departure] = [:]
            var people: [GroupID: [KeyID]] = [:]
            // An old message has a way only while an envelope waits.
            for entry in open
            where hasWaiting || entry.state == .waiting || entry.isRecentDeparture(at: now) {
                departures[entry.number] = try transaction.departure(
                    of: entry, reached, &people, at: now)
            }
            var lacks: [GroupID: (owed: [String: [KeyID]], invited: [KeyID])] = [:]
            for entry in toGroups where departures[entry.number] == nil {
                guard let group = entry.conversation.group, let id = entry.id else { continue }
                if lacks[group] == nil {
                    lacks[group] =
                        try transaction.readableGroup(group).map {
                            (
                                try transaction.owedMessages(in: $0, at: now),
                                $0.rank > .nobody ? $0.invited.map(\.id) : []
                            )
                        } ?? ([:], [])
                }
                if let members = lacks[group]?.owed[id] {
                    departures[entry.number] = .partly(lacking: members)
                    continue
                }
                let marks = entry.invitedMarks
                let invited = lacks[group]?.invited.filter { marks.contains(mark(author: $0)) }
                if let invited, !invited.isEmpty { departures[entry.number] = .invited(invited) }
            }
            return departures
        }
    }

    /// Returns the own messages and events of the last 30 days that reached no outbox, that the relay refused, or of which no copy
    /// was made for some members of a group, the oldest first; with `all` also those whose envelopes were handed on or ended in the
    /// outbox.
    public func unsent(
        in conversation: Conversation?, all: Bool, outbox: Outbox?, at now: Timestamp = .now()
    ) throws -> [HistoryEntry] {
        var found = try use { connection throws(StateError) -> [HistoryEntry] in
            let row = try conversation.map { conversation throws(StateError) in
                try conversationRow(conversation, connection)?.number ?? 0
            }
            return try entries(
                """
                WHERE time >= ?1 AND sent = 1
                AND (state IN (?2, ?3) OR ?4 AND state IN (?5, \(HistoryEntry.State.failedValues)))
                AND kind <= ?6
                AND sealed IS NOT NULL AND (?7 IS NULL OR conversation = ?7) ORDER BY number
                """, now.seconds - Departure.lifetime, HistoryEntry.State.new.rawValue,
                HistoryEntry.State.failed.rawValue, all, HistoryEntry.State.handedOn.rawValue,
                HistoryEntry.Kind.pin.rawValue, row, connection: connection)
        }
        let known = Set(found.map(\.number))
        let owed = try owedEntries(in: conversation, at: now).filter { !known.contains($0.number) }
        if !owed.isEmpty { found = (found + owed).sorted { $0.number < $1.number } }
        let ways = try departures(of: found, in: outbox, at: now)
        return found.filter { entry in
            // The messages in a repeat have their own entries.
            guard !entry.isRepeat else { return false }
            return switch ways[entry.number] {
            case .queued: false
            case .unsent, .partly: true
            case .handedOn: all
            case .invited, nil: entry.state == .handedOn || entry.state.isFailed
            }
        }
    }
}

extension IdentityStore {
    /// Returns the number of own messages that wait until the first device, which has a private list, sends them.
    public func waitingForFirstDevice(in conversation: Conversation?) throws(StateError) -> Int {
        guard owner.owner != nil else { return 0 }
        return try use { connection throws(StateError) in
            let row = try conversation.map { conversation throws(StateError) in
                try conversationRow(conversation, connection)?.number ?? 0
            }
            let count = try connection.integer(
                """
                SELECT count(*) FROM message
                WHERE state = ?1 AND sealed IS NOT NULL AND (?2 IS NULL OR conversation = ?2)
                """, HistoryEntry.State.waiting.rawValue, row)
            return Int(count)
        }
    }
}

extension StateTransaction {
    /// Notes that nothing is known of the own messages since a time that were handed on.
    package func takeBackHandedOn(since time: Timestamp) throws(StateError) {
        try connection.run(
            "UPDATE message SET state = ? WHERE sent = 1 AND state = ? AND time >= ?",
            HistoryEntry.State.new.rawValue, HistoryEntry.State.handedOn.rawValue, time.seconds)
    }

    /// Returns the way of an own message, or `nil` if it has an outcome, arrived, or is too old.
    fileprivate func departure(
        of entry: HistoryEntry, _ reached: [String: Outbox.Arrival],
        _ people: inout [GroupID: [KeyID]],
        at now: Timestamp
    ) throws(StateError) -> Departure? {
        if entry.state == .waiting { return .unsent(isRecent: true) }
        let ids = try envelopeIDs(of: entry, &people)
        if ids.contains(where: { reached[$0] == .waiting }) { return .queued }
        if entry.conversation.group == nil, let id = entry.id {
            let copies = try deviceCopies(of: id) {
                reached.filter { $0.value == .waiting }.map(\.key)
            }
            if copies.isWaiting { return .queued }
            if copies.settled > 0, !entry.state.isFailed { return nil }
        }
        let age = now.seconds - (entry.received?.seconds ?? .min / 2)
        guard !ids.isEmpty, age < Departure.lifetime else { return nil }
        guard !entry.state.isFailed else {
            return try departureOfRepeats(of: entry, reached, &people, at: now)
        }
        guard entry.state == .new, let count = try outcomes(of: entry, ids, reached),
            count < entry.copies ?? 1
        else { return nil }
        var isRecent = age < Departure.recent
        // A repeat is not sent again itself.
        guard !entry.isRepeat else { return .unsent(isRecent: isRecent) }
        for event in try events(on: entry) {
            if event.direction == .received {
                // Another home sent a message to a group. If this one sent some copies, the others are missing.
                if count == 0, !event.isImported { return nil }
                continue
            }
            guard event.isRepeat, !event.state.isFailed else { continue }
            if event.state == .handedOn { return .handedOn }
            switch try departure(of: event, reached, &people, at: now) {
            case .unsent(let isRepeatRecent): isRecent = isRecent || isRepeatRecent
            case let way: return way
            }
        }
        return .unsent(isRecent: isRecent)
    }

    /// Returns the way of the repeats of a message that no relay got; `nil` if none is on its way.
    private func departureOfRepeats(
        of entry: HistoryEntry, _ reached: [String: Outbox.Arrival],
        _ people: inout [GroupID: [KeyID]], at now: Timestamp
    ) throws(StateError) -> Departure? {
        for event in try events(on: entry)
        where event.direction == .sent && event.isRepeat && !event.state.isFailed {
            if event.state == .handedOn { return .handedOn }
            switch try departure(of: event, reached, &people, at: now) {
            case .unsent(isRecent: false), nil: continue
            case let way: return way
            }
        }
        return nil
    }

    private func events(on entry: HistoryEntry) throws(StateError) -> [HistoryEntry] {
        guard let id = entry.id, let row = try store.conversationRow(entry.conversation, connection)
        else { return [] }
        return try store.events(on: id, in: row, connection)
    }

    /// Returns the ids of the envelopes of an own message. A message to a group without readers and a system message have no
    /// envelope. `people` are those of groups that were read before.
    func envelopeIDs(
        of entry: HistoryEntry, _ people: inout [GroupID: [KeyID]]
    ) throws(StateError) -> [String] {
        guard let id = entry.id, !entry.isSystem else { return [] }
        guard let group = entry.conversation.group else { return [id] }
        guard entry.copies ?? 0 > 0, Envelope.isID(id) else { return [] }
        if people[group] == nil { people[group] = try self.people(of: group) }
        return (people[group] ?? []).map { store.copyID(of: id, for: $0) }
    }

    /// Returns the number of the envelopes of an own message that have an outcome, or `nil` if the message has one now. `ids` are
    /// those of its envelopes, none of which waits.
    fileprivate func outcomes(
        of entry: HistoryEntry, _ ids: [String], _ reached: [String: Outbox.Arrival]
    ) throws(StateError) -> Int? {
        let isOpen = try connection.exists(
            "SELECT 1 FROM message WHERE number = ? AND state = ?", entry.number,
            entry.state.rawValue)
        guard isOpen else { return nil }
        let settled = ids.filter { reached[$0] != nil }
        guard entry.conversation.group != nil, let id = entry.id else { return settled.count }
        let collected = try connection.rows(
            "SELECT copy FROM copy WHERE message = ?", store.mark(sent: id)
        ) { $0.integer(0) }
        return Set(collected).union(settled.map { FoundCopies.mark(of: Envelope.idBytes($0)) })
            .count
    }
}

extension HistoryEntry {
    /// Whether it can still be told that the message was not sent.
    fileprivate func isRecentDeparture(at now: Timestamp) -> Bool {
        now.seconds - (received?.seconds ?? .min / 2) < Departure.lifetime
    }
}
