import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// `history wait`.
struct WaitTests {
    private let circle: Circle

    init() throws { circle = try Circle("alice", "bob") }

    /// Sends a text, and returns the id of the message.
    private func say(_ text: String) throws -> String {
        try circle.deliver(circle.must("alice", "encrypt", ["--to", "bob"], text))
        let last = try circle["alice"].history("bob").last
        return try #require(last?["id"]?.string)
    }

    private func wait(_ arguments: String...) throws -> Run {
        try circle["alice"].run("history", ["wait"] + arguments)
    }

    @Test func anAnswerIsAReply() throws {
        let id = try say("friday?")
        try circle.settle()
        try circle.deliver(circle.must("bob", "encrypt", ["--to", "alice"], "good morning"))
        try circle.settle()
        let none = try wait(id, "--status", "answered", "--timeout", "1s")
        #expect(none.status == 75 && none.stderr.contains("no answer came in 1s"), "\(none)")
        #expect(none.stderr.contains("receive it: sotto recv | sotto decrypt"))
        let next = try wait(id, "--status", "answered", "--any")
        #expect(try next.records.map { $0.body["text"]?.string } == ["good morning"])
        try circle.compose("bob", ["reply", id], "at 7")
        try circle.settle()
        let answer = try wait(id, "--status", "answered")
        #expect(try answer.records.map { $0.body["text"]?.string } == ["at 7"])
    }

    @Test func aMessageThatWasWrittenBeforeIsNoAnswer() throws {
        let waiting = try circle.must("bob", "encrypt", ["--to", "alice"], "see you tomorrow")
        sleep(2)
        let id = try say("friday?")
        try circle.deliver(waiting)
        try circle.settle()
        let none = try wait(id, "--status", "answered", "--any", "--timeout", "1s")
        #expect(none.status != 0 && none.stdout.isEmpty, "\(none)")
        try circle.deliver(circle.must("bob", "encrypt", ["--to", "alice"], "at 7"))
        try circle.settle()
        let next = try wait(id, "--status", "answered", "--any")
        #expect(try next.records.map { $0.body["text"]?.string } == ["at 7"])
    }

    @Test func aReactionIsAnAnswer() throws {
        let id = try say("friday?")
        try circle.settle()
        try circle.compose("bob", ["react", id, "👍"])
        try circle.settle()
        let answer = try wait(id, "--status", "answered")
        #expect(answer.status == 0, "\(answer.stderr)")
        #expect(try answer.records.map { $0.body["emoji"] } == [.string("👍")])
        let shown = try wait(id, "--status", "answered", "--text")
        #expect(shown.text.contains("👍"), "\(shown.text)")
    }

    /// A message to a group is delivered when all its readers say so, or as many as are asked for.
    @Test func theReadersOfAGroupAreCounted() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        for name in ["bob", "carol"] {
            try circle.must(name, "contact", ["set", "alice", "receipts=on"])
        }
        try circle.say("alice", "friday?")
        let last = try circle["alice"].history("team").last
        let id = try #require(last?["id"]?.string)
        func wait(_ arguments: String...) throws -> Run {
            try circle["alice"].run("history", ["wait", id, "--timeout", "1s"] + arguments)
        }
        let lines = circle.take("bob")
        let receipts = circle.home.files("receipts")
        try circle.read("bob", lines, ["--receipts", receipts])
        try circle.post("bob", circle.home.files.read("receipts"))
        try circle.settle()
        #expect(try wait("--status", "delivered").status != 0)
        #expect(try wait("--status", "delivered", "--members", "2").status != 0)
        #expect(try wait("--status", "delivered", "--members", "1").status == 0)
        #expect(try wait("--status", "delivered", "--members", "3").status == 64)
        #expect(try wait("--members", "1").status == 64)
        try circle.compose("carol", ["react", id, "👍", "--with", "team"])
        try circle.settle()
        let answer = try wait("--status", "answered")
        #expect(answer.status == 0, "\(answer.stderr)")
    }

    /// A reception that runs stores only once in a while that it has received all mail.
    @Test func aRunningReceptionReceivesMail() throws {
        let alice = circle["alice"]
        let directory = try StateDirectory(path: circle.home.files(alice.stateDirectory))
        let store = try IdentityStore(
            directory: directory, identity: alice.identity, lockTimeout: 20)
        let now = Timestamp.now()
        let lock = try FileLock(path: directory.receptionLock(of: alice.identity.device))
        #expect(lock.tryLock())
        #expect(try !store.hasReceived(since: now))
        try store.transaction { try $0.noteReceived(at: Timestamp(seconds: now.seconds - 300)) }
        #expect(try store.hasReceived(since: now))
        lock.unlock()
        #expect(try !store.hasReceived(since: now))
        #expect(try store.hasReceived(since: Timestamp(seconds: now.seconds - 300)))
    }

    /// The id of a copy for a member of a group, in the results of send, means the message. Nothing in the lines and the outbox tells
    /// which copies belong to one message.
    @Test func aCopyMeansTheMessageToAGroup() throws {
        let front = try FrontWorld()
        let sent = try front.must("echo soon | sotto encrypt -q --group team | sotto send -q")
        // Those before it are about the group.
        let id = try #require(sent.records.last?["id"]?.string)
        let run = try front.must("sotto history wait \(id) --timeout 1m")
        #expect(try run.records.map { $0["status"] } == [.string("stored")])
        #expect(try run.records[0].body["text"] == .string("soon"))
        #expect(try run.records[0]["id"] != .string(id))
        let all = try sent.records.compactMap { $0["id"]?.string }
        let again = try front.must("sotto history wait \(all.joined(separator: " "))")
        #expect(try again.records == run.records)
    }

    @Test func theTimeoutSaysThatReceiptsAreAChoice() throws {
        let id = try say("hello")
        let read = try wait(id, "--status", "read", "--timeout", "1s")
        #expect(read.status == 75 && read.stdout.isEmpty)
        #expect(read.stderr.contains("receipts are the other side's choice"))
        // What the relay stored does not depend on mail.
        let stored = try wait(id, "--timeout", "1s")
        #expect(stored.status == 1 && stored.stderr.contains("did not store the message in 1s"))
    }

    @Test func aMessageThatWasHandedOnIsNotStoredAsFarAsIsKnown() throws {
        _ = try circle.must("alice", "encrypt", ["--to", "bob", "--elsewhere"], "hello")
        let id = try #require(try circle["alice"].history("bob").last?["id"]?.string)
        let run = try wait(id, "--timeout", "1s")
        #expect(
            run.status == 1 && run.stderr.contains("the message was handed on"), "\(run.stderr)")
    }

    @Test func onlyOwnMessagesAreWaitedFor() throws {
        try circle.deliver(circle.must("bob", "encrypt", ["--to", "alice"], "hello"))
        try circle.settle()
        let last = try circle["alice"].history("bob").last
        let id = try #require(last?["id"]?.string)
        #expect(try wait(id).status == 64)
        #expect(try wait("none").status == 66)
        #expect(try wait(id, "--any").status == 64)
    }

    /// The program waits in parallel with the one that sends.
    @Test func whatTheRelayStoredEndsTheWait() throws {
        let front = try FrontWorld()
        let run = try front.must(
            """
            id=$(echo soon | sotto encrypt -q --to bob | tee held | grep -o '"id":"[^"]*"' | head -1 | cut -d '"' -f 4)
            sotto history wait $id --timeout 10m > seen &
            sotto send -q < held > /dev/null
            wait $! && cat seen
            """)
        #expect(try run.records.map { $0["status"] } == [.string("stored")])
    }
}
