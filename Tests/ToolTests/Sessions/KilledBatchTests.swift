import Glibc
import Sotto
import TestSupport
import Testing

/// Runs `kill -9` on `encrypt` and `decrypt` while several threads work on a batch: the history and the session agree.
struct KilledBatchTests {
    static let kills = 8
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws {
        two = try Couple()
        try two.begin()
    }

    /// The history has the messages of the keys that the session used, and no others.
    @Test func encrypt() throws {
        try withGenerator { random in
            // A kill could lose the first messages of the chain, without which Bob cannot read it.
            #expect(try bob.texts(alice.write(["chain"], to: bob)) == ["chain"])
            let before = try alice.textsInHistory().count
            var (killed, round, stored) = (0, 0, 0)
            var moment = KillMoment()
            while killed < Self.kills {
                // A slice has fewer lines, and a session can skip more.
                let texts = (0..<250).map { "\(round): \($0)" }
                let cut = try KillMoment.kill(
                    alice.command("encrypt", ["--to", bob.card, "--jsonl"]), lines(texts),
                    &moment, &random)
                if cut.wasKilled == SIGKILL { killed += 1 }
                let added = try alice.textsInHistory().dropFirst(before + stored)
                #expect(Array(added) == Array(texts[..<added.count]), random.comment)
                #expect(cut.wholeLines.count <= added.count, random.comment)
                stored += added.count
                let last = try alice.write(["\(round): last"], to: bob)
                stored += 1
                #expect(
                    try payload(last[0])["chainLength"]?.integer == Int64(stored + 1),
                    random.comment)
                let read = try bob.texts(cut.wholeLines + last)
                #expect(
                    read == texts[..<cut.wholeLines.count] + ["\(round): last"], random.comment)
                round += 1
                try #require(
                    round < 20 * Self.kills, "the programs end before they can be killed")
            }
        }
    }

    /// Each message is in the history once, and the messages after the kill can be opened.
    @Test func decrypt() throws {
        try withGenerator { random in
            let before = try bob.textsInHistory().count
            var (killed, round) = (0, 0)
            var expected: [String] = []
            var moment = KillMoment()
            while killed < Self.kills {
                let texts = (0..<600).map { "\(round): \($0)" }
                let envelopes = try alice.write(texts, to: bob)
                let cut = try KillMoment.kill(
                    bob.command("decrypt", []), lines(envelopes), &moment, &random)
                if cut.wasKilled == SIGKILL { killed += 1 }
                let stored = try bob.textsInHistory().dropFirst(before + expected.count)
                #expect(Array(stored) == Array(texts[..<stored.count]), random.comment)
                #expect(cut.wholeLines.count <= stored.count, random.comment)
                let again = try bob.read(envelopes)
                #expect(again.status == 0, "\(again.stderr) \(random.comment)")
                #expect(try again.messages.map(\.text) == texts, random.comment)
                #expect(
                    try again.messages.prefix { $0.isSeen }.count == stored.count, random.comment)
                expected += texts
                #expect(
                    try Array(bob.textsInHistory().dropFirst(before)) == expected, random.comment)
                round += 1
                try #require(
                    round < 20 * Self.kills, "the programs end before they can be killed")
            }
        }
    }
}

extension Party {
    /// Returns the texts of the history in its order.
    func textsInHistory() throws -> [String] {
        let run = try run("history", ["export"])
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.lines.compactMap {
            try JSON.object(parsing: Array($0.utf8))["body"]?.object?["text"]?.string
        }
    }
}
