import Sotto
import SottoMessengers
import TestSupport
import Testing

/// `bridge seal whisper2 --group`.
@Suite(.timeLimit(.minutes(60))) struct BridgeGroupTests {
    /// Creates a group of Alice with others, of whom these have an account in Whisper2, as Alice has.
    private func circle(_ names: [String], whisper2: [String]) throws -> Circle {
        let circle = try Circle(["alice"] + names)
        for name in ["alice"] + whisper2 {
            try circle.must(
                name, "bridge", ["set", "--whisper-id", Self.whisperID()])
            guard name != "alice" else { continue }
            let card = try circle.must(name, "bridge", ["card", "whisper2"])
            try circle.must("alice", "contact", ["add"], card.text)
        }
        let card = try circle.must("alice", "bridge", ["card", "whisper2"])
        for name in names { try circle.must(name, "contact", ["add"], card.text) }
        try circle.team(["alice"] + names)
        return circle
    }

    /// Returns a random account, as the server makes them.
    private static func whisperID() -> String {
        WhisperID(symbols: randomBytes(10).map { $0 & 31 }).description
    }

    private func seal(
        _ circle: Circle, _ text: String, _ more: String..., as who: String = "alice"
    ) throws -> Run {
        try circle[who].run(
            "bridge", ["seal", "whisper2", "--group", "team"] + more, stdin: Array(text.utf8))
    }

    @Test func eachMemberWithAnAccountOpensTheMessage() throws {
        let circle = try circle(["bob", "carol"], whisper2: ["bob", "carol"])
        let run = try seal(circle, "hello")
        #expect(run.status == 0, "\(run.stderr)")
        let frame = try JSON.object(parsing: run.stdout)
        let id = try circle.must("alice", "group", ["show", "team"]).records[0]["id"]
        #expect(frame["groupId"] == id && frame["recipients"]?.array?.count == 2)
        for name in ["bob", "carol"] {
            let opened = try circle[name].run("bridge", ["open", "whisper2"], stdin: run.stdout)
            #expect(opened.status == 0, "\(opened.stderr)")
            let message = try #require(opened.records.first)
            #expect(message.body["text"] == .string("hello"))
            #expect(message["from"] == .string(circle["alice"].identity.id.description))
            #expect(message.at("details", "group") == id)
            // It is in the conversation of the group.
            #expect(message["group"] == id && message["role"] == .string("owner"))
            #expect(try circle[name].history("team").last?.at("body", "text") == .string("hello"))
        }
        let lines = try seal(circle, "{\"text\":\"one\"}\ntwo\n", "--jsonl", "--group-id", "app")
        #expect(lines.status == 0 && lines.lines.count == 2, "\(lines.stderr)")
        let opened = try circle["bob"].run(
            "bridge", ["open", "whisper2", "--text"], stdin: lines.stdout)
        #expect(opened.text == "one\ntwo\n")
        #expect(try JSON.object(parsing: Array(lines.lines[0].utf8))["groupId"] == .string("app"))
    }

    /// The sender's history has a message to a group once, in the conversation of the group.
    @Test func theMessageStandsInTheGroupsConversation() throws {
        let circle = try circle(["bob", "carol"], whisper2: ["bob", "carol"])
        let run = try seal(circle, "one\ntwo\n", "--jsonl", "-q")
        #expect(run.status == 0 && run.lines.count == 2, "\(run.stderr)")
        let alice = circle["alice"]
        let id = try circle.must("alice", "group", ["show", "team"]).records[0]["id"]
        let sent = try alice.history("team").filter { $0["direction"] == .string("sent") }
        #expect(sent.compactMap { $0.at("body", "text") } == [.string("one"), .string("two")])
        for record in sent {
            #expect(record["group"] == id && record["suite"] == .string("whisper2"))
            #expect(record["to"] == nil && record["status"] == .string("handedOn"))
        }
        for name in ["bob", "carol"] {
            #expect(try alice.run("history", ["search", "-q", "two", name]).status != 0)
        }
        let last = try alice.run("history", ["list"]).records.first { $0["group"] == id }
        #expect(last?.at("last", "body", "text") == .string("two"))
    }

    /// A member who may not write in the group writes nothing into its conversation by another messenger either.
    @Test func theRulesDecideWhoWritesInTheGroup() throws {
        let circle = try circle(["bob", "carol"], whisper2: ["bob", "carol"])
        let id = try #require(
            try circle.must("alice", "group", ["show", "team"]).records[0]["id"]?.string)
        try circle.group("alice", "policy", "team", "post=admin")
        try circle.settle()
        let run = try circle["bob"].run(
            "bridge", ["seal", "whisper2", "-q", "--to", "alice", "--group-id", id],
            stdin: Array("quiet".utf8))
        #expect(run.status == 0, "\(run.stderr)")
        let opened = try circle["alice"].run("bridge", ["open", "whisper2"], stdin: run.stdout)
        #expect(opened.status == 0, "\(opened.stderr)")
        #expect(try opened.records.first?["group"] == nil)
        #expect(try circle["alice"].history("bob").last?.at("body", "text") == .string("quiet"))
        let texts = try circle["alice"].history("team").compactMap { $0.at("body", "text") }
        #expect(!texts.contains(.string("quiet")))
    }

    @Test func membersWithoutAnAccountAreNamed() throws {
        let circle = try circle(["bob", "carol", "dave"], whisper2: ["bob"])
        let run = try seal(circle, "hello", "-q")
        #expect(run.status == 15, "\(run.stderr)")
        for name in ["carol", "dave"] {
            #expect(run.said.filter { $0.contains("\(name) gets no message") }.count == 1)
        }
        #expect(run.stderr.contains("2 of 3 members of team get no message"))
        let opened = try circle["bob"].run(
            "bridge", ["open", "whisper2", "--text"], stdin: run.stdout)
        #expect(opened.text == "hello\n" && opened.status == 0, "\(opened.stderr)")
        // With -o, the file is complete in spite of the status.
        #expect(try seal(circle, "again", "-q", "-o", "record.json").status == 15)
        #expect(try JSON.object(parsing: circle.home.files.read("record.json"))["groupId"] != nil)
        // A blocked member gets no message either.
        try circle.must("alice", "contact", ["block", "bob"])
        let blocked = try seal(circle, "hello", "-q")
        #expect(blocked.status == 12 && blocked.stdout.isEmpty, "\(blocked.stderr)")
        #expect(blocked.stderr.contains("bob is blocked"))
    }

    @Test func aGroupWithoutAccountsIsRefused() throws {
        let circle = try circle(["bob", "carol"], whisper2: [])
        let run = try seal(circle, "hello", "-q")
        #expect(run.status == 10 && run.stdout.isEmpty, "\(run.stderr)")
        #expect(run.stderr.contains("no member of team has a whisper2 account"))
    }

    @Test func onlyMembersWithTheRankToWriteSeal() throws {
        let circle = try circle(["bob", "carol"], whisper2: ["bob"])
        try circle.group("alice", "policy", "team", "post=admin")
        try circle.texts("bob")
        let muted = try seal(circle, "hello", as: "bob")
        #expect(muted.status == 12 && muted.stderr.contains("rank"), "\(muted.stderr)")
        try circle.group("alice", "remove", "team", "bob")
        try circle.texts("bob")
        let removed = try seal(circle, "hello", as: "bob")
        #expect(removed.status == 12 && removed.stderr.contains("not a member"))
        // Carol has no account.
        #expect(try seal(circle, "hello", "-q").status == 10)
    }

    /// In a group whose members grant their messages, only those who may read them get one.
    @Test func visibilityCounts() throws {
        let circle = try Circle("alice", "bob", "carol")
        for name in ["alice", "bob", "carol"] {
            try circle.must(
                name, "bridge", ["set", "--whisper-id", Self.whisperID()])
        }
        for (reader, writer) in [("alice", "bob"), ("alice", "carol"), ("bob", "carol")] {
            let card = try circle.must(writer, "bridge", ["card", "whisper2"])
            try circle.must(reader, "contact", ["add"], card.text)
        }
        let card = try circle.must("alice", "bridge", ["card", "whisper2"])
        try circle.must("bob", "contact", ["add"], card.text)
        try circle.team("alice", "bob", "carol", options: ["--visibility", "granted"])
        let first = try seal(circle, "hello", "-q", as: "alice")
        #expect(first.status == 10 && first.stderr.contains("may read"), "\(first.stderr)")
        let run = try seal(circle, "hello", "-q", as: "bob")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try JSON.object(parsing: run.stdout)["recipients"]?.array?.count == 1)
        try circle.group("bob", "grant", "team", "carol")
        let granted = try seal(circle, "hello", "-q", as: "bob")
        #expect(granted.status == 0, "\(granted.stderr)")
        #expect(try JSON.object(parsing: granted.stdout)["recipients"]?.array?.count == 2)
    }

    @Test func otherOptionsAreRefusedByName() throws {
        let circle = try Circle("alice")
        for (arguments, name) in [
            (["seal", "whisper2", "--group", "team", "--to", "bob"], "--to"),
            (["seal", "whisper2", "--group", "team", "--stateless"], "--stateless"),
            (["seal", "mercurio", "--group", "team"], "--group"),
            (["seal", "kecalek", "--group", "team", "--to", "bob"], "--to"),
            (["seal", "kecalek", "--to", "bob", "--to", "carol"], "--group-id"),
            (["seal", "flow", "--group", "team"], "--group"),
            (["seal", "shainy", "--group", "team"], "--group"),
            (["seal", "mercurio", "--to", "bob", "--group-id", "a"], "--group-id"),
        ] {
            let run = try circle["alice"].run("bridge", arguments, stdin: [120])
            #expect(run.status == 64 && run.stderr.contains(name), "\(arguments) \(run.stderr)")
        }
        let unknown = try circle["alice"].run(
            "bridge", ["seal", "whisper2", "--group", "none"], stdin: [120])
        #expect(unknown.status == 66, "\(unknown.stderr)")
    }
}
