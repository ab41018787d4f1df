package import Sotto
import SottoDatabase

/// A group in the state, with its log of changes.
package struct StoredGroup: Sendable {
    /// The owner's place in the group.
    package enum Standing: String, Sendable {
        /// The owner has an invitation.
        case invited
        case member
        /// The owner left, was removed, or declined the invitation.
        case left
    }

    let number: Int64
    /// The identity that owns the state.
    let owner: SessionID
    package internal(set) var log: GroupLog
    package internal(set) var state: GroupState
    /// Whether the owner declined the invitation.
    package internal(set) var isDeclined = false
    /// The random number of the owner's questions for heads, while no member has confirmed the group; `nil` for another group.
    var question: [UInt8]?
    /// Whether ``question`` is that of a newcomer, whose log came from the inviter alone. Without it, the group was restored from a
    /// backup, which can lack the owner's last changes.
    var isNewcomer = false
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
        if isDeclined { return .left }
        return log.hasEntered(owner) && !isInvitedAgain ? .left : .invited
    }

    /// Whether the owner asks and answers members: as a member, and as a former one, because a change that did not arrive can have
    /// made the owner a member again.
    package var isInTouch: Bool {
        rank > .nobody || !isDeclined && (log.hasEntered(owner) && !isUnconfirmed || isDoubtful)
    }

    /// Whether the group was restored from a backup, and no member has confirmed it. A change would prove a fork if the owner had
    /// signed another one with its number, and a message could go to people who were removed. A group without other members needs
    /// no confirmation.
    package var isDoubtful: Bool {
        question != nil && !isNewcomer && state.ranks.keys.contains { $0 != owner }
    }

    /// Whether no member but the inviter has confirmed the group that the owner entered. A group without such members needs no
    /// confirmation.
    package var isKnownFromInviterAlone: Bool {
        isNewcomer && !membersBesidesInviter.isEmpty
    }

    /// The members without the owner and the inviter, the highest rank first.
    var membersBesidesInviter: [SessionID] {
        let inviter = inviter
        return members.map(\.id).filter { $0 != owner && $0 != inviter }
    }

    /// Whether an invitation followed the owner's last change.
    private var isInvitedAgain: Bool {
        let last = log.changes.lastIndex { $0.by == owner } ?? -1
        return log.changes[(last + 1)...].contains { $0.act.invites(owner) }
    }

    /// The member who invited the owner, or `nil`.
    package var inviter: SessionID? { log.changes.last { $0.act.invites(owner) }?.by }

    /// The members, by rank and id, the highest rank first.
    package var members: [(id: SessionID, rank: GroupRank)] {
        state.ranks.map { (id: $0, rank: $1) }.sorted {
            $0.rank != $1.rank
                ? $0.rank > $1.rank : $0.id.description < $1.id.description
        }
    }

    /// The heads that a message names: the owner's last change if it is a head, then those that were stored last.
    package var heads: [GroupID] {
        let heads = log.heads
        let last = log.changes.last { $0.by == owner }?.id
        let own = heads.filter { $0 == last }
        return Array((own + heads.reversed().filter { $0 != last }).prefix(GroupContent.mostHeads))
    }
}

extension StoredGroup {
    /// The most last changes of people that their removal comes after.
    private static let mostLastChanges = 256

    /// Returns the parents of a change if they are not all heads: those of a removal in a full log, or of people who signed
    /// many changes that nobody named. Other members may not have these, and would not store the removal.
    fileprivate func headsForRemoval(_ act: GroupChange.Act) -> [GroupID]? {
        guard !act.removed.isEmpty || log.isFull else { return nil }
        let (heads, left) = log.heads(without: Set(act.removed))
        return log.isFull || left > Self.mostLastChanges ? heads : nil
    }
}

/// A group without its log, which takes longer to read.
package struct GroupHeader: Sendable {
    package let id: GroupID
    /// The name, or an empty text.
    package let name: String
    let isDeclined: Bool
    /// ``StoredGroup/question``.
    let question: [UInt8]?
    let isNewcomer: Bool

    private static let declined: UInt8 = 1
    private static let asks: UInt8 = 2
    private static let newcomer: UInt8 = 4

    /// Creates the header of a group without a name, which has no other marks.
    init(id: GroupID) {
        (self.id, name, isDeclined, question, isNewcomer) = (id, "", false, nil, false)
    }

    init(_ group: StoredGroup) {
        (id, name, isDeclined) = (group.id, group.name, group.isDeclined)
        (question, isNewcomer) = (group.question, group.isNewcomer)
    }

    /// Reads ``encoded``, or returns `nil`.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard let id = reader.bytes(32), let marks = reader.byte() else { return nil }
        if marks & Self.asks != 0 {
            guard let number = reader.bytes(GroupBody.questionBytes) else { return nil }
            question = Array(number)
        } else {
            question = nil
        }
        isNewcomer = marks & Self.newcomer != 0
        guard let name = String(validating: reader.remaining, as: UTF8.self) else { return nil }
        self.id = GroupID(Array(id))
        (self.name, isDeclined) = (name, marks & Self.declined != 0)
    }

    /// id (32) ‖ marks (1): 1 for a declined group, 2 for one with ``question``, 4 for a newcomer ‖ ``question`` (16) if it is
    /// there ‖ name.
    var encoded: [UInt8] {
        let marks =
            (isDeclined ? Self.declined : 0) | (question == nil ? 0 : Self.asks)
            | (isNewcomer ? Self.newcomer : 0)
        return id.bytes + [marks] + (question ?? []) + Array(name.utf8)
    }
}

/// A proof that a device signed two different changes with one number.
package struct GroupFork: Sendable, Equatable {
    package let group: GroupID
    package let device: SessionID
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
        groups.sort { ($0.name.lowercased(), $0.id) < ($1.name.lowercased(), $1.id) }
        return (groups, unreadable)
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

    /// Returns the headers of all groups, and `nil` for each damaged one.
    func readHeaders() throws(StateError) -> [GroupHeader?] {
        try connection.rows("SELECT mark, sealed FROM group_log ORDER BY number") { row in
            try? self.header(row.bytes(1), mark: row.bytes(0))
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
            return .unreadable(unreadable)
        } catch {
            throw error
        }
    }

    func header(_ sealed: [UInt8], mark: [UInt8]) throws(StateError) -> GroupHeader {
        guard let header = GroupHeader(try store.unseal(sealed, .group(mark: mark))) else {
            throw .unsealable(path: store.database.path)
        }
        return header
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
            (row.integer(0), try self.header(row.bytes(1), mark: mark))
        }
        guard let (number, header) = found else { return nil }
        let stored = try changes(of: number, aside: false)
        guard let first = stored.first, var log = GroupLog(first.change) else { return nil }
        var places = [first.change.id: first.place]
        for each in stored.dropFirst() {
            guard log.add(each.change, wasStored: true) == .stored else {
                throw .unsealable(path: store.database.path)
            }
            places[each.change.id] = each.place
        }
        let group = StoredGroup(
            number: number, owner: owner.id, log: log, state: log.fold(),
            isDeclined: header.isDeclined, question: header.question,
            isNewcomer: header.isNewcomer, places: places)
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
            WHERE team = (SELECT number FROM group_log WHERE mark = ?) AND aside = 0
            """, store.mark(id))
    }

    func changes(
        of number: Int64, aside: Bool
    ) throws(StateError) -> [(place: Int64, change: GroupChange)] {
        try connection.rows(
            """
            SELECT place, mark, sealed FROM group_change WHERE team = ? AND aside = ?
            ORDER BY place
            """, number, aside ? 1 : 0
        ) { row throws(StateError) in
            let bytes = try store.unseal(row.bytes(2), .groupChange(mark: row.bytes(1)))
            guard let change = try? GroupChange(stored: bytes) else {
                throw .unsealable(path: store.database.path)
            }
            return (row.integer(0), change)
        }
    }

    // MARK: Writing

    /// Creates a group with a policy and values. Throws ``GroupError/tooMany``.
    package func createGroup(
        _ policy: GroupPolicy, _ values: [GroupChange.Value],
        continues group: StoredGroup? = nil, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        let continued = group.map { GroupChange.Continuation(group: $0.id, heads: $0.heads) }
        let create = try GroupChange(
            .create(nonce: randomBytes(32), policy, continues: continued), in: nil,
            by: owner.signingKey, seq: 1, parents: [], time: time)
        guard let log = GroupLog(create) else { preconditionFailure("a new group is not stored") }
        var group = try insert(log)
        for value in values { group = try write(.set(value), in: group, at: time) }
        return group
    }

    /// Signs a change by the owner after all heads, and stores it. Throws ``GroupError/refused`` if the rules refuse it or
    /// it has no effect, and ``GroupError/doubtful(id:)``.
    package func write(
        _ act: GroupChange.Act, in group: StoredGroup, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        guard !group.isDoubtful else { throw GroupError.doubtful(id: group.id.short) }
        // A restored group without other members needs no confirmation.
        var group = group.isNewcomer ? group : try confirm(group)
        if let heads = group.headsForRemoval(act) {
            try sign(act, after: heads, in: &group, at: time)
        } else {
            while group.log.heads.count > GroupChange.mostParents {
                try sign(.merge, after: group.log.heads, in: &group, at: time)
            }
            try sign(act, after: group.log.heads, in: &group, at: time)
        }
        try fold(&group)
        return group
    }

    /// Enters a group after an invitation. Its log came from the inviter alone, so two other members are asked for their heads.
    /// Throws ``GroupError/refused`` without a valid invitation.
    package func join(
        _ group: StoredGroup, _ entry: GroupChange.Entry, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        var joined = try write(.join(entry), in: group, at: time)
        guard joined.standing == .member else { throw GroupError.refused }
        guard joined.question == nil, !joined.membersBesidesInviter.isEmpty else { return joined }
        joined.question = randomBytes(GroupBody.questionBytes)
        joined.isNewcomer = true
        groups[joined.id] = joined
        try writeHeader(of: joined)
        return joined
    }

    /// Ends the doubt about a group. Returns the group.
    package func confirm(_ group: StoredGroup) throws(StateError) -> StoredGroup {
        guard group.question != nil else { return group }
        var group = group
        (group.question, group.isNewcomer) = (nil, false)
        groups[group.id] = group
        try writeHeader(of: group)
        return group
    }

    /// Folds the log of a group after changes were stored.
    func fold(_ group: inout StoredGroup) throws(StateError) {
        let before = group.state
        let name = group.name
        let known = groups[group.id]?.log
        noteForks(in: group)
        group.state = group.log.fold()
        groups[group.id] = group
        if group.name != name { try writeHeader(of: group) }
        try endGrants(of: group, since: before, known)
    }

    /// Notes the forks that the log did not have before.
    private func noteForks(in group: StoredGroup) {
        let known = groups[group.id]?.log.forks.count ?? 0
        for (first, _) in group.log.forks.dropFirst(known) {
            guard let change = group.log.changes.first(where: { $0.id == first }) else { continue }
            forks.append(GroupFork(group: group.id, device: change.device))
        }
    }

    /// Returns the forks that were learned since the last call.
    package func takeForks() -> [GroupFork] {
        defer { forks = [] }
        return forks
    }

    func writeHeader(of group: StoredGroup) throws(StateError) {
        try connection.run(
            "UPDATE group_log SET sealed = ? WHERE number = ?",
            store.seal(GroupHeader(group).encoded, .group(mark: store.mark(group.id))),
            group.number)
    }

    /// Ends the grants to members who are no members any more or have entered again, and all if the owner is none. `log` is the
    /// log with the state `before`.
    private func endGrants(
        of group: StoredGroup, since before: GroupState, _ log: GroupLog?
    ) throws(StateError) {
        let isOver = before.ranks[owner.id] != nil && group.rank == .nobody
        let gone = before.ranks.keys.filter { member in
            isOver || group.state.ranks[member] == nil
                || log.map { $0.entry(of: member) != group.log.entry(of: member) } ?? false
        }
        for member in gone where member != owner.id {
            if !isOver, group.state.ranks[member] == nil {
                formerMembers[group.id, default: []].insert(member)
            }
            var note = try note(of: member, in: group)
            guard note.isGranted || note.hasHistory else { continue }
            (note.isGranted, note.hasHistory) = (false, false)
            try write(note, of: group)
        }
        // Who entered again may have deleted the present chain, and can be removed again before the next message: it is under a
        // new chain.
        for member in group.state.ranks.keys where before.ranks[member] == nil {
            if try note(of: member, in: group).holds > 0 { return try endOwnChain(of: group) }
        }
    }

    private func sign(
        _ act: GroupChange.Act, after heads: [GroupID], in group: inout StoredGroup,
        at time: Timestamp
    ) throws {
        // The own last change comes first: the limit of the number of parents must not cut it off.
        let last = group.log.changes.last { $0.by == owner.id }?.id
        let isFirst = heads.count > GroupChange.mostParents || heads.contains { $0 == last }
        let parents = (isFirst ? [last].compactMap(\.self) : []) + heads.filter { $0 != last }
        let change = try GroupChange(
            act, in: group.id, by: owner.signingKey, seq: group.log.nextSeq(of: owner.id),
            parents: Array(parents.prefix(GroupChange.mostParents)), time: time)
        guard group.log.add(change) == .stored else { throw GroupError.refused }
        group.places[change.id] = try store(change, of: group.number, aside: false, time)
    }

    /// Records that the owner declines an invitation, or takes that back.
    package func decline(_ group: StoredGroup, _ isDeclined: Bool = true) throws(StateError) {
        var group = group
        group.isDeclined = isDeclined
        groups[group.id] = group
        try writeHeader(of: group)
    }

    func insert(_ log: GroupLog) throws -> StoredGroup {
        guard try connection.integer("SELECT count(*) FROM group_log") < Self.mostGroups else {
            throw GroupError.tooMany
        }
        let mark = store.mark(log.group)
        try connection.run(
            "INSERT INTO group_log (mark, sealed) VALUES (?, ?)", mark,
            store.seal(
                GroupHeader(id: log.group).encoded, .group(mark: mark)))
        return try begin(log, number: connection.lastRow)
    }

    /// Stores the first change of the group with a number, whose other changes are not here.
    func begin(_ log: GroupLog, number: Int64) throws(StateError) -> StoredGroup {
        var group = StoredGroup(
            number: number, owner: owner.id, log: log, state: log.fold(), places: [:])
        group.places[log.group] = try store(log.changes[0], of: group.number, aside: false, .now())
        groups[group.id] = group
        return group
    }

    /// Returns the place of the next change of a group.
    func nextPlace(of number: Int64) throws(StateError) -> Int64 {
        try connection.integer(
            "SELECT coalesce(max(place), 0) + 1 FROM group_change WHERE team = ?", number)
    }

    /// Stores a change; a change that waited becomes a stored one. Returns its place.
    func store(
        _ change: GroupChange, of number: Int64, aside: Bool, _ time: Timestamp
    ) throws(StateError) -> Int64 {
        let place = try nextPlace(of: number)
        try store(change, of: number, aside: aside, at: place, time)
        return place
    }

    /// Stores a change at a place, which is ``nextPlace(of:)`` or a higher one.
    func store(
        _ change: GroupChange, of number: Int64, aside: Bool, at place: Int64, _ time: Timestamp
    ) throws(StateError) {
        let mark = store.mark(change: change.id)
        waitingChanges[number] = nil
        try connection.run(
            """
            INSERT INTO group_change (team, mark, aside, place, time, sealed)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (mark) DO UPDATE SET
                aside = excluded.aside, place = excluded.place, time = excluded.time
            """, number, mark, aside ? 1 : 0, place, time.seconds,
            store.seal(change.bytes, .groupChange(mark: mark)))
    }
}

/// A reason why a group cannot be changed or used.
package enum GroupError: Error, Sendable, Equatable {
    /// The state has no such group.
    case unknown
    /// The state has too many groups.
    case tooMany
    /// The sender has too many invitations that are not answered.
    case tooManyInvitations
    /// The rules of the group refuse the change.
    case refused
    /// The owner is not a member.
    case notMember
    /// The owner is a member already.
    case member
    /// The door of the room is closed.
    case closed
    /// The owner's rank is too low to write messages.
    case mayNotPost
    /// The group was restored from a backup, and no member has confirmed it.
    case doubtful(id: String)
}
