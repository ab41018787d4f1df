import Sotto
import SottoState
import TestSupport
import Testing

/// The card that a message carries: who gets it, and what a reader takes from it.
struct CarriedCardTests {
    let home: Home
    let alice: Identity
    let bob: Identity
    let store: IdentityStore

    init() throws {
        home = try Home(people: "alice", "bob", "carol")
        alice = try Self.identity(home, "alice")
        bob = try Self.identity(home, "bob")
        store = try IdentityStore(
            directory: StateDirectory(path: home.files("state")), identity: alice, lockTimeout: 10)
    }

    private static func identity(_ home: Home, _ name: String) throws -> Identity {
        try Identity(record: JSON.object(parsing: home.files.read("\(name).key")))
    }

    private func must(_ program: String, _ arguments: String..., text: String = "") throws -> Run {
        let run = try home.run(program, arguments, text: text)
        try #require(run.status == 0, "\(program) \(arguments): \(run.stderr)")
        return run
    }

    private func record(_ name: String) throws -> JSONObject {
        try JSON.object(parsing: must("contact", "show", "--json", "-i", "alice.key", name).stdout)
    }

    /// Returns an envelope of Bob to Alice whose record has a card.
    private func envelope(carrying card: JSONObject?) throws -> [UInt8] {
        let extra = card.map { [(name: "card", value: JSON.object($0))] } ?? []
        let sealed = try Sealed.seal(
            body: Message.textBody("hi"), extra: extra, from: bob, to: alice.card(), time: .now())
        return sealed.record.serialized() + [0x0A]
    }

    // MARK: Writing

    private func lacksCard(at time: Timestamp) throws -> Bool {
        try store.transaction { try $0.lacksCard(bob.id, at: time) }
    }

    @Test func twentyMessagesOfADayCarryIt() throws {
        let day = Timestamp(seconds: 20_000 * 86_400)
        try store.transaction { transaction in
            for _ in 0..<20 {
                #expect(try transaction.lacksCard(bob.id, at: day))
                try transaction.countCard(for: bob.id, at: day)
            }
            #expect(try transaction.lacksCard(bob.id, at: day) == false)
        }
        #expect(try lacksCard(at: day) == false)
        let next = Timestamp(seconds: day.seconds + 86_400)
        try store.transaction { transaction in
            #expect(try transaction.lacksCard(bob.id, at: next))
            try transaction.noteAnswer(of: bob.id, sent: next)
        }
        #expect(try lacksCard(at: next) == false)
        // Another address for the contact makes another card.
        try store.transaction { transaction in
            var contact = Contact(name: "bob", id: bob.id, card: bob.card())
            contact.replaceAddress(by: SendAddress())
            try transaction.save(contact)
            #expect(try transaction.lacksCard(bob.id, at: next))
            try transaction.countCard(for: bob.id, at: next)
            try transaction.noteAnswer(of: bob.id, sent: next)
        }
        #expect(try lacksCard(at: next) == false)
    }

    /// A message that was on its way when the card left is no answer to it, nor is one from before the first card.
    @Test func anEarlierMessageIsNoAnswer() throws {
        let day = Timestamp(seconds: 20_000 * 86_400)
        try store.transaction { try $0.noteAnswer(of: bob.id, sent: day) }
        #expect(try lacksCard(at: day))
        let (before, after) = (day.seconds + 99, day.seconds + 101)
        try store.transaction { transaction in
            try transaction.countCard(for: bob.id, at: Timestamp(seconds: day.seconds + 100))
            try transaction.noteAnswer(of: bob.id, sent: Timestamp(seconds: before))
        }
        #expect(try lacksCard(at: Timestamp(seconds: after)))
        try store.transaction {
            try $0.noteAnswer(of: bob.id, sent: Timestamp(seconds: after))
        }
        #expect(try lacksCard(at: Timestamp(seconds: after)) == false)
    }

    /// Returns the card in the message that `encrypt` made for Bob, or `nil`.
    private func carried(_ arguments: [String], text: String = "hi") throws -> JSONObject? {
        let run = try home.run(
            "encrypt", arguments + ["-q", "-i", "alice.key"], text: text)
        try #require(run.status == 0, "\(run.stderr)")
        let envelope = try Envelope(record: JSON.object(parsing: run.stdout))
        return try Sealed.open(envelope.arrived(for: bob), with: bob).card
    }

    @Test func theCardHasTheAddressOfTheContact() throws {
        _ = try must("contact", "add", "bob.card", "-i", "alice.key")
        let plain = try #require(try carried(["--to", "bob"]))
        #expect(try Card(record: plain).id == alice.id && plain["address"] == nil)
        _ = try must("contact", "address", "bob", "-i", "alice.key")
        let card = try Card(record: #require(try carried(["--to", "bob"])))
        let address = try #require(try store.contact(id: bob.id)?.address)
        #expect(card.address == address.id(of: alice) && card.issued != nil)
        // The history and the reader's record do not have it.
        let history = try must("history", "bob", "-i", "alice.key")
        #expect(!history.text.contains("\"card\""))
    }

    @Test func signalsLongMessagesAndStatelessOnesCarryNone() throws {
        _ = try must("contact", "add", "bob.card", "-i", "alice.key")
        #expect(try carried(["--to", "bob", "--ttl", "0"]) == nil)
        #expect(try carried(["--to", "bob.card", "--stateless"]) == nil)
        let long = String(repeating: "x", count: 31_000)
        #expect(try carried(["--to", "bob"], text: long) == nil)
        // A line cannot choose the card.
        let line = #"{"text":"x","card":{"v":1}}"#
        let card = try carried(["--jsonl", "--to", "bob"], text: line)
        #expect(card?["id"] == .string(alice.id.description))
    }

    // MARK: Reading

    private func cardOfBob(withAddress address: KeyID) throws -> JSONObject {
        var record = try #require(bob.card(relay: "tcp://b.example:1", issued: .now()).record)
        record["address"] = .string(address.description)
        SignedRecord.sign(&record, with: bob.signingKey)
        return record
    }

    /// A card of another id, without a signature, with accounts, with a date in the future or with a relay that is no address is
    /// ignored; the message is not.
    @Test func aCardThatIsNotTheSendersOwnIsIgnored() throws {
        _ = try must("contact", "add", "bob.card", "-i", "alice.key")
        let before = try record("bob")
        let carol = try Self.identity(home, "carol")
        var unsigned = try #require(bob.card(relay: "tcp://b.example:1", issued: .now()).record)
        unsigned["relay"] = .string("tcp://c.example:1")
        let account = JSONObject([("kecalek", .object(["id": .string("x")]))])
        let cards: [JSONObject?] = [
            carol.card(relay: "tcp://b.example:1", issued: .now()).record, unsigned,
            bob.card(relay: "tcp://b.example:1", accounts: account, issued: .now()).record,
            bob.card(issued: Timestamp(seconds: 1)).record, ["v": .integer(2)],
            try cardOfBob(withAddress: alice.id),
            bob.card(relay: "bob (verified)", issued: .now()).record,
            bob.card(
                relay: "https://b.example/" + String(repeating: "x", count: 600), issued: .now()
            ).record,
            bob.card(
                relay: "tcp://b.example:1",
                issued: Timestamp(seconds: Timestamp.now().seconds + 2 * 86_400)
            ).record,
        ]
        for card in cards {
            let run = try home.run(
                "decrypt", ["-i", "alice.key"], stdin: .whole(envelope(carrying: card)))
            #expect(run.status == 0 && !run.text.contains("\"card\""), "\(run.stderr)")
            #expect(try record("bob") == before)
        }
        let good = bob.card(relay: "tcp://b.example:1", issued: .now()).record
        _ = try home.output("decrypt", ["-i", "alice.key"], stdin: envelope(carrying: good))
        #expect(try record("bob")["card"]?.object == good)
        // It does not lose the relay again.
        let late = Timestamp(seconds: Timestamp.now().seconds + 60)
        let without = bob.card(issued: late).record
        _ = try home.output("decrypt", ["-i", "alice.key"], stdin: envelope(carrying: without))
        #expect(try record("bob")["card"]?.object == good)
    }

    @Test func aFormerAddressIsOfNoContact() throws {
        let address = SendAddress().id(of: bob)
        let card = try Card(record: cardOfBob(withAddress: address))
        try store.transaction { transaction in
            try transaction.save(Contact(name: "bob", id: bob.id, card: card))
            #expect(try transaction.contact(withAddress: address)?.id == bob.id)
            try transaction.save(Contact(name: "bob", id: bob.id, card: bob.card(issued: .now())))
            #expect(try transaction.contact(withAddress: address) == nil)
        }
    }

    @Test func aRequestShowsTheClaimedNameAndTheRelay() throws {
        _ = try must("contact", "add", "carol.card", "-i", "alice.key")
        let hostile = Identity(
            mnemonic: Mnemonic(randomWordCount: 12),
            name: "carol\" tcp://x\u{202E}")
        let card = hostile.card(relay: "tcp://h.example:1", issued: .now()).record
        let sealed = try Sealed.seal(
            body: Message.textBody("hi"),
            extra: [(name: "card", value: .object(#require(card)))], from: hostile,
            to: alice.card(), time: .now())
        _ = try home.output(
            "decrypt", ["-q", "-i", "alice.key"], stdin: sealed.record.serialized())
        let list = try must("contact", "requests", "--text", "-i", "alice.key").text
        #expect(list.hasSuffix(#""carol\" tcp://x\u{202e}"  tcp://h.example:1"# + "\n"), "\(list)")
        let request = try JSON.object(
            parsing: must("contact", "requests", "--json", "-i", "alice.key").stdout)
        #expect(request["claimedName"] == .string("carol\" tcp://x\u{202E}"))
        // The name is not accepted as it is.
        let id = hostile.id.description
        let refused = try home.run("contact", ["accept", id, "-i", "alice.key"])
        #expect(refused.status == 64 && refused.stderr.contains("--name NAME"))
        _ = try must("contact", "accept", id, "--name", "harry", "-i", "alice.key")
        #expect(try record("harry")["card"]?.object == card)
    }

    /// A sender with the name of a contact offers that contact no other key.
    @Test func aClaimedNameIsNotTheContactOfThatName() throws {
        _ = try must("contact", "add", "carol.card", "-i", "alice.key")
        let other = Identity(
            mnemonic: Mnemonic(randomWordCount: 12), name: "Carol")
        let sealed = try Sealed.seal(
            body: Message.textBody("hi"),
            extra: [(name: "card", value: .object(#require(other.card(issued: .now()).record)))],
            from: other, to: alice.card(), time: .now())
        _ = try home.output(
            "decrypt", ["-q", "-i", "alice.key"], stdin: sealed.record.serialized())
        let run = try home.run(
            "contact", ["accept", String(other.id.description.prefix(16)), "-i", "alice.key"])
        #expect(run.status == 64 && run.stderr.contains("the sender is not this contact"))
        #expect(try record("carol")["changed"] == nil)
        #expect(try must("encrypt", "--to", "carol", "-i", "alice.key", text: "x").status == 0)
        // The sender whose card Alice got is offered as the contact's key, and is no other contact.
        let card = try #require(other.card(issued: .now()).record)
        home.files.write("other.card", JSON.object(card).serialized())
        _ = try home.run("contact", ["add", "other.card", "-i", "alice.key"])
        let offered = try home.run(
            "contact", ["accept", String(other.id.description.prefix(16)), "-i", "alice.key"])
        #expect(offered.status == 12, "\(offered.stderr)")
        #expect(offered.stderr.contains("sotto contact accept-key carol"), "\(offered.stderr)")
    }

    /// Lets `decrypt` read a message of a person with a card.
    private func receive(_ person: Identity) throws {
        let card = try #require(person.card(issued: .now()).record)
        let sealed = try Sealed.seal(
            body: Message.textBody("hi"), extra: [(name: "card", value: .object(card))],
            from: person, to: alice.card(), time: .now())
        _ = try home.output(
            "decrypt", ["-q", "-i", "alice.key"], stdin: sealed.record.serialized())
    }

    /// A sender takes no name that a group has, and none that could be mistaken for it.
    @Test func aClaimedNameIsNotThatOfAGroup() throws {
        _ = try must("contact", "add", "carol.card", "-i", "alice.key")
        _ = try must("group", "create", "-q", "-i", "alice.key", "hut")
        for name in ["hut", "HU", "hut friends", "car"] {
            let person = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: name)
            try receive(person)
            let id = person.id.description
            let run = try home.run("contact", ["accept", id, "-i", "alice.key"])
            let other = name == "car" ? "carol" : "hut"
            #expect(run.status == 64 && run.stderr.contains("could be mistaken for \(other)"))
            #expect(run.stderr.contains("--name NAME"))
            #expect(try store.contact(id: person.id) == nil)
            guard name == "hut" else { continue }
            // The owner can choose the name, and hears what the group is called then.
            let chosen = try must("contact", "accept", "-i", "alice.key", "--name", "hut", id)
            #expect(chosen.stderr.contains("the group hut is called hut ("), "\(chosen.stderr)")
            _ = try must("contact", "remove", "-i", "alice.key", "hut")
        }
    }

    /// Any text can be the relay on a card: only an address is shown.
    @Test func aRelayThatIsNoAddressIsNotShown() throws {
        let card = bob.card(relay: "bob (verified)", issued: .now())
        try store.transaction { transaction in
            _ = try transaction.request(
                envelope(carrying: nil), id: Envelope.newID(), from: bob.id, card: card)
        }
        let list = try must("contact", "requests", "-i", "alice.key").text
        #expect(list.contains("\"bob\"") && !list.contains("verified"), "\(list)")
        let request = try JSON.object(
            parsing: must("contact", "requests", "--json", "-i", "alice.key").stdout)
        #expect(request["relay"] == nil && request["claimedName"] == .string("bob"))
    }

    /// The list of requests keeps the card of a sender whose message was shown at once, and nothing of the message.
    @Test func aKeptCardHasNothingOfTheMessage() throws {
        let card = bob.card(relay: "tcp://b.example:1", issued: .now()).record
        _ = try home.output(
            "decrypt", ["-q", "-i", "alice.key"], stdin: envelope(carrying: card))
        #expect(try store.requests().map(\.count) == [0])
        let id = bob.id.description
        let waiting = try home.run("contact", ["requests", id, "-i", "alice.key"])
        #expect(waiting.status == 1 && waiting.stdout.isEmpty)
        #expect(try must("contact", "accept", id, "-i", "alice.key").stdout.isEmpty)
        #expect(try record("bob")["card"]?.object == card)
        #expect(try store.requests().isEmpty)
    }

    /// No readable copy of a deleted message waits.
    @Test func aDeletedMessageDoesNotWait() throws {
        let line = try envelope(carrying: nil)
        let id = try Envelope(record: JSON.object(parsing: line)).id
        func wait() throws {
            let isStored = try store.transaction { try $0.request(line, id: id, from: bob.id) }
            #expect(isStored)
            #expect(try store.requestedEnvelopes(from: bob.id).count == 1)
        }
        _ = try home.output("decrypt", ["-q", "-i", "alice.key"], stdin: line)
        try wait()
        let entry = try #require(try store.historyEntry(number: 1))
        #expect(try store.transaction { try $0.delete(entry) })
        #expect(try store.requestedEnvelopes(from: bob.id).isEmpty)
        try wait()
        let again = try home.run("decrypt", ["-q", "-i", "alice.key"], stdin: .whole(line))
        #expect(again.stdout.isEmpty)
        #expect(try store.requestedEnvelopes(from: bob.id).isEmpty)
    }
}
