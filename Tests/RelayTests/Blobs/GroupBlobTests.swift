import Sotto
import TestSupport
import Testing

/// Files of a group whose members have different relays, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct GroupBlobTests {
    private static let names = ["alice", "bob", "carol"]

    /// Runs a command without the variable for the relay: each person uses that of the identity.
    @discardableResult
    private func run(
        _ world: Correspondence, _ who: String, _ line: String
    ) throws -> [String] {
        try world.expect(who, "unset SOTTO_RELAY; \(line)")
    }

    private func settle(_ world: Correspondence) throws {
        for _ in 0..<3 {
            for who in Self.names {
                try run(world, who, "recv -q | decrypt -q; group sync | encrypt -q | send -q")
            }
        }
    }

    /// Bob does not know Carol, who has another relay. He fetches her file if the rules of the group list that relay.
    @Test
    func aFileIsFetchedFromARelayOfTheGroup() throws {
        let world = try Correspondence()
        defer { world.stop() }
        let other = try #require(RelayProcess(world.scratch, store: world.scratch("other.db")))
        defer { other.end() }
        let (here, there) = ("tcp://\(world.relay.address)", "tcp://\(other.address)")
        for (who, relay) in zip(Self.names, [here, here, there]) {
            try RelayOfIdentityTests.move(world, who, to: relay)
        }
        for who in ["bob", "carol"] {
            try run(world, "alice", "contact add -q --name \(who) \(who).card")
            try run(world, who, "contact add -q --name alice alice.card")
        }
        try run(world, "alice", "group create -q team bob carol | encrypt -q | send -q")
        for who in ["bob", "carol"] {
            try run(world, who, "recv -q | decrypt -q > events")
            try run(world, who, "group accept -q team | encrypt -q | send -q")
        }
        try settle(world)
        try run(
            world, "alice", "group policy -q team relays=\(here),\(there) | encrypt -q | send -q")
        try settle(world)
        let file = randomBytes(100_000)
        world.scratch.write("file", file)
        try run(
            world, "carol", "echo look | encrypt --group team --attach file -q | send -q")
        try run(world, "bob", "recv -q | decrypt -q | grep '\"type\":\"file\"' > message")
        try run(world, "bob", "recv --blob message | decrypt --attachment message -o got")
        #expect(TemporaryDirectory.contents(world.scratch("got")) == file)
        // A message that is not of the group does not permit it, and neither does the group later.
        try run(world, "bob", "sed 's/\"group\":\"[0-9a-f]*\",//' message > other")
        let fetch = "unset SOTTO_RELAY; recv --blob"
        #expect(world.shell("bob", "\(fetch) other > got").status == 12)
        #expect(world.errors.contains("neither yours"), "\(world.errors)")
        try run(world, "alice", "group policy -q team relays=\(here) | encrypt -q | send -q")
        try run(world, "bob", "recv -q | decrypt -q > events")
        #expect(world.shell("bob", "\(fetch) message > got").status == 12)
    }
}
