package import Sotto
import SottoDatabase

/// Changes and keys count as told when their envelope reached the outbox, unless no relay gets it.
///
/// The note about a member changes when `encrypt` makes the envelope, so that nothing is told twice in a batch, and so that a
/// member who can have the chain counts as its holder at once. A row remembers how to undo this. The next command of `group`, and the
/// next message a minute later, look the envelope up in the outbox: if it is not there, the change of the note is undone, and the
/// member is told again.
///
/// A row without its envelope in the outbox is undone once, whatever happened to `encrypt` or `send`: a member who is told twice
/// ignores the second time. So is a row whose envelope was rejected, dropped or expired. The row of an envelope that waits is kept.
extension StateTransaction {
    /// The facts, besides the place of the last change, that are undone if an envelope did not reach the outbox.
    private struct Undoing: OptionSet {
        let rawValue: Int64

        /// The member needs the whole log.
        static let log = Undoing(rawValue: 1)
        /// The moderator does not have the keys of the room.
        static let room = Undoing(rawValue: 2)
        /// The member does not have the earlier messages.
        static let history = Undoing(rawValue: 4)
        /// The member does not have the chain. They stay its holder, because the envelope can have been taken elsewhere.
        static let chain = Undoing(rawValue: 8)
        /// The member was not asked.
        static let question = Undoing(rawValue: 16)
        /// The member was not asked for their chain, which the owner lacks.
        static let chainQuestion = Undoing(rawValue: 32)
        /// The member does not have the owner's present card.
        static let ownCard = Undoing(rawValue: 64)
    }

    /// Remembers that a body for a person was encrypted in an envelope that goes to `send`. `before` and `note` are the notes
    /// before it and now.
    func remember(
        _ body: GroupBody, in envelope: String, before: GroupMemberNote, _ note: GroupMemberNote,
        of group: StoredGroup, at time: Timestamp
    ) throws(StateError) {
        var undoing: Undoing = []
        if before.needsLog, !note.needsLog { undoing.insert(.log) }
        if body.room != nil { undoing.insert(.room) }
        if body.isComplete { undoing.insert(.history) }
        if body.chain != nil { undoing.insert(.chain) }
        if body.isRequest { undoing.insert(.question) }
        if before.lacksChain, !note.lacksChain { undoing.insert(.chainQuestion) }
        if before.ownCard != note.ownCard { undoing.insert(.ownCard) }
        let paid = before.owedMessages.filter { !note.owedMessages.contains($0) }
        guard !undoing.isEmpty || note.told != before.told || !paid.isEmpty else { return }
        let marks = paid.flatMap { UInt64(bitPattern: store.mark(sent: $0)).bigEndianBytes }
        try connection.run(
            """
            INSERT OR REPLACE INTO telling (group_id, envelope, member, made, told, undoes, owed)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """, group.number, store.mark(envelope: envelope), store.mark(note.id), time.seconds,
            before.told, undoing.rawValue, marks)
    }

    /// Returns the ids of the owner's messages with some keyed hashes, 8 bytes each.
    private func owedMessages(_ marks: [UInt8]) throws(StateError) -> [String] {
        var ids: [String] = []
        for start in stride(from: 0, to: marks.count - marks.count % 8, by: 8) {
            guard let mark = UInt64(bigEndianBytes: marks[start..<(start + 8)]) else { continue }
            let found = try store.entries(
                "WHERE mark = ?", Int64(bitPattern: mark), connection: connection)
            if let id = found.first?.id { ids.append(id) }
        }
        return ids
    }

    /// Undoes what was told in envelopes that did not reach the outbox within `age` seconds or that no relay gets, and forgets the
    /// others that do not wait. Returns the notes about members. With `isPreview`, only the returned notes change: nothing is
    /// written.
    func settleTellings(
        of group: StoredGroup, olderThan age: Int64, isPreview: Bool, at time: Timestamp
    ) throws(StateError) -> [KeyID: GroupMemberNote] {
        var notes = try notes(of: group)
        let last = time.seconds - age
        let rows = try connection.rows(
            """
            SELECT envelope, member, made, told, undoes, owed FROM telling
            WHERE group_id = ? AND made <= ?
            """, group.number, last
        ) { row throws(StateError) in
            (
                envelope: row.integer(0), member: row.bytes(1), made: row.integer(2),
                told: row.integer(3), undoing: Undoing(rawValue: row.integer(4)),
                owed: row.bytes(5)
            )
        }
        guard let first = rows.map(\.made).min() else { return notes }
        let arrivals = try arrivals(since: first)
        let oldest = time.seconds - Departure.lifetime
        let lost = rows.filter { row in
            switch arrivals[row.envelope] {
            case .waiting, .settled: false
            case .failed: true
            case nil: row.made > oldest
            }
        }
        if !lost.isEmpty {
            let people = Dictionary(notes.values.map { (store.mark($0.id), $0) }) { a, _ in a }
            for (member, rows) in Dictionary(grouping: lost, by: \.member) {
                // A note that could not be read was deleted, and the person is told everything.
                guard var note = people[member] else { continue }
                for row in rows {
                    var undoing = row.undoing
                    // A relay that refuses all envelopes must not cause the work of all earlier messages again and again.
                    if arrivals[row.envelope] == .failed { undoing.remove(.history) }
                    Self.undo(undoing, told: row.told, in: &note)
                    let owed = try owedMessages(row.owed).filter {
                        !note.owedMessages.contains($0)
                    }
                    note.owedMessages = Array(
                        (owed + note.owedMessages).suffix(GroupMemberNote.mostWanted))
                }
                notes[note.id] = note
                if !isPreview { try write(note, of: group) }
            }
        }
        guard !isPreview else { return notes }
        for row in rows where arrivals[row.envelope] != .waiting {
            try connection.run(
                "DELETE FROM telling WHERE group_id = ? AND envelope = ?", group.number,
                row.envelope)
        }
        return notes
    }

    /// Returns the envelopes that reached the outbox, by their keyed hashes, without those whose outcome is from a day before `time`,
    /// in seconds since 1970. The outbox is read once in a transaction.
    private func arrivals(since time: Int64) throws(StateError) -> [Int64: Outbox.Arrival] {
        if let known = knownArrivals, known.since <= time { return known.found }
        let found = Dictionary(
            try Outbox.arrivals(in: store.directory, since: time).map {
                (store.mark(envelope: $0.id), $0.arrival)
            }, uniquingKeysWith: max)
        knownArrivals = (time, found)
        return found
    }

    private static func undo(
        _ undoing: Undoing, told: Int64, in note: inout GroupMemberNote
    ) {
        note.told = min(note.told, told)
        if undoing.contains(.log) { note.needsLog = true }
        if undoing.contains(.room) { note.hasRoom = false }
        if undoing.contains(.history) { note.hasHistory = false }
        if undoing.contains(.chain) { note.wantsChain = true }
        if undoing.contains(.question) {
            note.asked = 0
            note.asks -= min(note.asks, 1)
        }
        if undoing.contains(.chainQuestion) { note.lacksChain = true }
        if undoing.contains(.ownCard) { note.ownCard = OwnCard.none }
    }
}

/// The changes of a group that were not told to the people whom they concern.
package struct UntoldChanges: Sendable, Equatable {
    /// The number of different changes.
    package let changes: Int
    /// The number of members, the owner with other devices among them, and of people who are members no longer and were not told
    /// so.
    package let members: Int
    /// The people whose invitation was not sent.
    package let invited: [KeyID]
    /// The members to whom the owner granted the earlier messages, which were not sent.
    package let granted: [KeyID]
}

extension StateTransaction {
    /// Returns the changes of a group that the owner tells and that are in no envelope that reached the outbox, or `nil`. Call it in
    /// a preview.
    package func untold(
        in group: StoredGroup, at time: Timestamp = .now()
    ) throws(StateError) -> UntoldChanges? {
        guard !group.isDoubtful else { return nil }
        let dues = try dues(in: group, isPreview: true, at: time)
        var changes: Set<Int64> = []
        var people: Set<KeyID> = []
        let ofOthers = dues.placesOfOtherDevices(than: owner.device)
        func add(_ places: [Int64], _ person: KeyID) {
            let places = places.filter { !ofOthers.contains($0) }
            guard !places.isEmpty else { return }
            changes.formUnion(places)
            people.insert(person)
        }
        for seat in group.seats { add(dues.untoldPlaces(to: dues.note(of: seat)), seat.member) }
        let others = dues.notes.values.filter {
            group.state.ranks[$0.id] == nil && group.log.member(of: $0.id) == $0.id
        }
        for other in others {
            add(dues.untoldRemoval(of: other).map { group.places[$0.id] ?? 0 }, other.id)
        }
        let invited = others.filter { note in
            !group.log.hasEntered(note.id)
                && group.log.invitation(of: note.id, in: group.state) != nil
                && dues.told.contains { change in
                    change.by == owner.id && change.act.invites(note.id)
                        && (group.places[change.id] ?? 0) > note.told
                }
        }.map(\.id).sorted { $0.description < $1.description }
        let granted = try unshown(in: dues)
        guard !people.isEmpty || !invited.isEmpty || !granted.isEmpty else { return nil }
        return UntoldChanges(
            changes: changes.count, members: people.count, invited: invited, granted: granted)
    }

    /// Returns the members to whom the owner granted the earlier messages, and who were not sent them.
    private func unshown(in dues: GroupDues) throws(StateError) -> [KeyID] {
        let (group, notes) = (dues.group, dues.notes)
        guard group.rank > .nobody, group.state.policy.visibility == .granted else { return [] }
        let lacking = group.members.map(\.id).filter {
            notes[$0]?.isGranted == true && notes[$0]?.hasHistory == false
        }
        guard !lacking.isEmpty, try lastSentMessage(to: group) != GroupMemberNote.nothing else {
            return []
        }
        return lacking
    }
}

extension GroupDues {
    /// Returns the places of the changes that the owner's other devices tell: their own, and the joins of people whom they invited.
    fileprivate func placesOfOtherDevices(than device: KeyID) -> Set<Int64> {
        let others = group.log.changes.filter { $0.by == group.owner && $0.device != device }
        guard !others.isEmpty else { return [] }
        let own = told.filter { $0.device == device }
        let invited = Set(
            own.flatMap { if case .invite(let who, _) = $0.act { who } else { [KeyID]() } })
        let all = told.filter {
            $0.by == group.owner ? $0.device != device : !invited.contains($0.by)
        }
        return Set(all.map { group.places[$0.id] ?? 0 })
    }

    /// Returns the changes of all authors that a member did not get.
    func untold(to note: GroupMemberNote) -> [GroupChange] {
        if !note.needsLog, note.told >= lastTold { return [] }
        guard note.needsLog else {
            return told.indices.filter { toldPlaces[$0] > note.told }.map { told[$0] }
        }
        return group.log.changes.filter { (group.places[$0.id] ?? 0) > note.told }
    }

    /// Returns the places of the changes of others than the member that the member did not get.
    func untoldPlaces(to note: GroupMemberNote) -> [Int64] {
        if note.needsLog {
            return untold(to: note).filter { $0.device != note.id }.map { group.places[$0.id] ?? 0 }
        }
        guard note.told < lastTold else { return [] }
        return told.indices.filter { toldPlaces[$0] > note.told && told[$0].device != note.id }
            .map { toldPlaces[$0] }
    }

    /// Returns the owner's changes that removed a person who did not get them, and those before. A person who never entered asks
    /// nobody for changes, so those of others come with them. One who got no invitation is told nothing.
    func untoldRemoval(of note: GroupMemberNote) -> [GroupChange] {
        let hasEntered = group.log.hasEntered(note.id)
        func isNew(_ change: GroupChange) -> Bool {
            (group.places[change.id] ?? 0) > note.told
        }
        func isUntold(_ change: GroupChange) -> Bool { change.by == group.owner && isNew(change) }
        // A removal waits for the changes before it, such as the removal of others by the same command.
        var ending = group.log.changes.filter {
            $0.act.removal(of: note.id) != nil && isUntold($0)
        }
        guard !ending.isEmpty, hasEntered || note.told > 0 || group.isInvitedByOthers(note.id)
        else { return [] }
        // Only with all removals the person sees that the group was deleted.
        if group.isDeleted {
            ending = group.log.changes.filter { !$0.act.removed.isEmpty && isUntold($0) }
        }
        let before = group.log.past(of: ending.map(\.id))
        let isWhole = !hasEntered && note.told > 0
        return group.log.changes.filter {
            before.contains($0.id) && (isWhole ? isNew($0) : isUntold($0))
        }
    }
}

extension StoredGroup {
    /// Whether a member other than the owner of the state has invited a person.
    fileprivate func isInvitedByOthers(_ person: KeyID) -> Bool {
        log.changes.contains { $0.by != owner && $0.act.invites(person) }
    }
}
