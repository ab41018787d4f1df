package import Sotto
import SottoDatabase

/// The bodies that tell people what they lack of a group.
extension StateTransaction {
    /// The most bytes of changes, cards and messages in one body.
    private static let bodyBytes = 20 << 10
    /// The most earlier messages that a member gets.
    private static let mostEarlier = 5_000

    /// Returns the changes that the owner tells the members of a group. What is in an envelope that did not reach the outbox within
    /// `age` seconds is told again. With `isPreview`, that is not stored.
    package func dues(
        in group: StoredGroup, olderThan age: Int64 = 0, isPreview: Bool = false,
        at time: Timestamp = .now()
    ) throws(StateError) -> GroupDues {
        let notes = try settleTellings(of: group, olderThan: age, isPreview: isPreview, at: time)
        // The owner's other devices tell their own changes.
        var invited = group.doorJoins(namedBy: group.log.changes.filter { $0.by == owner.id })
        let told = group.log.changes.filter { change in
            if change.by == owner.id {
                if case .invite(let who, _) = change.act { invited.formUnion(who) }
                return true
            }
            return change.act.isJoin && invited.contains(change.by)
        }
        let room = group.rank >= .moderator ? try room(of: group)?.keys : nil
        let ownCard = OwnCard(in: group, store: store)
        let isLacking =
            group.rank > .nobody && !group.isDoubtful
            && group.state.ranks.keys.contains { $0 != owner.id && ownCard.isLacking(notes[$0]) }
        let places = told.map { group.places[$0.id] ?? 0 }
        var dues = GroupDues(
            group: group, time: time, notes: notes, told: told, toldPlaces: places,
            lastTold: places.max() ?? 0, room: room,
            ownCard: ownCard, newCard: isLacking ? try cardForMembers(issued: time) : nil)
        dues.askOthers()
        return dues
    }

    /// Returns all that the members of a group lack, and those who are members no longer. `also` are further people who are told
    /// of their removal. With `asksForKeys`, members are asked for the keys of messages that wait for them.
    ///
    /// An owner who is a member no longer tells and asks for changes, and sends no keys and no messages.
    package func news(
        of group: StoredGroup, also: [KeyID] = [], asksForKeys: Bool = false,
        at time: Timestamp = .now()
    ) throws(StateError) -> [(to: KeyID, body: GroupBody)] {
        let group = try writeDevices(in: group, at: time)
        var dues = try dues(in: group, at: time)
        if dues.isMember {
            dues.messageRequests = try messageRequests(in: group, dues.notes)
            if asksForKeys { dues.chainRequests = try chainRequests(in: group, dues.notes) }
        }
        let readers = Set(try entitled(group, dues.notes))
        let own = dues.isMember && !group.isDoubtful ? try ownChain(of: group) : nil
        var news: [(to: KeyID, body: GroupBody)] = []
        for seat in group.seats {
            let member = seat.device
            var bodies = try due(to: seat, in: dues)
            let note = dues.note(of: seat)
            if let own, note.wantsChain, readers.contains(member) {
                own.add(to: &bodies, since: try firstChain(of: note, in: own))
            }
            // Nothing is sent to a revoked key.
            if !bodies.isEmpty, try isRevoked(seat.member) { continue }
            news += bodies.map { (to: member, body: $0) }
        }
        let others = Set(also).union(dues.notes.keys).filter {
            group.state.ranks[$0] == nil && group.log.member(of: $0) == $0 && group.log.names($0)
        }
        for person in others.sorted(by: { $0.description < $1.description })
        where try !isRevoked(person) {
            news += farewell(to: person, in: dues).map { (to: person, body: $0) }
        }
        return news
    }

    /// Returns when members of a group were asked who owe an answer, and when the first of them is asked again; `nil` if nobody
    /// owes one. Call it in a preview.
    package func nextQuestion(
        in group: StoredGroup, at time: Timestamp = .now()
    ) throws(StateError) -> (asked: Timestamp, again: Timestamp)? {
        guard group.isInTouch else { return nil }
        var dues = try dues(in: group, isPreview: true, at: time)
        if dues.isMember { dues.messageRequests = try messageRequests(in: group, dues.notes) }
        return dues.nextQuestion()
    }

    /// Returns the bodies, of limited length, with all that a member did not get yet: changes, those for which the member asked, the cards
    /// of newcomers, the owner's card if it has changed, earlier messages, and a question for changes that the member has.
    func due(
        to seat: GroupSeat, in dues: GroupDues
    ) throws(StateError) -> [GroupBody] {
        let (group, note) = (dues.group, dues.note(of: seat))
        let wanted = dues.answers(to: note)
        if group.isDoubtful {
            // The person may be no member any more: nothing but questions and answers.
            let changes = group.log.changes.filter { wanted.contains($0.id) }
            return dues.asking(note, with: Self.bodies(of: group.id, changes, cards: []))
        }
        let backlog = try dues.backlogs.backlog(of: note) { () throws(StateError) in
            try self.backlog(of: note, in: dues)
        }
        // A device that lost its state lacks its own changes too.
        let lacksAll = note.needsLog && note.told == 0
        var told = backlog.changes.filter { lacksAll || $0.device != seat.device }
        if !wanted.isEmpty {
            let ids = wanted.union(told.map(\.id))
            told = group.log.changes.filter { ids.contains($0.id) }
        }
        let changes = told
        let entries = changes.filter { !backlog.before.contains($0.id) || wanted.contains($0.id) }
        var cards = dues.cards(ofNewcomersIn: entries).compactMap {
            (try? JSON.object(parsing: $0)).flatMap { try? Card(stored: $0) }
        }
        if seat.member == owner.id {
            // The owner's other devices have the card.
        } else if let card = dues.newCard, dues.ownCard.isLacking(note) {
            cards.append(card)
        } else if changes.contains(where: { $0.by == owner.id && $0.act.isJoin }) {
            // The records of the join were lost, and the card with them.
            cards.append(try ownCard())
        }
        var bodies = Self.bodies(of: group.id, changes, cards: cards)
        if let file = backlog.file { bodies.add(to: group.id) { $0.file = file } }
        bodies = dues.asking(note, with: dues.answering(note, with: bodies))
        if let room = dues.room, !note.hasRoom,
            group.state.ranks[seat.member] ?? .nobody >= .moderator
        {
            var body = GroupBody(group.id)
            body.room = room.object
            bodies.append(body)
        }
        guard dues.isMember else { return bodies }
        let answers = try answers(to: note, in: group, at: dues.time)
        if !answers.isEmpty { bodies += Self.bodies(of: group.id, history: answers) }
        // The member's other devices have the earlier messages.
        guard seat.device == seat.member, group.shows(to: note), !note.hasHistory else {
            return bodies
        }
        let earlier = try earlierMessages(of: group)
        if earlier[0].history.isEmpty, let last = bodies.indices.last {
            bodies[last].isComplete = true
            return bodies
        }
        return bodies + earlier
    }

    /// Returns what members with a place in the log lack.
    private func backlog(
        of note: GroupMemberNote, in dues: GroupDues
    ) throws(StateError) -> GroupBacklog {
        let changes = dues.untold(to: note)
        guard !changes.isEmpty else { return GroupBacklog(changes: [], before: [], file: nil) }
        let cards = dues.cards(ofNewcomersIn: changes)
        let file = try file(of: changes, cards: cards)
        // Without the first change the group is unknown.
        let messages = file == nil ? changes : changes.filter { $0.id == dues.group.id }
        let before = note.needsLog ? [] : dues.changes(beforeCutsIn: changes, told: note.told)
        guard !before.isEmpty else {
            return GroupBacklog(changes: messages, before: [], file: file)
        }
        let ids = Set((messages + before).map(\.id))
        return GroupBacklog(
            changes: dues.group.log.changes.filter { ids.contains($0.id) },
            before: Set(before.map(\.id)), file: file)
    }

    /// Returns the bodies for a person who is no member: the owner's changes that removed them and those before, some of the changes
    /// of others before these, a question for changes that they have, and of the changes for which they asked those before a
    /// removal or an invitation. They do not learn of later changes.
    private func farewell(to person: KeyID, in dues: GroupDues) -> [GroupBody] {
        let (group, note) = (dues.group, dues.note(of: person))
        let past =
            note.wanted.isEmpty ? [] : group.log.past(of: group.log.knownHeads(of: person))
        let answers = past.intersection(dues.answers(to: note))
        let removal = group.isDoubtful ? [] : dues.untoldRemoval(of: note)
        // Without these the person could not store the removal before the answer to a question.
        let before = dues.changes(beforeCutsIn: removal, told: note.told).filter {
            $0.by != person
        }
        let ids = answers.union((removal + before).map(\.id))
        let changes = group.log.changes.filter { ids.contains($0.id) }
        let bodies = Self.bodies(of: group.id, changes, cards: [])
        return dues.asking(note, with: dues.answering(note, with: bodies))
    }

    /// Returns the owner's messages to a group as they stand now, without those that are deleted after some time.
    private func earlierMessages(of group: StoredGroup) throws(StateError) -> [GroupBody] {
        let row = try row(of: .group(group.id))
        let entries = try store.entries(
            """
            WHERE conversation = ? AND kind = 0 AND sent = 1 AND sealed IS NOT NULL
            ORDER BY place DESC, number DESC LIMIT ?
            """, row.number, Self.mostEarlier, connection: connection)
        var messages: [JSONObject] = []
        for entry in entries.reversed() {
            guard let id = entry.id, entry.groupPlace != nil else { continue }
            let events = try store.events(on: id, in: row, connection)
            let view = MessageView(entry, events: events, owner: owner.id)
            guard let body = view.body, body["expires"] == nil else { continue }
            if let message = entry.shown(group.sendable(body)) { messages.append(message) }
        }
        var bodies = Self.bodies(of: group.id, history: messages)
        bodies[bodies.count - 1].isComplete = true
        return bodies
    }

    /// Returns bodies with messages of the owner, at least one.
    static func bodies(of group: GroupID, history: [JSONObject]) -> [GroupBody] {
        var bodies = [GroupBody(group)]
        var bytes = 0
        for message in history {
            let count = message.serialized().count
            // No body has space for it.
            guard count <= GroupBody.mostBytes - 1_024 else { continue }
            if bytes > 0,
                bytes + count > bodyBytes
                    || bodies[bodies.count - 1].history.count == GroupBody.most
            {
                bodies.append(GroupBody(group))
                bytes = 0
            }
            bodies[bodies.count - 1].history.append(message)
            bytes += count
        }
        return bodies
    }

    /// The most bytes of changes in an invitation with a file: they have the name of the group.
    private static let invitationBytes = 8 << 10

    /// Returns the bodies of an invitation: the whole log and the cards of the members. Each has the first change, without which
    /// the group is unknown: they may arrive in any order. A long log is in a file, after the first changes.
    package func invitation(
        to group: StoredGroup, cards: [Card]
    ) throws(StateError) -> [GroupBody] {
        let log = group.log.changes
        let records = cards.compactMap { $0.record?.serialized() }
        guard let file = try file(of: log, cards: records) else {
            return Self.invitation(to: group, cards: cards)
        }
        var count = 0
        let first = log.prefix { change in
            count += change.bytes.count
            return count <= Self.invitationBytes || change.id == group.id
        }
        var body = GroupBody(group.id)
        body.changes = first.compactMap { try? JSON.object(parsing: $0.bytes) }
        body.file = file
        return [body]
    }

    private static func invitation(to group: StoredGroup, cards: [Card]) -> [GroupBody] {
        let first = group.log.changes[0]
        return bodies(of: group.id, group.log.changes, cards: cards).enumerated().map {
            place, body in
            guard place > 0, let record = try? JSON.object(parsing: first.bytes) else {
                return body
            }
            var whole = body
            whole.changes.insert(record, at: 0)
            return whole.fits ? whole : body
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
            // No body has space for it.
            guard count <= GroupBody.mostBytes - 1_024 else { return }
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

    /// Records that a body for a person was encrypted in this transaction. `envelope` is the id of its envelope; without it the
    /// envelope does not go to `send` in this home, and the person counts as told.
    package func noteSealed(
        _ body: GroupBody, to person: KeyID, in envelope: String? = nil, at time: Timestamp = .now()
    ) throws(StateError) {
        guard let group = try group(body.group) else { return }
        var note = try note(of: person, in: group)
        let before = note
        var answered: [GroupID] = []
        for record in body.changes {
            let id = GroupID(sha256(JSON.object(record).canonical()))
            guard let place = group.places[id] else { continue }
            if let index = note.wanted.firstIndex(of: id) {
                // The person asked for it, so earlier changes may be missing there.
                note.wanted.remove(at: index)
                answered.append(id)
            } else {
                note.told = max(note.told, place)
            }
        }
        let told = body.file?.heads.compactMap { group.places[$0] }.max() ?? 0
        note.told = max(note.told, told)
        if note.needsLog {
            let last = group.log.changes.filter { $0.device != person }.compactMap {
                group.places[$0.id]
            }
            note.needsLog = note.told < last.max() ?? 0
        }
        if body.room != nil { note.hasRoom = true }
        if body.bringsCard(of: owner) { note.ownCard = store.ownCardMark() }
        if body.isRequest {
            note.asked = time.seconds
            note.asks = min(note.asks, UInt8.max - 1) + 1
            if body.asksForChain { note.lacksChain = false }
        }
        if body.headsAnswer != nil { note.answeredQuestion(at: time) }
        if body.isComplete { note.hasHistory = true }
        let shown = Set(
            body.history.compactMap {
                $0["place"]?.object.flatMap { GroupContent.Place($0) }?.id(group.id, owner.device)
            })
        let answeredMessages = note.wantedMessages.filter { shown.contains($0) }
        note.wantedMessages.removeAll { shown.contains($0) }
        let paid = note.owedMessages.filter { shown.contains($0) }
        note.owedMessages.removeAll { shown.contains($0) }
        // The member can ask for them too, before they arrive.
        let others = paid.filter { !answeredMessages.contains($0) }
        note.answers.add(answered, answeredMessages + others, at: time)
        if body.chain != nil {
            note.holds = try chainSerial(of: group)
            if note.wantsChain {
                (note.wantsChain, note.answered) = (false, time.seconds)
            }
            if note.unreadUntil == nil { note.unreadUntil = try lastSentMessage(to: group) }
        }
        try write(note, of: group)
        if let envelope {
            try remember(body, in: envelope, before: before, note, of: group, at: time)
        }
        if body.headsRequest != nil {
            var group = group
            try draw(in: &group)
        }
    }
}

extension HistoryEntry {
    /// The place of a message in a chain of the owner, or `nil`.
    var groupPlace: GroupContent.Place? {
        record["details"]?.object?["place"]?.object.flatMap { GroupContent.Place($0) }
    }

    /// Returns a message of the owner for another member, with a body: ``EarlierMessage/object``. `nil` without a place.
    func shown(_ body: JSONObject) -> JSONObject? {
        guard let place = groupPlace, let time else { return nil }
        return EarlierMessage(.place(place), time: time, body: body).object
    }
}

extension StoredGroup {
    /// Whether a member gets the owner's earlier messages.
    func shows(to note: GroupMemberNote) -> Bool {
        switch state.policy.visibility {
        case .joined: false
        case .global: true
        case .granted: note.isGranted
        }
    }
}
