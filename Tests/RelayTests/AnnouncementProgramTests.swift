import Sotto
import TestSupport
import Testing

/// The room for announcements that a relay offers to everybody, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct AnnouncementProgramTests {
    let world: Correspondence

    init() throws { world = try Correspondence() }

    /// Makes the room as Alice, the operator, with a message. Returns its address.
    private func makeRoom() throws -> String {
        try world.expect(
            "alice",
            "group create --preset announcements --public-phrase 'come in' --nickname Operator News > room"
        )
        let said = world.errors.split(separator: "'").map(String.init)
        let address = try #require(said.first { $0.hasPrefix("sotto:room?") }, "\(world.errors)")
        try world.expect("alice", "encrypt -q < room | send -q")
        try world.expect("alice", "echo Welcome | encrypt -q --group News | send -q")
        return address
    }

    /// Runs a command with the identity that Bob makes with `sotto init`, at the relay with this address.
    private func newcomer(_ line: String, at relay: String) -> (status: Int32, lines: [String]) {
        world.shell("bob", "export SOTTO_IDENTITY=new.key SOTTO_RELAY='\(relay)'; \(line)")
    }

    private func letIn() throws {
        world.shell("alice", "recv -q | decrypt -q")
        try world.expect("alice", "group sync -q | encrypt -q | send -q")
    }

    private static func records(_ lines: [String]) throws -> [JSONObject] {
        try lines.map { try JSON.object(parsing: Array($0.utf8)) }
    }

    @Test(arguments: ["tcp", "ws", "http"])
    func aNewcomerFindsTheWelcomeUnread(_ scheme: String) throws {
        let room = try makeRoom()
        let relay = try world.restarted(["--announcements", room])
        let url = "\(scheme)://\(relay.address)"
        #expect(newcomer("recv --announcements", at: url).lines == [room])
        let made = newcomer("sotto init --name New --no-passphrase < /dev/null", at: url)
        #expect(made.status == 0, "\(world.errors)")
        #expect(made.lines.first?.hasPrefix("sotto read    # read its welcome") == true)
        #expect(
            world.errors.contains(
                "entered the room for announcements of \(url); its members see your id and your name"
            ), "\(world.errors)")
        try letIn()
        _ = newcomer("recv -q | decrypt -q", at: url)
        let listed = newcomer("history list", at: url)
        let first = try #require(try Self.records(listed.lines).first, "\(world.errors)")
        #expect(first["name"]?.string == "News" && first["announcements"] == .bool(true))
        #expect(first["unread"] == .integer(1))
        #expect(first["last"]?.object?["body"]?.object?["text"]?.string == "Welcome")
        // Only the operator writes there.
        #expect(newcomer("echo no | encrypt --group News", at: url).status == 12)
        let read = newcomer("sotto read < /dev/null", at: url)
        #expect(Correspondence.texts(read.lines) == ["Welcome"])
        #expect(newcomer("history unread", at: url).status == 1)
        // Later announcements arrive too.
        try world.expect("alice", "echo Later | encrypt -q --group News | send -q")
        #expect(
            Correspondence.texts(newcomer("recv -q | decrypt -q", at: url).lines) == ["Later"])
        #expect(relay.end() == 0)
    }

    @Test func nobodyEntersWithoutWantingIt() throws {
        let room = try makeRoom()
        let relay = try world.restarted(["--announcements", room])
        let url = "tcp://\(relay.address)"
        let without = newcomer(
            "sotto init --name New --no-passphrase --no-announcements < /dev/null", at: url)
        #expect(without.status == 0 && !without.lines.contains { $0.contains("group join") })
        #expect(newcomer("group list", at: url).status == 1)
        // Without a name the command that enters is printed, and it works.
        let unnamed = newcomer("rm new.key; sotto init --no-passphrase < /dev/null", at: url)
        let next = try #require(unnamed.lines.first { $0.contains("group join") })
        #expect(newcomer("group list", at: url).status == 1)
        let command = next.replacing("NAME", with: "New")
        #expect(newcomer("(\(command)\n)", at: url).status == 0, "\(world.errors)")
        try letIn()
        _ = newcomer("recv -q | decrypt -q", at: url)
        #expect(newcomer("history search Welcome", at: url).status == 0, "\(world.errors)")
        #expect(relay.end() == 0)
    }

    /// A relay that offers a room of another host makes nobody connect to it.
    @Test func aRoomElsewhereIsNotEntered() throws {
        let room = try makeRoom().replacing("127.0.0.1", with: "localhost")
        let relay = try world.restarted(["--announcements", room])
        let url = "tcp://\(relay.address)"
        #expect(newcomer("recv --announcements", at: url).status == 65)
        #expect(world.errors.contains("no room of its own"), "\(world.errors)")
        let made = newcomer("sotto init --name New --no-passphrase < /dev/null", at: url)
        #expect(made.status == 0 && !made.lines.contains { $0.contains("sotto read") })
        #expect(newcomer("group list", at: url).status == 1)
        #expect(relay.end() == 0)
    }

    @Test func aRelayWithoutARoomOffersNone() throws {
        #expect(world.shell("bob", "recv --announcements").status == 1)
        let status = ChildProcess.run(
            "relay",
            [
                "--listen", "127.0.0.1:0", "--store", world.scratch("other.db"),
                "--announcements", "sotto:room?relay=tcp%3A%2F%2F127.0.0.1%3A1&name=News",
            ])
        #expect(status == 64)
        world.stop()
    }
}
