import Glibc
import Sotto
import TestSupport
import Testing

/// Two homes play a conversation through a relay, with the pipelines of the manual pages in a shell. After each step both
/// sides see the same.
@Suite(.timeLimit(.minutes(60))) final class PlayTests {
    let they: Conversing
    private let relay: RelayProcess
    private let scratch = TemporaryDirectory()
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws {
        they = try Conversing()
        relay = try #require(RelayProcess(scratch))
        for party in [alice, bob] {
            #expect(
                try party.run("contact", ["set", they.peer(of: party).name, "receipts=on"]).status
                    == 0)
            try shell(party, "keygen prekeys | send -q")
        }
    }

    deinit { relay.end() }

    private func environment(_ party: Party) -> [String: String] {
        they.home.environment.merging(party.environment) { $1 }.merging([
            "PATH": Programs.path("").dropLast() + ":/usr/bin:/bin",
            "SOTTO_RELAY": "tcp://\(relay.address)", "LC_ALL": "C.UTF-8",
        ]) { $1 }
    }

    /// Runs a line of shell, which must succeed.
    @discardableResult
    private func shell(_ party: Party, _ line: String) throws -> Run {
        let run = try Command(
            path: Peer.bash.path, ["-o", "pipefail", "-c", line],
            environment: environment(party), directory: they.home.files.path
        ).run()
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    /// Sends what a line of shell composes, and opens it on the other side.
    @discardableResult
    private func play(_ party: Party, _ line: String) throws -> [JSONObject] {
        try shell(party, "\(line) | encrypt -q | send -q")
        return try receive(they.peer(of: party))
    }

    /// Opens the waiting mail of a party, with receipts.
    private func receive(_ party: Party) throws -> [JSONObject] {
        try shell(party, "recv -q | decrypt --receipts \(party.name).receipts").records
    }

    private func status(_ party: Party, _ id: String) throws -> String? {
        try party.history(they.peer(of: party).name).first { $0["id"] == .string(id) }?["status"]?
            .string
    }

    @Test func aWholeConversation() throws {
        // A text, and a reply that quotes it.
        let first = try #require(
            try play(alice, "echo 'dinner at 8?' | compose text bob").first?["id"]?.string)
        let reply = try play(bob, "echo yes | compose reply -1 --with alice")[0]
        #expect(
            reply.body["reply"]?.object
                == [
                    "id": .string(first), "from": .string(alice.identity.id.description),
                    "text": .string("dinner at 8?"),
                ])
        let texts = try they.view().map { $0.body["text"]?.string }
        #expect(texts == ["dinner at 8?", "yes"])

        // A reaction, another in its place, and the same again, which removes it.
        func emojis() throws -> [String] {
            try they.view()[0]["reactions"]?.array?.compactMap { $0.object?["emoji"]?.string } ?? []
        }
        try play(bob, "compose react \(first) 👍")
        #expect(try emojis() == ["👍"])
        try play(bob, "compose react \(first) ❤️")
        #expect(try emojis() == ["❤️"])
        try play(alice, "compose react -2 😂 --with bob")
        #expect(try emojis() == ["❤️", "😂"])
        try play(bob, "compose react -2 ❤️ --with alice")
        #expect(try emojis() == ["😂"])

        // An edit, and a pin with and without an end.
        try play(alice, "echo 'dinner at 9?' | compose edit \(first.prefix(8))")
        let edited = try they.view()[0]
        #expect(edited.body["text"] == .string("dinner at 9?"))
        #expect(edited["edited"]?.object?["versions"] == .integer(2))
        try play(bob, "compose pin \(first) --until 2100-01-01T00:00:00Z")
        #expect(
            try they.view()[0]["pinned"]?.object?["until"] == .string("2100-01-01T00:00:00Z"))
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            #expect(try party.history(peer, "--pinned").compactMap { $0["id"]?.string } == [first])
        }
        try play(alice, "compose unpin \(first)")
        #expect(try they.view()[0]["pinned"] == nil)

        // A forward of the present version.
        let forwarded = try play(bob, "compose forward \(first) --to alice")[0]
        #expect(forwarded.body["text"] == .string("dinner at 9?"))
        #expect(
            forwarded.body["forwarded"]?.object?["from"]
                == .string(alice.identity.id.description))

        // Receipts in both directions: none was sent yet.
        let second = try #require(forwarded["id"]?.string)
        #expect(try status(alice, first) == "stored" && status(bob, second) == "stored")
        for party in [bob, alice] {
            try shell(party, "encrypt -q \(party.name).receipts | send -q")
            _ = try receive(they.peer(of: party))
        }
        #expect(try status(alice, first) == "delivered" && status(bob, second) == "delivered")
        try play(bob, "sotto history read -q alice")
        #expect(try status(alice, first) == "read" && status(bob, second) == "delivered")
        try play(alice, "compose read -1 --with bob")
        #expect(try status(bob, second) == "read")
        #expect(try alice.history("unread").last?["unread"] == .integer(2))

        // A deletion on both sides, and a timer.
        try play(alice, "compose delete \(first)")
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            let page = try party.history(peer)
            #expect(page[0]["deleted"] == .bool(true) && page[0]["body"] == nil)
        }
        let timer = try play(bob, "compose timer alice 1w")[0]
        #expect(timer.body == ["type": .string("timer"), "seconds": .integer(604_800)])
        #expect(try they.view().last?.body["type"] == .string("timer"))
    }

    /// Signals reach a connected recipient, and are stored nowhere.
    @Test func signalsReachAConnectedRecipient() throws {
        let on = try alice.run("contact", ["set", "bob", "typing=on", "presence=on"])
        #expect(on.status == 0)
        let output = scratch("shown")
        let bash = Peer.bash.path
        let listener = ChildProcess(
            bash, ["-c", "exec recv -q --follow --exec 'decrypt -q --text'"],
            environment: environment(bob), output: output, errors: scratch("errors"))
        func shown() -> [String] {
            String(decoding: TemporaryDirectory.contents(output), as: UTF8.self)
                .split(separator: "\n").map(String.init)
        }
        func waitFor(_ expected: [String]) {
            var tries = 0
            while shown() != expected, tries < 2_000 {
                usleep(10_000)
                tries += 1
            }
            #expect(shown() == expected)
        }
        // Mail arrives when the recipient is connected.
        try shell(alice, "echo ready | compose text bob | encrypt -q | send -q")
        waitFor(["ready"])
        try shell(alice, "compose typing bob | encrypt -q | send -q")
        waitFor(["ready", "[is typing]"])
        try shell(alice, "compose typing --stop bob | encrypt -q | send -q")
        waitFor(["ready", "[is typing]", "[stopped typing]"])
        try shell(alice, "compose presence bob | encrypt -q | send -q")
        waitFor(["ready", "[is typing]", "[stopped typing]", "[is online]"])
        try shell(alice, "compose presence --offline bob | encrypt -q | send -q")
        waitFor(["ready", "[is typing]", "[stopped typing]", "[is online]", "[is offline]"])
        listener.kill(SIGTERM)
        listener.wait()
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            #expect(try party.history(peer, "--raw").count == 1)
        }
    }
}
