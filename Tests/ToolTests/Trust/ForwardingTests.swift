import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// What waits in the outbox follows its recipient to the relay on a later card: only mail for this person, and all of it.
struct ForwardingTests {
    private let home: Home
    private let alice: Identity
    private let bob: Identity
    private let carol: Identity
    private let directory: StateDirectory
    private let old = "tcp://a.example:1"
    private let new = "tcp://b.example:1"

    init() throws {
        let home = try Home(people: "alice", "bob", "carol")
        self.home = home
        alice = try Self.identity(home, "alice")
        bob = try Self.identity(home, "bob")
        carol = try Self.identity(home, "carol")
        directory = try StateDirectory(path: home.files("state"))
    }

    private static func identity(_ home: Home, _ name: String) throws -> Identity {
        try Identity(record: JSON.object(parsing: home.files.read("\(name).key")))
    }

    /// Opens the state like a program that moves what waits, or like one that is killed before it can.
    private func open(isKilled: Bool = false) throws -> IdentityStore {
        if isKilled {
            return try IdentityStore(directory: directory, identity: alice, lockTimeout: 10)
        }
        return try IdentityStore(
            directory: directory, identity: alice, lockTimeout: 10,
            follow: { relay, queue in relay == queue ? nil : relay })
    }

    private func outbox() throws -> Outbox { try Outbox(directory: directory, lockTimeout: 10) }

    /// Queues an envelope for a mailbox at the old relay. Returns its id.
    private func queue(to mailbox: KeyID, id: String = Envelope.newID()) throws -> String {
        let item = Outbox.Item(id: id, to: mailbox.description, envelope: Array("{}".utf8))
        _ = try outbox().append([item], relay: old)
        return id
    }

    /// Returns the relay for which the envelope with an id waits.
    private func relay(of id: String) throws -> String? {
        try outbox().list().first { $0.id == id }?.relay
    }

    private func card(
        of person: Identity, _ relay: String, address: KeyID? = nil, issued: Int64
    ) throws -> Card {
        let made = person.card(relay: relay, issued: Timestamp(seconds: issued))
        var record = try #require(made.record)
        if let address { record["address"] = .string(address.description) }
        SignedRecord.sign(&record, with: person.signingKey)
        return try Card(record: record)
    }

    private func save(_ card: Card, in store: IdentityStore) throws {
        try store.transaction {
            try $0.save(Contact(name: card.name, id: card.id, card: card))
        }
    }

    /// The address on a card can be the mailbox of another person: it moves none of that person's mail.
    @Test(arguments: [true, false]) func mailOfAnotherPersonStays(_ isContact: Bool) throws {
        let state = try open()
        if isContact { try save(card(of: carol, old, issued: 1_000), in: state) }
        try save(card(of: bob, old, address: carol.id, issued: 1_000), in: state)
        let (hers, his) = (try queue(to: carol.id), try queue(to: bob.id))
        try save(card(of: bob, new, issued: 2_000), in: state)
        #expect(try relay(of: hers) == old)
        #expect(try relay(of: his) == new)
    }

    /// Of the mail to an address, what the history has as a message to the contact follows.
    @Test func mailToTheAddressOfAContactFollows() throws {
        let state = try open()
        let address = SendAddress().id(of: bob)
        try save(card(of: bob, old, address: address, issued: 1_000), in: state)
        let run = try home.run(
            "encrypt", ["-q", "--to", "bob", "-i", "alice.key"], text: "hi")
        let envelope = try Envelope(record: JSON.object(parsing: run.stdout))
        #expect(envelope.to == address)
        let (known, unknown) = (try queue(to: address, id: envelope.id), try queue(to: address))
        try save(card(of: bob, new, issued: 2_000), in: state)
        #expect(try relay(of: known) == new)
        #expect(try relay(of: unknown) == old)
    }

    @Test func aProgramThatIsKilledAfterTheCommitLosesNothing() throws {
        let state = try open(isKilled: true)
        try save(card(of: bob, old, issued: 1_000), in: state)
        let id = try queue(to: bob.id)
        try save(card(of: bob, new, issued: 2_000), in: state)
        #expect(try relay(of: id) == old)
        _ = try open()
        #expect(try relay(of: id) == new)
        // Nothing waits any more: what is queued for the former relay from now on stays there.
        let later = try queue(to: bob.id)
        _ = try open()
        #expect(try relay(of: later) == old)
    }

    @Test func whatIsBeingSentFollowsLater() throws {
        let state = try open()
        try save(card(of: bob, old, issued: 1_000), in: state)
        let lock = try outbox().lock(of: old)
        #expect(lock.tryLock())
        let id = try queue(to: bob.id)
        try save(card(of: bob, new, issued: 2_000), in: state)
        #expect(try relay(of: id) == old)
        lock.unlock()
        _ = try open()
        #expect(try relay(of: id) == new)
    }

    @Test func whatNeedsAFileFollowsAfterTheFile() throws {
        let state = try open()
        try save(card(of: bob, old, issued: 1_000), in: state)
        let sending = try outbox()
        let blob = Outbox.Item(
            id: String(repeating: "ab", count: 32), to: bob.id.description,
            envelope: Array(#"{"size":1}"#.utf8), kind: .blob)
        let envelope = Outbox.Item(
            id: Envelope.newID(), to: bob.id.description, envelope: Array("{}".utf8),
            needs: blob.id)
        let numbers = try sending.append([blob, envelope], relay: old)
        try save(card(of: bob, new, issued: 2_000), in: state)
        #expect(try relay(of: envelope.id) == old)
        try sending.settle([(numbers[0], "stored")])
        _ = try open()
        #expect(try relay(of: envelope.id) == new)
    }
}
