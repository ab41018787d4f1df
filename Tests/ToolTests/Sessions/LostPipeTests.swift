import Sotto
import TestSupport
import Testing

/// Messages of a session that were encrypted and never sent: nobody opens one after them that is too many places ahead.
@Suite(.timeLimit(.minutes(60))) struct LostPipeTests {
    private let circle: Circle
    private let clock: MovedClock

    init() throws {
        clock = try MovedClock()
        circle = try Circle("alice", "bob", clock: clock)
        let bundle = try circle["bob"].bundle()
        let first = try circle.encrypt(
            "alice", "first", ["--to", "bob", "--bundle", bundle, "--elsewhere"])
        #expect(try circle["bob"].texts(first) == ["first"])
        let answer = try circle.encrypt("bob", "answer", ["--to", "alice", "--elsewhere"])
        #expect(try circle["alice"].texts(answer) == ["answer"])
    }

    /// Encrypts messages of which nothing is sent.
    private func lose(_ count: Int) throws {
        let texts = (0..<count).map { "lost \($0)\n" }.joined()
        _ = try circle.encrypt("alice", texts, ["-q", "--jsonl", "--to", "bob"])
    }

    private func suite(_ line: String) throws -> String? {
        try JSON.object(parsing: Array(line.utf8))["suite"]?.string
    }

    @Test(arguments: [192, 300, 600]) func whatFollowsManyLostMessagesIsRead(_ count: Int) throws {
        try lose(count)
        let run = try circle["alice"].run(
            "encrypt", ["--to", "bob", "--elsewhere"], stdin: Array("after".utf8))
        #expect(run.status == 0)
        #expect(try suite(run.lines[0]) == "sealed")
        #expect(run.stderr.contains("were not sent, so that the session ends"))
        #expect(try circle["bob"].texts(run.lines) == ["after"])
    }

    /// The session goes on, and the ML-KEM part comes again within as many messages.
    @Test(arguments: [10, 191]) func whatFollowsFewLostMessagesIsReadInTheSession(_ count: Int)
        throws
    {
        try lose(count)
        let texts = (0..<64).map { "after \($0)\n" }.joined()
        let sent = try circle.encrypt(
            "alice", texts, ["-q", "--jsonl", "--to", "bob", "--elsewhere"])
        #expect(try suite(sent[0]) == "ratchet")
        _ = try circle["bob"].read(sent)
        #expect(try read().filter { $0.hasPrefix("after ") }.count == 64)
    }

    /// The texts in Bob's history.
    private func read() throws -> [String] {
        try circle["bob"].run("history", ["alice", "--limit", "2000"]).records.compactMap {
            $0.body["text"]?.string
        }
    }

    @Test func allLostMessagesAreReadAfterARepeat() throws {
        try lose(300)
        clock.set(100)
        let records = try circle["alice"].run("history", ["repeat", "bob"])
        let sent = try circle["alice"].run("encrypt", ["--elsewhere"], stdin: records.stdout)
        #expect(sent.status == 0, "\(sent.stderr)")
        #expect(try circle["bob"].read(sent.lines).status == 0)
        #expect(try read().filter { $0.hasPrefix("lost ") }.count == 300)
    }

    /// The messages between those that were sent do not end the session.
    @Test func aSentMessageKeepsTheSession() throws {
        try lose(150)
        let between = (0..<64).map { "between \($0)\n" }.joined()
        let sent = try circle.encrypt(
            "alice", between, ["-q", "--jsonl", "--to", "bob", "--elsewhere"])
        _ = try circle["bob"].read(sent)
        try lose(150)
        let last = try circle.encrypt("alice", "last", ["--to", "bob", "--elsewhere"])
        #expect(try suite(last[0]) == "ratchet")
        #expect(try circle["bob"].texts(last) == ["last"])
    }
}
