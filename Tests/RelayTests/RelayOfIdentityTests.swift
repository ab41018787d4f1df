import Glibc
import Sotto
import SottoClient
import SottoState
import SottoWire
import TestSupport
import Testing

/// The relay of an identity: `recv` uses it, its cards contain it, `encrypt` notes it and `send` delivers there.
@Suite struct RelayOfIdentityTests {
    /// Sets the relay of a user's identity and card.
    static func move(_ world: Correspondence, _ who: String, to relay: String) throws {
        try world.expect(who, "keygen set -q --relay \(relay) \(who).key")
        try world.expect(who, "keygen public \(who).key > \(who).card")
    }

    static func record(_ line: String) throws -> JSONObject {
        try JSON.object(parsing: Array(line.utf8))
    }

    @Test func mailNeedsNoVariable() throws {
        let world = try Correspondence()
        defer { world.stop() }
        let relay = "tcp://\(world.relay.address)"
        try Self.move(world, "bob", to: relay)
        let lines = try world.expect("alice", "echo hello | encrypt --to bob.card")
        #expect(try Self.record(lines[0])["relay"] == .string(relay))
        let results = try world.expect(
            "alice", "unset SOTTO_RELAY; echo hello | encrypt --to bob.card | send")
        #expect(try Self.record(results[0])["relay"] == .string(relay))
        // The note is only for send: the relay and the recipient do not get it.
        let mail = try world.expect("bob", "unset SOTTO_RELAY; recv > mail; cat mail")
        #expect(mail.count == 1 && !mail[0].contains("\"relay\""))
        #expect(Correspondence.texts(try world.expect("bob", "decrypt < mail")) == ["hello"])
        // Publications use their owner's relay too.
        try world.expect("bob", "unset SOTTO_RELAY; keygen prekeys | send")
        #expect(try world.published().oneTime > 0)
        try world.expect("bob", "unset SOTTO_RELAY; keygen public | send")
        #expect(
            try world.expect("bob", "unset SOTTO_RELAY; recv --card \(world.bob.id)").count == 1)
        try world.expect("alice", "unset SOTTO_RELAY; recv --bundle bob.card > /dev/null")
    }

    @Test func relaysHaveAnOrderOfPrecedence() throws {
        let world = try Correspondence()
        defer { world.stop() }
        let other = try #require(RelayProcess(TemporaryDirectory()))
        defer { other.end() }
        let (here, there) = ("tcp://\(world.relay.address)", "tcp://\(other.address)")
        try Self.move(world, "bob", to: here)
        func at(_ relay: String) -> String { "SOTTO_RELAY= recv --relay \(relay) | wc -l" }
        // An option precedes the card's relay, which precedes the variable.
        try world.expect("alice", "echo a | encrypt --to bob.card | SOTTO_RELAY=\(there) send")
        #expect(try world.expect("bob", at(here)) == ["1"])
        try world.expect("alice", "echo b | encrypt --to bob.card | send --relay \(there)")
        #expect(try world.expect("bob", at(there)) == ["1"])
        // For recv the variable precedes the identity's relay.
        try world.expect("alice", "echo c | encrypt --to bob.card | send --relay \(there)")
        #expect(try world.expect("bob", "SOTTO_RELAY=\(there) recv | wc -l") == ["1"])
        // The user's own URL of a relay precedes that on a card.
        let own = "ws://\(world.relay.address)"
        let sent = try world.expect(
            "alice", "echo d | encrypt --to bob.card | SOTTO_RELAY=\(own) send")
        #expect(try Self.record(sent[0])["relay"] == .string(own))
        #expect(try world.expect("bob", at(here)) == ["1"])
        // It takes TLS from no card.
        let pin = String(repeating: "00", count: 32)
        try Self.move(world, "bob", to: "'tls://\(world.relay.address)#sha256=\(pin)'")
        let plain = "echo e | encrypt --to bob.card | SOTTO_RELAY=\(here) send"
        #expect(world.shell("alice", plain).status == 75)
        #expect(world.shell("bob", "SOTTO_RELAY= recv --relay \(here)").status == 1)
    }

    @Test func onlyASignedCardNamesARelay() throws {
        let world = try Correspondence()
        defer { world.stop() }
        try Self.move(world, "bob", to: "tcp://\(world.relay.address)")
        let lines = try world.expect(
            "alice", "echo x | encrypt --to \"$(keygen public --uri bob.key)\"")
        #expect(try Self.record(lines[0])["relay"] == nil)
        #expect(
            world.shell("alice", "jq -c '.relay = \"tcp://127.0.0.1:1\"' bob.card > forged").status
                == 0)
        #expect(world.shell("alice", "echo x | encrypt --to forged").status == 11)
    }

    @Test func withoutAnyRelayALineFails() throws {
        let world = try Correspondence()
        defer { world.stop() }
        let (status, lines) = world.shell(
            "alice", "unset SOTTO_RELAY; echo x | encrypt --to bob.card | send")
        #expect(status == 78 && lines.count == 1 && lines[0].contains("\"status\":78"))
        #expect(world.errors.contains("sotto send --relay"))
        #expect(world.shell("alice", "unset SOTTO_RELAY; send < /dev/null").status == 0)
        #expect(world.errors.contains("1 waits in the outbox without a relay"))
        #expect(world.shell("alice", "unset SOTTO_RELAY; keygen public | send").status == 78)
        #expect(world.errors.contains("for one command: SOTTO_RELAY=tcp://host:port"))
        world.scratch.write(
            "bad",
            Sample.record(to: world.bob.id).serialized().dropLast()
                + Array(",\"relay\":\"gopher://x:1\"}\n".utf8))
        #expect(world.shell("alice", "send < bad").status == 65)
        #expect(world.errors.contains("gopher"))
    }

    /// Messages for a contact without a card wait until the relay is known, and arrive in order.
    @Test func messagesForAContactWithoutACardWait() throws {
        let world = try Correspondence()
        defer { world.stop() }
        let relay = "tcp://\(world.relay.address)"
        try world.expect("alice", "keygen prekeys | send")
        try world.expect(
            "bob",
            "recv --bundle alice.card > bundle; echo hi | encrypt --to alice.card --bundle bundle | send"
        )
        try world.expect("alice", "recv | decrypt -q > opened")
        try world.expect("alice", "contact accept --name bob \(world.bob.id)")
        func write(_ text: String, _ relay: String = "unset SOTTO_RELAY;") -> Int32 {
            world.shell("alice", "\(relay) echo \(text) | encrypt -q --to bob | send").status
        }
        #expect(write("one") == 78 && write("two") == 78)
        #expect(
            world.errors.contains("line 1: no relay is given") && world.errors.contains("queued"))
        let queued = try world.expect("alice", "send --list --json").map(Self.record)
        #expect(queued.count == 2 && queued.allSatisfy { $0["relay"] == nil })
        #expect(try world.expect("alice", "send --list --text")[1].contains("  -  "))
        // The card names a relay: what waited for its recipient goes there, before the next message.
        try Self.move(world, "bob", to: relay)
        try world.expect("alice", "contact add --replace bob.card || contact add bob.card")
        #expect(write("three") == 0)
        #expect(
            Correspondence.texts(try world.expect("bob", "recv | decrypt"))
                == ["one", "two", "three"])
        #expect(world.shell("alice", "send --list").status == 1)
    }

    /// Envelopes without a relay go to the chosen one with an empty input, each once.
    @Test func envelopesWithoutARelayAreSentLater() throws {
        let world = try Correspondence()
        defer { world.stop() }
        let relay = "tcp://\(world.relay.address)"
        try world.expect("alice", "echo x | encrypt --to bob.card > line")
        for _ in 0..<2 {
            #expect(world.shell("alice", "unset SOTTO_RELAY; send < line").status == 78)
        }
        #expect(try world.expect("alice", "send --list --json").count == 1)
        let sent = try world.expect("alice", "unset SOTTO_RELAY; send --relay \(relay) < /dev/null")
        #expect(try sent.map { try Self.record($0)["status"] } == [.string("stored")])
        // The same line again, with a relay, is sent once.
        #expect(
            world.shell(
                "alice", "echo y | encrypt --to bob.card > line; unset SOTTO_RELAY; send < line"
            ).status == 78)
        let again = try world.expect("alice", "send < line")
        #expect(try again.map { try Self.record($0)["status"] } == [.string("stored")])
        #expect(try world.expect("bob", "recv | wc -l") == ["2"])
        #expect(world.shell("alice", "send --list").status == 1)
    }

    @Test func anUnreachableRelayDelaysNoOther() throws {
        let world = try Correspondence()
        defer { world.stop() }
        let store = TemporaryDirectory()
        let away = try #require(RelayProcess(store))
        try Self.move(world, "bob", to: "tcp://\(world.relay.address)")
        try Self.move(world, "carol", to: "tcp://\(away.address)")
        away.end()
        let send =
            "unset SOTTO_RELAY; for n in 1 2 3; do echo $n | "
            + "encrypt --to carol.card --to bob.card; done | send > results"
        #expect(world.shell("alice", send).status == 75)
        #expect(world.errors.contains(away.address))
        let statuses = try world.scratch.lines("results").map(Self.record).map {
            "\($0["to"] == .string(world.bob.id.description)) \($0["status"]?.string ?? "")"
        }
        #expect(statuses.filter { $0 == "true stored" }.count == 3)
        #expect(statuses.filter { $0 == "false queued" }.count == 3)
        #expect(try world.expect("bob", "recv | wc -l") == ["3"])

        // They are listed, one is dropped, and the others are delivered when the relay is back.
        let queued = try world.expect("alice", "send --list --json").map(Self.record)
        #expect(queued.count == 3)
        #expect(queued.allSatisfy { $0["relay"] == .string("tcp://\(away.address)") })
        let table = try world.expect("alice", "send --list --text")
        #expect(table.count == 4 && table[0].hasPrefix("ID") && table[1].contains(away.address))
        let id = try #require(queued[1]["id"]?.string)
        let dropped = try world.expect("alice", "send --drop \(id)")
        #expect(try Self.record(dropped[0])["status"] == .string("dropped"))
        #expect(world.shell("alice", "send --drop \(id)").status == 1)
        // A send to another relay reports that they wait.
        try world.expect("alice", "unset SOTTO_RELAY; echo 4 | encrypt --to bob.card | send")
        #expect(world.errors.contains("2 more wait"))
        let back = try #require(RelayProcess(store, listen: away.address))
        defer { back.end() }
        let rest = try world.expect("alice", "unset SOTTO_RELAY; send < /dev/null").map(Self.record)
        #expect(rest.map { $0["status"] } == [.string("stored"), .string("stored")])
        #expect(world.shell("alice", "send --list").status == 1)
        let got = try world.expect("carol", "unset SOTTO_RELAY; recv | decrypt")
        #expect(Correspondence.texts(got) == ["1", "3"])
    }
}
