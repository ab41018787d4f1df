package import Sotto
import SottoDatabase

/// Received changes of groups.
extension StateTransaction {
    /// The most changes of a group that wait for others.
    static let mostAside: Int64 = 200
    /// Days for which a change waits.
    static let asideDays: Int64 = 30

    /// Adds received changes, whose signatures were verified, in any order. A change waits for its parents. A change
    /// of a person without a rank waits until a change of a member names it, and so does one of a member who signed many in
    /// the last hour. Returns the stored ones, and the ids that are missing.
    ///
    /// `sender` sent them; `nil` for a room's record. `named` are changes that a message of the sender names. Changes of an
    /// unknown group are stored only with its first change. Throws ``GroupError``.
    package func receive(
        _ changes: [GroupChange], of id: GroupID, from device: KeyID? = nil,
        named heads: [GroupID] = [], at time: Timestamp = .now()
    ) throws -> (stored: [GroupChange], missing: [GroupID]) {
        var group: StoredGroup
        var stored: [GroupChange] = []
        if let known = try self.group(id) {
            group = known
            // The changes of a restored group come from others.
            if group.question == nil { try takeProof(in: changes, of: group, at: time) }
        } else {
            guard let first = changes.first(where: { $0.id == id }), let log = GroupLog(first)
            else { throw GroupError.unknown }
            group = try insert(log)
            stored.append(first)
        }
        let sender = device.map { group.log.member(of: $0) }
        let waiting = try waitingChanges(of: group)
        var pending = changes.filter { $0.group == id && !group.log.contains($0.id) }
        let known = Set(pending.map(\.id))
        pending += waiting.filter { !known.contains($0.id) }
        // All changes of an invitation count as named by a member.
        let isNew = !stored.isEmpty
        var intake = ChangeIntake(group, pending: ChangeIntake.sorted(pending), isNew: isNew)
        // Only a member passes on the changes of others.
        let isMember = sender.map { group.state.ranks[$0] != nil } ?? false
        let direct = changes.filter { $0.by == sender || !isMember } + waiting
        intake.left = try changesLeft(to: Set(direct.map(\.by)), in: group, from: sender, time)
        if isMember {
            intake.relayed = Set(changes.filter { $0.by != sender }.map(\.id))
        }
        intake.failedEntries = failedEntries[id] ?? [:]
        var count: Int
        repeat {
            count = intake.pending.count
            stored += try take(&intake, named: heads, by: sender, time)
            // Newcomers of this pass are members in the next one.
            if intake.pending.count < count { try fold(&intake) }
        } while intake.pending.count < count && !intake.pending.isEmpty && intake.mayFold
        group = intake.group
        failedEntries[id] = intake.failedEntries
        let kept = try setAside(intake.pending, in: group, time)
        let waitingIDs = Set(kept.map(\.id))
        let missing = Set(kept.flatMap(\.parents)).filter {
            !group.log.contains($0) && !waitingIDs.contains($0)
        }
        return (stored, missing.sorted())
    }

    /// Returns the changes of a group that wait, in the order in which they arrived. One that cannot be read is dropped: a
    /// stranger can have sent it.
    func waitingChanges(of group: StoredGroup) throws(StateError) -> [GroupChange] {
        if let known = waitingChanges[group.number] { return known }
        let rows = try connection.rows(
            "SELECT mark, sealed FROM group_change WHERE group_id = ? AND aside = 1 ORDER BY place",
            group.number
        ) { (mark: $0.bytes(0), sealed: $0.bytes(1)) }
        var waiting: [GroupChange] = []
        for (mark, sealed) in rows {
            let found = try store.readable(.waitingChange, mark) { () throws(StateError) in
                try change(sealed, mark: mark)
            }
            if let found {
                waiting.append(found)
            } else {
                try connection.run("DELETE FROM group_change WHERE mark = ? AND aside = 1", mark)
            }
        }
        waitingChanges[group.number] = waiting
        return waiting
    }

    /// Whether naming some waiting changes can store one: the log has all parents of one of them, or of one before them.
    func canStore(named heads: [GroupID], in group: StoredGroup) throws(StateError) -> Bool {
        let waiting = try waitingChanges(of: group)
        let named = ChangeIntake.past(of: heads, among: waiting)
        return waiting.contains {
            named.contains($0.id) && $0.parents.allSatisfy(group.log.contains)
        }
    }

    /// Adds those of the pending changes that can be stored, each after its parents. Returns them.
    private func take(
        _ intake: inout ChangeIntake, named heads: [GroupID], by sender: KeyID?,
        _ time: Timestamp
    ) throws -> [GroupChange] {
        var stored: [GroupChange] = []
        var aside: [GroupChange] = []
        intake.findNamed(heads, by: sender)
        for change in intake.pending {
            if intake.mustFold(before: change) { try fold(&intake) }
            switch intake.add(change) {
            case .stored:
                intake.group.places[change.id] = try store(
                    change, of: intake.group.number, aside: false, time)
                stored.append(change)
                // The member writes from these devices, and gets mail there.
                if case .devices(let list) = change.act { try take(devices: list) }
            case .waits: aside.append(change)
            case .known: break
            case .refused:
                waitingChanges[intake.group.number] = nil
                try connection.run(
                    "DELETE FROM group_change WHERE mark = ? AND aside = 1",
                    store.mark(change: change.id))
            }
        }
        intake.pending = aside
        return stored
    }

    private func fold(_ intake: inout ChangeIntake) throws(StateError) {
        try fold(&intake.group)
        intake.noteFold()
    }

    /// Returns how many more changes of each of some people are stored now, and bytes of changes. A person who is not among
    /// them may have any number: an admin, and the inviter until the owner has joined.
    private func changesLeft(
        to people: Set<KeyID>, in group: StoredGroup, from sender: KeyID?, _ time: Timestamp
    ) throws(StateError) -> [KeyID: ChangeIntake.Space] {
        let limited = people.filter {
            $0 != owner.id && group.state.ranks[$0] ?? .nobody < .admin
        }
        guard !limited.isEmpty else { return [:] }
        if group.standing != .member {
            guard let sender, let inviter = try inviter(of: group), sender != inviter else {
                return [:]
            }
        }
        let recent = Set(
            try connection.rows(
                "SELECT place FROM group_change WHERE group_id = ? AND aside = 0 AND time > ?",
                group.number, time.seconds - 3_600
            ) { $0.integer(0) })
        let full = Dictionary(
            uniqueKeysWithValues: limited.map { ($0, ChangeIntake.Space()) })
        var left = full
        for change in group.log.changes {
            guard let place = group.places[change.id], recent.contains(place) else { continue }
            // The changes before it came with the invitation.
            if change.by == owner.id, change.act.isJoin { left = full }
            left[change.by]?.take(change)
        }
        return left
    }

    /// Keeps changes that wait, at most ``mostAside`` of a group, each for ``asideDays``. Returns those that wait now.
    private func setAside(
        _ changes: [GroupChange], in group: StoredGroup, _ time: Timestamp
    ) throws(StateError) -> [GroupChange] {
        waitingChanges[group.number] = nil
        try connection.run(
            "DELETE FROM group_change WHERE group_id = ? AND aside = 1 AND time < ?",
            group.number, time.seconds - Self.asideDays * Self.day)
        let waiting = try waitingChanges(of: group)
        let known = Set(waiting.map(\.id))
        let new = changes.filter { !known.contains($0.id) }
        guard !new.isEmpty else { return waiting }
        let kept = ChangeIntake.kept(waiting + new, most: Int(Self.mostAside), in: group)
        let ids = Set(kept.map(\.id))
        for change in waiting where !ids.contains(change.id) {
            try connection.run(
                "DELETE FROM group_change WHERE mark = ? AND aside = 1",
                store.mark(change: change.id))
        }
        for change in new where ids.contains(change.id) {
            _ = try store(change, of: group.number, aside: true, time)
        }
        waitingChanges[group.number] = nil
        return kept
    }
}

/// The changes that arrived, and the decision which of them are stored now.
struct ChangeIntake {
    /// The changes of a member in an hour that are stored although no other member names them.
    struct Space {
        private var changes = 200
        private var bytes = 256 << 10

        /// Whether nothing is left.
        var isEmpty: Bool { changes <= 0 || bytes <= 0 }

        mutating func take(_ change: GroupChange) {
            changes -= 1
            bytes -= change.bytes.count
        }
    }

    /// The most times that the log is folded for the changes of one body.
    private static let mostFolds = 32
    /// The most of these for people who enter again. Chance decides whose changes are tried.
    private static let mostEntryFolds = 8

    var group: StoredGroup
    var pending: [GroupChange]
    /// The space for further changes of a person that no other member names or sent. A person without an entry has no limit.
    var left: [KeyID: Space] = [:]
    /// The changes that another member than their author sent.
    var relayed: Set<GroupID> = []
    /// The entries that did not make their author a member, with the number of changes that the log had.
    var failedEntries: [GroupID: Int] = [:]
    private let isNew: Bool
    private var folds = 0
    private var entryFolds = 0
    /// The authors of stored changes that can have taken ranks from others since the last fold.
    private var cutters: Set<KeyID> = []
    /// Whether a change took its author's own rank away since the last fold.
    private var hasLeft = false
    /// The changes that members name, and for a person those that others name.
    private var named: Set<GroupID> = []
    private var namedByOthers: [KeyID: Set<GroupID>] = [:]
    /// The changes that a message names, and its author.
    private var heads: (ids: [GroupID], by: KeyID?) = ([], nil)

    init(_ group: StoredGroup, pending: [GroupChange], isNew: Bool) {
        (self.group, self.pending, self.isNew) = (group, pending, isNew)
    }

    /// Whether the log may be folded again.
    var mayFold: Bool { folds < Self.mostFolds }

    /// Whether a stored change can have taken the rank of the author of the next one.
    func mustFold(before change: GroupChange) -> Bool {
        !isNew && mayFold && (hasLeft || !cutters.isSubset(of: [change.by]))
    }

    mutating func noteFold() {
        folds += 1
        (cutters, hasLeft) = ([], false)
    }

    /// Finds the pending changes that members name. `heads` are those that a message of the sender names.
    mutating func findNamed(_ heads: [GroupID], by sender: KeyID?) {
        self.heads = (heads, sender)
        namedByOthers = [:]
        let ranks = group.state.ranks
        let naming = pending.filter { ranks[$0.by] != nil }
        named = Self.past(of: naming.flatMap(\.parents) + heads, among: pending)
        nameEntries()
    }

    /// Names the changes of people who enter again: their pending `join` comes after changes that they wrote before they learned of
    /// their removal, and that no member names.
    private mutating func nameEntries() {
        let count = group.log.changes.count
        let joins = pending.filter { join in
            guard case .join = join.act else { return false }
            return group.state.ranks[join.by] == nil && !named.contains(join.id)
                && !join.parents.allSatisfy(group.log.contains) && failedEntries[join.id] != count
        }
        guard !joins.isEmpty else { return }
        let complete = completeChanges()
        for join in joins.shuffled() where complete.contains(join.id) && !named.contains(join.id) {
            guard mayFold, entryFolds < Self.mostEntryFolds else { return }
            folds += 1
            entryFolds += 1
            let past = Self.past(of: [join.id], among: pending)
            if group.log.adding(pending.filter { past.contains($0.id) })?.ranks[join.by] != nil {
                named.formUnion(past)
            } else {
                failedEntries[join.id] = count
            }
        }
    }

    /// Returns the pending changes of which no earlier change is missing. Each pending change comes after its parents.
    private func completeChanges() -> Set<GroupID> {
        var complete: Set<GroupID> = []
        for change in pending {
            let isComplete = change.parents.allSatisfy {
                group.log.contains($0) || complete.contains($0)
            }
            if isComplete { complete.insert(change.id) }
        }
        return complete
    }

    /// Whether another member than its author names a change.
    private mutating func isNamedByOthers(_ change: GroupChange) -> Bool {
        if let known = namedByOthers[change.by] { return known.contains(change.id) }
        let ranks = group.state.ranks
        let naming = pending.filter { $0.by != change.by && ranks[$0.by] != nil }
        let ids = naming.flatMap(\.parents) + (heads.by == change.by ? [] : heads.ids)
        let found = Self.past(of: ids, among: pending)
        namedByOthers[change.by] = found
        return found.contains(change.id)
    }

    /// Adds a change to the log if it is trusted. A change that is not trusted is stored only if it makes its author a
    /// member; a `door-join` waits too.
    mutating func add(_ change: GroupChange) -> GroupLog.Outcome {
        let rank = group.state.ranks[change.by]
        if group.log.isFull, change.act.usesReserve {
            // The log before the change is folded.
            guard mayFold, (rank ?? .nobody) >= .moderator || named.contains(change.id) else {
                return .waits([])
            }
            folds += 1
        }
        if !isNew, rank == nil, !named.contains(change.id) {
            let outcome = group.log.outcome(of: change)
            guard outcome == .stored else { return outcome }
            guard case .join = change.act, group.log.admits(change, in: group.state) else {
                return .waits([])
            }
        }
        if let left = left[change.by], left.isEmpty, !relayed.contains(change.id),
            !isNamedByOthers(change)
        {
            return .waits([])
        }
        let outcome = group.log.add(change)
        if outcome == .stored { noteStored(change, rank) }
        return outcome
    }

    private mutating func noteStored(_ change: GroupChange, _ rank: GroupRank?) {
        left[change.by]?.take(change)
        guard change.act.isCut else { return }
        if let left = change.act.leaves(change.by) {
            if left < rank ?? .nobody { hasLeft = true }
        } else if rank.map({ $0 >= .moderator }) ?? true {
            cutters.insert(change.by)
        }
    }

    /// Returns those of some waiting changes that are kept; the oldest come first. Changes of people with a higher rank precede
    /// those with a lower one, and changes of people whom the log names precede those of others. Among equals, all authors
    /// keep the same number, and each the newest.
    static func kept(
        _ changes: [GroupChange], most: Int, in group: StoredGroup
    ) -> [GroupChange] {
        guard changes.count > most else { return changes }
        var counts: [KeyID: Int] = [:]
        let places = changes.indices.reversed().map { index in
            let author = changes[index].by
            counts[author, default: 0] += 1
            return (
                index: index, later: counts[author] ?? 0,
                rank: group.state.ranks[author] ?? .nobody, isNamed: group.log.names(author)
            )
        }
        let first = places.sorted {
            if $0.rank != $1.rank { return $0.rank > $1.rank }
            if $0.isNamed != $1.isNamed { return $0.isNamed }
            return ($0.later, $1.index) < ($1.later, $0.index)
        }
        return first.prefix(most).map(\.index).sorted().map { changes[$0] }
    }

    /// Returns changes, each after its parents.
    static func sorted(_ changes: [GroupChange]) -> [GroupChange] {
        let byID = Dictionary(changes.map { ($0.id, $0) }) { first, _ in first }
        var sorted: [GroupChange] = []
        var seen: Set<GroupID> = []
        for change in changes {
            // The second visit to a change, after its parents, appends it.
            var stack = [(change: change, isReady: false)]
            while let (next, isReady) = stack.popLast() {
                if isReady {
                    sorted.append(next)
                } else if seen.insert(next.id).inserted {
                    stack.append((next, true))
                    stack += next.parents.reversed().compactMap { byID[$0] }.map { ($0, false) }
                }
            }
        }
        return sorted
    }

    /// Returns some ids, and those of the changes before them, as far as they are among `changes`.
    static func past(of ids: [GroupID], among changes: [GroupChange]) -> Set<GroupID> {
        let parents = Dictionary(changes.map { ($0.id, $0.parents) }) { first, _ in first }
        var past = Set(ids)
        var next = ids
        while let id = next.popLast() {
            next += (parents[id] ?? []).filter { past.insert($0).inserted }
        }
        return past
    }
}
