package import Sotto
import SottoDatabase

/// The state's notes about a member of a group.
package struct GroupMemberNote: Sendable {
    package let id: SessionID
    /// The bytes of the member's signed card, or nothing.
    package internal(set) var cardBytes: [UInt8] = []
    /// The number of the own chain that the member has, or 0.
    var holds: Int64 = 0
    /// The place of the last change that was sent to the member.
    var told: Int64 = 0
    /// Whether the owner shows earlier messages to the member.
    package internal(set) var isGranted = false
    /// Whether the member got the owner's earlier messages.
    var hasHistory = false
    /// Whether a moderator got the keys of the room.
    var hasRoom = false
    /// Whether the member, who entered by a door, gets all changes and cards.
    var needsLog = false
    /// The changes that the member asked for.
    var wanted: [GroupID] = []
    /// The changes that the member has and the owner lacks.
    var missing: [GroupID] = []
    /// When the owner last asked the member for something, in seconds since 1970.
    var asked: Int64 = 0
    /// The number of questions since the member last told something.
    var asks: UInt8 = 0
    /// Whether the member asked for the owner's chain.
    var wantsChain = false
    /// When the member last got the owner's chain as an answer, in seconds since 1970.
    var answered: Int64 = 0
    /// The ids of the owner's messages that the member asked for.
    var wantedMessages: [String] = []
    /// The ids of the member's messages before the chain, which the owner may have missed.
    var missedMessages: [String] = []
    /// The id of the owner's last message before the first one that the member could read, or ``nothing``. `nil` for a
    /// member who could read none since joining.
    var unreadUntil: String?

    /// The most changes or messages that a member asks for.
    static let mostWanted = 256
    /// The id of no message.
    static let nothing = UUIDText.text([UInt8](repeating: 0, count: 16)[...])

    /// Creates a note without facts.
    package init(id: SessionID) { self.id = id }

    /// Reads ``encoded``, or returns `nil`.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        func list<ID>(_ length: Int, _ id: (ArraySlice<UInt8>) -> ID) -> [ID]? {
            guard let count = reader.integer(UInt16.self) else { return nil }
            var ids: [ID] = []
            for _ in 0..<count {
                guard let bytes = reader.bytes(length) else { return nil }
                ids.append(id(bytes))
            }
            return ids
        }
        guard let flags = reader.byte(), let key = reader.bytes(32),
            let asked = reader.integer(UInt64.self),
            let wanted = list(32, { GroupID(Array($0)) }),
            let missing = list(32, { GroupID(Array($0)) })
        else { return nil }
        if flags & 16 != 0 {
            guard let asks = reader.byte(), let answered = reader.integer(UInt64.self),
                let wanted = list(16, UUIDText.text), let missed = list(16, UUIDText.text),
                let until = list(16, UUIDText.text)
            else { return nil }
            (self.asks, self.answered) = (asks, Int64(clamping: answered))
            (wantedMessages, missedMessages) = (wanted, missed)
            unreadUntil = until.first
        }
        wantsChain = flags & 32 != 0
        id = SessionID(publicKey: Array(key))
        (isGranted, hasHistory) = (flags & 1 != 0, flags & 2 != 0)
        (hasRoom, needsLog) = (flags & 4 != 0, flags & 8 != 0)
        self.asked = Int64(clamping: asked)
        (self.wanted, self.missing) = (wanted, missing)
        cardBytes = Array(reader.remaining)
    }

    /// flags (1) ‖ public key (32) ‖ ``asked`` (8) ‖ ``wanted`` ‖ ``missing`` ‖ ``asks`` (1) ‖ ``answered`` (8) ‖
    /// ``wantedMessages`` ‖ ``missedMessages`` ‖ ``unreadUntil`` ‖ card. A list follows its number (2).
    var encoded: [UInt8] {
        func list(_ ids: [[UInt8]]) -> [UInt8] {
            UInt16(ids.count).bigEndianBytes + ids.flatMap(\.self)
        }
        func list(_ ids: [String]) -> [UInt8] { list(ids.map { Envelope.idBytes($0) }) }
        // A note of an earlier version has no fields after `missing`.
        let facts = [isGranted, hasHistory, hasRoom, needsLog, true, wantsChain]
        let flags = facts.enumerated().reduce(UInt8(0)) {
            $0 | ($1.element ? 1 << UInt8($1.offset) : 0)
        }
        let changes = list(wanted.map(\.bytes)) + list(missing.map(\.bytes))
        let messages =
            list(wantedMessages) + list(missedMessages) + list([unreadUntil].compactMap(\.self))
        return [flags] + id.publicKey + UInt64(asked).bigEndianBytes + changes + [asks]
            + UInt64(answered).bigEndianBytes + messages + cardBytes
    }

    /// The member's card, or `nil`. Its signature was verified before the note was stored.
    package var card: Card? {
        guard let record = try? JSON.object(parsing: cardBytes) else { return nil }
        return try? Card(stored: record)
    }
}

/// The notes about members of groups.
extension StateTransaction {
    /// Returns what is known of the members of a group.
    package func notes(of group: StoredGroup) throws(StateError) -> [SessionID: GroupMemberNote] {
        let notes = try connection.rows(
            "SELECT mark, holds, told, sealed FROM group_member WHERE team = ?", group.number
        ) { row throws(StateError) in try self.note(row, of: group.number) }
        return Dictionary(notes.map { ($0.id, $0) }) { first, _ in first }
    }

    /// Returns the cards of people in all groups, also of former and of invited members, whose hashes `isWanted` chooses.
    func memberCards(
        where isWanted: ([UInt8]) throws(StateError) -> Bool
    ) throws(StateError) -> [(group: GroupID, cards: [Card])] {
        try groupHeaders().map { header throws(StateError) in
            let rows = try connection.rows(
                """
                SELECT group_member.mark, holds, told, group_member.sealed, team FROM group_member
                JOIN group_log ON team = group_log.number WHERE group_log.mark = ?
                """, store.mark(header.id)
            ) { row throws(StateError) -> GroupMemberNote? in
                try isWanted(row.bytes(0)) ? self.note(row, of: row.integer(4)) : nil
            }
            return (header.id, rows.compactMap { $0?.card })
        }
    }

    /// Returns what is known of a person in a group.
    package func note(
        of id: SessionID, in group: StoredGroup
    ) throws(StateError) -> GroupMemberNote {
        try connection.first(
            "SELECT mark, holds, told, sealed FROM group_member WHERE team = ? AND mark = ?",
            group.number, store.mark(id)
        ) { row throws(StateError) in try self.note(row, of: group.number) }
            ?? GroupMemberNote(id: id)
    }

    private func note(
        _ row: PreparedStatement<StateError>, of team: Int64
    ) throws(StateError) -> GroupMemberNote {
        let bytes = try store.unseal(row.bytes(3), .groupMember(team: team, mark: row.bytes(0)))
        guard var note = GroupMemberNote(bytes) else {
            throw .unsealable(path: store.database.path)
        }
        note.holds = row.integer(1)
        note.told = row.integer(2)
        return note
    }

    /// Stores what is known of a member.
    func write(_ note: GroupMemberNote, of group: StoredGroup) throws(StateError) {
        let mark = store.mark(note.id)
        try connection.run(
            """
            INSERT INTO group_member (team, mark, holds, told, sealed) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (team, mark) DO UPDATE SET
                holds = excluded.holds, told = excluded.told, sealed = excluded.sealed
            """, group.number, mark, note.holds, note.told,
            store.seal(
                note.encoded, .groupMember(team: group.number, mark: mark)))
    }

    /// Stores the signed card of a member, or of an invited person. An older card does not replace a newer one.
    package func note(_ card: Card, in group: StoredGroup) throws(StateError) {
        guard let record = card.record, card.id != owner.id else { return }
        var note = try note(of: card.id, in: group)
        if let known = note.card?.issued, (card.issued.map { $0 <= known } ?? true) { return }
        note.cardBytes = record.serialized()
        try write(note, of: group)
    }

    /// Returns the card of a member of any group, or `nil`.
    package func groupCard(of id: SessionID) throws(StateError) -> Card? {
        try connection.rows(
            "SELECT mark, holds, told, sealed, team FROM group_member WHERE mark = ?",
            store.mark(id)
        ) { row throws(StateError) in try self.note(row, of: row.integer(4)) }
        .lazy.compactMap(\.card).first
    }
}
