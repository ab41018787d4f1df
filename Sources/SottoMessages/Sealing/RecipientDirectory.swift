import Sotto
import SottoContacts
import SottoState
import SottoTool

/// A mailbox or a chat that gets messages, and how they are encrypted for it. It is a class because copies of it are made often.
final class Destination: Sendable {
    /// The encryption of messages to one recipient.
    enum Route: Sendable {
        case suite(any MessageSuite.Type, Recipient)
        case session(KeyID)
        /// Machine one encrypts the message: this is another device of a private list.
        case machineOne
    }

    /// The recipient, or `nil` for a chat alone.
    let recipient: Correspondent?
    let route: Route
    /// The relays to which mail of a member of a group may go, or `nil` for any. Otherwise a member could make all others
    /// connect to an address.
    let relays: ListedRelays?

    init(recipient: Correspondent?, route: Route, relays: ListedRelays? = nil) {
        (self.recipient, self.route, self.relays) = (recipient, route, relays)
    }

    /// The relay on the recipient's card, if mail may go there.
    private var relay: String? {
        guard let relay = recipient?.notedRelay, let relays else { return recipient?.notedRelay }
        return relays.address(of: relay)
    }

    /// Whether mail may not go to the relay on the recipient's card.
    var isUnlisted: Bool { recipient?.notedRelay != nil && relay == nil }

    /// A chat without an address.
    static var chat: Destination {
        Destination(recipient: nil, route: .suite(PhraseSuite.self, .chat))
    }

    var id: KeyID? { recipient?.id }

    /// Whether machine one sends the messages.
    var isHandedOver: Bool { if case .machineOne = route { true } else { false } }

    /// A blob that `send` uploads for the recipient.
    struct Upload: Sendable {
        let id: [UInt8]
        let size: Int64
        let digest: [UInt8]
        let relay: String?

        /// Returns the record for `send`.
        func record(to mailbox: KeyID) -> BlobRecord {
            BlobRecord(id: id, to: mailbox, size: size, digest: digest, relay: relay)
        }
    }

    /// Returns the lines of an envelope, after the record of the blob that it needs.
    func lines(_ envelope: Envelope, _ upload: Upload?) -> [JSONObject] {
        var line = line(envelope)
        guard let upload, let to = line["to"]?.string.flatMap({ KeyID($0) }) else {
            return [line]
        }
        let blob = upload.record(to: to)
        line["blob"] = .string(blob.name)
        return [blob.record, line]
    }

    /// Returns an envelope's line: addressed to the mailbox on the recipient's card, with the relay for `send` that a
    /// signed card names. A `sotto:` URI does not authenticate a relay.
    func line(_ envelope: Envelope) -> JSONObject {
        var record = (recipient?.card.map { envelope.addressed(to: $0) } ?? envelope).record
        if let relay { record["relay"] = .string(relay) }
        return record
    }
}

/// Finds recipients and the routes to them. People are found once in a run, groups once in a transaction. It begins sessions
/// where the options allow it.
final class RecipientDirectory {
    private struct Key: Hashable {
        let id: KeyID
        let isShort: Bool
    }

    private let mailboxes: Mailboxes
    let book: AddressBook
    let store: IdentityStore?
    private let sessions: SessionPlan
    let plan: RoutePlan
    let own: KeyID
    /// The groups that were looked up in a transaction.
    var groups: (read: StateTransaction.Mark, routes: [String: GroupRoute])?
    /// The groups by name and id, each with the place of its last change when it was read.
    var seenGroups: [String: (group: StoredGroup, last: Int64)] = [:]
    /// The sessions that began in this transaction and are not reported yet.
    private var begunSessions: [SessionPlan.Begun] = []
    /// The recipients whose sessions were begun or continued.
    private var begun: Set<Key> = []
    /// The groups already reported as having no member who can read the owner.
    var notedUnread: Set<GroupID> = []
    private var people: [String: Result<Correspondent, Failure>] = [:]
    /// The relays to which mail of people may go who are members of groups and no contacts.
    private var memberRelays: [KeyID: ListedRelays] = [:]
    private var known: [Key: Result<Destination, Failure>] = [:]
    /// The owner's cards that messages carry, by the address on them.
    var ownCards: [SendAddress?: JSONObject] = [:]
    /// The restored groups of which the members who get nothing yet are reported.
    var notedWithheld: Set<GroupID> = []
    /// The groups of which the invited people are reported.
    var notedInvited: Set<GroupID> = []
    /// The members to whose relays no mail may go, by group, and those of them who are not reported yet.
    var notedUnlisted: [GroupID: Set<KeyID>] = [:]
    var unlisted: [(group: StoredGroup, members: [UnlistedMember])] = []
    /// The recipients of messages, and those of them who are not reported yet.
    private var allReached: Set<String> = []
    /// The groups among them.
    private var reachedGroups: Set<GroupID> = []
    private var reached: [String] = []
    private var hasNotedURI = false
    /// Whether machine one sends the messages of this device; `nil` before this was looked up.
    private var isHandingOver: Bool?
    /// The failure to exit with, because some recipients did not get a message that others got.
    private(set) var unreached: Failure?

    init(
        _ mailboxes: Mailboxes, _ book: AddressBook, _ store: IdentityStore?, own: KeyID
    ) throws {
        self.mailboxes = mailboxes
        self.book = book
        self.store = store
        self.own = own
        sessions = try SessionPlan(
            tool: "encrypt", mailboxes.session, classic: mailboxes.isClassic,
            quiet: mailboxes.quiet)
        plan = RoutePlan(
            method: mailboxes.method, own: own, sessions: sessions, quiet: mailboxes.quiet)
    }

    /// Finds the recipients of the command line. Throws if one of them, or the session with one, cannot be used.
    func people(_ to: [String], ttl: Int64?) throws -> [Correspondent] {
        let people = try to.map { try book.find($0, for: .acting) }
        try sessions.check(people)
        for person in people {
            let route = try route(to: person, isShort: ttl.isShortTTL, mailboxes.trust)
            if case .session = route { _ = try book.view { try sessions.bundle(for: person, $0) } }
            known[Key(id: person.id, isShort: ttl.isShortTTL)] = .success(
                Destination(recipient: person, route: route))
        }
        return people
    }

    /// Returns the destination of a message to a recipient, and begins the session if it does not exist. With `isShort` the message
    /// takes no step of a session. `transaction` is `nil` if the message is not recorded.
    func destination(
        _ person: Correspondent, isShort: Bool, _ transaction: StateTransaction?
    ) throws -> Destination {
        let key = Key(id: person.id, isShort: isShort)
        let found =
            try known[key]
            ?? result {
                let relays = memberRelays[person.id]
                let trust = relays == nil ? mailboxes.trust : memberTrust
                return Destination(
                    recipient: person, route: try route(to: person, isShort: key.isShort, trust),
                    relays: relays)
            }
        known[key] = found
        let destination = try found.get()
        if !begun.contains(key) {
            try begin(destination, key.isShort ? nil : transaction)
            begun.insert(key)
        }
        return destination
    }

    /// Returns the destination of a copy for a device, and begins the session with it if that is possible. The list of its owner
    /// vouches for the device. `suite` is the setting of the owner.
    func device(
        _ card: Card, suite: Suite?, isShort: Bool, _ transaction: StateTransaction?
    ) throws -> Destination {
        let key = Key(id: card.id, isShort: isShort)
        if begun.contains(key), let known = known[key] { return try known.get() }
        let suite = try plan.suite(ofDevice: card.id, setting: suite, in: book, isShort: isShort)
        let route: Destination.Route =
            suite == .ratchet
            ? .session(card.id) : .suite(Sealed.self, Recipient(id: card.id, card: card))
        let destination = Destination(
            recipient: Correspondent(id: card.id, card: card, contact: nil), route: route)
        try begin(destination, isShort ? nil : transaction)
        known[key] = .success(destination)
        begun.insert(key)
        return destination
    }

    /// Returns the destination of a message to a member of a group. The group vouches for a member who is not a contact, whose
    /// mail goes only to `relays`.
    func member(
        _ person: Correspondent, _ relays: ListedRelays, _ transaction: StateTransaction
    ) throws -> Destination {
        let trust = person.contact == nil ? memberTrust : mailboxes.trust
        let destination = Destination(
            recipient: person, route: try route(to: person, isShort: false, trust, isMember: true),
            relays: person.contact == nil ? relays : nil)
        try begin(destination, transaction)
        return destination
    }

    /// The policy for a member of a group who is no contact.
    private var memberTrust: TrustPolicy { mailboxes.trust ?? .any }

    /// Whether a member of a group who is no contact gets messages without further checks.
    var admitsMembers: Bool {
        guard mailboxes.session.isAutomatic else { return false }
        return mailboxes.trust == nil || mailboxes.trust == .any
    }

    /// Whether a message begins a session with a contact if it can.
    var beginsSessions: Bool {
        guard mailboxes.session.isAutomatic else { return false }
        return switch mailboxes.method {
        case .best, .ratchet: true
        case .sealed, .phrase: false
        }
    }

    /// Whether the messages are for a chat, whose members have no devices.
    var usesPhrase: Bool { if case .phrase = mailboxes.method { true } else { false } }

    /// Reports a recipient who does not get a message that others get.
    func noteFailed(_ name: String, _ failure: Failure) {
        warn("\(name) does not get the message: \(failure.message)")
        unreached = Failure(
            .partial, "a message was not encrypted to \(name): \(failure.message)",
            hint: failure.hint)
    }

    /// Notes a recipient of a message for ``reportReached()``.
    func noteReached(_ destination: Destination) {
        guard let recipient = destination.recipient else { return }
        noteReached(recipient.isOwn ? "me" : recipient.shortName)
    }

    /// Notes a group that gets a message, the number of the members who get it, and that of those who should and do not.
    func noteReached(
        _ group: StoredGroup, members: Int, lacking: Int, _ transaction: StateTransaction
    ) throws(StateError) {
        if lacking > 0 {
            // The notes name the members and the reasons.
            var message = ""
            if mailboxes.quiet {
                let name = try transaction.shownName(of: group.id)
                message = "a message was not encrypted to \(counted(lacking, "member")) of \(name)"
            }
            unreached = Failure(.partial, message)
        }
        guard members > 0, reachedGroups.insert(group.id).inserted else { return }
        let name = try transaction.shownName(of: group.id)
        let count =
            lacking == 0
            ? counted(members, "member") : "\(members) of \(members + lacking) members"
        noteReached("the group \(name), \(count)")
    }

    private func noteReached(_ name: String) {
        if allReached.insert(name).inserted { reached.append(name) }
    }

    /// Tells a person to whom the messages go, each recipient once, and reports the members who get nothing. Call it after the
    /// transaction.
    func reportReached() {
        reportUnlisted()
        defer { reached = [] }
        guard !mailboxes.quiet, Terminal.isTerminal(2), let names = sentence(of: reached) else {
            return
        }
        let way = isHandingOver == true ? "; machine one sends it when it runs" : ""
        Terminal.say("to \(names)\(way)")
    }

    /// Prints a note on standard error.
    func warn(_ text: String) {
        if !mailboxes.quiet { Terminal.note(text) }
    }

    /// Returns the recipient that a record names: an id, a contact, `me`, or a URI. A record selects no files.
    func person(named to: String) throws -> Correspondent {
        if let known = people[to] { return try known.get() }
        let found = try result { try lookUp(to) }
        people[to] = found
        return try found.get()
    }

    private func lookUp(_ to: String) throws -> Correspondent {
        let to = RecipientArgument.pasted(to)
        if RecipientArgument.isWritten(to) || ContactName.meansOwner(to) {
            return try book.find(to, for: .acting)
        }
        if KeyID(to) == own {
            return Correspondent(
                id: own, card: try book.identity().card(), contact: nil, isOwn: true)
        }
        if let contact = try book.lookUp(to, for: .acting) {
            return Correspondent(id: contact.id, card: contact.card, contact: contact)
        }
        if let device = try KeyID(to).flatMap({ try ownDevice($0) }) {
            return Correspondent(id: device.id, card: device.card, contact: nil)
        }
        guard let id = KeyID(to) else {
            throw Failure(
                .noInput, "the recipient in the record is not a contact",
                hint: "list the contacts: sotto contact list")
        }
        if let owner = try book.view({ try $0.person(ofDevice: id) }) ?? nil {
            let card = try book.view { try $0.devices(of: owner)?.device(id)?.card } ?? nil
            let contact = try book.lookUp(owner.description, for: .acting)
            if contact == nil, owner != own,
                let member = try book.view({ try $0.groupCard(of: owner) }) ?? nil
            {
                memberRelays[id] = try relays(of: member.policies)
            }
            return Correspondent(
                id: id, card: card, contact: contact, isOwn: owner == own)
        }
        guard let member = try book.view({ try $0.groupCard(of: id) }) ?? nil else {
            return Correspondent(id: id, card: nil, contact: nil)
        }
        memberRelays[id] = try relays(of: member.policies)
        return Correspondent(id: id, card: member.card, contact: nil)
    }

    /// Returns the other device of the owner with an id, or `nil`.
    func ownDevice(_ id: KeyID) throws -> OwnDevice? {
        try book.view { try $0.otherDevices().first { $0.id == id } } ?? nil
    }

    /// Returns the relays to which mail of members of groups with some policies may go, and the owner's relay.
    private func relays(of policies: [GroupPolicy]) throws -> ListedRelays {
        let own = [try book.identity().relay].compactMap(\.self)
        return ListedRelays(own + policies.flatMap(\.relays))
    }

    /// Reports the sessions that began. Call it after the transaction.
    func reportBegunSessions() {
        begunSessions.forEach(sessions.report)
        begunSessions = []
    }

    // MARK: Routes

    /// Whether this is another device than machine one on a private list. Throws ``StateError/removedDevice`` for a removed one.
    func handsOver() throws -> Bool {
        if let isHandingOver { return isHandingOver }
        let found = try book.view { transaction -> Bool in
            guard try transaction.ownDeviceState() != nil else { throw StateError.removedDevice }
            return try transaction.handsOver()
        }
        isHandingOver = found ?? false
        return found ?? false
    }

    private func handsOver(to person: Correspondent) throws -> Bool {
        guard try handsOver(), !person.isOwn, person.id != own, !usesPhrase else { return false }
        return try ownDevice(person.id) == nil
    }

    private func route(
        to person: Correspondent, isShort: Bool, _ trust: TrustPolicy?, isMember: Bool = false
    ) throws -> Destination.Route {
        func find(_ state: StateTransaction?) throws -> (route: Destination.Route, isLost: Bool) {
            let isLost = try person.contact != nil && state?.hasLostMessages(to: person.id) == true
            return (try openRoute(person, isShort: isShort, trust, isMember: isMember), isLost)
        }
        // All look-ups are in one reading of the state.
        let found = try book.view { try find($0) } ?? find(nil)
        guard found.isLost else { return found.route }
        warn(
            "the last messages to \(person.name) were not sent, so that the session ends; to see them: sotto history unsent"
        )
        try book.change { try $0.endLostSessions(with: person.id) }
        return try find(nil).route
    }

    private func openRoute(
        _ person: Correspondent, isShort: Bool, _ trust: TrustPolicy?, isMember: Bool
    ) throws -> Destination.Route {
        if try handsOver(to: person) {
            try book.check(person, suite: .sealed, trust)
            return .machineOne
        }
        let suite = try plan.suite(for: person, in: book, isShort: isShort, isMember: isMember)
        try book.check(person, suite: suite, trust)
        guard let type = suite.messageSuite else { return .session(person.id) }
        guard person.card != nil || suite != .sealed else {
            if let account = person.contact?.accounts.members.first?.name {
                throw Failure(
                    .noKey, "no card of \(person.name) is known",
                    hint:
                        "write to the account: sotto bridge seal \(account) --to \(person.argument)"
                )
            }
            throw Failure(
                .noKey, "no card of \(person.name) is known",
                hint: "get the card: \(cardLookupCommand(person.id, name: person.contact?.name))")
        }
        return .suite(type, Recipient(id: person.id, card: person.card))
    }

    /// Begins the session of a route if it does not exist, and reports the suite. Without a transaction nothing begins.
    func begin(_ destination: Destination, _ transaction: StateTransaction?) throws {
        guard let person = destination.recipient else { return }
        var isSealed = false
        if case .suite(let type, _) = destination.route { isSealed = type == Sealed.self }
        if isSealed, !mailboxes.quiet, !mailboxes.isClassic, !hasNotedURI,
            person.card?.hybrid == nil
        {
            hasNotedURI = true
            Terminal.note(
                "a sotto: URI has no post-quantum key; use the signed card instead")
        }
        // The suite of a message with a short time to live says nothing about the next message.
        guard let transaction else { return }
        switch destination.route {
        case .session:
            let session = try sessions.prepare(person, transaction)
            if let session { begunSessions.append(session) }
            plan.noteSuite(.ratchet, of: person, transaction, isReported: session != nil)
        case .suite:
            if isSealed { plan.noteSuite(.sealed, of: person, transaction, isReported: false) }
        case .machineOne: break
        }
    }
}

extension Int64? {
    /// Whether a time to live is too short for a message of a session.
    package var isShortTTL: Bool { self.map { $0 < Envelope.minimumSessionTTL } ?? false }
}

extension Correspondent {
    /// The name, or the beginning of the id if no name is known.
    fileprivate var shortName: String {
        name == id.description ? String(name.prefix(16)) + "…" : name
    }

    /// The relay on the card, if the card is signed by its owner.
    var notedRelay: String? {
        guard let card, card.record != nil, let relay = card.relay,
            (1...Card.relayLimit).contains(relay.utf8.count)
        else { return nil }
        return relay
    }
}
