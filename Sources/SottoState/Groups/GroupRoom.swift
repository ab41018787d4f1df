package import Sotto
import SottoDatabase

/// The keys for the record of a room, and the last record.
package struct GroupRoom: Sendable {
    package let keys: RoomKeys
    /// The number of the last record that was printed here, or 0.
    var seq: Int64 = 0
    /// The number of changes that the log had then.
    var changes: Int64 = 0
    /// When it was printed, in seconds since 1970.
    var time: Int64 = 0
    /// The file of the last record, or `nil`, and when it was printed.
    var file: GroupFile?
    var fileTime: Int64 = 0

    /// Seconds after which a record is printed again, although nothing changed.
    fileprivate static let printAgain: Int64 = 30 * 86_400
    /// Seconds after which a file is uploaded again: relays delete it some days later.
    fileprivate static let uploadAgain: Int64 = 7 * 86_400

    init(keys: RoomKeys) { self.keys = keys }

    /// Reads ``encoded``, or returns `nil`.
    init?(_ bytes: [UInt8]) {
        guard let record = try? JSON.object(parsing: bytes),
            let object = record["keys"]?.object, let keys = try? RoomKeys(object),
            let seq = record["seq"]?.integer, let changes = record["changes"]?.integer,
            let time = record["time"]?.integer
        else { return nil }
        self.keys = keys
        (self.seq, self.changes, self.time) = (seq, changes, time)
        file = record["file"]?.object.flatMap { try? GroupFile($0) }
        fileTime = record["fileTime"]?.integer ?? 0
    }

    /// The bytes to seal. The caller wipes them.
    var encoded: [UInt8] {
        var record: JSONObject = [
            "keys": .object(keys.object), "seq": .integer(seq), "changes": .integer(changes),
            "time": .integer(time),
        ]
        if let file {
            record["file"] = .object(file.object)
            record["fileTime"] = .integer(fileTime)
        }
        return record.serialized()
    }
}

/// The doors of groups.
extension StateTransaction {
    /// The most people whom the owner lets in in an hour.
    package static let mostAdmitted = 20
    /// The most bytes of a merge that names a newcomer's change.
    private static let mergeBytes = GroupChange.limit
    /// The most members to whom a newcomer writes.
    private static let mostDoorkeepers = 3

    /// Returns the keys of the group's present door, or `nil`.
    package func room(of group: StoredGroup) throws(StateError) -> GroupRoom? {
        let found = try connection.first(
            "SELECT sealed FROM group_room WHERE group_id = ?", group.number
        ) { row throws(StateError) -> GroupRoom? in
            let sealed = row.bytes(0)
            return try store.readable(.room, group.number) { () throws(StateError) in
                var bytes = try store.unseal(sealed, .groupRoom(group: group.number))
                defer { wipe(&bytes) }
                guard let room = GroupRoom(bytes) else {
                    throw StateError.unsealable(path: store.database.path)
                }
                return room
            }
        }
        guard let found = found ?? nil, found.keys.door.publicKey == group.state.policy.door else {
            return nil
        }
        return found
    }

    private func write(_ room: GroupRoom, of group: StoredGroup) throws(StateError) {
        var bytes = room.encoded
        defer { wipe(&bytes) }
        try connection.run(
            """
            INSERT INTO group_room (group_id, sealed) VALUES (?, ?)
            ON CONFLICT (group_id) DO UPDATE SET sealed = excluded.sealed
            """, group.number, store.seal(bytes, .groupRoom(group: group.number)))
    }

    /// Stores the keys of a new door. The moderators get them with what they lack. `seq` is the number of the last record.
    package func keep(
        _ keys: RoomKeys, seq: Int64 = 0, of group: StoredGroup
    ) throws(StateError) {
        var room = GroupRoom(keys: keys)
        room.seq = seq
        try write(room, of: group)
        for var note in try notes(of: group).values where note.hasRoom {
            note.hasRoom = false
            try write(note, of: group)
        }
    }

    /// Returns the next record of the group's room, after that of the file that it needs if that is new. Returns none if the owner
    /// has no keys of the room, or if nothing changed since the last one. `card` is the owner's.
    ///
    /// Throws ``RoomError/tooLong``, and ``GroupError/doubtful(id:)`` if it `isForced`.
    package func publication(
        of group: StoredGroup, card: Card, isForced: Bool = false, at time: Timestamp = .now()
    ) throws -> [JSONObject] {
        guard group.rank >= .moderator, var room = try room(of: group) else { return [] }
        // A record with fewer changes would replace a later one.
        guard !group.isDoubtful else {
            if isForced { throw GroupError.doubtful(id: group.id.short) }
            return []
        }
        let count = Int64(group.log.changes.count)
        let isOld = time.seconds - room.fileTime >= GroupRoom.uploadAgain
        let isDue =
            room.changes != count || time.seconds - room.time >= GroupRoom.printAgain
            || room.file != nil && isOld
        guard isForced || isDue else { return [] }
        let notes = try notes(of: group)
        let cards = group.members.filter { $0.rank >= .member }.compactMap { member in
            member.id == owner.id ? card : notes[member.id]?.card
        }
        var upload: BlobRecord?
        let content: RoomContent
        do throws(RoomError) {
            content = try RoomContent(group.log, door: room.keys.door, cards: cards)
            room.file = nil
        } catch {
            guard error == .tooLong else { throw error }
            upload = try place(&room, of: group, isNew: isForced || isOld, at: time)
            content = try RoomContent(
                group.log, door: room.keys.door, cards: cards, file: room.file)
        }
        room.seq = max(room.seq + 1, time.seconds)
        (room.changes, room.time) = (count, time.seconds)
        try write(room, of: group)
        let record = room.keys.record(content, seq: room.seq, issued: time)
        return [upload?.record, record].compactMap(\.self)
    }

    /// Sets the file of a room with the changes that a newcomer needs. Returns its blob for `send` if the relay does not have the same
    /// one, or if it `isNew`.
    private func place(
        _ room: inout GroupRoom, of group: StoredGroup, isNew: Bool, at time: Timestamp
    ) throws -> BlobRecord? {
        let needed = RoomContent.needed(group.log, door: room.keys.door)
        var file = try compose(fileOf: needed, cards: [])
        let digest = file.pointer.digest
        guard isNew || room.file?.pointer.digest != digest else { return nil }
        let blob = BlobRecord(
            id: randomBytes(32), to: owner.device, size: file.pointer.size, digest: digest,
            relay: room.keys.relay)
        try store.blobs.name(composed: digest, [blob.id])
        file.pointer.place = .init(relay: room.keys.relay, id: blob.id)
        (room.file, room.fileTime) = (file, time.seconds)
        return blob
    }

    /// Returns the record that closes a room for those who read it.
    package func closing(_ room: GroupRoom, at time: Timestamp = .now()) -> JSONObject {
        room.keys.record(.closed, seq: max(room.seq + 1, time.seconds), issued: time)
    }

    // MARK: Entering

    /// Enters the group of a room by its door, and stores the group. Returns it, the members to whom the newcomer writes, and
    /// the changes for them: the `door-join`, and those of the owner that the room lacks. `card` is the owner's.
    ///
    /// A newcomer whom no member let in yet can enter again: the changes are the same while the door is.
    ///
    /// Throws ``GroupError/refused`` if the door does not admit the owner, ``GroupError/unknown`` if the content has no
    /// group with this door, and ``GroupError/closed``.
    package func enter(
        _ content: RoomContent, by door: RoomDoor, nickname: String, card: Card,
        at time: Timestamp = .now()
    ) throws -> (group: StoredGroup, doorkeepers: [KeyID], changes: [GroupChange]) {
        guard let id = content.group else { throw GroupError.closed }
        guard let record = card.record else { throw GroupError.refused }
        let changes = content.changes.compactMap { try? GroupChange($0) }
        _ = try receive(changes, of: id, at: time)
        guard var group = try group(id), group.standing != .member || group.isUnconfirmed else {
            throw GroupError.member
        }
        guard group.state.policy.door == door.id.publicKey else { throw GroupError.unknown }
        let cards = content.cards.compactMap { try? Card(record: $0) }
        for card in cards { try note(card, in: group) }
        let entry = GroupChange.Entry(
            card: sha256(JSON.object(record).canonical()), nickname: nickname)
        if group.standing != .member {
            group = try write(door.join(id, by: owner.id, entry), in: group, at: time)
        }
        guard group.standing == .member else { throw GroupError.refused }
        let keepers = cards.map(\.id).filter { group.state.ranks[$0] ?? .nobody >= .member }
        guard !keepers.isEmpty else { throw GroupError.unknown }
        let known = Set(changes.map(\.id))
        let untold = group.log.changes.filter { $0.by == owner.id && !known.contains($0.id) }
        return (group, Array(keepers.prefix(Self.mostDoorkeepers)), untold)
    }

    /// Lets in a person who enters by the present door: stores the `door-join`, and names it in a `merge`. Does nothing if
    /// the owner let in ``mostAdmitted`` people in the last hour: the change waits, and `group sync` tries again.
    func admit(
        _ changes: [GroupChange], to group: StoredGroup, at time: Timestamp
    ) throws -> StoredGroup {
        // The merge would be a change of the owner.
        guard !group.isDoubtful else { return group }
        var group = group
        let door = group.state.policy.door
        let entering = changes.filter {
            $0.act.isDoorJoin && $0.act.door == door && !group.log.contains($0.id)
        }
        guard !entering.isEmpty else { return group }
        let waiting = try waitingChanges(of: group)
        // Each is tried with a fold of the log.
        for change in entering.prefix(Self.mostAdmitted) {
            guard group.rank >= .member,
                admitted(by: group, since: time.seconds - 3_600)
                    < Self.mostAdmitted
            else { break }
            // The newcomer may have signed changes before, which wait too.
            let known = Set(changes.map(\.id))
            let all = ChangeIntake.sorted(changes + waiting.filter { !known.contains($0.id) })
            let past = ChangeIntake.past(of: [change.id], among: all)
            let needed = all.filter { past.contains($0.id) && !group.log.contains($0.id) }
            let bytes = needed.reduce(Self.mergeBytes) { $0 + $1.bytes.count }
            guard group.log.hasSpace(forChanges: needed.count + 1, bytes: bytes),
                group.log.adding(needed)?.ranks[change.by] != nil
            else { continue }
            for change in needed {
                _ = group.log.add(change)
                group.places[change.id] = try store(change, of: group.number, aside: false, time)
            }
            hasGroupNews = true
            try fold(&group)
            group = try write(.merge, in: group, at: time)
            var note = try note(of: change.by, in: group)
            note.needsLog = true
            try write(note, of: group)
        }
        return group
    }

    /// Lets in the people who wait at the door.
    package func admitWaiting(
        to group: StoredGroup, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        let waiting = try waitingChanges(of: group)
        return try admit(waiting, to: group, at: time)
    }

    /// Returns how many people the owner let in since a time.
    private func admitted(by group: StoredGroup, since time: Int64) -> Int {
        let merges = group.log.changes.filter {
            $0.by == owner.id && $0.act.isMerge && $0.time.seconds >= time
        }
        return group.doorJoins(namedBy: merges).count
    }
}

extension StoredGroup {
    /// Returns the people who entered by a door with a change that one of some changes names as a parent.
    func doorJoins(namedBy changes: [GroupChange]) -> Set<KeyID> {
        let parents = Set(changes.flatMap(\.parents))
        return Set(
            log.changes.filter { $0.act.isDoorJoin && parents.contains($0.id) }.map(\.by))
    }

    /// Whether the owner entered by a door, and no change of another member follows that.
    package var isUnconfirmed: Bool {
        guard let entry = log.changes.last(where: { $0.by == owner && $0.act.isJoin }),
            entry.act.isDoorJoin
        else { return false }
        return !log.changes.contains { $0.by != owner && $0.parents.contains(entry.id) }
    }
}
