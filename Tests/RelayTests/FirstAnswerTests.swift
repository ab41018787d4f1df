import Sotto
import SottoWire
import TestSupport
import Testing

/// The first answer: a message carries the sender's card until its recipient answers, and waiting mail follows a later card.
@Suite struct FirstAnswerTests {
    /// Alice and Bob at two relays, with Bob as a contact of Alice. Each has a relay in the identity and none in the
    /// environment.
    private final class Two {
        let world: Correspondence
        let other: RelayProcess

        init() throws {
            world = try Correspondence()
            other = try #require(RelayProcess(TemporaryDirectory()))
            try move("alice", to: world.relay)
            try move("bob", to: other)
            try expect("alice", "contact add -q --name bob bob.card")
        }

        func stop() {
            world.stop()
            other.end()
        }

        func move(_ who: String, to relay: RelayProcess) throws {
            try RelayOfIdentityTests.move(world, who, to: "tcp://\(relay.address)")
        }

        @discardableResult
        func expect(_ who: String, _ line: String) throws -> [String] {
            try world.expect(who, "unset SOTTO_RELAY; \(line)")
        }

        func texts(_ who: String, _ line: String) throws -> [String] {
            Correspondence.texts(try expect(who, line))
        }

        /// The relays for which something of Alice's waits, in the order of the outbox.
        func waiting() throws -> [String] {
            try expect("alice", "send --list --json || true").map {
                try RelayOfIdentityTests.record($0)["relay"]?.string ?? ""
            }
        }

        /// Puts an envelope for Bob into Alice's outbox, for a relay that does not run.
        func queue(_ text: String, at relay: String) {
            let line =
                "unset SOTTO_RELAY; echo \(text) | encrypt -q --to bob | send --relay '\(relay)'"
            #expect(world.shell("alice", line).status == 75)
        }
    }

    @Test func anAcceptedRequestIsAnsweredWithoutAnOption() throws {
        let two = try Two()
        defer { two.stop() }
        try two.expect("bob", "contact add -q --name carol carol.card")
        try two.expect("alice", "echo hello | encrypt --to bob | send")
        try two.expect("bob", "recv | decrypt -q")
        let request = try two.expect("bob", "contact requests --json").map(
            RelayOfIdentityTests.record)
        #expect(request.count == 1)
        #expect(request[0]["relay"] == .string("tcp://\(two.world.relay.address)"))
        let id = two.world.alice.id
        let texts = try two.texts("bob", "contact accept --name alice \(id) | decrypt")
        #expect(texts == ["hello"])
        try two.expect("bob", "echo answer | encrypt --to alice | send")
        #expect(try two.texts("alice", "recv | decrypt") == ["answer"])
    }

    /// Without contacts the first message is shown at once, and its sender can be accepted afterwards.
    @Test func theFirstMessageOfAllIsAnswered() throws {
        let two = try Two()
        defer { two.stop() }
        try two.expect("alice", "echo hello | encrypt --to bob | send")
        #expect(try two.texts("bob", "recv | decrypt") == ["hello"])
        let short = two.world.alice.id.description.prefix(16)
        #expect(two.world.errors.contains("note: to answer: sotto contact accept \(short)\n"))
        // The message was read: only the card waits for the decision.
        #expect(try two.expect("bob", "contact accept --name alice \(short)").isEmpty)
        #expect(two.world.shell("bob", "contact requests").status == 1)
        try two.expect("bob", "echo answer | encrypt --to alice | send")
        #expect(try two.texts("alice", "recv | decrypt") == ["answer"])
    }

    /// The card leaves with the messages before the answer, and again after the relay has changed.
    @Test func theCardIsCarriedUntilTheAnswer() throws {
        let two = try Two()
        defer { two.stop() }
        try two.expect("bob", "contact add -q --name alice alice.card")
        func length() throws -> Int {
            try two.expect("alice", "echo x | encrypt -q --suite sealed --to bob | tee e")[0].utf8
                .count
        }
        let (first, second) = (try length(), try length())
        #expect(first > 5_000 && second == first)
        try two.expect("bob", "echo y | encrypt -q --to alice | send")
        try two.expect("alice", "recv | decrypt -q")
        #expect(try length() < 4_000)
        // Another relay of the sender makes the messages carry the card again.
        try two.move("alice", to: two.other)
        #expect(try length() == first)
    }

    /// A person with the card from before the move is accepted after it. The message of this person is no answer to the later
    /// card, and the person gets it.
    @Test func aPersonAcceptedAfterTheMoveGetsTheLaterCard() throws {
        let two = try Two()
        defer { two.stop() }
        try two.expect("bob", "contact add -q --name carol carol.card")
        try two.move("bob", to: two.world.relay)
        try two.expect("alice", "echo late | encrypt --to bob | send")
        try two.expect("bob", "recv --relay tcp://\(two.other.address) | decrypt -q")
        let id = two.world.alice.id
        let accepted = try two.texts("bob", "contact accept --name alice \(id) | decrypt")
        #expect(accepted == ["late"])
        try two.expect("bob", "echo answer | encrypt --to alice | send")
        #expect(try two.texts("alice", "recv | decrypt") == ["answer"])
        try two.expect("alice", "echo again | encrypt --to bob | send")
        #expect(try two.texts("bob", "recv | decrypt") == ["again"])
    }

    @Test func whatWaitsFollowsALaterCard() throws {
        let two = try Two()
        defer { two.stop() }
        two.queue("one", at: "tcp://127.0.0.1:1")
        two.queue("two", at: "tcp://127.0.0.1:1")
        #expect(try two.waiting() == ["tcp://127.0.0.1:1", "tcp://127.0.0.1:1"])
        // The same relay on the card says nothing about the address that was chosen.
        try two.expect("bob", "keygen public > bob.card")
        try two.expect("alice", "contact add -q bob.card")
        #expect(try two.waiting() == ["tcp://127.0.0.1:1", "tcp://127.0.0.1:1"])
        try two.move("bob", to: two.world.relay)
        try two.expect("alice", "contact add -q bob.card")
        let new = "tcp://\(two.world.relay.address)"
        #expect(try two.waiting() == [new, new])
        try two.expect("alice", "send < /dev/null")
        #expect(try two.texts("bob", "recv | decrypt") == ["one", "two"])
    }

    /// A contact who moved writes: the message carries the new card, and waiting mail goes to the new relay.
    @Test func aMessageTellsTheNewRelay() throws {
        let two = try Two()
        defer { two.stop() }
        try two.expect("bob", "contact add -q --name alice alice.card")
        two.queue("one", at: "tcp://127.0.0.1:1")
        try two.move("bob", to: two.world.relay)
        try two.expect("bob", "echo moved | encrypt -q --to alice | send")
        #expect(try two.texts("alice", "recv | decrypt") == ["moved"])
        #expect(try two.waiting() == ["tcp://\(two.world.relay.address)"])
        try two.expect("alice", "send < /dev/null")
        #expect(try two.texts("bob", "recv | decrypt") == ["one"])
    }

    /// An envelope for another person, and one that would lose TLS or enter the own network, stay.
    @Test func whatWaitsStaysForOthersAndForTLS() throws {
        let two = try Two()
        defer { two.stop() }
        let pin = String(repeating: "00", count: 32)
        let addresses = [
            "tls://127.0.0.1:1#sha256=\(pin)", "tcp://relay.invalid:1",
        ]
        for address in addresses { two.queue("x", at: address) }
        let line =
            "unset SOTTO_RELAY; echo y | encrypt -q --to carol.card | send --relay tcp://127.0.0.1:1"
        #expect(two.world.shell("alice", line).status == 75)
        let before = try two.waiting()
        #expect(before.count == 3)
        try two.move("bob", to: two.world.relay)
        try two.expect("alice", "contact add -q bob.card")
        #expect(try two.waiting() == before)
    }

    @Test func theOutboxShowsKindsAndPins() throws {
        let two = try Two()
        defer { two.stop() }
        let pinned = "tls://127.0.0.1:1#sha256=" + String(repeating: "0f", count: 32)
        let line =
            "unset SOTTO_RELAY; (keygen public; keygen prekeys) | send --relay '\(pinned)'"
        #expect(two.world.shell("alice", line).status == 75)
        let records = try two.expect("alice", "send --list --json").map(
            RelayOfIdentityTests.record)
        #expect(records.map { $0["kind"] } == [.string("card"), .string("prekeys")])
        #expect(records.allSatisfy { $0["relay"] == .string(pinned) })
    }

    @Test(arguments: [
        ("tcp://a.example:1", "tcp://b.example:2", true),
        ("tcp://a.example:1", "tls://b.example:2", true),
        ("tls://a.example:1", "tcp://b.example:2", false),
        ("https://a.example/", "wss://b.example/", true),
        ("tcp://a.example:1", "tcp://127.0.0.1:2", false),
        ("tcp://127.0.0.1:1", "tcp://127.0.0.1:2", true),
        ("tcp://127.0.0.1:1", "tcp://127.0.0.2:1", false),
        ("tcp://a.example:1", "tcp://10.1.2.3:1", false),
        ("tcp://a.example:1", "tcp://172.31.0.1:1", false),
        ("tcp://a.example:1", "tcp://172.32.0.1:1", true),
        ("tcp://a.example:1", "tcp://100.64.0.1:1", false),
        ("tcp://a.example:1", "tcp://192.168.1.1:1", false),
        ("tcp://a.example:1", "tcp://169.254.1.1:1", false),
        ("tcp://a.example:1", "tcp://2130706433:1", false),
        ("tcp://a.example:1", "tcp://8.8.8.8:1", true),
        ("tcp://a.example:1", "tcp://[::1]:1", false),
        ("tcp://a.example:1", "tcp://[fd00::1]:1", false),
        ("tcp://a.example:1", "tcp://[fe80::1]:1", false),
        ("tcp://a.example:1", "tcp://[::ffff:10.0.0.1]:1", false),
        ("tcp://a.example:1", "tcp://[64:ff9b::a00:1]:1", false),
        ("tcp://a.example:1", "tcp://[64:ff9b:1::a00:1]:1", false),
        ("tcp://a.example:1", "tcp://[2001:db8::1]:1", true),
        ("tcp://a.example:1", "tcp://router:1", false),
        ("tcp://a.example:1", "tcp://localhost:1", false),
        ("tcp://a.example:1", "tcp://printer.local:1", false),
        ("tcp://a.example:1", "tcp://nas.home.arpa:1", false),
        ("tcp://a.example:1", "tcp://NAS.LAN.:1", false),
        ("tcp://nas.lan:1", "tls://nas.lan:2", true),
    ])
    func mailFollowsOnlyToAnAddressThatIsNoWorse(_ old: String, _ new: String, _ may: Bool) throws {
        #expect(try RelayURL(new).mayFollow(RelayURL(old)) == may)
    }
}
