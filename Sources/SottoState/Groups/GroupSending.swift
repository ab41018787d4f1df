package import Sotto
import SottoDatabase

/// The own chain of a group.
struct OwnGroupChain {
    var chain: GroupChain
    /// Counts the chains of the group, from 1.
    let serial: Int64
    /// When it was made, in seconds since 1970.
    let made: Int64
    /// The chains before this one, at most ``mostEarlier``, the last one last.
    var earlier: [GroupChainDistribution.PreviousChain] = []

    /// Adds the chain to the bodies for a member. The member sees where the chains before it ended. `first` is the first chain
    /// with a message that the member could read, or `nil`. It can be the present one.
    func add(to bodies: inout [GroupBody], since first: [UInt8]?) {
        var distribution = chain.distribution
        let begun = chain.iteration > 0 ? all : earlier
        if let place = begun.firstIndex(where: { $0.chain == first }) {
            distribution.previous = begun[place...].suffix(GroupChainDistribution.mostPrevious)
        }
        bodies.add(to: chain.group) { $0.chain = distribution.object() }
    }

    /// Seconds after which a chain ends.
    static let lifetime: Int64 = 7 * 86_400
    /// The most chains before the present one that are kept.
    static let mostEarlier = 64

    /// The chains before the next one.
    var all: [GroupChainDistribution.PreviousChain] {
        Array((earlier + [.init(chain: chain.id, count: chain.iteration)]).suffix(Self.mostEarlier))
    }

    /// The first of these chains.
    fileprivate var first: [UInt8] { earlier.first?.chain ?? chain.id }
}

extension OwnGroupChain {
    /// Reads ``encoded``, or returns `nil`.
    init?(_ bytes: [UInt8], serial: Int64, made: Int64) {
        var reader = ByteReader(bytes[...])
        guard let first = reader.bytes(GroupChain.encodedBytes),
            let chain = GroupChain(encoded: Array(first))
        else { return nil }
        self.init(chain: chain, serial: serial, made: made)
        while !reader.remaining.isEmpty {
            guard let id = reader.bytes(32), let count = reader.integer(UInt32.self) else {
                return nil
            }
            earlier.append(.init(chain: Array(id), count: count))
        }
    }

    /// The chain's bytes ‖ the id (32) and the number of messages (4) of each chain of ``earlier``. The caller wipes them.
    var encoded: [UInt8] {
        chain.encoded() + earlier.flatMap { $0.chain + $0.count.bigEndianBytes }
    }
}

/// A message to a group before encryption, with its readers and with the bodies that members get before it.
package struct GroupSending {
    package let group: StoredGroup
    let own: OwnGroupChain
    /// The notes about members.
    package let notes: [KeyID: GroupMemberNote]
    /// The notes about people who could read an earlier message, and cannot read this one.
    let former: [GroupMemberNote]
    /// The devices of all members that get changes and messages; see ``StoredGroup/seats``.
    package let seats: [GroupSeat]
    /// The devices that read the message, without this one.
    package let readers: [KeyID]
    /// The devices of members who get the message only after the restored group is confirmed.
    package let withheld: [KeyID]
    /// The chain, and the changes that members lack.
    package let bodies: [(to: KeyID, body: GroupBody)]
}

/// Sending to groups.
extension StateTransaction {
    /// Prepares the next message to a group: begins a new chain if a holder of the present one may not read the owner any
    /// more, or the chain has its last message or is seven days old. ``seal(_:_:to:)`` stores the chain. A message that was prepared
    /// before, since when nothing changed, is returned.
    ///
    /// Throws ``GroupError/notMember``, ``GroupError/doubtful(id:)`` or ``GroupError/mayNotPost``.
    package func prepareMessage(
        to group: StoredGroup, at time: Timestamp
    ) throws -> GroupSending {
        if let known = preparedMessages[group.id], known.changes == connection.allChanges {
            return known.sending
        }
        let sending = try newMessage(to: group, at: time)
        preparedMessages[group.id] = (sending, connection.allChanges)
        return sending
    }

    private func newMessage(
        to group: StoredGroup, at time: Timestamp
    ) throws -> GroupSending {
        let group = try writeDevices(in: group, at: time)
        // The envelopes of an earlier message can still be on their way.
        let dues = try dues(in: group, olderThan: Departure.recent, at: time)
        try Self.checkWriting(to: group, dues.notes)
        let seats = group.seats
        let (readers, withheld) = try audience(of: group, seats, dues.notes)
        let own = try currentChain(of: group, readers, dues.notes, at: time)
        let isReader = Set(readers)
        var bodies: [(to: KeyID, body: GroupBody)] = []
        for seat in seats where isReader.contains(seat.device) {
            let reader = seat.device
            var parts = try due(to: seat, in: dues)
            let note = dues.note(of: seat)
            if note.holds != own.serial || note.wantsChain {
                own.add(to: &parts, since: try firstChain(of: note, in: own))
            }
            bodies += parts.map { (to: reader, body: $0) }
        }
        let suspended = try suspended(in: group).flatMap { group.seats(of: $0).map(\.device) }
        let present = Set(readers).union(suspended)
        // A doubt takes the messages from a member, but not the right to them.
        let former = dues.notes.values.filter {
            !group.isDoubtful && $0.unreadUntil != nil && !present.contains($0.id)
        }
        return GroupSending(
            group: group, own: own, notes: dues.notes, former: former, seats: seats,
            readers: readers, withheld: withheld, bodies: bodies)
    }

    /// Returns the devices that may read what the owner writes, without this one.
    ///
    /// Throws ``GroupError/notMember``, ``GroupError/doubtful(id:)`` or ``GroupError/mayNotPost``.
    package func readers(of group: StoredGroup) throws -> [KeyID] {
        let notes = try notes(of: group)
        try Self.checkWriting(to: group, notes)
        return try entitled(group, notes)
    }

    /// Notes that members may read the messages from the next one on, although they did not get the chain. They can ask for
    /// these messages after they get it.
    package func noteWaiting(
        _ members: [KeyID], in group: StoredGroup
    ) throws(StateError) {
        for member in members {
            var note = try note(of: member, in: group)
            guard note.unreadUntil == nil else { continue }
            note.unreadUntil = try lastSentMessage(to: group)
            try write(note, of: group)
        }
    }

    /// Notes members who may read a message of the owner and got no copy.
    package func noteOwed(
        _ message: Message, to members: [KeyID], in group: StoredGroup
    ) throws(StateError) {
        let repeated = message.body["ids"]?.array?.compactMap(\.string)
        // Of a repeat, its messages are owed.
        let isRepeat = message.body["type"]?.string == RepeatedMessages.type
        try noteOwed(isRepeat ? repeated ?? [] : [message.id], to: members, in: group)
    }

    /// Notes members who may read messages of the owner, with these ids, and got no copies. They get them, with the chain if they lack
    /// that, as soon as they are reached.
    func noteOwed(
        _ ids: [String], to members: [KeyID], in group: StoredGroup
    ) throws(StateError) {
        guard !members.isEmpty else { return }
        try noteWaiting(members, in: group)
        let serial = try chainSerial(of: group)
        for member in members {
            var note = try note(of: member, in: group)
            if note.holds != serial { note.wantsChain = true }
            note.owe(ids)
            try write(note, of: group)
        }
    }

    private static func checkWriting(
        to group: StoredGroup, _ notes: [KeyID: GroupMemberNote]
    ) throws(GroupError) {
        guard group.rank > .nobody else { throw .notMember }
        guard group.isListed else { throw .unlisted(id: group.id.short) }
        guard !group.isDoubtful || !group.confirmers(notes.values).isEmpty else {
            throw .doubtful(id: group.id.short)
        }
        guard group.rank >= group.state.policy.post else { throw .mayNotPost }
    }

    /// Returns the devices that may read what the owner writes now, without this one.
    func entitled(
        _ group: StoredGroup, _ notes: [KeyID: GroupMemberNote]
    ) throws(StateError) -> [KeyID] {
        try audience(of: group, group.seats, notes).readers
    }

    /// Returns the devices that may read what the owner writes now, and those that may read it after the restored group is
    /// confirmed, without this one. The first member who confirms it and the members from after the backup wait: they can have
    /// been removed, and can have brought in others.
    private func audience(
        of group: StoredGroup, _ seats: [GroupSeat], _ notes: [KeyID: GroupMemberNote]
    ) throws(StateError) -> (readers: [KeyID], withheld: [KeyID]) {
        let suspended = try suspended(in: group)
        var readers: [GroupSeat] = []
        for seat in seats
        where Self.isEntitled(seat.member, in: group, notes[seat.member])
            && !suspended.contains(seat.member)
        {
            guard try !wasRemoved(seat, in: group) else { continue }
            readers.append(seat)
        }
        guard group.isDoubtful else { return (readers.map(\.device), []) }
        let confirmed = group.witnesses.subtracting(group.confirmers(notes.values))
        return (
            readers.filter { confirmed.contains($0.member) }.map(\.device),
            readers.filter { !confirmed.contains($0.member) }.map(\.device)
        )
    }

    /// Returns the members whom a change removes that waits for others, if its author has the power for it now. The removed
    /// person can withhold the others.
    func suspended(in group: StoredGroup) throws(StateError) -> Set<KeyID> {
        let ranks = group.state.ranks
        var suspended: Set<KeyID> = []
        for change in try waitingChanges(of: group) {
            guard let rank = ranks[change.by], rank >= .moderator else { continue }
            suspended.formUnion(change.act.removed.filter { ranks[$0].map { $0 < rank } ?? false })
        }
        return suspended
    }

    static func isEntitled(
        _ reader: KeyID, in group: StoredGroup, _ note: GroupMemberNote?
    ) -> Bool {
        guard group.state.ranks[reader] != nil else { return false }
        // The owner's other devices read all that this one writes.
        guard reader != group.owner else { return true }
        guard group.state.policy.visibility == .granted else { return true }
        return group.log.joined(reader, before: group.owner) || note?.isGranted == true
    }

    /// Removes from a body what the person has no right to any more: keys and earlier messages. A record of `group` can be older
    /// than the removal of the person. Returns whether anything was removed.
    package func removeLostRights(
        from body: inout GroupBody, of person: KeyID
    ) throws(StateError) -> Bool {
        guard body.chain != nil || body.room != nil || !body.history.isEmpty,
            let group = try group(body.group)
        else { return false }
        var isLess = false
        let person = group.log.member(of: person)
        let note = try note(of: person, in: group)
        let isSuspended = try suspended(in: group).contains(person)
        if body.chain != nil || !body.history.isEmpty,
            group.rank == .nobody || group.isDoubtful || isSuspended
                || !Self.isEntitled(person, in: group, note)
        {
            (body.chain, body.history) = (nil, [])
            isLess = true
        }
        if body.room != nil, group.state.ranks[person] ?? .nobody < .moderator {
            body.room = nil
            isLess = true
        }
        return isLess
    }

    /// Returns the own chain, or a new one if the stored one must not be used any more.
    private func currentChain(
        of group: StoredGroup, _ readers: [KeyID], _ notes: [KeyID: GroupMemberNote],
        at time: Timestamp
    ) throws(StateError) -> OwnGroupChain {
        let own = try ownChain(of: group)
        if let own, !own.chain.isEnded, time.seconds - own.made <= OwnGroupChain.lifetime {
            let readers = Set(readers)
            let isHeldByOthers = notes.values.contains {
                $0.holds == own.serial && !readers.contains($0.id)
            }
            if !isHeldByOthers { return own }
        }
        return OwnGroupChain(
            // A chain that cannot be read is replaced too.
            chain: GroupChain(group: group.id, device: owner.device),
            serial: try chainSerial(of: group) + 1,
            made: time.seconds, earlier: own?.all ?? [])
    }

    /// Returns the id of the first chain with a message that a member could read since joining, or `nil` for a member who could read
    /// none.
    func firstChain(
        of member: GroupMemberNote, in own: OwnGroupChain
    ) throws(StateError) -> [UInt8]? {
        guard let last = member.unreadUntil else { return nil }
        if last == GroupMemberNote.nothing { return own.first }
        // The chain of the last message before it: the member can have got it later.
        return try store.entries("WHERE mark = ?", store.mark(sent: last), connection: connection)
            .first?.groupPlace?.chain(own.chain.group, owner.device)
    }

    /// Encrypts a message to a group for some of its readers. Returns its record and the envelopes, in the order of
    /// `readers`.
    ///
    /// Throws ``GroupChainError/tooLong(limit:)``, and ``GroupError/refused`` for a deletion or a pin of the message of another
    /// member that the owner's rank does not permit, and for a body about a group, which is for one person.
    package func seal(
        _ draft: Draft, _ sending: GroupSending, to readers: [KeyID]
    ) throws -> (message: Message, envelopes: [Envelope]) {
        let group = sending.group
        guard group.permits(try MessageBody(draft.body), by: owner.id, rank: group.rank) else {
            throw GroupError.refused
        }
        var own = sending.own
        let content = GroupContent(
            group: group.id, time: draft.time, heads: group.heads, state: group.state.digest,
            body: draft.body, extra: draft.extra)
        let place = GroupContent.Place(next: own.chain)
        let sealed = try own.chain.seal(content.bytes)
        let id = place.id(group.id, owner.device)
        let addresses = readers.map { reader in
            GroupCopy.Address(
                id: store.copyID(of: id, for: reader), to: reader, time: draft.time)
        }
        let copies = own.chain.copies(sealed, for: addresses)
        let envelopes = zip(addresses, copies).map { address, copy in
            Envelope(
                id: address.id, suite: .group, to: address.to, time: draft.time, ttl: draft.ttl,
                payload: copy.payload)
        }
        try write(own, of: group)
        for var note in sending.former {
            note.unreadUntil = nil
            note.owedMessages = []
            try write(note, of: group)
        }
        var message = group.message(
            id: id, from: owner.id, called: group.state.nicknames[owner.id], rank: group.rank,
            time: draft.time, trust: .verified,
            body: draft.body.recorded(in: group.id, by: owner.id),
            members: JSONObject(draft.extra.map { ($0.name, $0.value) }))
        // With its place, the author can show the message to others.
        message.details?["place"] = .object(place.object)
        message.details?["copies"] = .integer(Int64(readers.count))
        if group.state.ranks.count <= GroupReceipts.mostMembers {
            let people = Set(readers.map { group.log.member(of: $0) }).subtracting([owner.id])
            let marks = store.readerMarks(group.members.map(\.id).filter(people.contains))
            message.details?["readers"] = .base64(marks)
        }
        let invited = group.invited.map(\.id)
        if !invited.isEmpty, invited.count <= GroupReceipts.mostMembers {
            // They can have joined already: their entries are on their way.
            message.details?["invited"] = .base64(store.readerMarks(invited))
        }
        return (message, envelopes)
    }

    /// Returns the number of the own chain, or 0 without one.
    func chainSerial(of group: StoredGroup) throws(StateError) -> Int64 {
        try connection.first("SELECT serial FROM own_chain WHERE group_id = ?", group.number) {
            $0.integer(0)
        } ?? 0
    }

    func ownChain(of group: StoredGroup) throws(StateError) -> OwnGroupChain? {
        try connection.first(
            "SELECT serial, made, sealed FROM own_chain WHERE group_id = ?", group.number
        ) { row throws(StateError) -> OwnGroupChain? in
            let (serial, made, sealed) = (row.integer(0), row.integer(1), row.bytes(2))
            return try store.readable(.ownChain, group.number) { () throws(StateError) in
                var bytes = try store.unseal(sealed, .ownChain(group: group.number))
                defer { wipe(&bytes) }
                guard let own = OwnGroupChain(bytes, serial: serial, made: made),
                    own.chain.group == group.id
                else { throw StateError.unsealable(path: store.database.path) }
                return own
            }
        } ?? nil
    }

    /// Lets the next message begin a new chain.
    func endOwnChain(of group: StoredGroup) throws(StateError) {
        try endOwnChain(ofGroup: group.number)
    }

    func endOwnChain(ofGroup group: Int64) throws(StateError) {
        try connection.run("UPDATE own_chain SET made = 0 WHERE group_id = ?", group)
    }

    /// Lets the next message to each group begin a new chain.
    func endOwnChains() throws(StateError) { try connection.run("UPDATE own_chain SET made = 0") }

    private func write(_ own: OwnGroupChain, of group: StoredGroup) throws(StateError) {
        var bytes = own.encoded
        defer { wipe(&bytes) }
        try connection.run(
            """
            INSERT INTO own_chain (group_id, serial, made, sealed) VALUES (?, ?, ?, ?)
            ON CONFLICT (group_id) DO UPDATE SET
                serial = excluded.serial, made = excluded.made, sealed = excluded.sealed
            """, group.number, own.serial, own.made,
            store.seal(bytes, .ownChain(group: group.number)))
    }
}
