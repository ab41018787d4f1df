import Dispatch
import Sotto
import Synchronization
import TestSupport
import Testing

/// Tests of several processes with one state.
struct SharedStateTests {
    static let processes = 4
    static let count = 100

    /// Runs several processes at once.
    private func together(_ body: @Sendable (Int) throws -> Run) throws -> [Run] {
        let results = Mutex<[Int: Result<Run, any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: Self.processes) { number in
            let result = Result { try body(number) }
            results.withLock { $0[number] = result }
        }
        return try results.withLock { results in
            try (0..<Self.processes).map { number in
                try #require(results[number]).get()
            }
        }
    }

    @Test func fourWriteAndFourReadAtOnce() throws {
        let two = try Couple()
        let (alice, bob) = (two.alice, two.bob)
        try two.begin()
        let written = try together { number in
            // In parts, so that each has many transactions.
            let texts = lines((0..<Self.count).map { "\(number): \($0)" })
            return try alice.command(
                "encrypt", ["--to", bob.card, "--jsonl", "--lock-timeout", "60"]
            ).run(stdin: .pieces(texts, of: 150))
        }
        #expect(written.allSatisfy { $0.status == 0 && $0.lines.count == Self.count })
        let envelopes = written.flatMap(\.lines)
        #expect(Set(try envelopes.map(messageKey)).count == envelopes.count)

        // Each reads three quarters of the messages; a session follows the chain, and keeps keys for messages that
        // another process reads.
        let order = try envelopes.sorted { a, b in
            try payload(a)["chainLength"]?.integer ?? 0 < payload(b)["chainLength"]?.integer ?? 0
        }
        let read = try together { number in
            let part = order.enumerated().filter { $0.offset % 4 != number }.map(\.element)
            return try bob.command("decrypt", ["--lock-timeout", "60"])
                .run(stdin: .pieces(lines(part), of: 4_000))
        }
        #expect(read.allSatisfy { $0.status == 0 }, "\(read.map(\.stderr))")
        let printed = try read.flatMap { try $0.messages }
        let expected = Set(
            (0..<4).flatMap { number in
                (0..<Self.count).map { "\(number): \($0)" }
            })
        #expect(Set(printed.map(\.text)) == expected)
        #expect(printed.count == 3 * expected.count)
        #expect(printed.count { !$0.isSeen } == expected.count)
    }

    /// Both processes have the bundle, and one of them begins the session.
    @Test func oneOfThemBegins() throws {
        let two = try Couple()
        let (alice, bob) = (two.alice, two.bob)
        let bundle = try bob.bundle()
        let written = try together { number in
            try alice.run(
                "encrypt", ["--to", bob.card, "--bundle", bundle, "--lock-timeout", "60"],
                stdin: Array("\(number)".utf8))
        }
        #expect(written.allSatisfy { $0.status == 0 }, "\(written.map(\.stderr))")
        #expect(written.count { $0.stderr.contains("began a session") } == 1)
        #expect(try alice.sessions().count == 1)
        let envelopes = written.flatMap(\.lines)
        #expect(Set(try envelopes.map(messageKey)).count == Self.processes)
        #expect(try Set(bob.texts(envelopes)) == ["0", "1", "2", "3"])
    }
}
