import Sotto
import SottoContacts
import SottoDatabase
import SottoTool
import TestSupport
import Testing

@testable import SottoMessages
@testable import SottoState

/// Random schedules of two people with three and two devices, and a group of both. Messages are sealed and opened in this process
/// as `encrypt` and `decrypt` do it; they arrive in any order, and some twice.
@Suite(.timeLimit(.minutes(60))) struct DeviceScheduleTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func allDevicesOfAPersonAgreeAndARemovedOneOpensNothingLater(seed: UInt64) throws {
        let schedule = try DeviceSchedule(seed: seed)
        for step in 0..<300 { try schedule.take(step) }
        try schedule.end()
    }

    /// The announcement of a list can come before the change of a group.
    @Test func aRemovedDeviceGetsNoMessageOfAGroupWhoseLogStillNamesIt() throws {
        let schedule = try DeviceSchedule(seed: 38)
        let (alice, bob) = (schedule.devices[0], schedule.devices[3])
        try schedule.remove()
        // Bob gets all but the change of the group.
        bob.mail = bob.mail.filter { !$0.isAboutGroup }
        try schedule.readAll(bob)
        try schedule.write(bob, toGroup: true)
        #expect(schedule.devices[2].mail.allSatisfy { $0.writer != bob.name })
        #expect(alice.mail.contains { $0.writer == bob.name })
    }
}

/// The devices, the mail on its way, and what was written.
private final class DeviceSchedule {
    /// An envelope on its way.
    struct Underway {
        let id: String
        let bytes: [UInt8]
        let writer: String
        let isAboutGroup: Bool
    }

    final class Device {
        let name: String
        let person: String
        let identity: Identity
        let store: IdentityStore
        var mail: [Underway] = []
        /// What was opened, of which some comes again.
        var opened: [Underway] = []
        var openedIDs: Set<String> = []

        init(_ device: DeviceWorld.Device, _ store: IdentityStore) {
            (name, person, identity) = (device.name, device.person, device.identity)
            self.store = store
        }
    }

    /// A text that a device wrote.
    struct Written {
        let text: String
        let isOfGroup: Bool
        /// Whether its author knew that the device was removed.
        let isForbidden: Bool
    }

    private let world: DeviceWorld
    /// Alice's three, then Bob's two.
    let devices: [Device]
    private let group: GroupID
    private var random: Generator
    private var written: [Written] = []
    /// The texts that each person deleted.
    private var deleted: [String: Set<String>] = [:]
    /// All envelopes since the removal of a device.
    private var later: [Underway] = []
    private var isRemoved = false

    /// The steps at which the third device of Alice becomes silent, and at which it is removed in the middle of a burst.
    private static let silence = 120
    private let removal: Int
    /// The steps in which a device is off.
    private let off: [String: Range<Int>] = ["bob-0": 20..<100, "alice-0": 165..<280]

    init(seed: UInt64) throws {
        random = Generator(seed: seed)
        removal = 155 + random.int(0..<25)
        world = try DeviceWorld()
        let world = world
        let devices = try world.devices.map { try Device($0, world.store($0)) }
        self.devices = devices
        group = try Self.makeGroup(devices[0])
        for device in devices {
            let other = devices[device.person == "alice" ? 3 : 0].identity.id
            try device.store.transaction { transaction in
                guard var contact = try transaction.contact(id: other) else { return }
                contact.getsReceipts = true
                try transaction.save(contact)
            }
        }
        try invite()
        try beginSessions()
    }

    private var comment: Comment { random.comment }
    private var removed: Device { devices[2] }
    /// The devices that can write.
    private var present: [Device] { devices.filter { !isRemoved || $0 !== removed } }

    private func other(_ device: Device) -> KeyID {
        devices[device.person == "alice" ? 3 : 0].identity.id
    }

    // MARK: The beginning

    private static func makeGroup(_ alice: Device) throws -> GroupID {
        try alice.store.transaction { try $0.createGroup(GroupPolicy(), [.name("team")]) }.id
    }

    /// Bob enters the group, and both put the lists of their devices into its log.
    private func invite() throws {
        let (alice, bob) = (devices[0], devices[3])
        let (aliceCard, bobCard) = (alice.identity.card(), bob.identity.card())
        let id = group
        let invitation = try alice.store.transaction { transaction in
            let found = try transaction.group(id)
            var group = try #require(found)
            try transaction.note(bobCard, in: group)
            group = try transaction.write(.invite([bobCard.id], .member), in: group)
            return try transaction.invitation(to: group, cards: [aliceCard])
        }
        try post(alice, news: invitation.map { (to: bobCard.id, body: $0) })
        try readAll(bob)
        let card = try #require(bobCard.record)
        let join = try bob.store.transaction { transaction in
            let found = try transaction.group(id)
            let group = try #require(found)
            let joined = try transaction.join(
                group, GroupChange.Entry(card: sha256(JSON.object(card).canonical())))
            return StateTransaction.bodies(
                of: id, Array(joined.log.changes.suffix(1)), cards: [bobCard])
        }
        try post(bob, news: join.map { (to: aliceCard.id, body: $0) })
        try settle()
        for device in devices {
            let found = try device.store.preview { try $0.group(id) }
            #expect(found?.standing == .member && found?.members.count == 2, "\(device.name)")
            #expect(found?.seats.count == 4, "\(device.name)")
        }
    }

    /// Begins sessions between two thirds of the pairs of devices. The others use the suite sealed.
    private func beginSessions() throws {
        for (place, device) in devices.enumerated() {
            for other in devices[(place + 1)...] where random.int(0..<3) > 0 {
                let bundle = try other.store.transaction { transaction in
                    let publication = try transaction.publication(oneTime: 1)
                    return try publication.bundle(oneTime: publication.oneTimePreKeys.first)
                }
                _ = try device.store.transaction { try $0.begin(with: bundle) }
            }
        }
    }

    // MARK: Steps

    func take(_ step: Int) throws {
        if step == Self.silence {
            // What the removed device did before is known everywhere.
            try settle()
        }
        if step == removal { try remove() }
        var writers = devices.filter { off[$0.name]?.contains(step) != true }
        let readers = writers
        if step >= Self.silence { writers.removeAll { $0 === removed } }
        guard let device = writers.randomElement(using: &random),
            let reader = readers.randomElement(using: &random)
        else { return }
        let isBurst = abs(step - removal) < 10
        switch isBurst ? random.int(0..<12) : random.int(0..<24) {
        case 0...3: try write(device, toGroup: false)
        case 4...6: try write(device, toGroup: true)
        case 7...11: try read(reader)
        case 12, 13: try markRead(device)
        case 14, 15: try delete(device)
        case 16: try decide(device, step)
        case 17: try set(device, step)
        case 18: if device.person == "alice" { try rename(device, step) }
        case 19, 20: _ = try sync(device)
        case 21: _ = try tellGroup(device)
        default: try read(reader)
        }
    }

    func write(_ device: Device, toGroup isOfGroup: Bool) throws {
        let text = "\(written.count) of \(device.name)"
        let knows = try knowsRemoval(device)
        written.append(Written(text: text, isOfGroup: isOfGroup, isForbidden: knows))
        let body = Message.textBody(text)
        let message =
            isOfGroup
            ? MessageText(body: body, extra: [], group: group.description)
            : MessageText(body: body, extra: [], to: other(device).description)
        let to = try post(device, [message], isHandedOn: isOfGroup)
        #expect(!knows || !to.contains(removed.name), comment)
        #expect(Set(present.map(\.name)).subtracting([device.name]).isSubset(of: to), comment)
    }

    /// Whether a device knows a list of Alice without the removed device.
    private func knowsRemoval(_ device: Device) throws -> Bool {
        guard isRemoved else { return false }
        let (alice, id) = (devices[0].identity.id, removed.identity.device)
        return try device.store.preview { try $0.devices(of: alice)?.device(id) == nil }
    }

    private func markRead(_ device: Device) throws {
        let conversation = random.int(0..<2) == 0 ? .group(group) : Conversation.peer(other(device))
        let entries = try device.store.transaction { try $0.markRead(conversation) }
        var receipts = Receipts(.read, device.store)
        for entry in entries where entry.conversation.group == nil { try receipts.add(entry) }
        let messages = receipts.messages.map { receipt in
            MessageText(
                body: receipt.record["body"]?.object ?? [:], extra: [],
                to: other(device).description)
        }
        _ = try post(device, messages, isHandedOn: false)
    }

    private func delete(_ device: Device) throws {
        let conversation = random.int(0..<2) == 0 ? .group(group) : Conversation.peer(other(device))
        let entries = try device.store.preview { try Self.texts(in: conversation, $0) }
        guard let entry = entries.randomElement(using: &random) else { return }
        deleted[device.person, default: []].insert(Self.text(entry))
        let count = try device.store.transaction { try $0.deleteByOwner([entry]) }
        #expect(count == 1, comment)
    }

    /// Decides about the contact.
    private func decide(_ device: Device, _ step: Int) throws {
        let isName = random.int(0..<2) == 0
        try device.store.transaction { transaction in
            guard var contact = try transaction.contact(id: other(device)) else { return }
            if isName {
                contact.name = "friend \(step)"
            } else {
                contact.trust = contact.trust == .verified ? .trusted : .verified
            }
            try transaction.save(contact)
        }
    }

    /// Changes the settings of a conversation.
    private func set(_ device: Device, _ step: Int) throws {
        let conversation = random.int(0..<2) == 0 ? .group(group) : Conversation.peer(other(device))
        let kind = random.int(0..<3)
        try device.store.transaction { transaction in
            try transaction.change(conversation) { settings in
                switch kind {
                case 0: settings.isFavourite.toggle()
                case 1: settings.isMuted.toggle()
                default: settings.name = "name \(step)"
                }
            }
        }
    }

    /// Renames the group.
    private func rename(_ device: Device, _ step: Int) throws {
        let id = group
        let news = try device.store.transaction { transaction in
            let found = try transaction.group(id)
            let group = try #require(found)
            return try transaction.news(
                of: transaction.write(.set(.name("team \(step)")), in: group))
        }
        try post(device, news: news)
    }

    /// Tells the members of the group what they lack. Returns the number of messages.
    private func tellGroup(_ device: Device) throws -> Int {
        let id = group
        let news = try device.store.transaction { transaction in
            // A device can lack the group.
            try transaction.group(id).map { try transaction.news(of: $0) } ?? []
        }
        try post(device, news: news)
        return news.count
    }

    /// Tells the other devices of a person what they lack. Returns the number of envelopes.
    private func sync(_ device: Device) throws -> Int {
        guard try device.store.preview({ try $0.hasDueItems() }) else { return 0 }
        let body = MessageBody(.other(.sync)).record
        let message = MessageText(body: body, extra: [], to: device.identity.id.description)
        let to = try post(device, [message], isHandedOn: false)
        #expect(!to.isEmpty, comment)
        return to.count
    }

    /// Alice removes her third device. Her contact and her other device are told.
    func remove() throws {
        let alice = devices[0]
        let id = removed.identity.device
        isRemoved = true
        try alice.store.transaction { transaction in
            let known = try transaction.devices(of: transaction.owner.id)
            let list = try #require(known)
            _ = try transaction.sign(devices: list.devices.filter { $0.id != id })
        }
        let announcement = DeviceBody.announcement.record
        let message = MessageText(
            body: announcement, extra: [], to: other(alice).description)
        let to = try post(alice, [message], isHandedOn: false)
        #expect(Set(to) == ["bob", "bob-0"], comment)
        let card = try alice.store.preview { try $0.ownCard(issued: .now()) }
        let record = try #require(card.record)
        let own = try Sealed.seal(
            body: announcement, extra: [(name: "card", value: .object(record))],
            from: alice.identity, to: devices[1].identity.card(), time: .now())
        _ = try deliver(own.record.serialized(), from: alice, isAboutGroup: false)
        _ = try tellGroup(alice)
    }

    // MARK: Mail

    private func post(_ device: Device, news: [(to: KeyID, body: GroupBody)]) throws {
        let messages = news.map { to, body in
            MessageText(body: body.record, extra: [], to: to.description)
        }
        _ = try post(device, messages, isHandedOn: true, isAboutGroup: true)
    }

    /// Seals messages as `encrypt` does it, and puts the envelopes into the mailboxes. Returns the names of the devices.
    private func post(
        _ device: Device, _ messages: [MessageText], isHandedOn: Bool, isAboutGroup: Bool = false
    ) throws -> [String] {
        guard !messages.isEmpty else { return [] }
        let mailboxes = Mailboxes(
            to: [], group: nil, ttl: nil, method: .best, session: SessionOptions().beginning,
            isClassic: false, trust: nil, identity: IdentityOptions().choice, lockTimeout: 5,
            quiet: true)
        let recipients = try Recipients(
            mailboxes, AddressBook(device.store), isHandedOn: isHandedOn)
        let lines = try recipients.seal(messages).flatMap { try $0.get() }
        let sent = try lines.map {
            try deliver($0, from: device, isAboutGroup: isAboutGroup)
        }
        if !isHandedOn {
            // The relay has them.
            try device.store.transaction { transaction in
                for (id, _) in sent {
                    _ = try transaction.settled(device.store.mark(sent: id), .stored)
                }
            }
        }
        return sent.map(\.to)
    }

    private func deliver(
        _ line: [UInt8], from device: Device, isAboutGroup: Bool
    ) throws -> (id: String, to: String) {
        let record = try JSON.object(parsing: line)
        let mailbox = record["to"]?.string
        let found = devices.first { $0.identity.device.description == mailbox }
        let reader = try #require(found)
        let item = Underway(
            id: record["id"]?.string ?? "", bytes: line, writer: device.name,
            isAboutGroup: isAboutGroup)
        reader.mail.append(item)
        if isRemoved { later.append(item) }
        return (item.id, reader.name)
    }

    /// Opens some of the mail of a device, in any order, and some of it twice.
    private func read(_ device: Device) throws {
        var (now, rest) = ([Underway](), [Underway]())
        for item in device.mail.shuffled(using: &random) {
            guard random.int(0..<4) > 0 else {
                rest.append(item)
                continue
            }
            now.append(item)
            if random.int(0..<6) == 0 { now.insert(item, at: random.int(0..<now.count)) }
        }
        if let old = device.opened.randomElement(using: &random) { now.append(old) }
        device.mail = rest
        try open(now, device)
    }

    /// Opens all mail of a device. What waits for other mail stays.
    func readAll(_ device: Device) throws {
        var count = Int.max
        while !device.mail.isEmpty, device.mail.count < count {
            count = device.mail.count
            let mail = device.mail.shuffled(using: &random)
            device.mail = []
            try open(mail, device)
        }
    }

    private func open(_ mail: [Underway], _ device: Device) throws {
        guard !mail.isEmpty else { return }
        let results = try results(of: mail, device)
        // A removed device gets what it cannot open.
        guard !isRemoved || device !== removed else { return }
        for (item, result) in zip(mail, results) {
            guard case .failed(let failure, _, let isFinal, _) = result else {
                if device.openedIDs.insert(item.id).inserted { device.opened.append(item) }
                continue
            }
            if device.openedIDs.contains(item.id) { continue }
            guard isFinal else {
                device.mail.append(item)
                continue
            }
            Issue.record(
                "\(device.name) refuses mail of \(item.writer): \(failure.message), \(comment)")
        }
    }

    /// Opens mail in one transaction, as `decrypt` does it.
    private func results(of mail: [Underway], _ device: Device) throws -> [OpenedLine] {
        let store = device.store
        let opening = MessageOpening(
            EnvelopeLines(), identity: device.identity, chats: [],
            senderPolicy: SenderPolicy(
                owner: device.identity.id,
                signers: try DemandedSigners([], AddressBook(store)), policy: nil),
            isPreview: false)
        let lines = try mail.map { item in
            let envelope = try Envelope(record: JSON.object(parsing: item.bytes))
            return ReadLine<ParsedEnvelope>(
                number: 0, bytes: item.bytes, content: .success(ParsedEnvelope(envelope)),
                id: item.id)
        }
        return try store.transaction { transaction in
            var printed: [String] = []
            let results = try lines.map { try opening.open($0, transaction, &printed) }
            for late in try opening.takeRepeated() + opening.openHeld(transaction) {
                if case .failed(let failure, _, _, _) = late, !isRemoved || device !== removed {
                    Issue.record("\(device.name): \(failure.message), \(comment)")
                }
            }
            #expect(transaction.takeForks().isEmpty, comment)
            return results
        }
    }

    /// Lets everything arrive everywhere, until no device has anything to tell.
    private func settle() throws {
        for _ in 0..<12 {
            for device in devices { try readAll(device) }
            var count = 0
            for device in present { count += try sync(device) + tellGroup(device) }
            if count == 0, devices.allSatisfy(\.mail.isEmpty) { return }
        }
        for device in devices { try readAll(device) }
        for device in devices {
            #expect(device.mail.isEmpty, "mail waits at \(device.name), \(comment)")
        }
    }

    // MARK: The end

    func end() throws {
        try settle()
        for person in ["alice", "bob"] {
            let all = present.filter { $0.person == person }
            let seen = try all.map { try Seen($0, other($0), group) }
            for (device, other) in zip(all, seen) {
                #expect(other == seen[0], "\(device.name), \(comment)")
                let lacking = try device.store.preview {
                    try $0.connection.integer("SELECT count(*) FROM sync_item")
                }
                #expect(lacking == 0, "\(device.name), \(comment)")
            }
            let gone = deleted[person] ?? []
            for isOfGroup in [false, true] {
                let expected = written.filter { $0.isOfGroup == isOfGroup }.map(\.text)
                    .filter { !gone.contains($0) }.sorted()
                #expect(
                    (isOfGroup ? seen[0].group : seen[0].direct).map(\.text) == expected, comment)
            }
        }
        try expectNothingForTheRemoved()
    }

    /// The removed device tries all that was sent since its removal, also to others.
    private func expectNothingForTheRemoved() throws {
        let forbidden = Set(written.filter(\.isForbidden).map(\.text))
        #expect(!forbidden.isEmpty, comment)
        for _ in 0..<2 { _ = try results(of: later.shuffled(using: &random), removed) }
        let texts = try removed.store.preview { transaction in
            try [.group(group), Conversation.peer(other(removed))].flatMap {
                try Self.texts(in: $0, transaction).map(Self.text)
            }
        }
        #expect(forbidden.isDisjoint(with: texts), comment)
    }

    private static func text(_ entry: HistoryEntry) -> String {
        entry.record["body"]?.object?["text"]?.string ?? ""
    }

    /// The texts of a conversation that are not deleted.
    private static func texts(
        in conversation: Conversation, _ transaction: StateTransaction
    ) throws -> [HistoryEntry] {
        let store = transaction.store
        guard let row = try store.conversationRow(conversation, transaction.connection) else {
            return []
        }
        return try store.entries(
            "WHERE conversation = ? AND kind = 0 AND sealed IS NOT NULL", row.number,
            connection: transaction.connection
        ).filter { !text($0).isEmpty && !$0.isGone }
    }

    /// What a person sees on a device.
    private struct Seen: Equatable {
        struct Line: Equatable {
            let text: String
            let id: String
            let isSent: Bool
            /// Whether a received message was read, or the receipt of a sent one came.
            let isRead: Bool
        }

        let direct: [Line]
        let group: [Line]
        let settings: [String]
        let contacts: [String]
        let groups: [String]

        init(_ device: Device, _ other: KeyID, _ id: GroupID) throws {
            let store = device.store
            (direct, group, settings, contacts, groups) = try store.preview { transaction in
                func lines(_ conversation: Conversation) throws -> [Line] {
                    let read = try store.conversationRow(conversation, transaction.connection)?
                        .read
                    return try DeviceSchedule.texts(in: conversation, transaction).map { entry in
                        let isSent = entry.direction == .sent
                        let isRead =
                            isSent
                            ? conversation.group == nil && entry.state == .read
                            : entry.state == .read || entry.place <= read ?? .start
                        return Line(
                            text: DeviceSchedule.text(entry), id: entry.id ?? "", isSent: isSent,
                            isRead: isRead)
                    }.sorted { $0.text < $1.text }
                }
                let settings = try [.group(id), Conversation.peer(other)].map { conversation in
                    let settings = try store.conversationRow(
                        conversation, transaction.connection)?.settings
                    return [
                        settings?.isFavourite == true ? "favourite" : "",
                        settings?.isMuted == true ? "muted" : "", settings?.name ?? "",
                    ].joined(separator: " ")
                }
                let contacts = try transaction.allContacts().map {
                    "\($0.id) \($0.name) \($0.trust) \($0.isBlocked)"
                }
                let found = try transaction.group(id)
                let heads = (found?.log.heads ?? []).map(\.description).sorted()
                return (
                    try lines(.peer(other)), try lines(.group(id)), settings, contacts,
                    [found?.name ?? ""] + heads
                )
            }
        }
    }
}

/// The lines of `decrypt`: envelopes.
private final class EnvelopeLines: MessageInput {
    func read(_ bytes: [UInt8]) throws -> Parsed? {
        let record = try JSON.object(parsing: bytes)
        let envelope = ParsedEnvelope(try Envelope(record: record))
        return (.success(envelope), record["id"]?.string)
    }

    func envelope(of content: ParsedEnvelope) -> ParsedEnvelope? { content }

    func resolve(_ content: ParsedEnvelope, _ transaction: StateTransaction?) -> ResolvedLine {
        .envelope(content)
    }
}
