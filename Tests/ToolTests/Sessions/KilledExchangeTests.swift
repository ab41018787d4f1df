import Glibc
import Sotto
import TestSupport
import Testing

/// Runs `kill -9` on `encrypt` and `decrypt` at random moments of a continuing exchange: no message key is used twice,
/// and no printed message is lost. A message whose chain lost its first messages waits for the next one with `kem`.
struct KilledExchangeTests {
    static let kills = 50
    static let batch = 40

    @Test func noKeyIsUsedTwiceAndNoEnvelopeIsLost() throws {
        try withGenerator { random in
            let two = try Couple()
            try two.begin()
            var keys: Set<String> = []
            /// The messages that wait, by the round's direction.
            var waiting: [[(envelope: String, text: String)]] = [[], []]
            var (killedEncrypts, killedDecrypts) = (0, 0)
            var round = 0
            var (encrypting, decrypting) = (KillMoment(), KillMoment())
            while killedEncrypts < Self.kills || killedDecrypts < Self.kills {
                let (from, to) =
                    round % 2 == 0 ? (two.alice, two.bob) : (two.bob, two.alice)
                let texts = (0..<Self.batch).map { "\(round): \($0)" }
                let cut = try KillMoment.kill(
                    from.command("encrypt", ["--to", to.card, "--jsonl"]), lines(texts),
                    &encrypting,
                    &random)
                if cut.wasKilled == SIGKILL { killedEncrypts += 1 }
                // Output that a killed encrypt did not print is lost; printed lines are complete.
                var envelopes = cut.wholeLines
                var expected = Array(texts[..<envelopes.count])
                envelopes += try from.write(["\(round): last"], to: to)
                expected.append("\(round): last")
                for envelope in envelopes {
                    #expect(keys.insert(try messageKey(envelope)).inserted, random.comment)
                }
                let sent =
                    waiting[round % 2]
                    + zip(envelopes, expected).map {
                        (envelope: $0, text: $1)
                    }
                let first = try KillMoment.kill(
                    to.command("decrypt", []), lines(sent.map(\.envelope)), &decrypting, &random)
                if first.wasKilled == SIGKILL { killedDecrypts += 1 }
                let again = try to.read(sent.map(\.envelope))
                let printed = try again.messages
                let opened = Set(printed.map(\.text))
                waiting[round % 2] = sent.filter { !opened.contains($0.text) }
                for (envelope, _) in waiting[round % 2] {
                    #expect(try payload(envelope)["kem"] == nil, random.comment)
                }
                #expect(
                    again.status == (waiting[round % 2].isEmpty ? 0 : 11),
                    "\(again.stderr) \(random.comment)")
                #expect(
                    printed.map(\.text) == sent.map(\.text).filter { opened.contains($0) },
                    random.comment)
                let fresh = try (first.messages + printed).filter { !$0.isSeen }.map(\.id)
                #expect(Set(fresh).count == fresh.count, random.comment)
                round += 1
                try #require(round < 20 * Self.kills, "the programs end before they can be killed")
            }
        }
    }
}
