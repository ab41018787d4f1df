package import Sotto
import SottoDatabase

/// The state's notes about a member of a group.
package struct GroupMemberNote: Sendable {
    package let id: KeyID
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
    /// The answers that the member got.
    var answers = GroupAnswers()
    /// The ids of the owner's messages that the member asked for.
    var wantedMessages: [String] = []
    /// The ids of the owner's messages that the member may read and of which no copy was made for the member, at most
    /// ``mostWanted``. They are sent as soon as the member is reached.
    var owedMessages: [String] = []
    /// The ids of the member's messages before the chain, which the owner may have missed.
    var missedMessages: [String] = []
    /// The id of the owner's last message before the first one that the member could read, or ``nothing``. `nil` for a
    /// member who could read none since joining.
    var unreadUntil: String?
    /// When the first and the last of ``missing`` were named, in seconds since 1970, or 0.
    var missingSince: Int64 = 0
    var missingLast: Int64 = 0
    /// Whether the owner, whose state was restored from a backup, asks for the member's chain with the next question.
    var lacksChain = false
    /// The number of the member's question for heads, which is not answered yet.
    var headsQuestion: [UInt8]?
    /// The hour of the last answer to such a question, in hours since 1970, and the number of answers in it.
    private(set) var headsHour: Int64 = 0
    private(set) var headsAnswers: UInt8 = 0
    /// The heads with which the member answered the owner's question, until the owner has all of them.
    var answeredHeads: [GroupID] = []
    /// The mark of the owner's card that the member got from the owner, or `nil`; see ``OwnCard``.
    var ownCard: [UInt8]?

    /// Notes that the member lost a state, and gets the log and the own chain again.
    mutating func lose() { (needsLog, told, wantsChain) = (true, 0, true) }

    /// The most changes or messages that a member asks for.
    static let mostWanted = 256

    /// Adds messages of the owner that the member gets as soon as the member is reached.
    mutating func owe(_ ids: [String]) {
        let new = ids.filter { !owedMessages.contains($0) }
        owedMessages = (owedMessages + new).suffix(Self.mostWanted)
    }
    /// The most answers to questions for heads that a member gets in an hour.
    private static let mostHeadsAnswers: UInt8 = 2
    /// The id of no message.
    static let nothing = UUIDText.text([UInt8](repeating: 0, count: 16)[...])

    /// Creates a note without facts.
    package init(id: KeyID) { self.id = id }

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
            let missing = list(32, { GroupID(Array($0)) }),
            let asks = reader.byte(), let answered = reader.integer(UInt64.self),
            let wantedMessages = list(16, UUIDText.text),
            let owedMessages = list(16, UUIDText.text),
            let missedMessages = list(16, UUIDText.text), let until = list(16, UUIDText.text)
        else { return nil }
        (self.asks, self.answered) = (asks, Int64(bitPattern: answered))
        (self.wantedMessages, self.missedMessages) = (wantedMessages, missedMessages)
        self.owedMessages = owedMessages
        unreadUntil = until.first
        if flags & 32 != 0 {
            guard let hour = reader.integer(UInt64.self), let day = reader.integer(UInt64.self),
                let count = reader.integer(UInt16.self),
                let changes = list(32, { GroupID(Array($0)) }),
                let messages = list(16, UUIDText.text)
            else { return nil }
            answers = GroupAnswers(
                hour: Int64(bitPattern: hour), day: Int64(bitPattern: day),
                messagesOfDay: Int(count), changes: changes, messages: messages)
        }
        if flags & 64 != 0 {
            guard let facts = reader.byte(), let since = reader.integer(UInt64.self),
                let last = reader.integer(UInt64.self),
                let hour = reader.integer(UInt64.self), let answers = reader.byte(),
                let question = list(GroupBody.questionBytes, { Array($0) }),
                let heads = list(32, { GroupID(Array($0)) })
            else { return nil }
            lacksChain = facts & 1 != 0
            (missingSince, missingLast) = (Int64(bitPattern: since), Int64(bitPattern: last))
            (headsHour, headsAnswers) = (Int64(bitPattern: hour), answers)
            (headsQuestion, answeredHeads) = (question.first, heads)
        }
        if flags & 128 != 0 {
            guard let mark = reader.bytes(OwnCard.markBytes) else { return nil }
            ownCard = Array(mark)
        }
        wantsChain = flags & 16 != 0
        id = KeyID(publicKey: Array(key))
        (isGranted, hasHistory) = (flags & 1 != 0, flags & 2 != 0)
        (hasRoom, needsLog) = (flags & 4 != 0, flags & 8 != 0)
        self.asked = Int64(bitPattern: asked)
        (self.wanted, self.missing) = (wanted, missing)
        cardBytes = Array(reader.remaining)
    }

    /// flags (1) ‖ public key (32) ‖ ``asked`` (8) ‖ ``wanted`` ‖ ``missing`` ‖ ``asks`` (1) ‖ ``answered`` (8) ‖
    /// ``wantedMessages`` ‖ ``owedMessages`` ‖ ``missedMessages`` ‖ ``unreadUntil`` ‖ ``answers`` ‖ ``lacksChain`` (1) ‖
    /// ``missingSince`` (8) ‖ ``missingLast`` (8) ‖ ``headsHour`` (8) ‖ ``headsAnswers`` (1) ‖ ``headsQuestion`` ‖
    /// ``answeredHeads`` ‖ ``ownCard`` (8) ‖ card. A list follows its number (2).
    var encoded: [UInt8] {
        // A clock can be before 1970.
        func time(_ seconds: Int64) -> [UInt8] { UInt64(bitPattern: seconds).bigEndianBytes }
        func list(_ ids: [[UInt8]]) -> [UInt8] {
            UInt16(ids.count).bigEndianBytes + ids.flatMap(\.self)
        }
        func list(_ ids: [String]) -> [UInt8] { list(ids.map { Envelope.idBytes($0) }) }
        // The answers, the questions for heads and the mark of the owner's card are left out if they are empty.
        let asksHeads =
            lacksChain || missingSince > 0 || headsHour > 0 || headsQuestion != nil
            || !answeredHeads.isEmpty
        let facts = [
            isGranted, hasHistory, hasRoom, needsLog, wantsChain, !answers.isEmpty, asksHeads,
            ownCard != nil,
        ]
        let flags = facts.enumerated().reduce(UInt8(0)) {
            $0 | ($1.element ? 1 << UInt8($1.offset) : 0)
        }
        let changes = list(wanted.map(\.bytes)) + list(missing.map(\.bytes))
        let messages =
            list(wantedMessages) + list(owedMessages) + list(missedMessages)
            + list([unreadUntil].compactMap(\.self))
        var got: [UInt8] = []
        if !answers.isEmpty {
            got =
                time(answers.hour) + time(answers.day)
                + UInt16(answers.messagesOfDay).bigEndianBytes
                + list(answers.changes.map(\.bytes)) + list(answers.messages)
        }
        if asksHeads {
            let times = [missingSince, missingLast, headsHour].flatMap {
                time($0)
            }
            got += [lacksChain ? 1 : 0] + times + [headsAnswers]
            got += list([headsQuestion].compactMap(\.self)) + list(answeredHeads.map(\.bytes))
        }
        got += ownCard ?? []
        return [flags] + id.publicKey + time(asked) + changes + [asks] + time(answered) + messages
            + got + cardBytes
    }

    /// Notes a question of the member for heads, unless the member got ``mostHeadsAnswers`` in this hour. Returns whether it is
    /// answered.
    mutating func ask(forHeads question: [UInt8], at time: Timestamp) -> Bool {
        guard headsHour != time.seconds / 3_600 || headsAnswers < Self.mostHeadsAnswers else {
            return false
        }
        headsQuestion = question
        return true
    }

    /// Notes that the member got an answer to the question for heads.
    mutating func answeredQuestion(at time: Timestamp) {
        let hour = time.seconds / 3_600
        headsAnswers = headsHour == hour ? headsAnswers + 1 : 1
        (headsHour, headsQuestion) = (hour, nil)
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
    package func notes(of group: StoredGroup) throws(StateError) -> [KeyID: GroupMemberNote] {
        try notes(ofGroup: group.number)
    }

    /// Returns what is known of the members of the group with this number in the state.
    func notes(ofGroup group: Int64) throws(StateError) -> [KeyID: GroupMemberNote] {
        let rows = try connection.rows(
            "SELECT mark, holds, told, sealed FROM group_member WHERE group_id = ?", group
        ) { row throws(StateError) in
            (mark: row.bytes(0), note: try readableNote(row, of: group))
        }
        for row in rows where row.note == nil { try forgetNote(row.mark, of: group) }
        let notes = rows.compactMap(\.note)
        return Dictionary(notes.map { ($0.id, $0) }) { first, _ in first }
    }

    /// Returns what is known of a person in a group.
    package func note(
        of id: KeyID, in group: StoredGroup
    ) throws(StateError) -> GroupMemberNote {
        let found = try connection.first(
            "SELECT mark, holds, told, sealed FROM group_member WHERE group_id = ? AND mark = ?",
            group.number, store.mark(id)
        ) { row throws(StateError) in try readableNote(row, of: group.number) }
        // The row is absent, or it cannot be read.
        if let found, found == nil { try forgetNote(store.mark(id), of: group.number) }
        return (found ?? nil) ?? GroupMemberNote(id: id)
    }

    /// Reads a row, or returns `nil` if it cannot be read.
    func readableNote(
        _ row: PreparedStatement<StateError>, of group: Int64
    ) throws(StateError) -> GroupMemberNote? {
        try store.readable(.member, UInt64(bitPattern: group).bigEndianBytes + row.bytes(0)) {
            () throws(StateError) in try note(row, of: group)
        }
    }

    /// Deletes a note that cannot be read. The person gets the changes again. The own chain ends, because it is unknown
    /// whether the person has it.
    private func forgetNote(_ mark: [UInt8], of group: Int64) throws(StateError) {
        try connection.run(
            "DELETE FROM group_member WHERE group_id = ? AND mark = ?", group, mark)
        try endOwnChain(ofGroup: group)
    }

    private func note(
        _ row: PreparedStatement<StateError>, of group: Int64
    ) throws(StateError) -> GroupMemberNote {
        let bytes = try store.unseal(
            row.bytes(3), .groupMember(group: group, mark: row.bytes(0)))
        guard var note = GroupMemberNote(bytes) else {
            throw .unsealable(path: store.database.path)
        }
        note.holds = row.integer(1)
        note.told = row.integer(2)
        return note
    }

    /// Notes that a device lost its state: it gets the log and the own chain again.
    package func noteLost(_ device: KeyID, in group: StoredGroup) throws(StateError) {
        var note = try note(of: device, in: group)
        note.lose()
        try write(note, of: group)
    }

    /// Notes messages of the owner that a device gets again.
    func noteOwed(
        _ messages: [String], to device: KeyID, in group: StoredGroup
    ) throws(StateError) {
        var note = try note(of: device, in: group)
        note.owe(messages)
        try write(note, of: group)
    }

    /// Notes that the questions to a person in all groups count as not asked: they, or their answers, were in sessions that are gone.
    func forgetQuestions(to person: KeyID) throws(StateError) {
        let mark = store.mark(person)
        let chains = try connection.rows(
            "SELECT DISTINCT group_id FROM group_chain WHERE device = ?", mark
        ) { $0.integer(0) }
        let headers = try connection.rows(
            """
            SELECT group_log.mark, group_log.sealed
            FROM group_member JOIN group_log ON group_log.number = group_id
            WHERE group_member.mark = ?
            """, mark
        ) { row throws(StateError) -> GroupHeader? in
            let (mark, sealed) = (row.bytes(0), row.bytes(1))
            return try store.readable(.group, mark) { () throws(StateError) in
                try store.header(sealed, mark: mark)
            }
        }
        for header in headers {
            guard let id = header?.id, let group = try readableGroup(id) else { continue }
            var note = try note(of: person, in: group)
            guard note.asked > 0 else { continue }
            note.asked = 0
            note.asks -= min(note.asks, 1)
            if group.isDoubtful, !chains.contains(group.number) { note.lacksChain = true }
            try write(note, of: group)
        }
    }

    /// Stores what is known of a member.
    func write(_ note: GroupMemberNote, of group: StoredGroup) throws(StateError) {
        let mark = store.mark(note.id)
        memberNames[group.id]?.removeValue(forKey: note.id)
        try connection.run(
            """
            INSERT INTO group_member (group_id, mark, holds, told, sealed) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (group_id, mark) DO UPDATE SET
                holds = excluded.holds, told = excluded.told, sealed = excluded.sealed
            """, group.number, mark, note.holds, note.told,
            store.seal(
                note.encoded, .groupMember(group: group.number, mark: mark)))
    }
}
