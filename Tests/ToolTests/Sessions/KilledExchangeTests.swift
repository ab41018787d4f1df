import Glibc
import Sotto
import TestSupport
import Testing

/// `kill -9` of `encrypt` and `decrypt` at random moments of an exchange that goes on: no message key is used twice, and
/// nothing that came out is lost.
struct KilledExchangeTests {
    static let kills = 50
    static let batch = 40

    @Test func noKeyIsUsedTwiceAndNoEnvelopeIsLost() throws {
        try withGenerator { random in
            let two = try Couple()
            try two.begin()
            var keys: Set<String> = []
            var (killedEncrypts, killedDecrypts) = (0, 0)
            var round = 0
            while killedEncrypts < Self.kills || killedDecrypts < Self.kills {
                let (from, to) =
                    round % 2 == 0 ? (two.alice, two.bob) : (two.bob, two.alice)
                let texts = (0..<Self.batch).map { "\(round): \($0)" }
                let cut = try kill(
                    from.command("encrypt", ["--to", to.card, "--jsonl"]), lines(texts), &random)
                if cut.wasKilled == SIGKILL { killedEncrypts += 1 }
                // What a killed encrypt did not print is lost; what it printed is whole.
                var envelopes = cut.wholeLines
                var expected = Array(texts[..<envelopes.count])
                envelopes += try from.write(["\(round): last"], to: to)
                expected.append("\(round): last")
                for envelope in envelopes {
                    #expect(keys.insert(try messageKey(envelope)).inserted, random.comment)
                }
                let first = try kill(to.command("decrypt", []), lines(envelopes), &random)
                if first.wasKilled == SIGKILL { killedDecrypts += 1 }
                let again = try to.read(envelopes)
                #expect(again.status == 0, "\(again.stderr) \(random.comment)")
                let printed = try again.messages
                #expect(printed.map(\.text) == expected, random.comment)
                let fresh = try (first.messages + printed).filter { !$0.isSeen }.map(\.id)
                #expect(Set(fresh).count == fresh.count, random.comment)
                round += 1
                try #require(round < 20 * Self.kills, "they end too soon to be killed")
            }
        }
    }

    /// Runs a program and kills it at some moment of its life.
    private func kill(
        _ command: Command, _ stdin: [UInt8], _ random: inout Generator
    ) throws -> Run {
        let pipeline = try Pipeline([command])
        try pipeline.feed(.whole(stdin))
        pipeline.endInput()
        usleep(UInt32(random.int(0..<Self.lifetime)))
        pipeline.signal(SIGKILL)
        return try pipeline.finish()[0]
    }

    /// Microseconds in which a program has most often ended.
    private static let lifetime = 30_000
}
