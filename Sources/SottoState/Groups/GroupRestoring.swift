package import Sotto
import SottoDatabase

/// A group in a backup: its log, and the notes about its members. It has no chains.
package struct GroupBackup: Sendable {
    /// The facts about a member.
    package struct Member: Sendable {
        package let id: KeyID
        /// The member's signed card, or `nil`.
        package var card: Card?
        /// Whether the owner shows earlier messages to the member.
        package var isGranted = false
        /// Whether the member got the owner's earlier messages.
        package var hasHistory = false
        /// Whether the member, who entered by a door, gets all changes and cards.
        package var needsLog = false
        /// ``GroupMemberNote/unreadUntil``.
        package var unreadUntil: String?

        /// Creates a member without facts.
        package init(id: KeyID) { self.id = id }
    }

    /// The keys of the room, and the number of its last record.
    package struct Room: Sendable {
        package let keys: RoomKeys
        package let seq: Int64

        package init(keys: RoomKeys, seq: Int64) { (self.keys, self.seq) = (keys, seq) }
    }

    package let id: GroupID
    /// The changes, each after its parents.
    package var changes: [GroupChange] = []
    /// Whether the owner declined the invitation.
    package var isDeclined = false
    /// Whether the owner shows messages to members who join from now on.
    package var showsToNewcomers = false
    package var room: Room?
    package var members: [Member] = []

    /// Creates a group without content.
    package init(id: GroupID) { self.id = id }
}

/// Export of groups.
extension IdentityStore {
    /// Calls `body` with each group, in the order in which they were stored. Returns those that cannot be read.
    package func backUpGroups(_ body: (GroupBackup) throws -> Void) throws -> [UnreadableGroup] {
        var unreadable: [UnreadableGroup] = []
        for header in try preview({ try $0.readHeaders() }) {
            guard let header else {
                unreadable.append(UnreadableGroup(id: nil, name: ""))
                continue
            }
            if let group = try preview({ try $0.backup(of: header) }) {
                try body(group)
            } else {
                unreadable.append(UnreadableGroup(id: header.id, name: header.name))
            }
        }
        return unreadable
    }
}

extension StateTransaction {
    /// Returns a group for a backup, or `nil` if a part of it cannot be read.
    fileprivate func backup(of header: GroupHeader) throws(StateError) -> GroupBackup? {
        do throws(StateError) {
            guard let group = try group(header.id) else { return nil }
            var backup = GroupBackup(id: group.id)
            backup.changes = group.log.changes
            backup.isDeclined = group.isDeclined
            backup.showsToNewcomers = group.showsToNewcomers
            backup.room = try room(of: group).map { GroupBackup.Room(keys: $0.keys, seq: $0.seq) }
            backup.members = try notes(of: group).values.map { note in
                var member = GroupBackup.Member(id: note.id)
                member.card = note.card
                (member.isGranted, member.hasHistory) = (note.isGranted, note.hasHistory)
                (member.needsLog, member.unreadUntil) = (note.needsLog, note.unreadUntil)
                return member
            }.sorted { $0.id.description < $1.id.description }
            return backup
        } catch .unsealable, .damagedGroup {
            return nil
        } catch {
            throw error
        }
    }

    // MARK: Import

    /// The result of restoring a group.
    package struct Restored {
        /// Whether the group was not here, or was damaged.
        package let isNew: Bool
        /// Whether a member must confirm it.
        package let isDoubtful: Bool
        /// The number of changes that do not follow from the others.
        package let lost: Int
    }

    /// Restores a group of the owner's own backup: adds its changes, whose signatures were verified, to those that are here. A damaged
    /// group is replaced.
    ///
    /// If the group was not here or lacked a change, it is doubtful until members confirm it; only then the notes about the
    /// members are restored. Throws ``GroupError``.
    package func restore(_ backup: GroupBackup) throws -> Restored {
        let (known, isNew) = try groupForRestoring(backup)
        var group = known
        var place = try nextPlace(of: group.number)
        var added = isNew
        var lost = 0
        for change in backup.changes {
            switch group.log.add(change, wasStored: true) {
            case .stored:
                // The changes do not count as received in this hour.
                try store(
                    change, of: group.number, aside: false, at: place, Timestamp(seconds: 0))
                group.places[change.id] = place
                place += 1
                added = true
            case .known: break
            case .waits, .refused: lost += 1
            }
        }
        if isNew { group.isDeclined = backup.isDeclined }
        // Nothing is asked about an invitation that was declined.
        let isAsked = !group.isDeclined || group.log.hasEntered(owner.id)
        let beginsDoubt = added && isAsked && (group.question == nil || group.isNewcomer)
        if beginsDoubt {
            group.question = randomBytes(GroupBody.questionBytes)
            group.isNewcomer = false
        }
        if added {
            try fold(&group)
            if beginsDoubt { group.drawn = group.members.map(\.id).filter { $0 != owner.id } }
            groups[group.id] = group
            try writeHeader(of: group)
        }
        let restored = Restored(isNew: isNew, isDoubtful: group.isDoubtful, lost: lost)
        guard isNew || group.question != nil else { return restored }
        try restoreMembers(backup.members, of: group, isNew: isNew)
        if isNew, backup.showsToNewcomers, group.rank > .nobody {
            group = try show(toNewcomersOf: group, true)
        }
        if let room = backup.room, try self.room(of: group) == nil {
            try keep(room.keys, seq: room.seq, of: group)
        }
        return restored
    }

    /// Returns the stored group of a backup, and whether it was not here. A damaged group loses its changes.
    private func groupForRestoring(
        _ backup: GroupBackup
    ) throws -> (group: StoredGroup, isNew: Bool) {
        do throws(StateError) {
            if let group = try group(backup.id) { return (group, false) }
        } catch .damagedGroup {
            // Its chains and the notes about its members stay.
            let mark = store.mark(backup.id)
            let number = try connection.integer(
                "SELECT number FROM group_log WHERE mark = ?", mark)
            waitingChanges[number] = nil
            try connection.run("DELETE FROM group_change WHERE group_id = ?", number)
            guard let log = log(of: backup) else { throw GroupError.unknown }
            return (try begin(log, number: number), true)
        } catch {
            throw error
        }
        guard let log = log(of: backup) else { throw GroupError.unknown }
        return (try insert(log), true)
    }

    private func log(of backup: GroupBackup) -> GroupLog? {
        backup.changes.first { $0.id == backup.id }.flatMap { GroupLog($0) }
    }

    /// Restores the notes about members. Their chains were lost with the state, so each member is asked for it once.
    private func restoreMembers(
        _ members: [GroupBackup.Member], of group: StoredGroup, isNew: Bool
    ) throws(StateError) {
        let chains = Set(
            try connection.rows(
                "SELECT DISTINCT device FROM group_chain WHERE group_id = ?", group.number
            ) { $0.bytes(0) })
        for member in members where member.id != owner.id {
            if let card = member.card { try note(card, in: group) }
            var note = try note(of: member.id, in: group)
            note.isGranted = note.isGranted || member.isGranted
            note.hasHistory = note.hasHistory || member.hasHistory
            note.needsLog = note.needsLog || member.needsLog
            note.unreadUntil = note.unreadUntil ?? member.unreadUntil
            try write(note, of: group)
        }
        for id in group.state.ranks.keys where id != owner.id {
            var note = try note(of: id, in: group)
            (note.asked, note.asks) = (0, 0)
            // The places of the changes are new too.
            if isNew { note.told = 0 }
            note.lacksChain = !chains.contains(store.mark(id))
            try write(note, of: group)
        }
    }

    // MARK: Confirmation

    /// Returns the members who confirmed a group that was restored, while a second answer is missing: they get no message.
    package func confirmers(of group: StoredGroup) throws(StateError) -> Set<KeyID> {
        guard group.isDoubtful else { return [] }
        return group.confirmers(try notes(of: group).values)
    }

    /// Ends the doubt about a group if enough members answered, and all of their heads are here. Returns whether it did.
    func confirmation(of group: inout StoredGroup) throws(StateError) -> Bool {
        guard group.question != nil else { return false }
        let log = group.log
        let notes = try notes(of: group).values
        guard group.isConfirmed(by: notes) else { return false }
        for var note in notes where !note.answeredHeads.isEmpty {
            let known = log.past(of: note.answeredHeads.filter { log.contains($0) })
            // The member has these, and is not told of them again.
            note.told = max(note.told, group.place(knownTo: note.id, known))
            note.answeredHeads = []
            try write(note, of: group)
        }
        group = try confirm(group)
        return true
    }
}
