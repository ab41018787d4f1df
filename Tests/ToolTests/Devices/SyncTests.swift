import Glibc
import Sotto
import SottoContacts
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Three machines of one person, in one process, which tell each other what they did in any order.
struct SyncTests {
    /// A machine with the items and the mail that wait for it.
    private final class Machine {
        /// An arrival that waits for a machine.
        enum Arrival {
            case mail(Message)
            case items(KeyID, [JSONObject])
        }

        let store: IdentityStore
        var queue: [Arrival] = []

        init(_ identity: Identity, _ directory: StateDirectory) throws {
            store = try IdentityStore(directory: directory, identity: identity, lockTimeout: 5)
        }

        var id: KeyID { store.owner.device }

        /// Takes the first arrival.
        func take() throws {
            guard !queue.isEmpty else { return }
            let arrival = queue.removeFirst()
            try store.transaction { transaction in
                switch arrival {
                case .mail(let message):
                    // Passed on before it came directly.
                    guard case .new = try transaction.known(message) else { return }
                    let number = try transaction.recordRepeated(message)
                    try transaction.passOn(message, number: number)
                case .items(let sender, let records):
                    for record in records {
                        guard let item = try SyncItem(record: record) else { continue }
                        let taken = try transaction.take(item, from: sender, .full)
                        if case .refused = taken { Issue.record("an item was refused") }
                        if case .different = taken { Issue.record("a message differs") }
                    }
                }
            }
        }
    }

    /// The machines of Alice.
    private final class Machines {
        let files = TemporaryDirectory()
        let all: [Machine]
        let list: DeviceList

        init(states: [DeviceList.State] = [.full, .full]) throws {
            let others = states.indices.map { number in
                Identity(
                    seed: SecretBytes(copying: sha256(Array("machine \(number)".utf8))),
                    name: "alice", relay: "tcp://relay.example.org:7667", owner: People.alice.id)
            }
            let now = Timestamp.now()
            list = try DeviceList(
                zip(others, states).map { identity, state in
                    DeviceList.Device(
                        card: identity.card(), name: String(identity.device.description.prefix(8)),
                        added: now, state: state)
                }, after: 0, by: People.alice)
            let directory = try StateDirectory(path: files("state"))
            all = try ([People.alice] + others).map { try Machine($0, directory) }
            let card = People.alice.card(issued: now, devices: list)
            for machine in all {
                try machine.store.transaction { transaction in
                    var bob = Contact(name: "bob", id: People.bob.id, card: People.bob.card())
                    bob.trust = .trusted
                    try transaction.save(bob)
                    if machine.store.owner.owner == nil {
                        try transaction.keep(list)
                    } else {
                        #expect(try transaction.keep(ownersCard: card))
                    }
                }
            }
        }

        /// Tells the other machines what they lack of one. `place` gives the place in their queues.
        func tell(_ machine: Machine, place: (Int) -> Int) throws -> Int {
            var count = 0
            try machine.store.transaction { transaction in
                for device in try transaction.otherDevices() {
                    let other = try #require(all.first { $0.id == device.id })
                    while let due = try transaction.dueItems(for: device) {
                        try transaction.noteTold(due, to: device, in: nil)
                        count += 1
                        guard !due.items.isEmpty else { continue }
                        other.queue.insert(
                            .items(machine.id, due.items), at: place(other.queue.count))
                    }
                }
            }
            return count
        }

        /// Lets everything arrive everywhere.
        func settle() throws {
            while true {
                for machine in all { while !machine.queue.isEmpty { try machine.take() } }
                let told = try all.reduce(0) { try $0 + tell($1) { $0 } }
                if told == 0 { return }
            }
        }
    }

    /// The view of a person on a machine.
    private struct Seen: Equatable {
        var messages: [String] = []
        var unread: [String] = []
        var settings: [String] = []
        var contacts: [String] = []

        init(_ machine: Machine) throws {
            let store = machine.store
            try store.preview { transaction in
                let row = try transaction.row(of: .peer(People.bob.id))
                let entries = try store.entries(
                    "WHERE conversation = ? AND kind = 0 AND sealed IS NOT NULL", row.number,
                    connection: transaction.connection
                ).filter { $0.body?.kind.type != "system" }
                messages = entries.map { "\($0.id ?? "") \($0.direction)" }.sorted()
                let isUnread: (HistoryEntry) -> Bool = {
                    $0.direction == .received && $0.state == .new && $0.place > row.read
                }
                unread = entries.filter(isUnread).map { $0.id ?? "" }.sorted()
                #expect(row.unread == Int64(unread.count))
                let set = row.settings
                settings = ["\(set.isFavourite) \(set.isMuted) \(set.name ?? "")"]
                contacts = try transaction.allContacts().map {
                    "\($0.id) \($0.name) \($0.trust) \($0.isBlocked)"
                }
            }
        }
    }

    private func expectAgreement(_ machines: Machines, _ comment: Comment) throws {
        let seen = try machines.all.map { try Seen($0) }
        for other in seen.dropFirst() { #expect(other == seen[0], comment) }
        // All were told everything, so nothing is kept for them.
        for machine in machines.all {
            let count = try machine.store.preview {
                try $0.connection.integer("SELECT count(*) FROM sync_item")
            }
            #expect(count == 0, comment)
        }
    }

    private func message(from: Identity, to: Identity, list: Int64? = nil) -> Message {
        Message(
            id: Envelope.newID(), from: from.id, to: to.id, time: .now(), suite: .sealed,
            authenticated: true, trust: .trusted, body: Message.textBody("hello"),
            members: list.map { ["list": .integer($0)] } ?? [:])
    }

    @Test func ownMessagesReadMarksAndDecisionsReachTheOtherMachines() throws {
        let machines = try Machines()
        let (first, second) = (machines.all[0], machines.all[1])
        let mail = message(from: People.bob, to: People.alice, list: machines.list.seq)
        for machine in machines.all { machine.queue.append(.mail(mail)) }
        try machines.settle()
        #expect(try Seen(first).unread == [mail.id])
        try second.store.transaction { transaction in
            _ = try transaction.recordSent(message(from: People.alice, to: People.bob))
            _ = try transaction.markRead(.peer(People.bob.id))
            try transaction.change(.peer(People.bob.id)) { $0.isFavourite = true }
            var bob = try #require(try transaction.contact(id: People.bob.id))
            (bob.name, bob.trust) = ("robert", .verified)
            try transaction.save(bob)
        }
        try machines.settle()
        try expectAgreement(machines, "")
        let seen = try Seen(first)
        #expect(seen.messages.count == 2 && seen.unread.isEmpty)
        #expect(seen.settings == ["true false "])
        #expect(seen.contacts == ["\(People.bob.id) robert verified false"])
    }

    /// The later decision counts, also of a machine that heard of none before it and decided less often.
    @Test func theLaterDecisionCountsWithoutKnowledgeOfOthers() throws {
        let machines = try Machines()
        let (first, third) = (machines.all[0], machines.all[2])
        func decide(_ machine: Machine, _ change: (inout Contact) -> Void) throws {
            try machine.store.transaction { transaction in
                var bob = try #require(try transaction.contact(id: People.bob.id))
                change(&bob)
                try transaction.save(bob)
            }
        }
        for isBlocked in [true, false, true, false] {
            try decide(first) { $0.isBlocked = isBlocked }
        }
        for name in ["rob", "bobby"] { try decide(first) { $0.name = name } }
        // Each decision has a millisecond of its own.
        let decided = Timestamp.milliseconds() + 8
        while Timestamp.milliseconds() < decided { sched_yield() }
        try decide(third) { ($0.isBlocked, $0.name) = (true, "robert") }
        try machines.settle()
        try expectAgreement(machines, "")
        #expect(try Seen(first).contacts == ["\(People.bob.id) robert trusted true"])
    }

    @Test func mailForMachineOneAloneIsPassedOnOnce() throws {
        let machines = try Machines()
        let mail = message(from: People.bob, to: People.alice)
        machines.all[0].queue.append(.mail(mail))
        try machines.settle()
        for machine in machines.all {
            #expect(try Seen(machine).messages == ["\(mail.id) received"])
        }
        // It also comes directly.
        machines.all[1].queue.append(.mail(mail))
        try machines.settle()
        try expectAgreement(machines, "")
    }

    /// A revocation that one machine knows, also a new one, counts on all.
    @Test(arguments: [DeviceList.State.new, .full]) func aRevocationReachesTheOtherMachines(
        _ state: DeviceList.State
    ) throws {
        let machines = try Machines(states: [state, .full])
        try machines.all[1].store.transaction { transaction in
            let revocation = Revocation(of: People.bob, issued: .now())
            _ = try transaction.take(.revocation(revocation), isGiven: true)
        }
        try machines.settle()
        for machine in machines.all {
            let isRevoked = try machine.store.preview { try $0.isRevoked(People.bob.id) }
            let bob = try machine.store.preview { try $0.contact(id: People.bob.id) }
            #expect(isRevoked && bob?.trust == .unverified)
        }
    }

    /// A key that was accepted on one machine is the contact's on all, with a line in the conversation, and with what each machine had
    /// set. One with the same id is, too.
    @Test(arguments: [false, true]) func anAcceptedKeyReachesTheOtherMachines(
        _ hasOneID: Bool
    ) throws {
        let machines = try Machines()
        let (first, second, third) = (machines.all[0], machines.all[1], machines.all[2])
        try first.store.transaction { transaction in
            _ = try transaction.recordSent(message(from: People.alice, to: People.bob))
        }
        try machines.settle()
        try third.store.transaction { transaction in
            var bob = try #require(try transaction.contact(id: People.bob.id))
            bob.getsReceipts = true
            try transaction.save(bob)
        }
        let next = Identity(
            seed: SecretBytes(copying: sha256(Array("the next bob".utf8))), name: "bob")
        let card = hasOneID ? try Self.card(of: People.bob, with: next) : next.card()
        try second.store.transaction { transaction in
            let bob = try #require(try transaction.contact(id: People.bob.id))
            let accepted = try transaction.accept(card, for: bob)
            try transaction.save(accepted.contact, formerID: bob.id)
        }
        try machines.settle()
        try expectAgreement(machines, "")
        for machine in machines.all {
            let bob = try machine.store.preview { try $0.contact(named: "bob") }
            #expect(bob?.id == card.id && bob?.card?.age == card.age)
            #expect(bob?.getsReceipts == (machine === third))
            let lines = try machine.store.preview { transaction in
                let row = try transaction.row(of: .peer(card.id))
                return try machine.store.entries(
                    "WHERE conversation = ? AND sealed IS NOT NULL", row.number,
                    connection: transaction.connection
                ).filter { $0.body?.kind.type == "system" }
            }
            #expect(lines.count == 1)
        }
        let changes = try first.store.preview { try $0.changes() }
        #expect(changes.map(\.change) == [.accepted(former: People.bob.id)])
    }

    /// Returns a card that one person signs, with the encryption keys of another.
    private static func card(of signer: Identity, with other: Identity) throws -> Card {
        var record = try #require(signer.card().record)
        let keys = try #require(other.card().record)
        for name in ["age", "pq"] { record[name] = keys[name] }
        record["sig"] = nil
        SignedRecord.sign(&record, with: signer.signingKey)
        return try Card(record: record)
    }

    @Test func aReadMarkAndADeletionCanComeBeforeTheirMessages() throws {
        let machines = try Machines()
        let mail = (0..<2).map { _ in
            message(from: People.bob, to: People.alice, list: machines.list.seq)
        }
        let (first, second) = (machines.all[0], machines.all[1])
        first.queue = mail.map { .mail($0) }
        for _ in mail { try first.take() }
        try first.store.transaction { transaction in
            _ = try transaction.markRead(.peer(People.bob.id))
            let entries = try first.store.entries(
                "WHERE mark = ?", first.store.mark(envelope: mail[0].id),
                connection: transaction.connection)
            #expect(try transaction.deleteByOwner(entries) == 1)
        }
        try machines.settle()
        for machine in machines.all.dropFirst() { machine.queue = mail.map { .mail($0) } }
        try machines.settle()
        #expect(try Seen(second).messages == ["\(mail[1].id) received"])
        #expect(try Seen(second).unread.isEmpty)
        try expectAgreement(machines, "")
    }

    @Test func aNewMachineGetsAndTellsNoDecisions() throws {
        let machines = try Machines(states: [.full, .new])
        let (full, new) = (machines.all[1], machines.all[2])
        for (machine, name) in [(full, "by a full one"), (new, "by a new one")] {
            try machine.store.transaction { transaction in
                _ = try transaction.recordSent(message(from: People.alice, to: People.bob))
                var bob = try #require(try transaction.contact(id: People.bob.id))
                bob.trust = machine === full ? .verified : .trusted
                bob.isBlocked = machine === new
                try transaction.save(bob)
                try transaction.change(.peer(People.bob.id)) { $0.name = name }
            }
        }
        try machines.settle()
        for machine in machines.all { #expect(try Seen(machine).messages.count == 2) }
        let (first, others) = (try Seen(machines.all[0]), try Seen(new))
        #expect(first.contacts == ["\(People.bob.id) bob verified false"])
        #expect(others.contacts == ["\(People.bob.id) bob trusted true"])
        #expect(first.settings == ["false false by a full one"])
        // The others take no decision of it, whatever it sends.
        let item = SyncItem(
            counter: 900, device: new.id, .contact(People.bob.id, .blocked(true)))
        let taken = try full.store.transaction { try $0.take(item, from: new.id, .new) }
        guard case .refused = taken else {
            Issue.record("the decision of a new machine was taken")
            return
        }
    }

    @Test func hostileItemsChangeNothing() throws {
        let machines = try Machines()
        let (first, second, third) = (machines.all[0], machines.all[1], machines.all[2])
        let before = try Seen(first)
        let bob = People.bob.id
        let peer = JSONObject([("peer", .string(bob.description))])
        let sent = message(from: People.bob, to: People.alice)
        let changes: [(KeyID, SyncItem.Change)] = [
            // An action of another device.
            (third.id, .contact(bob, .blocked(true))),
            // A message of somebody else as an own one, and a received one that only the first machine passes on.
            (second.id, .message(sent.record, isSent: true, received: .now())),
            (second.id, .message(sent.record, isSent: false, received: .now())),
            (second.id, .message(["v": .integer(1)], isSent: true, received: .now())),
            (second.id, .conversation(["x": .string("y")], .muted(true))),
            (second.id, .contact(bob, .card(People.carol.card().record ?? [:]))),
            (second.id, .contact(People.alice.id, .blocked(true))),
        ]
        for (device, change) in changes {
            let item = SyncItem(counter: 5, device: device, change)
            let taken = try first.store.transaction { try $0.take(item, from: second.id, .full) }
            guard case .refused = taken else {
                Issue.record("\(change) was taken")
                continue
            }
        }
        #expect(try Seen(first) == before)
        // The greatest counter stops nobody.
        let last = SyncItem(
            counter: SyncItem.greatestCounter, device: second.id,
            .conversation(peer, .favourite(true)))
        try first.store.transaction { transaction in
            _ = try transaction.take(last, from: second.id, .full)
            try transaction.change(.peer(bob)) { $0.isMuted = true }
        }
        try machines.settle()
        #expect(try Seen(third).settings == ["false true "])
        #expect(try Seen(first).settings == ["true true "])
    }

    @Test func anEnvelopeThatNoRelayTookIsToldAgain() throws {
        let machines = try Machines()
        let store = machines.all[0].store
        try store.transaction { try $0.change(.peer(People.bob.id)) { $0.isMuted = true } }
        let envelope = Envelope.newID()
        func due() throws -> Int {
            try store.preview { transaction in
                try transaction.otherDevices().filter {
                    try transaction.dueItems(for: $0) != nil
                }.count
            }
        }
        try store.transaction { transaction in
            let device = try #require(try transaction.otherDevices().first)
            let items = try #require(try transaction.dueItems(for: device))
            try transaction.noteTold(items, to: device, in: envelope)
        }
        #expect(try due() == 1)
        try store.transaction { transaction in
            _ = try transaction.settled(store.mark(sent: envelope), .failed)
        }
        #expect(try due() == 2)
    }

    @Test func anEnvelopeThatDidNotReachTheOutboxIsToldAgain() throws {
        let machines = try Machines()
        let store = machines.all[0].store
        try store.transaction { try $0.change(.peer(People.bob.id)) { $0.isMuted = true } }
        let now = Timestamp.now()
        func tell() throws {
            try store.transaction { transaction in
                for device in try transaction.otherDevices() {
                    while let due = try transaction.dueItems(for: device) {
                        try transaction.noteTold(due, to: device, in: Envelope.newID(), at: now)
                    }
                }
            }
        }
        func isDue(after seconds: Int64) throws -> Bool {
            let time = Timestamp(seconds: now.seconds + seconds)
            return try store.preview { try $0.hasDueItems(at: time) }
        }
        try tell()
        // They can be on their way for a minute.
        #expect(try !isDue(after: 59))
        #expect(try isDue(after: 60))
        try store.transaction { try $0.settleTold(at: Timestamp(seconds: now.seconds + 60)) }
        #expect(try isDue(after: 0))
        try tell()
        #expect(try !isDue(after: 0))
    }

    @Test func aMessageIsStoredWithOneEnvelopeAndFailsWithAll() throws {
        let machines = try Machines()
        let store = machines.all[0].store
        let sent = message(from: People.alice, to: People.bob)
        let copies = [Envelope.newID(), Envelope.newID()]
        try store.transaction { transaction in
            _ = try transaction.recordSent(sent)
            try transaction.noteCopies(copies, of: sent.id)
        }
        func settle(_ id: String, _ isStored: Bool) throws -> HistoryEntry.State? {
            try store.transaction { transaction in
                let settled = try transaction.settled(
                    store.mark(sent: id), isStored ? .stored : .failed)
                if let settled { #expect(settled.message == store.mark(sent: sent.id)) }
                return settled?.state
            }
        }
        #expect(try settle(copies[0], false) == nil)
        #expect(try settle(sent.id, false) == nil)
        let waiting = try store.preview { transaction in
            try transaction.deviceCopies(of: sent.id) { copies }
        }
        #expect(waiting.isWaiting && waiting.settled == 2)
        #expect(try settle(copies[1], false) == .failed)
        // A copy that failed was sent again.
        #expect(try settle(copies[0], true) == .stored)
        #expect(try settle(copies[1], false) == .stored)
        #expect(try store.preview { try $0.isForDevice(copies[0]) })
    }

    /// Random schedules: every machine writes, reads, deletes and decides, mail and items arrive in any order, and one machine is off
    /// for a third of the time.
    @Test(arguments: [1, 2, 3] as [UInt64]) func allMachinesAgreeAfterARandomSchedule(
        seed: UInt64
    ) throws {
        var random = Generator(seed: seed)
        let machines = try Machines()
        let peer = Conversation.peer(People.bob.id)
        for step in 0..<300 {
            let place = random.int(0..<3)
            let machine = machines.all[place]
            if place == 2, (100..<200).contains(step) { continue }
            switch random.int(0..<12) {
            case 0, 1:
                let isKnown = random.int(0..<4) > 0
                let mail = message(
                    from: People.bob, to: People.alice, list: isKnown ? machines.list.seq : nil)
                for machine in isKnown ? machines.all : [machines.all[0]] {
                    machine.queue.insert(
                        .mail(mail), at: random.int(0..<(machine.queue.count + 1)))
                }
            case 2:
                _ = try machine.store.transaction {
                    try $0.recordSent(message(from: People.alice, to: People.bob))
                }
            case 3: _ = try machine.store.transaction { try $0.markRead(peer) }
            case 4:
                let number = random.next()
                _ = try machine.store.transaction { transaction in
                    let row = try transaction.row(of: peer)
                    let entries = try machine.store.entries(
                        "WHERE conversation = ? AND kind = 0 AND sealed IS NOT NULL", row.number,
                        connection: transaction.connection
                    ).filter { $0.body?.kind.type != "system" }
                    guard !entries.isEmpty else { return 0 }
                    return try transaction.deleteByOwner(
                        [entries[Int(number % UInt64(entries.count))]])
                }
            case 5:
                let number = random.int(0..<6)
                try machine.store.transaction { transaction in
                    try transaction.change(peer) { settings in
                        switch number {
                        case 0: settings.isMuted.toggle()
                        case 1: settings.name = "friend \(step)"
                        default: settings.isFavourite.toggle()
                        }
                    }
                }
            case 6:
                let number = random.int(0..<6)
                try machine.store.transaction { transaction in
                    guard var bob = try transaction.contact(id: People.bob.id) else {
                        let bob = Contact(name: "new \(step)", id: People.bob.id, card: nil)
                        return try transaction.save(bob)
                    }
                    switch number {
                    case 0 where !bob.isBlocked: return try transaction.remove(id: bob.id)
                    case 1: bob.isBlocked.toggle()
                    case 2: bob.trust = bob.trust == .verified ? .trusted : .verified
                    default: bob.name = "bob \(step)"
                    }
                    if bob.name.isEmpty { bob.name = "bob \(step)" }
                    try transaction.save(bob)
                }
            case 7, 8:
                _ = try machines.tell(machine) { count in random.int(0..<(count + 1)) }
            default: for _ in 0..<random.int(1..<6) { try machine.take() }
            }
        }
        try machines.settle()
        try expectAgreement(machines, random.comment)
    }
}
