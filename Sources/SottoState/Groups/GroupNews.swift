package import Sotto
import SottoDatabase

/// The effect of a body about a group: what changed for its members.
package struct GroupNews: Sendable {
    package let group: StoredGroup
    /// Objects with the member `event`: `invited`, `joined`, `left`, `role`, `renamed`, `changed`, `history`, `fork`, `confirmed`,
    /// `question`, `conversation_deleted`.
    package let events: [JSONObject]
    /// Whether the log names the sender. The session with another sender is not kept.
    package let isSenderNamed: Bool
    /// Whether the history has the body: it had an effect, or a member sent it.
    package let isRecorded: Bool

    /// The effect without its events.
    var withoutEvents: GroupNews {
        GroupNews(group: group, events: [], isSenderNamed: isSenderNamed, isRecorded: isRecorded)
    }
}

extension StateTransaction {
    /// Takes what a person says about a group: changes, cards, a chain, a request. Returns `nil` if the group is unknown
    /// and the body does not begin it.
    ///
    /// A chain of another person, and a malformed change or card, are ignored: the rest counts. A person whom the log does not
    /// name brings changes and nothing else. Throws ``GroupError``.
    ///
    /// `file` has the changes and cards of a file in place of those of the body.
    package func take(
        _ body: GroupBody, file: (changes: [GroupChange], cards: [Card])? = nil,
        from device: KeyID, at time: Timestamp = .now()
    ) throws -> GroupNews? {
        var before = try group(body.group)
        let changes = file?.changes ?? body.changes.compactMap { try? GroupChange($0) }
        let begins = changes.contains { $0.id == body.group }
        // The invitation was taken back, and the new one is in the file of a member.
        if let old = before, begins, body.file != nil, old.isInvitationTakenBack,
            old.state.ranks[old.log.member(of: device)] != nil
        {
            try forget(old)
            before = nil
        }
        guard before != nil || begins else { return nil }
        if before == nil { try makeSpace(forGroupOf: device) }
        let received = try receive(changes, of: body.group, from: device, at: time)
        guard var group = try group(body.group) else { return nil }
        let sender = try sender(with: device, in: group)
        if group.isDeclined, received.stored.contains(where: { $0.act.invites(owner.id) }) {
            try decline(group, false)
            group.isDeclined = false
        }
        group = try admit(changes.filter { $0.by == sender }, to: group, at: time)
        let cards = file?.cards ?? body.cards.compactMap { try? Card(record: $0) }
        try note(cards, from: sender, in: group)
        if sender == owner.id, owner.owner == nil, before == nil || group.isPartial {
            group = try restore(
                group, isPartial: before == nil ? body.file != nil : file == nil)
        }
        let isFound = try before == nil && sender == owner.id && newState() != nil
        if isFound || received.stored.contains(where: { $0.device == owner.device }) {
            try askForChains(in: group)
        }
        if let object = body.room, let keys = try? RoomKeys(object),
            group.state.ranks[sender] ?? .nobody >= .moderator,
            keys.door.publicKey == group.state.policy.door,
            group.state.policy.relays.contains(keys.relay), try room(of: group) == nil
        {
            try keep(keys, of: group)
        }
        if let chain = body.chain,
            let distribution = try? GroupChainDistribution(chain, from: device),
            distribution.group == group.id
        {
            try receive(distribution)
        }
        if let file = body.file {
            try note(file, from: sender, device, in: group, beginsGroup: before == nil, at: time)
        }
        // A device can ask before the log has the list that names it. It is answered when the log has it.
        let isSenderNamed = try group.log.names(person(withDevice: device, in: group))
        if isSenderNamed, !received.missing.isEmpty || !body.request.isEmpty {
            try note(
                wanted: group.log.answers(to: body.request, known: body.heads),
                missing: received.missing, of: device, in: group, at: time)
        }
        try note(body, asks: device, in: group, at: time)
        if !changes.isEmpty || body.chain != nil || body.headsAnswer != nil
            || !body.history.isEmpty
        {
            try noteAnswer(of: device, in: group)
        }
        if isSenderNamed { try noteHeads(body, of: device, in: group, at: time) }
        let isConfirmed = try confirmation(of: &group)
        // A message can name a change that waits, which is then stored.
        if !received.stored.isEmpty || !changes.isEmpty && group.state.ranks[sender] != nil {
            hasGroupNews = true
        }
        var events =
            try events(before, group, from: sender).map { try called($0, group) }
            + takeForks().map(Self.event)
        if let event = try show(body.history, of: sender, device, in: group, at: time) {
            events.insert(event, at: 0)
        }
        if isConfirmed {
            events.append([
                "event": .string("confirmed"), "who": .string(sender.description),
            ])
        }
        return GroupNews(
            group: group, events: try events.map { try named(event: $0, in: group) },
            isSenderNamed: isSenderNamed,
            isRecorded: !events.isEmpty || !received.stored.isEmpty
                || group.state.ranks[sender] != nil)
    }

    /// Returns the person whose device sent something: by the log, or the owner for a full device of the owner that the beginning of a
    /// log does not name yet.
    private func sender(
        with device: KeyID, in group: StoredGroup
    ) throws(StateError) -> KeyID {
        let member = group.log.member(of: device)
        guard !group.log.names(member),
            try devices(of: owner.id)?.device(device)?.state == .full
        else { return member }
        return owner.id
    }

    /// Takes a group, or the rest of its log, that another own device brings to machine one, which lost it. Machine one asks the members
    /// to confirm the log, in which its own last changes can be missing. With `isPartial`, the rest of the log is in a file. Returns
    /// the group.
    private func restore(
        _ group: StoredGroup, isPartial: Bool
    ) throws(StateError) -> StoredGroup {
        var group = group
        group.question = group.question ?? randomBytes(GroupBody.questionBytes)
        group.isPartial = isPartial
        group.drawn = group.members.map(\.id).filter { $0 != owner.id }
        groups[group.id] = group
        try writeHeader(of: group)
        return group
    }

    /// Notes that the owner lacks chains of members, who believe that this device has them. It lost its state: its own changes were
    /// unknown here, or the group was not in a new state.
    private func askForChains(in group: StoredGroup) throws(StateError) {
        for seat in group.seats where seat.member != owner.id {
            guard try chains(of: seat.device, in: group).isEmpty else { continue }
            var note = try note(of: seat.device, in: group)
            note.lacksChain = true
            try write(note, of: group)
        }
    }

    /// Returns the member of whom a device is: by the log, or by the list of devices that is known here.
    func person(withDevice device: KeyID, in group: StoredGroup) throws(StateError) -> KeyID {
        let member = group.log.member(of: device)
        guard !group.log.names(member) else { return member }
        return try person(ofDevice: device) ?? member
    }

    private static func event(_ fork: GroupFork) -> JSONObject {
        ["event": .string("fork"), "who": .string(fork.device.description)]
    }

    /// Whether a body is about a group here, or from a member of a group here and about a new group that continues it.
    package func expects(
        _ body: GroupBody, from sender: KeyID
    ) throws(StateError) -> Bool {
        if try group(body.group) != nil { return true }
        for record in body.changes where record["act"]?.string == "create" {
            guard case .create(_, _, let continued?)? = (try? GroupChange(record))?.act,
                let group = try group(continued.group)
            else { continue }
            // One group continues another. Further ones are for the requests.
            guard group.standing == .member, group.state.ranks[sender] ?? .nobody >= .member else {
                return false
            }
            return try !hasContinuation(of: group.id)
        }
        return false
    }

    private func hasContinuation(of id: GroupID) throws(StateError) -> Bool {
        for header in try groupHeaders() {
            if case .group(let group) = try readGroup(header), group.continued == id { return true }
        }
        return false
    }

    /// Stores earlier messages that their author shows the owner. Returns the event, or `nil` if none is new here, or if another
    /// device of the owner shows them.
    private func show(
        _ messages: [JSONObject], of author: KeyID, _ device: KeyID, in group: StoredGroup,
        at time: Timestamp
    ) throws(StateError) -> JSONObject? {
        guard !messages.isEmpty, device != owner.device,
            try takesMessages(shownBy: author, in: group)
        else { return nil }
        let wanted = Set(try messageRequests(of: device, in: group))
        let chains = try chains(of: device, in: group).map(\.chain)
        var count: Int64 = 0
        for message in messages {
            guard let message = try? EarlierMessage(message),
                let id = message.id(in: group.id, of: device)
            else { continue }
            // A copy that was never made leaves no gap before the next message of its chain.
            let isExpected =
                if case .place(let place) = message.name {
                    chains.contains { $0.expects(place) }
                } else {
                    false
                }
            let isNew = try add(
                message, id, isWanted: isExpected || wanted.contains(id), of: author, device,
                to: group, at: time)
            if isNew { count += 1 }
        }
        guard count > 0, author != owner.id else { return nil }
        return [
            "event": .string("history"), "who": .string(author.description),
            "count": .integer(count),
        ]
    }

    /// Stores an earlier message that its author shows the owner. Returns whether it is new here.
    ///
    /// Its author is the sender of the body: the id is that of a place in a chain of the sender. It changes no message that is
    /// here. With `isWanted` the owner could read it when it was written. Another one must be a content, and visible to members who
    /// joined after it.
    private func add(
        _ message: EarlierMessage, _ id: String, isWanted: Bool, of author: KeyID, _ device: KeyID,
        to group: StoredGroup, at time: Timestamp
    ) throws(StateError) -> Bool {
        guard let rank = group.state.ranks[author], let body = try? MessageBody(message.body)
        else { return false }
        let written = message.time
        if isWanted || author == owner.id {
            guard group.permits(body, by: author, rank: rank) else { return false }
        } else {
            guard group.state.policy.visibility != .joined, body.isContent else { return false }
        }
        var earlier = try group.message(
            id: id, from: author, called: memberName(of: author, in: group), rank: rank,
            time: written, body: message.body)
        if device != author { earlier.device = device }
        // The author sent no copy of another one to the owner, so it gets no receipt.
        if !isWanted { earlier.forgetMemberCount() }
        let isOwn = author == owner.id
        let imported = ImportedMessage(
            record: earlier.record, direction: isOwn ? .sent : .received,
            state: isOwn ? .sentElsewhere : .new,
            received: Timestamp(seconds: min(written.seconds, time.seconds)), expires: nil,
            isUnread: !isOwn, number: 0, digest: [])
        guard case .added = try add(imported, isOwn: true, at: time) else { return false }
        guard !isOwn else {
            try applyEarlyReceipts(of: id, in: row(of: .group(group.id)))
            return true
        }
        // It was lost, so nobody has read it.
        if isWanted { try markUnread(late: id, in: group.id) }
        return true
    }

    /// Notes that a member told something: the next question need not wait.
    private func noteAnswer(of member: KeyID, in group: StoredGroup) throws(StateError) {
        var note = try note(of: member, in: group)
        guard note.asks > 0 else { return }
        (note.asks, note.asked) = (0, 0)
        try write(note, of: group)
    }

    /// Adds the local name of the group to an event that brings another name.
    private func called(_ event: JSONObject, _ group: StoredGroup) throws(StateError) -> JSONObject
    {
        guard ["invited", "renamed"].contains(event["event"]?.string),
            let name = try groupNames()[group.id], name != group.name
        else { return event }
        var event = event
        event["called"] = .string(name)
        return event
    }

    /// Adds the names of the people in an event, if they are contacts or the owner, and the names that they chose.
    func named(
        event: JSONObject, in group: StoredGroup
    ) throws(StateError) -> JSONObject {
        // The name in an invitation is that of the group.
        guard event["event"]?.string != "invited" else { return event }
        var event = event
        for (person, name, chosen) in [
            ("who", "name", "nickname"), ("by", "byName", "byNickname"),
        ] {
            guard let id = event[person]?.string.flatMap({ KeyID($0) }) else { continue }
            if event[chosen] == nil, let nickname = try memberName(of: id, in: group) {
                event[chosen] = .string(nickname)
            }
            let known = id == owner.id ? "me" : try readableContact(id: id)?.name ?? ""
            if !known.isEmpty { event[name] = .string(known) }
        }
        return event
    }

    /// Adds to the changes that a member asks for, and to those for which the owner asks the member.
    package func note(
        wanted: [GroupID] = [], missing: [GroupID], of member: KeyID, in group: StoredGroup,
        at time: Timestamp = .now()
    ) throws(StateError) {
        var note = try note(of: member, in: group)
        let answered = note.answers.changes(at: time)
        let new = wanted.filter { !note.wanted.contains($0) && !answered.contains($0) }
        note.wanted += new.prefix(GroupMemberNote.mostWanted)
        note.missing.removeAll { group.log.contains($0) }
        if note.missing.isEmpty { note.missingSince = 0 }
        let newlyMissing = missing.filter { !note.missing.contains($0) }
        note.missing += newlyMissing
        if !newlyMissing.isEmpty {
            note.missingLast = time.seconds
            if note.missingSince == 0 { note.missingSince = time.seconds }
        }
        note.wanted = Array(note.wanted.suffix(GroupMemberNote.mostWanted))
        note.missing = Array(note.missing.suffix(GroupMemberNote.mostWanted))
        try write(note, of: group)
    }

    /// Shows the owner's earlier and later messages to a member of a group with the visibility `granted`.
    package func grant(_ member: KeyID, in group: StoredGroup) throws(StateError) {
        var note = try note(of: member, in: group)
        // A second grant shows the earlier messages again.
        (note.isGranted, note.hasHistory) = (true, false)
        try write(note, of: group)
    }

    /// Returns the differences between two states of a group.
    private func events(
        _ before: StoredGroup?, _ after: StoredGroup, from sender: KeyID
    ) throws(StateError) -> [JSONObject] {
        guard let before, before.standing != .left || after.standing != .invited else {
            guard after.standing == .invited else {
                // A member brings back a group that a lost state had.
                let isBack = before == nil && after.standing == .member && sender != owner.id
                return isBack ? [GroupEvent.joined(owner.id, after.rank, nickname: nil)] : []
            }
            return [
                GroupEvent.event(
                    "invited",
                    [
                        ("id", .string(after.id.short)), ("name", .string(after.name)),
                        ("by", .string((after.inviter ?? sender).description)),
                        ("continues", after.continued.map { .string($0.short) }),
                    ])
            ]
        }
        if before.standing != .left, after.rank == .nobody,
            let remover = after.remover(of: owner.id, after: before)
        {
            if after.wasDeleted(by: remover, before) { return [GroupEvent.deleted(by: remover)] }
            // An invited person hears of no other change.
            if after.isInvitationTakenBack { return [GroupEvent.left(owner.id, by: remover)] }
        }
        // An invitation grows in several bodies; the newcomer sees the group after joining.
        guard after.standing != .invited else { return [] }
        var events: [JSONObject] = []
        // A change that is stored later is later in the log.
        let new = Array(after.log.changes.reversed().prefix { !before.log.contains($0.id) })
        func author(of act: GroupChange.Act) -> KeyID? {
            new.first { $0.act == act && after.log.isEffective($0, in: after.state) }?.by
        }
        let ids = Set(before.state.ranks.keys).union(after.state.ranks.keys)
        for id in ids.sorted(by: { $0.description < $1.description }) {
            switch (before.state.ranks[id], after.state.ranks[id]) {
            case (nil, let rank?):
                let nickname = after.state.nicknames[id]
                events.append(GroupEvent.joined(id, rank, nickname: nickname))
                if before.standing == .member, after.mayGrant(to: id),
                    try !note(of: id, in: after).isGranted
                {
                    events.append(
                        GroupEvent.event(
                            "question",
                            [
                                ("who", .string(id.description)),
                                ("nickname", nickname.map { .string($0) }),
                                ("group", .string(after.id.short)),
                            ]))
                }
            case (_?, nil):
                events.append(GroupEvent.left(id, by: after.remover(of: id, after: before)))
            case (let old?, let rank?) where old != rank:
                events.append(GroupEvent.role(id, rank, by: author(of: .role(id, rank))))
            default: break
            }
        }
        if before.name != after.name {
            let by = author(of: .set(.name(after.name)))
            events.append(GroupEvent.renamed(after.name, by: by))
        }
        if before.state.policy != after.state.policy {
            let by = author(of: .policy(after.state.policy))
            events.append(
                GroupEvent.changed(after.state.policy, from: before.state.policy, by: by))
        }
        for what in ["about", "avatar", "timer"]
        where before.state.values[what] != after.state.values[what] {
            let value = after.state.values[what]
            let by = value.flatMap { author(of: .set($0)) }
            events.append(GroupEvent.changed(what, timer: value?.timer, by: by))
        }
        if events.isEmpty {
            events += ids.sorted { $0.description < $1.description }.filter {
                before.state.nicknames[$0] != after.state.nicknames[$0]
            }.map { GroupEvent.changed("nickname", by: $0) }
        }
        return events
    }
}

extension StoredGroup {
    /// Returns the member who removed a person by a change that an earlier state does not have, or `nil` if none did.
    fileprivate func remover(of person: KeyID, after before: StoredGroup) -> KeyID? {
        let rank = before.state.ranks[person] ?? .nobody
        return log.changes.last { change in
            switch change.act {
            case .remove(let people, _), .ban(let people, _):
                people.contains(person) && !before.log.contains(change.id)
                    && log.power(of: change, in: state) > rank
            case .create, .invite, .join, .doorJoin, .leave, .role, .policy, .set, .devices, .merge:
                false
            }
        }?.by
    }

    /// Returns whether the only owner in an earlier state closed the group and removed all others.
    fileprivate func wasDeleted(by remover: KeyID, _ before: StoredGroup) -> Bool {
        let owners = before.state.ranks.filter { $0.value == .owner }.keys
        return isDeleted && Array(owners) == [remover]
            && log.changes.contains { change in
                guard case .policy(let policy) = change.act else { return false }
                return policy.isClosed && change.by == remover
            }
    }

    /// Whether the owner decides if a new member reads their messages.
    func mayGrant(to member: KeyID) -> Bool {
        state.policy.visibility == .granted && member != owner && standing == .member
            && !log.joined(member, before: owner)
    }
}
