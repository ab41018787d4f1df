public import Sotto
import SottoDatabase

/// The reason why a state can lack sessions that its contacts have.
public struct NewState: Sendable, Equatable {
    /// The event that made the state new.
    public enum Cause: String, Sendable, CaseIterable {
        /// The file was made.
        case made
        /// The file is not the one that this state was in before: it is a copy, such as one from a backup.
        case copied
        /// An own signature is later than the state: the state was put back to an earlier one, or it has a copy that is used.
        case behind

        /// The name of its time in the table `number`.
        var name: String { rawValue }
    }

    /// The last event.
    public let cause: Cause
    /// When it was noticed.
    public let since: Timestamp

    /// Seconds for which a state is new.
    static let lifetime: Int64 = 30 * 86_400
}

/// The body `repair`: an owner who lost a state tells a contact, whose next message begins a new session.
public enum RepairBody {
    /// The type of the body.
    public static let type = "repair"
    /// The member with the time of the loss, which differs between two losses.
    static let since = "since"
    /// The most messages that are sent again in a day to one contact after a repair.
    public static let dailyRepeats = 200
    /// Seconds between two repairs with one contact after one loss.
    static let pause: Int64 = 86_400
    /// The most repairs of a contact that are taken in a day.
    package static let dailyRepairs = 8
    /// The most messages that are looked at for those that may be unread.
    static let mostExamined = 10_000

    /// The body that is sent after a loss.
    public static func body(of state: NewState) -> MessageBody {
        MessageBody(.other(.repair), extra: [since: .string(state.since.description)])
    }

    /// The body with no member about the sender.
    public static var body: MessageBody { MessageBody(.other(.repair)) }
}

/// The result of a repair that a contact sent.
package enum TakenRepair: Sendable {
    /// It is news. The body is for the history.
    case news(JSONObject)
    /// It is known, too old, or of a loss of which the contact told within a day.
    case known
    /// The contact told of ``RepairBody/dailyRepairs`` losses today.
    case tooMany
}

/// Lost states. The owner whose state is new tells contacts, at most once a day each; no envelope causes it.
extension StateTransaction {
    private static let pairedName = "paired"

    /// Notes that the state is the first one of another device than the first one: before it no contact had a session with the
    /// device.
    public func notePairing(at now: Timestamp = .now()) throws(StateError) {
        try remember(Self.pairedName, now.seconds)
    }

    /// Returns the last event of the state within 30 days, or `nil` if it is not new. The first state of another device than the
    /// first one is not.
    public func newState(at now: Timestamp = .now()) throws(StateError) -> NewState? {
        var last: NewState?
        for cause in NewState.Cause.allCases {
            if cause == .made, owner.owner != nil, try remembered(Self.pairedName) != nil {
                continue
            }
            guard let since = try remembered(cause.name),
                (-Self.day..<NewState.lifetime).contains(now.seconds - since),
                since >= last?.since.seconds ?? .min
            else { continue }
            last = NewState(cause: cause, since: Timestamp(seconds: since))
        }
        return last
    }

    /// A contact, or another device of the owner, who can have sessions that this state lacks.
    public struct RepairDue: Sendable {
        /// The id of the contact or of the own device, for which the record is.
        public let id: KeyID
        /// The name of the contact, or of the own device; empty for the first device.
        public let name: String
        /// Whether it is another device of the owner.
        public let isOwn: Bool
        /// When an envelope that could not be opened last claimed to be from there, or `nil`.
        public let unopened: Timestamp?
        /// When all its machines were told, within the last day, or `nil`.
        public let told: Timestamp?
        /// The machines that were not told.
        let untold: [KeyID]
    }

    /// Returns the contacts and own devices with one of whose machines no session began after the state was new, or of whom an envelope
    /// could not be opened since. Blocked contacts and contacts with an unconfirmed key change are left out.
    public func repairsDue(
        _ state: NewState, at now: Timestamp = .now()
    ) throws(StateError) -> [RepairDue] {
        var due: [RepairDue?] = []
        for contact in try store.contacts(connection) {
            guard !contact.name.isEmpty, !contact.isBlocked, contact.changed == nil,
                contact.id != owner.id
            else { continue }
            let others = try devices(of: contact.id)?.devices.map(\.id) ?? []
            due.append(
                try repairDue(contact.id, contact.name, [contact.id] + others, state, at: now))
        }
        for device in try otherDevices() {
            due.append(
                try repairDue(
                    device.id, device.name ?? "", isOwn: true, [device.id], state, at: now))
        }
        return due.compactMap(\.self)
    }

    private func repairDue(
        _ id: KeyID, _ name: String, isOwn: Bool = false, _ machines: [KeyID], _ state: NewState,
        at now: Timestamp
    ) throws(StateError) -> RepairDue? {
        let unopened = try time(.unopened, store.mark(id), after: state.since.seconds)
        var (hasAll, untold, told): (Bool, [KeyID], Timestamp?) = (true, [], nil)
        for machine in machines {
            let mark = store.mark(machine)
            let began = try connection.exists(
                "SELECT 1 FROM session WHERE peer = ? AND retired = 0 AND began > ?", mark,
                state.since.seconds)
            guard unopened != nil || !began else { continue }
            hasAll = false
            // What was told of an earlier loss does not count, and a time in the future, from a clock that was ahead.
            let last = try time(
                .repairMade, mark,
                after: max(now.seconds - RepairBody.pause + 1, state.since.seconds))
            if let last, last.seconds <= now.seconds { told = last } else { untold.append(machine) }
        }
        guard !hasAll else { return nil }
        return RepairDue(
            id: id, name: name, isOwn: isOwn, unopened: unopened,
            told: untold.isEmpty ? told : nil, untold: untold)
    }

    /// Returns the time of a note if it is not before `start`.
    private func time(
        _ note: PeerNote, _ mark: [UInt8], after start: Int64
    ) throws(StateError) -> Timestamp? {
        guard let seconds = try self.note(note, mark: mark), seconds >= start else { return nil }
        return Timestamp(seconds: seconds)
    }

    /// Records that the machines of a contact, or an own device, are told. The sessions with them are not used any more, and the next
    /// publication has new signed prekeys.
    public func beginRepair(
        with due: RepairDue, at now: Timestamp = .now()
    ) throws(StateError) {
        try removeNote(.unopened, mark: store.mark(due.id))
        for machine in due.untold {
            try setNote(.repairMade, mark: store.mark(machine), to: now.seconds)
            try retireSessions(with: machine)
            try forgetQuestions(to: machine)
        }
        try wantRenewal()
    }

    /// Records that an envelope that could not be opened claims to be from a machine of a contact, or from an own device.
    package func noteUnopened(
        from claimed: KeyID, at now: Timestamp = .now()
    ) throws(StateError) {
        let isOwn = try otherDevices().contains { $0.id == claimed }
        let peer = try isOwn ? claimed : person(ofDevice: claimed) ?? claimed
        let isContact = try contact(id: peer) != nil
        guard isOwn || isContact else { return }
        try setNote(.unopened, mark: store.mark(peer), to: now.seconds)
    }

    // MARK: The other side

    /// Takes the news that a contact lost a state, which the contact wrote at `written`. `body` names the loss. It is known if the
    /// contact told of the same loss within a day, if a later one of the device was taken before, or if it is older than 30 days.
    package func takeRepair(
        _ body: JSONObject, from contact: Contact, device: KeyID, written: Timestamp,
        at now: Timestamp = .now()
    ) throws(StateError) -> TakenRepair {
        let (mark, machine) = (store.mark(contact.id), store.mark(device))
        let age = now.seconds - written.seconds
        let loss = body[RepairBody.since]?.string.flatMap { Timestamp($0) }
        let since = loss?.seconds
        let lastTaken = try note(.repairTaken, mark: machine)
        let lastSince = try note(.repairSince, mark: machine)
        let isOther = since != nil && since != lastSince
        guard (-Self.day..<NewState.lifetime).contains(age),
            try note(.repairWritten, mark: machine).map({
                isOther ? written.seconds >= $0 : written.seconds > $0
            }) ?? true,
            // A time in the future, from a clock that was ahead, does not count.
            isOther
                || lastTaken.map({ !(0..<RepairBody.pause).contains(now.seconds - $0) }) ?? true
        else { return .known }
        guard try takeOfDay(.repairs, 1, most: RepairBody.dailyRepairs, mark, at: now) > 0 else {
            return .tooMany
        }
        for mark in Set([mark, machine]) {
            try setNote(.repairTaken, mark: mark, to: now.seconds)
        }
        try setNote(.repairWritten, mark: machine, to: written.seconds)
        if let since { try setNote(.repairSince, mark: machine, to: since) }
        try retireSessions(with: device)
        try forgetQuestions(to: device)
        // The next message brings the chain: the device may not have the group yet.
        try noteSharedGroups(with: device) { (note: inout GroupMemberNote) in note.holds = 0 }
        let unread = try mayBeUnread(by: contact.id, at: now)?.count ?? 0
        return .news(
            JSONObject([
                ("type", .string(RepairBody.type)), ("unread", .integer(Int64(unread))),
                ("name", .string(contact.name)),
                (RepairBody.since, loss.map { .string($0.description) }),
            ]))
    }

    /// Takes the news that another device of the owner lost its state: the next message to it begins a new session, and it gets the
    /// groups and their keys. Returns the body to print, or `nil` if it is no device. A thief of the words can send it, so that nothing
    /// is told again by itself.
    package func takeRepair(fromOwn device: KeyID) throws(StateError) -> JSONObject? {
        guard let lost = try otherDevices().first(where: { $0.id == device }) else { return nil }
        try retireSessions(with: device)
        try forgetQuestions(to: device)
        try noteSharedGroups(with: device) { (note: inout GroupMemberNote) in note.lose() }
        return JSONObject([
            ("type", .string(RepairBody.type)), ("own", .bool(true)),
            ("name", lost.name.map { .string($0) }),
        ])
    }

    /// Changes the note about a device in each group of which it is.
    private func noteSharedGroups(
        with device: KeyID, _ change: (inout GroupMemberNote) -> Void
    ) throws(StateError) {
        for header in try groupHeaders() {
            guard let group = try readableGroup(header.id),
                group.seats.contains(where: { $0.device == device })
            else { continue }
            var note = try note(of: device, in: group)
            change(&note)
            try write(note, of: group)
        }
    }

    /// Queues again for another device of the owner what this one wrote in the last 30 days, and its decisions.
    package func tellAgain(_ device: OwnDevice, at now: Timestamp = .now()) throws(StateError) {
        try tellAgain(device.id, since: Timestamp(seconds: now.seconds - NewState.lifetime))
    }

    /// Returns the own messages of the last 30 days to a contact who told in this time that the state was lost: those that nothing shows
    /// to have arrived, and that were not sent again since, the oldest first. `nil` if the contact told nothing.
    public func mayBeUnread(
        by peer: KeyID, at now: Timestamp = .now()
    ) throws(StateError) -> [HistoryEntry]? {
        guard let taken = try note(.repairTaken, mark: store.mark(peer)),
            (-Self.day..<NewState.lifetime).contains(now.seconds - taken)
        else { return nil }
        guard let row = try store.conversationRow(.peer(peer), connection) else { return [] }
        let start = now.seconds - NewState.lifetime
        let sent = try store.entries(
            """
            WHERE conversation = ? AND sent = 1 AND kind = 0 AND time >= ? AND time <= ?
            AND state IN (?, ?, ?, ?) AND sealed IS NOT NULL ORDER BY number DESC LIMIT ?
            """, row.number, start, taken, HistoryEntry.State.sentElsewhere.rawValue,
            HistoryEntry.State.new.rawValue,
            HistoryEntry.State.handedOn.rawValue, HistoryEntry.State.stored.rawValue,
            RepairBody.mostExamined, connection: connection)
        let answers = try store.entries(
            """
            WHERE conversation = ? AND sent = 0 AND kind = 0 AND time >= ? AND sealed IS NOT NULL
            ORDER BY number DESC LIMIT ?
            """, row.number, start, RepairBody.mostExamined, connection: connection)
        let answered = Set(
            answers.compactMap { $0.isImported ? nil : $0.body?.content.reply?.target.id })
        var unread: [HistoryEntry] = []
        for entry in sent.reversed() {
            guard !entry.isGone, !entry.isImported, entry.body?.isContent == true,
                let id = entry.id,
                !answered.contains(id)
            else { continue }
            let isKnown = try store.events(on: id, in: row, connection).contains { event in
                event.direction == .received
                    ? !event.isImported
                    : event.isRepeat && event.received?.seconds ?? 0 >= taken
            }
            if !isKnown { unread.append(entry) }
        }
        return unread
    }

    /// Returns how many messages can be sent again to a contact today, after `count` more are.
    public func takeRepeats(
        of count: Int, to peer: KeyID, at now: Timestamp = .now()
    ) throws(StateError) -> Int {
        try takeOfDay(
            .repeated, count, most: RepairBody.dailyRepeats, store.mark(peer), at: now)
    }

    /// Returns how many of `count` events of a peer can count today, of which `most` do, and counts them.
    private func takeOfDay(
        _ kind: PeerNote, _ count: Int, most: Int, _ mark: [UInt8], at now: Timestamp
    ) throws(StateError) -> Int {
        let today = now.seconds / Self.day
        let noted = try note(kind, mark: mark) ?? 0
        let before = noted / 1_000 == today ? Int(noted % 1_000) : 0
        let taken = min(count, max(0, most - before))
        if taken > 0 { try setNote(kind, mark: mark, to: today * 1_000 + Int64(before + taken)) }
        return taken
    }
}
