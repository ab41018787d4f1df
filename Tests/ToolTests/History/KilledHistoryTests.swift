import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// C16: `kill -9` in the middle of `encrypt`, `decrypt`, `send`, `history read`, expiry, and import. The history, the
/// session, the outbox and the outputs agree: nothing twice, nothing missing, nothing half.
@Suite(.timeLimit(.minutes(60))) struct KilledHistoryTests {
    static let kills = 50
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws {
        they = try Conversing()
        try they.two.begin()
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            #expect(try party.run("contact", ["set", peer, "receipts=on"]).status == 0)
        }
    }

    /// Checks the file and the counts of a state.
    private func check(_ party: Party, _ comment: Comment) throws {
        let store = try IdentityStore(
            directory: StateDirectory(path: party.home.files(party.stateDirectory)),
            identity: party.identity, lockTimeout: 20)
        let state = try store.database.use { (connection: StateConnection) throws(StateError) in
            let integrity = try connection.first("PRAGMA integrity_check") { $0.text(0) }
            return (
                integrity: integrity,
                lost: try connection.integer(
                    """
                    SELECT count(*) FROM event WHERE message NOT IN (SELECT number FROM message)
                    """)
            )
        }
        #expect(state.integrity == "ok" && state.lost == 0, comment)
        for summary in try store.conversations() {
            let unread = try store.unread(in: summary.conversation).count
            #expect(summary.unread == unread, comment)
            let last = try store.history(conversation: summary.conversation, limit: 1).last?.number
            #expect(summary.last == last ?? 0, comment)
        }
    }

    private func texts(_ party: Party) throws -> [String] {
        try party.history("--limit", "100000").map { $0.body["text"]?.string ?? "-" }
    }

    @Test func c16KilledProgramsAgree() throws {
        try withGenerator { random in
            var moments = [KillMoment(), KillMoment(), KillMoment()]
            var killed = [0, 0, 0]
            var (sent, receipts): (Set<String>, Set<String>) = ([], [])
            // A kill could lose the first messages of the chain, without which Bob cannot read it.
            let first = try alice.write(["chain"], to: bob)
            sent.formUnion(first)
            #expect(try bob.texts(first) == ["chain"])
            var readTexts = try texts(bob)
            var round = 0
            while killed.contains(where: { $0 < Self.kills }) {
                let lines = (0..<20).map {
                    "{\"type\":\"text\",\"text\":\"\(round): \($0)\"}\n"
                }.joined()
                let cut = try KillMoment.kill(
                    alice.command("encrypt", ["--to", "bob", "--jsonl"]), Array(lines.utf8),
                    &moments[0], &random)
                if cut.wasKilled == SIGKILL { killed[0] += 1 }
                var envelopes = cut.wholeLines
                envelopes += try alice.write(["\(round): last"], to: bob)
                sent.formUnion(envelopes)
                let input = Array(envelopes.map { $0 + "\n" }.joined().utf8)
                let opening = try KillMoment.kill(
                    bob.command("decrypt", []), input, &moments[1], &random)
                if opening.wasKilled == SIGKILL { killed[1] += 1 }
                #expect(try bob.run("decrypt", stdin: input).status == 0)
                readTexts += (0..<(envelopes.count - 1)).map { "\(round): \($0)" }
                readTexts.append("\(round): last")
                let reading = try KillMoment.kill(
                    bob.command("history", ["read", "-q", "alice"]), [], &moments[2], &random)
                if reading.wasKilled == SIGKILL { killed[2] += 1 }
                let again = try bob.run("history", ["read", "-q", "alice"])
                // A killed program may have printed no receipts, but none is printed twice.
                for line in reading.wholeLines + again.lines {
                    let body = try JSON.object(parsing: Array(line.utf8)).body
                    for id in body["ids"]?.array?.compactMap(\.string) ?? [] {
                        #expect(receipts.insert(id).inserted, random.comment)
                    }
                }
                round += 1
                try #require(round < 20 * Self.kills, "the programs end before they can be killed")
            }
            // Received messages are there once and in order, and printed envelopes are in the sender's history.
            #expect(try texts(bob) == readTexts, random.comment)
            let ids = try alice.history("--limit", "100000").compactMap { $0["id"]?.string }
            #expect(Set(ids).count == ids.count, random.comment)
            let printed = try sent.map {
                try JSON.object(parsing: Array($0.utf8))["id"]?.string ?? ""
            }
            #expect(Set(ids).isSuperset(of: printed), random.comment)
            #expect(try bob.history("unread").last?["unread"] == .integer(0), random.comment)
            for party in [alice, bob] { try check(party, random.comment) }
            try they.tell(bob, "it goes on")
        }
    }

    @Test func c16KilledExpiryIsCompleted() throws {
        try withGenerator { random in
            var moment = KillMoment()
            var (killed, round) = (0, 0)
            #expect(try they.say(alice, ["timer", "bob", "1s"]).count == 1)
            while killed < Self.kills {
                let lines = (0..<30).map { "{\"type\":\"text\",\"text\":\"secret \($0)\"}\n" }
                    .joined()
                let sealed = try alice.run(
                    "encrypt", ["--to", "bob", "--jsonl"], stdin: Array(lines.utf8))
                #expect(try bob.run("decrypt", stdin: sealed.stdout).status == 0)
                #expect(try bob.run("history", ["read", "-q", "alice"]).status == 0)
                // Messages end while programs are killed.
                for _ in 0..<40 {
                    let run = try KillMoment.kill(
                        bob.command("history", ["list"]), [], &moment, &random)
                    if run.wasKilled == SIGKILL { killed += 1 }
                }
                round += 1
                try #require(round < Self.kills, "the programs end before they can be killed")
            }
            for _ in 0..<1_000 where try texts(bob).contains(where: { $0.contains("secret") }) {
                usleep(10_000)
            }
            let records = try bob.history("alice", "--limit", "100000")
            #expect(records.filter { $0["expired"] == .bool(true) }.count == round * 30)
            try check(bob, random.comment)
        }
    }

    /// The status in the history is that of the outbox: an envelope waits there, or it is stored, and never both.
    @Test func c16KilledSendAgreesWithTheHistory() throws {
        let stage = try ChatStage(they.home)
        let environment = stage.environment(alice)
        let directory = try StateDirectory(path: alice.home.files(alice.stateDirectory))
        func statuses() throws -> [String: String?] {
            let records = try alice.history("bob", "--limit", "100000")
            let pairs = records.map { ($0["id"]?.string ?? "", $0["status"]?.string) }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        try withGenerator { random in
            var moment = KillMoment()
            var (killed, round) = (0, 0)
            var (expected, partial): ([String], Int) = ([], 0)
            let earlier = try texts(bob)
            let before = Set(try statuses().keys)
            while killed < Self.kills {
                let new = (0..<20).map { "\(round): \($0)" }
                let sealed = try alice.write(new, to: bob)
                let ids = Set(
                    try sealed.compactMap {
                        try JSON.object(parsing: Array($0.utf8))["id"]?.string
                    })
                let cut = try KillMoment.kill(
                    they.home.command("send", ["-q"], environment: environment),
                    lines(sealed), &moment, &random)
                if cut.wasKilled == SIGKILL { killed += 1 }
                let stored = Set(try statuses().filter { $0.value == "stored" }.keys)
                    .intersection(ids)
                let outbox = try Outbox(directory: directory, lockTimeout: 20)
                let waiting = Set(
                    try outbox.queues().flatMap {
                        try outbox.waiting(relay: $0.relay, after: 0, limit: 1_000).map(\.item.id)
                    })
                #expect(waiting.isSubset(of: ids), random.comment)
                #expect(stored.isDisjoint(with: waiting), random.comment)
                let printed = Set(
                    try cut.wholeLines.compactMap { line -> String? in
                        let record = try JSON.object(parsing: Array(line.utf8))
                        return record["status"] == .string("stored") ? record["id"]?.string : nil
                    })
                #expect(printed.isSubset(of: stored), random.comment)
                if !waiting.isEmpty { partial += 1 }
                // The lines that the killed process did not read are given again; the relay knows the others.
                let again = try they.home.run(
                    "send", ["-q"], stdin: .whole(lines(sealed)), environment: environment)
                #expect(again.status == 0, "\(again.stderr)")
                expected += new
                round += 1
                try #require(round < 20 * Self.kills, "the programs end before they can be killed")
            }
            #expect(partial > 0, "no process was killed while its outbox had envelopes")
            let after = try statuses().filter { !before.contains($0.key) }
            #expect(after.count == expected.count, random.comment)
            #expect(after.values.allSatisfy { $0 == "stored" }, random.comment)
            #expect(try Outbox(directory: directory, lockTimeout: 20).queues().isEmpty)
            try stage.must(bob, "recv -q | decrypt -q > /dev/null")
            #expect(try texts(bob) == earlier + expected, random.comment)
            for party in [alice, bob] { try check(party, random.comment) }
        }
    }

    @Test func c16AKilledImportIsRepeated() throws {
        try withGenerator { random in
            let new = (0..<200).map { "\($0)" }
            let expected = try texts(bob) + new
            let lines = new.map { "{\"type\":\"text\",\"text\":\"\($0)\"}\n" }.joined()
            let sealed = try alice.run(
                "encrypt", ["--to", "bob", "--jsonl"], stdin: Array(lines.utf8))
            #expect(try bob.run("decrypt", stdin: sealed.stdout).status == 0)
            let backup = try bob.run("history", ["export", "--backup", "-o", "-"])
            let other = Party(name: "bob", identity: bob.identity, home: bob.home)
            let fresh = ["SOTTO_HOME": bob.home.files("fresh")]
            var moment = KillMoment()
            var (killed, round) = (0, 0)
            while killed < 10 {
                let command = they.home.command(
                    "history", ["import", "-q"],
                    environment: other.environment.merging(fresh) { $1 })
                let run = try KillMoment.kill(command, backup.stdout, &moment, &random)
                if run.wasKilled == SIGKILL { killed += 1 }
                round += 1
                try #require(round < 1_000, "the programs end before they can be killed")
            }
            let environment = other.environment.merging(fresh) { $1 }
            let last = try they.home.run(
                "history", ["import", "-q"], stdin: .whole(backup.stdout), environment: environment)
            #expect(last.status == 0, random.comment)
            let shown = try they.home.run(
                "history", ["--limit", "1000"], environment: environment)
            #expect(try shown.records.map { $0.body["text"]?.string } == expected, random.comment)
        }
    }
}
