import Sotto
import SottoContacts
import SottoState
import SottoTool

/// A group that gets messages, and the routes to its members.
struct GroupRoute {
    /// The group.
    let group: StoredGroup
    /// The devices of members with a route, without this one.
    let destinations: [KeyID: Destination]
    /// The mailboxes of further devices. They get copies, which need no session.
    let mailboxes: [KeyID: MemberMailbox]
    /// The members whom the owner blocked.
    let blocked: Set<KeyID>
    /// The relays to which mail of members who are no contacts may go.
    let relays: ListedRelays

    var id: GroupID { group.id }

    /// Returns whether a device gets messages.
    func reaches(_ member: KeyID) -> Bool {
        destinations[member] != nil || mailboxes[member] != nil
    }

    /// Returns whether a device gets no messages although the owner wants it.
    func misses(_ device: KeyID) -> Bool {
        !reaches(device) && !isBlocked(device)
    }

    /// Returns whether the owner blocked the member with a device.
    func isBlocked(_ device: KeyID) -> Bool { blocked.contains(group.log.member(of: device)) }

    /// Returns a copy's line.
    func line(_ copy: Envelope, to member: KeyID) -> JSONObject? {
        destinations[member]?.line(copy) ?? mailboxes[member]?.line(copy)
    }
}

extension Correspondent {
    /// Creates the correspondent of a device of a member of a group. `card` is the member's, for a member who is no contact.
    init(_ seat: GroupSeat, contact: Contact?, card: Card?, isOwn: Bool) {
        self.init(
            id: seat.device, card: seat.card ?? contact?.card ?? card, contact: contact,
            isOwn: isOwn)
    }
}

/// The mailbox of a member of a group who is no contact, from the member's card.
struct MemberMailbox {
    /// The address in place of the id, or `nil`.
    let address: KeyID?
    /// The relay to which the mail goes, or `nil`.
    let relay: String?
    /// Whether the card has a relay to which mail may not go.
    let isUnlisted: Bool

    /// Reads the mailbox of a card. Mail goes only to a relay among `relays`.
    init(card: [UInt8], relays: ListedRelays) {
        let card = try? JSON.object(parsing: card)
        address = card?["address"]?.string.flatMap { KeyID($0) }
        let noted = card?["relay"]?.string.flatMap { relay in
            (1...Card.relayLimit).contains(relay.utf8.count) ? relay : nil
        }
        relay = noted.flatMap { relays.address(of: $0) }
        isUnlisted = noted != nil && relay == nil
    }

    /// Returns a copy's line.
    func line(_ copy: Envelope) -> JSONObject {
        var record = copy.record
        if let address { record["to"] = .string(address.description) }
        if let relay { record["relay"] = .string(relay) }
        return record
    }
}

/// A member of a group whose relay the group does not list.
struct UnlistedMember {
    /// The name for people: the chosen one and the beginning of the id.
    let name: String
    /// The address on the member's card, or `nil` if its text is none.
    let relay: String?
}

extension RecipientDirectory {
    /// Returns the group that a name or an id means, of which the owner is a member. It is read again only after a change.
    func memberGroup(_ name: String) throws -> StoredGroup {
        let found = try book.view { state -> StoredGroup? in
            if let seen = seenGroups[name] { return try state.group(seen.group, readAt: seen.last) }
            let group = try book.requiredGroup(name, for: .acting)
            seenGroups[name] = (group, try state.lastPlace(of: group.id))
            seenGroups[group.id.description] = seenGroups[name]
            return group
        }
        guard let found else {
            throw Failure(.usage, "a group requires the state directory", hint: "omit --stateless")
        }
        guard let group = found else { throw GroupError.unknown }
        guard group.standing == .member else { throw GroupError.notMember }
        return group
    }

    /// Returns the routes to the members of a group, by its name or id. Begins a session with each member who gets a change
    /// before the message and whose bundle is stored. A member without a route is reported and left out.
    func group(_ name: String, _ transaction: StateTransaction) throws -> GroupRoute {
        if groups?.read !== transaction.mark { groups = (transaction.mark, [:]) }
        if let known = groups?.routes[name] { return known }
        let group = try memberGroup(name)
        let sending = try transaction.prepareMessage(to: group, at: .now())
        let told = Set(sending.bodies.map(\.to))
        let contacts = Dictionary(
            try transaction.allContacts().map { ($0.id, $0) },
            uniquingKeysWith: { first, _ in first })
        let relays = group.state.policy.relays(and: try book.identity().relay)
        var unlisted: [KeyID] = []
        let blocked = Set(contacts.values.filter(\.isBlocked).map(\.id))
        var destinations: [KeyID: Destination] = [:]
        var mailboxes: [KeyID: MemberMailbox] = [:]
        for seat in sending.seats {
            let contact = contacts[seat.member]
            let card = seat.card?.record?.serialized() ?? sending.notes[seat.member]?.cardBytes
            if contact == nil, seat.member != own, !told.contains(seat.device), admitsMembers,
                let card
            {
                let mailbox = MemberMailbox(card: card, relays: relays)
                if mailbox.isUnlisted {
                    unlisted.append(seat.member)
                } else {
                    mailboxes[seat.device] = mailbox
                }
                continue
            }
            let person = Correspondent(
                seat, contact: contact, card: sending.notes[seat.member]?.card,
                isOwn: seat.member == own)
            switch try result({ try destination(of: seat, person, relays, transaction) }) {
            case .success(let destination) where destination.isUnlisted:
                unlisted.append(seat.member)
            case .success(let destination): destinations[seat.device] = destination
            case .failure(let failure):
                warn("\(person.name) does not get the message: \(failure.message)")
            }
        }
        try noteUnlisted(unlisted, of: group, transaction)
        let route = GroupRoute(
            group: sending.group, destinations: destinations, mailboxes: mailboxes,
            blocked: blocked, relays: relays)
        groups?.routes[name] = route
        // The messages of --group name it by its id.
        groups?.routes[group.id.description] = route
        return route
    }

    /// Notes members of a group who get nothing, because the group does not list their relays, for ``reportReached()``.
    func noteUnlisted(
        _ members: [KeyID], of group: StoredGroup, _ transaction: StateTransaction
    ) throws(StateError) {
        for id in members where notedUnlisted[group.id, default: []].insert(id).inserted {
            let name = try transaction.memberName(of: id, in: group)
            let member = UnlistedMember(
                name: (name.map { shellWord($0) + " " } ?? "") + "\(id.short)…",
                relay: try transaction.note(of: id, in: group).card?.relayAddress)
            if let place = unlisted.firstIndex(where: { $0.group.id == group.id }) {
                unlisted[place].members.append(member)
            } else {
                unlisted.append((group, [member]))
            }
        }
    }

    /// Reports the noted members and their relays, and how the relays are listed. Only admins can do that.
    func reportUnlisted() {
        for (group, members) in unlisted {
            guard let names = sentence(of: members.map(\.name)) else { continue }
            var relays: [String] = []
            for relay in members.compactMap(\.relay) where !relays.contains(relay) {
                relays.append(relay)
            }
            let which = sentence(of: relays).map { " \($0)" } ?? ""
            let fact =
                members.count == 1
                ? "\(names) gets nothing: their relay\(which) is not listed by the group"
                : "\(names) get nothing: their relays\(which) are not listed by the group"
            warn(fact + (Self.remedy(listing: relays, in: group).map { "; \($0)" } ?? ""))
        }
        unlisted = []
    }

    /// Returns how relays get into the list of a group, or `nil` without a relay. Members chose them, so the owner decides.
    private static func remedy(listing relays: [String], in group: StoredGroup) -> String? {
        guard !relays.isEmpty else { return nil }
        let (those, them) = relays.count == 1 ? ("this relay", "it") : ("these relays", "them")
        guard group.rank >= .admin else {
            return "if you trust \(those), ask an admin to list \(them)"
        }
        let all = group.state.policy.relays + relays
        guard all.count <= GroupPolicy.mostRelays else {
            return "a group lists at most \(GroupPolicy.mostRelays) relays"
        }
        let rule = shellWord("relays=" + all.joined(separator: ","))
        return
            "if you trust \(those), list \(them): sotto group policy \(group.id.short) \(rule) | sotto encrypt | sotto send"
    }

    /// Reports once the members of a restored group who get nothing before another member confirms it.
    func noteWithheld(
        _ devices: [KeyID], from group: StoredGroup, _ transaction: StateTransaction
    ) throws(StateError) {
        let people = Set(devices.map { group.log.member(of: $0) }).subtracting([own])
        guard !people.isEmpty, notedWithheld.insert(group.id).inserted else { return }
        let verb = people.count == 1 ? "gets" : "get"
        warn(
            "\(try names(of: people, in: group, transaction)) \(verb) nothing until another member confirms the group; to ask: sotto group sync \(group.id.short) --send"
        )
    }

    /// Reports once the people who are invited to a group: they can have entered it already.
    func noteInvited(
        _ group: StoredGroup, _ transaction: StateTransaction
    ) throws(StateError) {
        let people = Set(group.invited.map(\.id))
        guard !people.isEmpty, group.state.policy.visibility == .joined,
            notedInvited.insert(group.id).inserted
        else { return }
        let verb = people.count == 1 ? "is" : "are"
        warn(
            "\(try names(of: people, in: group, transaction)) \(verb) invited to \(try transaction.shownName(of: group.id)): if they have joined already, they get the message when that is known here"
        )
    }

    /// Returns the names of people in a group, in a sentence.
    private func names(
        of people: Set<KeyID>, in group: StoredGroup, _ transaction: StateTransaction
    ) throws(StateError) -> String {
        let names = try people.sorted { $0.description < $1.description }.map {
            id throws(StateError) -> String in
            let contact = try transaction.readableContact(id: id)?.name
            let chosen = try transaction.memberName(of: id, in: group)
            if let contact, !contact.isEmpty { return contact }
            return chosen.map { "\(shellWord($0)) \(id.short)…" } ?? "\(id.short)…"
        }
        return sentence(of: names) ?? ""
    }

    /// Reports once that no other member gets the owner's messages to a group: it has none, or its policy entitles none.
    func noteUnread(_ group: StoredGroup, _ transaction: StateTransaction) throws(StateError) {
        guard notedUnread.insert(group.id).inserted else { return }
        let name = try transaction.shownName(of: group.id)
        guard group.members.count > 1 else {
            return warn("\(name) has no other member yet: the message reaches no one")
        }
        let command = "sotto group grant \(group.id.short) WHO | sotto encrypt | sotto send"
        warn("no other member of \(name) reads your messages yet; to show them: \(command)")
    }

    /// Reports a record with keys for a person who may not have them any more.
    func noteLostRights() {
        warn(
            "a record has keys of a group that its recipient may not have any more: they are left out"
        )
    }

    /// Reports a member for whom the key of a group or its changes could not be encrypted. They get them with a later message.
    func noteUnreached(_ name: String, _ failure: Failure) {
        warn("\(name) cannot read the message until a later one reaches them: \(failure.message)")
    }

    /// Reports the members who get the key of a group in a sealed message.
    func noteSealed(_ names: [String]) {
        guard let first = names.first else { return }
        let who = names.count == 1 ? first : "\(names.count) members"
        warn(
            "the key of the group goes to \(who) without forward secrecy: no session exists")
    }
}
