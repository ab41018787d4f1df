import Sotto
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

    @Test func theTimeoutSaysThatReceiptsAreAChoice() throws {
        let id = try say("hello")
        let read = try wait(id, "--status", "read", "--timeout", "1s")
        #expect(read.status == 75 && read.stdout.isEmpty)
        #expect(read.stderr.contains("receipts are the other side's choice"))
        // What the relay stored does not depend on mail.
        let stored = try wait(id, "--timeout", "1s")
        #expect(stored.status == 1 && stored.stderr.contains("did not store the message in 1s"))
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
