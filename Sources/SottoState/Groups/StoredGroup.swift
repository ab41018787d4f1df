package import Sotto
import SottoDatabase

/// A group in the state, with its log of changes.
package struct StoredGroup: Sendable {
    /// The owner's place in the group.
    package enum Standing: String, Sendable {
        /// The owner has an invitation.
        case invited
        case member
        /// The owner left, was removed, or declined the invitation, or the invitation was taken back.
        case left
    }

    let number: Int64
    /// The identity that owns the state.
    let owner: KeyID
    /// The device of the owner that has the state.
    let device: KeyID
    package internal(set) var log: GroupLog
    package internal(set) var state: GroupState
    /// Whether the owner declined the invitation.
    package internal(set) var isDeclined = false
    /// The random number of the owner's questions for heads, while no member has confirmed the group; `nil` for another group.
    var question: [UInt8]?
    /// Whether ``question`` is that of a newcomer, whose log came from the inviter alone. Without it, the group was restored from a
    /// backup, which can lack the owner's last changes.
    var isNewcomer = false
    /// The people who can answer ``question``: for a newcomer the members whom chance chose, in the order of the draws, for a
    /// restored group the members that the backup had.
    var drawn: [KeyID] = []
    /// Whether another device of the owner brought the beginning of the log, and the rest is in a file that was not taken yet.
    package internal(set) var isPartial = false
    /// Whether the owner decided to show messages to members who join from now on.
    package internal(set) var showsToNewcomers = false
    /// The place of each change: a change that was stored later has a higher one.
    var places: [GroupID: Int64]

    /// The id.
    package var id: GroupID { log.group }

    /// The name, or an empty text.
    package var name: String {
        if case .name(let name)? = state.values["name"] { name } else { "" }
    }

    /// The group that this one continues, or `nil`.
    package var continued: GroupID? {
        if case .create(_, _, let continued?) = log.changes[0].act { continued.group } else { nil }
    }

    /// The owner's rank.
    package var rank: GroupRank { state.ranks[owner] ?? .nobody }

    /// The owner's place.
    package var standing: Standing {
        if rank > .nobody { return .member }
        if isDeclined || isInvitationTakenBack { return .left }
        return log.hasEntered(owner) && !isInvitedAgain ? .left : .invited
    }

    /// Whether the owner asks and answers members: as a member, and as a former one, because a change that did not arrive can have
    /// made the owner a member again.
    package var isInTouch: Bool {
        rank > .nobody || !isDeclined && (log.hasEntered(owner) && !isUnconfirmed || isDoubtful)
    }

    /// Whether the group was restored from a backup or by another device of the owner, and the members have not confirmed it. A change
    /// would prove a fork if the owner had signed another one with its number, and a message could go to people who were removed. A
    /// group without other members needs no confirmation.
    package var isDoubtful: Bool {
        isPartial || question != nil && !isNewcomer && state.ranks.keys.contains { $0 != owner }
    }

    /// Whether the owner, who entered by an invitation, waits for one of the members who were drawn to confirm the group.
    package var awaitsDrawn: Bool { isNewcomer && !drawn.isEmpty }

    /// Whether the group that the owner entered by an invitation has no member who can confirm it: the inviter brought in all
    /// others.
    package var isKnownFromInviterAlone: Bool {
        isNewcomer && drawn.isEmpty && hasMembersBesidesInviter
    }

    /// Whether the group has members besides the owner and the inviter.
    var hasMembersBesidesInviter: Bool {
        let inviter = inviter
        return state.ranks.keys.contains { $0 != owner && $0 != inviter }
    }

    /// The members whom the inviter did not bring in: the creator, and those whom one of these invited or let in. The inviter
    /// can have made all others.
    var membersBesidesThoseOfInviter: [KeyID] {
        let inviter = inviter
        let letIn = Dictionary(
            log.changes.filter(\.act.isDoorJoin).map { ($0.id, $0.by) }
        ) { first, _ in first }
        var broughtIn: [KeyID: [KeyID]] = [:]
        for change in log.changes {
            if case .invite(let who, _) = change.act { broughtIn[change.by, default: []] += who }
            broughtIn[change.by, default: []] += change.parents.compactMap { letIn[$0] }
        }
        var found: Set<KeyID> = []
        var next = [log.changes[0].by]
        while let person = next.popLast() {
            guard person != inviter, person != owner, found.insert(person).inserted else {
                continue
            }
            next += broughtIn[person] ?? []
        }
        return members.map(\.id).filter { found.contains($0) }
    }

    /// The members who can confirm the group. A member who was removed after a backup can bring in others, so those who came
    /// after it do not count, unless there are no others.
    var witnesses: Set<KeyID> {
        let known = Set(drawn.filter { state.ranks[$0] != nil })
        guard known.isEmpty, !isNewcomer else { return known }
        return Set(state.ranks.keys.filter { $0 != owner })
    }

    /// Machine one, whose answer alone confirms the group that another device of the owner restored; `nil` on machine one, and for
    /// a group without doubt.
    var voucher: KeyID? { isDoubtful && device != owner ? owner : nil }

    /// Returns the members who answered ``question``, and all of whose heads are here.
    func confirmers(_ notes: some Sequence<GroupMemberNote>) -> Set<KeyID> {
        let witnesses = witnesses
        return Set(
            notes.filter { isAnswered($0) && witnesses.contains(log.member(of: $0.id)) }
                .map { log.member(of: $0.id) })
    }

    /// Whether a member answered ``question``, and all heads of the answer are here.
    private func isAnswered(_ note: GroupMemberNote) -> Bool {
        !note.answeredHeads.isEmpty && note.answeredHeads.allSatisfy { log.contains($0) }
    }

    /// Whether the answers in some notes end the doubt about the group. A restored state needs that of a second member, because an
    /// answer does not confirm the member who gave it.
    func isConfirmed(by notes: some Sequence<GroupMemberNote>) -> Bool {
        if notes.contains(where: { $0.id == voucher && isAnswered($0) }) { return true }
        let confirmers = confirmers(notes)
        return !confirmers.isEmpty && (isNewcomer || confirmers.count >= min(2, witnesses.count))
    }

    /// Whether an invitation followed the owner's last change.
    private var isInvitedAgain: Bool {
        let last = log.changes.lastIndex { $0.by == owner } ?? -1
        return log.changes[(last + 1)...].contains { $0.act.invites(owner) }
    }

    /// Whether the invitation of the owner, who never entered, was taken back.
    var isInvitationTakenBack: Bool {
        guard rank == .nobody, !log.hasEntered(owner), log.invitation(of: owner, in: state) == nil
        else { return false }
        return log.changes.contains {
            $0.act.removal(of: owner) != nil && log.power(of: $0, in: state) >= .moderator
        }
    }

    /// Whether an owner deleted the group for all: its rules are closed, and its only members are owners.
    package var isDeleted: Bool {
        state.policy.isClosed && state.ranks.values.allSatisfy { $0 == .owner }
    }

    /// The people to whom the owner of the state gave a rank that they do not have yet, and from whom no later change took it, in
    /// the order of the log. People whom another member chose are not among them.
    var invitees: [KeyID] {
        var open: [KeyID] = []
        for change in log.changes {
            switch change.act {
            case .invite(let people, _) where change.by == owner: open += people
            case .role(let person, let rank) where change.by == owner && rank > .nobody:
                open.append(person)
            default: break
            }
            open.removeAll { change.act.removal(of: $0) != nil || change.by == $0 }
        }
        var seen: Set<KeyID> = []
        return open.filter { state.ranks[$0] == nil && seen.insert($0).inserted }
    }

    /// The member who invited the owner, or `nil`.
    package var inviter: KeyID? { log.changes.last { $0.act.invites(owner) }?.by }

    /// The members, by rank and id, the highest rank first.
    package var members: [(id: KeyID, rank: GroupRank)] {
        state.ranks.map { (id: $0, rank: $1) }.sorted {
            $0.rank != $1.rank
                ? $0.rank > $1.rank : $0.id.description < $1.id.description
        }
    }

    /// The people who are invited and have not joined since, by id, with the rank that they get.
    package var invited: [(id: KeyID, rank: GroupRank)] {
        log.members.compactMap { id in
            log.invitation(of: id, in: state).map { rank in (id: id, rank: rank) }
        }.sorted { $0.id.description < $1.id.description }
    }

    /// The heads that a message names: the owner's last change if it is a head, then those that were stored last.
    package var heads: [GroupID] {
        let heads = log.heads
        let last = log.changes.last { $0.by == owner }?.id
        let own = heads.filter { $0 == last }
        return Array((own + heads.reversed().filter { $0 != last }).prefix(GroupContent.mostHeads))
    }
}

/// A proof that a device signed two different changes with one number.
package struct GroupFork: Sendable, Equatable {
    package let group: GroupID
    package let device: KeyID
}

/// A group whose log or name is damaged.
package struct UnreadableGroup: Sendable {
    /// The id, or `nil` if it cannot be read.
    package let id: GroupID?
    /// The name, or an empty text.
    package let name: String
}

/// A group as it was read.
enum ReadGroup {
    case group(StoredGroup)
    case unreadable(UnreadableGroup)
}

/// The groups.
extension IdentityStore {
    /// Returns all groups that can be read, by name, and the others.
    package func groups() throws -> (groups: [StoredGroup], unreadable: [UnreadableGroup]) {
        let all = try preview { try $0.readGroups() }
        var groups: [StoredGroup] = []
        var unreadable: [UnreadableGroup] = []
        for found in all {
            switch found {
            case .group(let group): groups.append(group)
            case .unreadable(let group): unreadable.append(group)
            }
        }
        groups.sort { (caseFolded($0.name), $0.id) < (caseFolded($1.name), $1.id) }
        return (groups, unreadable)
    }

    /// Reads the header of the group with a keyed hash. Throws ``StateError/unsealable(path:)``.
    func header(_ sealed: [UInt8], mark: [UInt8]) throws(StateError) -> GroupHeader {
        guard let header = GroupHeader(try unseal(sealed, .group(mark: mark))),
            self.mark(header.id) == mark
        else { throw .unsealable(path: database.path) }
        return header
    }

    /// Returns the keyed hash of a group, 16 bytes.
    func mark(_ group: GroupID) -> [UInt8] {
        keyedHash(Array("group ".utf8) + group.bytes, key: lookupKey)
    }

    /// Returns the keyed hash of a change, 16 bytes.
    func mark(change: GroupID) -> [UInt8] {
        keyedHash(Array("change ".utf8) + change.bytes, key: lookupKey)
    }

    /// Returns the keyed hash of the tag of a chain, 16 bytes.
    func mark(tag: [UInt8]) -> [UInt8] { keyedHash(Array("tag ".utf8) + tag, key: lookupKey) }
}

extension StateTransaction {
    /// The most groups that the state has.
    package static let mostGroups: Int64 = 1_000

    /// Returns the headers of all groups, in the order in which they were stored. A damaged one is left out.
    package func groupHeaders() throws(StateError) -> [GroupHeader] {
        try readHeaders().compactMap { $0 }
    }

    /// Returns the header of a group, or `nil`, also for a damaged one.
    package func groupHeader(_ id: GroupID) throws(StateError) -> GroupHeader? {
        let mark = store.mark(id)
        let sealed = try connection.first("SELECT sealed FROM group_log WHERE mark = ?", mark) {
            $0.bytes(0)
        }
        guard let sealed else { return nil }
        return try store.readable(.group, mark) { () throws(StateError) in
            try store.header(sealed, mark: mark)
        }
    }

    /// Returns the headers of all groups, and `nil` for each damaged one.
    func readHeaders() throws(StateError) -> [GroupHeader?] {
        try connection.rows("SELECT mark, sealed FROM group_log ORDER BY number") {
            row throws(StateError) in
            let (mark, sealed) = (row.bytes(0), row.bytes(1))
            return try store.readable(.group, mark) { () throws(StateError) in
                try store.header(sealed, mark: mark)
            }
        }
    }

    fileprivate func readGroups() throws(StateError) -> [ReadGroup] {
        try readHeaders().map { header throws(StateError) in
            guard let header else { return .unreadable(UnreadableGroup(id: nil, name: "")) }
            return try readGroup(header)
        }
    }

    /// Reads the group of a header. A damaged group does not end the work on the others.
    func readGroup(_ header: GroupHeader) throws(StateError) -> ReadGroup {
        let unreadable = UnreadableGroup(id: header.id, name: header.name)
        do throws(StateError) {
            guard let group = try group(header.id) else { return .unreadable(unreadable) }
            return .group(group)
        } catch .damagedGroup {
            store.damage.add(.group, store.mark(header.id))
            return .unreadable(unreadable)
        } catch {
            throw error
        }
    }

    /// Returns a group, or `nil`. Throws ``StateError/damagedGroup(id:path:)`` if a part of it cannot be read.
    package func group(_ id: GroupID) throws(StateError) -> StoredGroup? {
        if let known = groups[id] { return known }
        do throws(StateError) {
            return try read(id)
        } catch .unsealable(let path) {
            throw .damagedGroup(id: id.short, path: path)
        } catch {
            throw error
        }
    }

    /// Returns a group, or `nil`, also for one that is damaged.
    package func readableGroup(_ id: GroupID) throws(StateError) -> StoredGroup? {
        do throws(StateError) {
            return try group(id)
        } catch .damagedGroup {
            store.damage.add(.group, store.mark(id))
            return nil
        } catch {
            throw error
        }
    }

    private func read(_ id: GroupID) throws(StateError) -> StoredGroup? {
        let mark = store.mark(id)
        let found = try connection.first(
            "SELECT number, sealed FROM group_log WHERE mark = ?", mark
        ) { row throws(StateError) in
            (row.integer(0), try store.header(row.bytes(1), mark: mark))
        }
        guard let (number, header) = found else { return nil }
        let stored = try changes(of: number)
        guard let first = stored.first, var log = GroupLog(first.change) else { return nil }
        var places = [first.change.id: first.place]
        for each in stored.dropFirst() {
            guard log.add(each.change, wasStored: true) == .stored else {
                throw .unsealable(path: store.database.path)
            }
            places[each.change.id] = each.place
        }
        let group = StoredGroup(
            number: number, owner: owner.id, device: owner.device, log: log, state: log.fold(),
            isDeclined: header.isDeclined, question: header.question,
            isNewcomer: header.isNewcomer, drawn: header.drawn, isPartial: header.isPartial,
            showsToNewcomers: header.showsToNewcomers, places: places)
        groups[id] = group
        return group
    }

    /// Returns a group that was read when its last change had the place `last`. It is read again only if it has changed.
    package func group(
        _ known: StoredGroup, readAt last: Int64
    ) throws(StateError) -> StoredGroup? {
        if groups[known.id] == nil, try lastPlace(of: known.id) == last { groups[known.id] = known }
        return try group(known.id)
    }

    /// Returns the place of the last stored change of a group, or 0. It grows with each change.
    package func lastPlace(of id: GroupID) throws(StateError) -> Int64 {
        try connection.integer(
            """
            SELECT coalesce(max(place), 0) FROM group_change
            WHERE group_id = (SELECT number FROM group_log WHERE mark = ?) AND aside = 0
            """, store.mark(id))
    }

    /// Returns the stored changes of a group, each after its parents.
    private func changes(
        of number: Int64
    ) throws(StateError) -> [(place: Int64, change: GroupChange)] {
        try connection.rows(
            "SELECT place, mark, sealed FROM group_change WHERE group_id = ? AND aside = 0 ORDER BY place",
            number
        ) { row throws(StateError) in
            (row.integer(0), try change(row.bytes(2), mark: row.bytes(1)))
        }
    }

    /// Reads a stored change. Throws ``StateError/unsealable(path:)``.
    func change(_ sealed: [UInt8], mark: [UInt8]) throws(StateError) -> GroupChange {
        let bytes = try store.unseal(sealed, .groupChange(mark: mark))
        guard let change = try? GroupChange(stored: bytes), store.mark(change: change.id) == mark
        else { throw .unsealable(path: store.database.path) }
        return change
    }
}
