package import Sotto
import SottoDatabase

/// The own chain of a group.
struct OwnGroupChain {
    var chain: GroupChain
    /// Counts the chains of the group, from 1.
    let serial: Int64
    /// When it was made, in seconds since 1970.
    let made: Int64

    /// Seconds after which a chain ends.
    static let lifetime: Int64 = 7 * 86_400
}

/// A message to a group that is prepared: who reads it, and what they get before it.
package struct GroupSending {
    package let group: StoredGroup
    let own: OwnGroupChain
    /// The members who read the message, without the owner.
    package let readers: [SessionID]
    /// What members get before the message: the chain, and changes.
    package let bodies: [(to: SessionID, body: GroupBody)]
    /// What is known of the members.
    package let notes: [SessionID: GroupMemberNote]
}

/// Sending to groups.
extension StateTransaction {
    /// The most bytes of changes and cards in one body.
    private static let bodyBytes = 20 << 10

    /// Prepares the next message to a group: begins a new chain if a holder of the present one may not read the owner any
    /// more, or the chain has its last message or is seven days old.
    ///
    /// Throws ``GroupError/notMember`` or ``GroupError/mayNotPost``.
    package func prepareMessage(
        to group: StoredGroup, at time: Timestamp
    ) throws -> GroupSending {
        guard group.rank > .nobody else { throw GroupError.notMember }
        guard group.rank >= group.state.policy.post else { throw GroupError.mayNotPost }
        let notes = try notes(of: group)
        let readers = entitled(group, notes)
        let holders = notes.values.filter { $0.holds > 0 }
        var own = try ownChain(of: group)
        let isOver =
            own.map { own in
                own.chain.isEnded || time.seconds - own.made > OwnGroupChain.lifetime
                    || holders.contains { $0.holds == own.serial && !readers.contains($0.id) }
            } ?? true
        if isOver {
            own = OwnGroupChain(
                chain: GroupChain(group: group.id, device: owner.id),
                serial: (own?.serial ?? 0) + 1, made: time.seconds)
        }
        guard let own else { throw GroupError.notMember }
        var bodies: [(to: SessionID, body: GroupBody)] = []
        for reader in readers {
            let note = notes[reader] ?? GroupMemberNote(id: reader)
            var parts = try due(for: note, in: group, notes, at: time)
            if note.holds != own.serial {
                if parts.isEmpty { parts.append(GroupBody(group.id)) }
                parts[parts.count - 1].chain = own.chain.distribution.object()
            }
            bodies += parts.map { (to: reader, body: $0) }
        }
        try write(own, of: group)
        return GroupSending(
            group: group, own: own, readers: readers, bodies: bodies, notes: notes)
    }

    /// Returns the members who may read what the owner writes, without the owner.
    private func entitled(
        _ group: StoredGroup, _ notes: [SessionID: GroupMemberNote]
    ) -> [SessionID] {
        group.members.map(\.id).filter { reader in
            guard reader != owner.id else { return false }
            guard group.state.policy.visibility == .granted else { return true }
            return group.log.joined(reader, before: owner.id) || notes[reader]?.isGranted == true
        }
    }

    /// Returns the changes that a member did not get yet, in bodies of limited length: those of the owner, and the joins of
    /// others whom the owner invited, and those that the member asked for. With a join comes the newcomer's card. Asks for changes that the member has.
    package func due(
        for note: GroupMemberNote, in group: StoredGroup,
        _ notes: [SessionID: GroupMemberNote], at time: Timestamp = .now()
    ) throws(StateError) -> [GroupBody] {
        let invited = group.log.changes.reduce(into: Set<SessionID>()) { invited, change in
            guard change.by == owner.id, case .invite(let who, _) = change.act else { return }
            invited.formUnion(who)
        }
        let wanted = Set(note.wanted)
        let changes = group.log.changes.filter { change in
            if wanted.contains(change.id) { return true }
            guard (group.rows[change.id] ?? 0) > note.told, change.by != note.id else {
                return false
            }
            if change.by == owner.id { return true }
            switch change.act {
            case .join, .doorJoin: return invited.contains(change.by)
            default: return false
            }
        }
        let newcomers = changes.filter { change in
            switch change.act {
            case .join, .doorJoin: change.by != owner.id
            default: false
            }
        }
        var bodies = Self.bodies(
            of: group.id, changes, cards: newcomers.compactMap { notes[$0.by]?.card })
        let missing = note.missing.filter { !group.log.contains($0) }
        if !missing.isEmpty, time.seconds - note.asked >= Self.askAgain {
            if bodies.isEmpty { bodies.append(GroupBody(group.id)) }
            bodies[0].request = Array(missing.suffix(GroupBody.most))
        }
        let isShown =
            switch group.state.policy.visibility {
            case .joined: false
            case .global: true
            case .granted: note.isGranted
            }
        guard isShown, !note.hasHistory else { return bodies }
        let earlier = try earlierMessages(of: group)
        if earlier[0].history.isEmpty, let last = bodies.indices.last {
            bodies[last].isComplete = true
            return bodies
        }
        return bodies + earlier
    }

    /// The most earlier messages that a member gets.
    private static let mostEarlier = 5_000

    /// Returns the owner's messages to a group as they stand now, without those that are deleted after some time.
    private func earlierMessages(of group: StoredGroup) throws(StateError) -> [GroupBody] {
        let row = try row(of: .group(group.id))
        let entries = try store.entries(
            """
            WHERE conversation = ? AND kind = 0 AND sent = 1 AND sealed IS NOT NULL
            ORDER BY number DESC LIMIT ?
            """, row.number, Self.mostEarlier, connection: connection)
        var bodies = [GroupBody(group.id)]
        var bytes = 0
        for entry in entries.reversed() {
            guard let id = entry.id, let time = entry.time else { continue }
            let events = try store.events(on: id, in: row, connection)
            let view = MessageView(entry, events: events, owner: owner.id)
            guard let body = view.body, body["expires"] == nil else { continue }
            let message: JSONObject = [
                "id": .string(id), "time": .string(time.description), "body": .object(body),
            ]
            let count = message.serialized().count
            if bytes > 0,
                bytes + count > Self.bodyBytes
                    || bodies[bodies.count - 1].history.count == GroupBody.most
            {
                bodies.append(GroupBody(group.id))
                bytes = 0
            }
            bodies[bodies.count - 1].history.append(message)
            bytes += count
        }
        bodies[bodies.count - 1].isComplete = true
        return bodies
    }

    /// Returns what somebody who is no member gets: the owner's changes that removed them, and of the changes that they asked
    /// for those before any removal of theirs. They do not learn what happens later.
    package func farewell(
        to note: GroupMemberNote, in group: StoredGroup
    ) -> [GroupBody] {
        let removals = group.log.changes.filter { change in
            switch change.act {
            case .remove(let who, _), .ban(let who, _): who.contains(note.id)
            default: false
            }
        }
        var asks: [GroupBody] = []
        let missing = note.missing.filter { !group.log.contains($0) }
        if !missing.isEmpty, Timestamp.now().seconds - note.asked >= Self.askAgain {
            asks.append(GroupBody(group.id))
            asks[0].request = Array(missing.suffix(GroupBody.most))
        }
        let past = note.wanted.isEmpty ? [] : group.log.past(of: removals.map(\.id))
        let wanted = Set(note.wanted).intersection(past)
        return asks
            + Self.bodies(
                of: group.id,
                group.log.changes.filter { change in
                    wanted.contains(change.id)
                        || change.by == owner.id && (group.rows[change.id] ?? 0) > note.told
                            && removals.contains { $0.id == change.id }
                }, cards: [])
    }

    /// Seconds after which a member is asked again for the same changes.
    private static let askAgain: Int64 = 600

    /// Returns the bodies of an invitation: the whole log and the cards of the members. Each has the first change, without which
    /// the group is unknown: they may arrive in any order.
    package static func invitation(to group: StoredGroup, cards: [Card]) -> [GroupBody] {
        let first = group.log.changes[0]
        return bodies(of: group.id, group.log.changes, cards: cards).enumerated().map {
            place, body in
            guard place > 0, let record = try? JSON.object(parsing: first.bytes) else {
                return body
            }
            var body = body
            body.changes.insert(record, at: 0)
            return body
        }
    }

    /// Returns bodies with changes and cards.
    package static func bodies(
        of group: GroupID, _ changes: [GroupChange], cards: [Card]
    ) -> [GroupBody] {
        var bodies: [GroupBody] = []
        var body = GroupBody(group)
        var bytes = 0
        func add(_ count: Int, _ append: (inout GroupBody) -> Void) {
            if bytes > 0,
                bytes + count > bodyBytes
                    || max(body.changes.count, body.cards.count) == GroupBody.most
            {
                bodies.append(body)
                (body, bytes) = (GroupBody(group), 0)
            }
            append(&body)
            bytes += count
        }
        for change in changes {
            guard let record = try? JSON.object(parsing: change.bytes) else { continue }
            add(change.bytes.count) { $0.changes.append(record) }
        }
        for card in cards {
            guard let record = card.record else { continue }
            add(record.serialized().count) { $0.cards.append(record) }
        }
        if bytes > 0 { bodies.append(body) }
        return bodies
    }

    /// Records that a body for a member was encrypted in this transaction.
    package func noteSealed(_ body: GroupBody, to member: SessionID) throws(StateError) {
        guard let group = try group(body.group) else { return }
        var note = try note(of: member, in: group)
        for record in body.changes {
            let id = GroupID(sha256(JSON.object(record).canonical()))
            guard let row = group.rows[id] else { continue }
            if let place = note.wanted.firstIndex(of: id) {
                // The member asked for it, so earlier changes may be missing there.
                note.wanted.remove(at: place)
            } else {
                note.told = max(note.told, row)
            }
        }
        if !body.request.isEmpty { note.asked = Timestamp.now().seconds }
        if body.isComplete { note.hasHistory = true }
        if body.chain != nil, let own = try ownChain(of: group) { note.holds = own.serial }
        try write(note, of: group)
    }

    /// Encrypts a message to a group for some of its readers. Returns its record and the envelopes, in the order of
    /// `readers`. Throws ``GroupChainError/tooLong(limit:)``.
    package func seal(
        _ draft: Draft, _ sending: GroupSending, to readers: [SessionID]
    ) throws -> (message: Message, envelopes: [Envelope]) {
        let group = sending.group
        if let target = try MessageBody(draft.body).moderated, target.from != owner.id {
            guard group.rank >= group.state.policy.pin else { throw GroupError.refused }
        }
        // A message before it in this transaction may have used the chain.
        guard var own = try ownChain(of: group) else { throw GroupError.notMember }
        let content = GroupContent(
            group: group.id, time: draft.time, heads: group.heads, state: group.state.digest,
            body: draft.body, extra: draft.extra)
        let id = GroupContent.messageID(chain: own.chain.id, iteration: own.chain.iteration)
        let sealed = try own.chain.seal(content.bytes)
        let envelopes = readers.map { reader in
            let address = GroupCopy.Address(id: Envelope.newID(), to: reader, time: draft.time)
            return Envelope(
                id: address.id, suite: .group, to: reader, time: draft.time, ttl: draft.ttl,
                payload: own.chain.copy(sealed, for: address).payload)
        }
        try write(own, of: group)
        var message = Message(
            id: id, from: owner.id, to: nil, time: draft.time, suite: .group, authenticated: true,
            trust: .verified, body: draft.body,
            members: JSONObject(draft.extra.map { ($0.name, $0.value) }))
        message.group = group.id.description
        message.role = group.rank.name
        message.details = group.details(of: owner.id)
        return (message, envelopes)
    }

    func ownChain(of group: StoredGroup) throws(StateError) -> OwnGroupChain? {
        try connection.first(
            "SELECT serial, made, sealed FROM own_chain WHERE team = ?", group.number
        ) { row throws(StateError) in
            var bytes = try store.unseal(row.bytes(2), .ownChain(team: group.number))
            defer { wipe(&bytes) }
            guard let chain = GroupChain(encoded: bytes), chain.group == group.id else {
                throw StateError.unsealable(path: store.database.path)
            }
            return OwnGroupChain(chain: chain, serial: row.integer(0), made: row.integer(1))
        }
    }

    private func write(_ own: OwnGroupChain, of group: StoredGroup) throws(StateError) {
        var bytes = own.chain.encoded()
        defer { wipe(&bytes) }
        try connection.run(
            """
            INSERT INTO own_chain (team, serial, made, sealed) VALUES (?, ?, ?, ?)
            ON CONFLICT (team) DO UPDATE SET
                serial = excluded.serial, made = excluded.made, sealed = excluded.sealed
            """, group.number, own.serial, own.made,
            store.seal(bytes, .ownChain(team: group.number)))
    }

    /// Returns the limits for a member who is removed: the last message of each of the member's chains that is here. For the
    /// owner, who leaves, the last message sent.
    package func limits(
        of member: SessionID, in group: StoredGroup
    ) throws(StateError) -> [GroupChange.Limit] {
        if member == owner.id {
            guard let own = try ownChain(of: group), own.chain.iteration > 0 else { return [] }
            return [
                GroupChange.Limit(
                    device: member, chain: own.chain.id, iteration: own.chain.iteration - 1)
            ]
        }
        return try connection.rows(
            "SELECT tag, sealed FROM group_chain WHERE team = ? AND device = ? ORDER BY number",
            group.number, store.mark(member)
        ) { row throws(StateError) in
            try received(row.bytes(1), tag: row.bytes(0))
        }.filter { $0.iteration > 0 }.suffix(GroupChange.mostMembers).map {
            GroupChange.Limit(device: member, chain: $0.id, iteration: $0.iteration - 1)
        }
    }
}

extension MessageBody {
    /// The target of a deletion or a pin, which a moderator may write for the message of another member.
    var moderated: MessageTarget? {
        switch kind {
        case .delete(let target), .pin(let target, _), .unpin(let target): target
        default: nil
        }
    }
}
