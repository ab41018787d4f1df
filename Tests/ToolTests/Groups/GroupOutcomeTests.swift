import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// The outcomes of the copies of a message to a group become its status.
@Suite(.timeLimit(.minutes(60))) struct GroupOutcomeTests {
    let circle: Circle
    private let outbox: Outbox

    init() throws {
        circle = try Circle("alice", "bob", "carol", "dave")
        try circle.team("alice", "bob", "carol", "dave")
        outbox = try circle["alice"].outbox()
    }

    /// Writes a message. Returns the ids of its copies.
    private func write(_ text: String) throws -> [String] { try ids(encrypt(text)) }

    /// Encrypts a message for `send`.
    private func encrypt(_ text: String) throws -> Run {
        let sealed = try circle["alice"].run(
            "encrypt", ["--group", "team"], stdin: Array(text.utf8))
        guard sealed.status == 0 else { throw Unexpected(sealed) }
        return sealed
    }

    private func ids(_ sealed: Run) throws -> [String] {
        try sealed.records.filter { $0["suite"] == .string("group") }.compactMap {
            $0["id"]?.string
        }
    }

    /// Gives envelopes an outcome, as `send` does.
    private func settle(_ outcomes: [(id: String, outcome: String)]) throws {
        let items = outcomes.map { Outbox.Item(id: $0.id, to: "x", envelope: [0x41]) }
        let numbers = try outbox.append(items, relay: "r")
        try outbox.settle(zip(numbers, outcomes).map { ($0, $1.outcome) })
    }

    private func statuses() throws -> [String?] {
        try circle["alice"].history("team").map { $0["status"]?.string }
    }

    /// The outcomes that the state has of messages whose other copies have none.
    private func counted() throws -> Int64 {
        try circle["alice"].state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM copy")
        }
    }

    // MARK: Ids

    /// BLAKE2b-128 of `copy ` ‖ message id ‖ reader, under HKDF-SHA256(seed, info `sotto/state/lookup/v1`), made with Python's
    /// hashlib and hmac.
    @Test func theIDOfACopyIsKnown() throws {
        let identity = Identity(
            mnemonic: try Mnemonic(parsing: Self.words), name: "", passphrase: "")
        let store = try IdentityStore(
            directory: StateDirectory(path: circle.home.files("known")), identity: identity,
            lockTimeout: 5)
        let reader = KeyID(publicKey: [UInt8](repeating: 0x0A, count: 32))
        let id = store.copyID(of: "6e2f0d1c-6c0b-4b7e-9d6f-2b8a5c3d1e0f", for: reader)
        #expect(id == Self.known)
    }

    /// Copies have ids of the form of random ones, which differ by message, reader and author.
    @Test func idsOfCopiesAreNotLinked() throws {
        var seen: Set<String> = []
        let people = (0..<20).map { _ in Sample.identity().id }
        let stores = try ["alice", "bob"].map { try circle[$0].store() }
        for _ in 0..<20 {
            let message = Envelope.newID()
            for (store, person) in stores.flatMap({ store in people.map { (store, $0) } }) {
                let id = store.copyID(of: message, for: person)
                #expect(Envelope.isID(id) && seen.insert(id).inserted)
                let bytes = Envelope.idBytes(id)
                #expect(bytes[6] >> 4 == 4 && bytes[8] >> 6 == 2)
                #expect(store.copyID(of: message, for: person) == id)
            }
        }
        // The programs use them.
        let copies = try write("one")
        let id = try #require(try circle["alice"].history("team")[0]["id"]?.string)
        let expected = try ["bob", "carol", "dave"].map {
            try circle["alice"].store().copyID(of: id, for: circle[$0].identity.id)
        }
        #expect(Set(copies) == Set(expected) && copies.count == 3 && !copies.contains(id))
    }

    // MARK: Status

    @Test func aMessageIsStoredWhenAllCopiesHaveAnOutcome() throws {
        let (one, two) = (try write("one"), try write("two"))
        #expect(try statuses() == ["unsent", "unsent"])
        try settle([(two[0], "stored")])
        #expect(try statuses() == ["unsent", "unsent"] && counted() == 1)
        try settle([(one[0], "stored"), (one[1], "duplicate"), (one[2], "stored")])
        try settle([(two[2], "rejected 403 no such mailbox")])
        #expect(try statuses() == ["stored", "unsent"] && counted() == 2)
        try settle([(two[1], "dropped")])
        #expect(try statuses() == ["stored", "stored"] && counted() == 0)
        #expect(try outbox.outcomes().isEmpty)
    }

    @Test func aMessageFailedIfNoRelayStoredACopy() throws {
        let one = try write("one")
        try settle([(one[0], "rejected 403"), (one[1], "expired")])
        #expect(try statuses() == ["unsent"])
        try settle([(one[2], "dropped")])
        #expect(try statuses() == ["failed"] && counted() == 0)
        #expect(
            try circle.must("alice", "history", ["--text", "team"]).text
                .contains("[not sent: refused by the relay]"))
        // A copy was sent again.
        try settle([(one[1], "rejected 403")])
        #expect(try statuses() == ["failed"])
        try settle([(one[1], "stored")])
        #expect(try statuses() == ["stored"])
    }

    /// A copy that the relay refused comes with `group sync` to a member who has the chain, and no gap shows that it is missing.
    @Test func aRefusedCopyComesAgain() throws {
        try circle.say("alice", "one")
        try circle.settle()
        let sealed = try encrypt("two")
        let carol = circle["carol"].identity.id.description
        for line in sealed.lines {
            let record = try JSON.object(parsing: Array(line.utf8))
            let isRefused = record["to"]?.string == carol
            if !isRefused { try circle.deliver(line: line) }
            try settle([(record["id"]?.string ?? "", isRefused ? "rejected 403" : "stored")])
        }
        try circle.settle()
        let listed = try circle.must("alice", "history", ["--text", "team"]).text
        #expect(listed.contains("[not sent to carol]"), "\(listed)")
        try circle.group("alice", "sync", "team")
        try circle.settle()
        // The order is that of whole seconds.
        #expect(try circle.history("carol").sorted() == ["one", "two"])
        try circle.say("alice", "three")
        try circle.settle()
        for who in ["bob", "carol", "dave"] {
            #expect(try circle.history(who).sorted() == ["one", "three", "two"])
        }
        let shown = try circle.must("carol", "group", ["show", "team"]).records[0]
        #expect(shown["missing"] == nil)
    }

    /// An event has outcomes too. Those of other envelopes stay, and are not compared again.
    @Test func otherOutcomesStay() throws {
        try circle.say("alice", "one")
        try circle.settle()
        let event = try circle.must("alice", "compose", ["react", "-1", "👍", "--with", "team"])
        let copies = try ids(
            circle["alice"].run("encrypt", ["--jsonl"], stdin: event.stdout))
        let foreign = Envelope.newID()
        try settle(copies.map { ($0, "stored") } + [(foreign, "stored"), ("no id", "stored")])
        #expect(try statuses() == ["handedOn"])
        let raw = try circle.must("alice", "history", ["team", "--raw"]).records
        #expect(raw.last?["status"] == .string("stored"))
        #expect(Set(try outbox.outcomes().map(\.id)) == [foreign, "no id"])
        // Nothing is written again.
        let changes = { try Self.version(of: circle["alice"]) }
        let before = try changes()
        #expect(try statuses() == ["handedOn"] && changes() == before)
        try settle([(foreign, "rejected 1"), (Envelope.newID(), "stored")])
        #expect(try statuses() == ["handedOn"] && changes() != before)
        #expect(try outbox.outcomes().count == 3)
    }

    /// The hash of the outcomes that belong to no message.
    private static func version(of party: Party) throws -> Int64 {
        try party.state { connection throws(StateError) in
            try connection.integer("SELECT value FROM number WHERE name = 'other outcomes'")
        }
    }

    @Test func aReceiptCanBeEarlier() throws {
        let one = try write("one")
        let id = try #require(try circle["alice"].history("team")[0]["id"]?.string)
        let group = try circle.onlyGroup("alice")
        for who in ["bob", "carol", "dave"] {
            let line = """
                {"to":"\(circle["alice"].identity.id)","body":{"type":"receipt","status":"read",\
                "ids":["\(id)"],"time":"2026-11-23T09:30:00Z","group":"\(group)"}}

                """
            try circle.post(who, Array(line.utf8))
        }
        try circle.settle()
        #expect(try statuses() == ["read"])
        try settle(one.map { ($0, "stored") })
        #expect(try statuses() == ["read"] && outbox.outcomes().isEmpty && counted() == 0)
    }

    /// A person who left has a note, so their copy has an outcome.
    @Test func theCopyOfAFormerMemberHasAnOutcome() throws {
        let one = try write("one")
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try settle(one.map { ($0, "stored") })
        #expect(try statuses() == ["stored"])
        // A deleted message has no copies any more.
        let two = try write("two")
        try circle.must("alice", "history", ["delete", "-q", lastID()])
        try settle(two.map { ($0, "stored") })
        #expect(try statuses() == ["stored", nil])
        #expect(try outbox.outcomes().count == 2)
    }

    /// C2: when the author learns of a removal, the copies that wait for the removed member are discarded, and no other.
    @Test func c2CopiesThatWaitForARemovedMemberAreDiscarded() throws {
        try circle.group("alice", "role", "team", "bob", "moderator")
        try circle.settle()
        let sealed = try encrypt("one")
        let copies = try sealed.records.filter { $0["suite"] == .string("group") }
        // One file serves all copies.
        let blob = Outbox.Item(
            id: String(repeating: "ab", count: 32), to: "x", envelope: Array("{\"size\":1}".utf8),
            kind: .blob)
        _ = try outbox.append(
            [blob]
                + copies.map { copy in
                    Outbox.Item(
                        id: copy["id"]?.string ?? "", to: copy["to"]?.string ?? "",
                        envelope: copy.serialized(), needs: blob.id)
                }, relay: "r")
        try circle.group("bob", "remove", "team", circle["carol"].identity.id.description)
        #expect(try outbox.reachedIDs().values.count { $0 == .waiting } == 3)
        try circle.settle()
        let waiting = try outbox.list()
        let readers = Set(try ["bob", "dave"].map { circle[$0].identity.id.description } + ["x"])
        #expect(Set(waiting.map(\.to)) == readers && waiting.count == 3)
        #expect(try outbox.outcomes().map(\.outcome) == ["dropped"])
        // send --drop of one copy leaves the file to the other.
        let ids = waiting.filter { $0.kind == .envelope }.map(\.id)
        #expect(try outbox.drop(id: ids[0], outcome: "dropped") == 1)
        #expect(try outbox.drop(id: ids[1], outcome: "dropped") == 2)
        #expect(try outbox.list().isEmpty)
    }

    /// A group whose notes are damaged stops no other program.
    @Test func aDamagedGroupHasNoOutcomes() throws {
        let one = try write("one")
        try circle["alice"].state { connection throws(StateError) in
            try connection.run("UPDATE group_member SET sealed = zeroblob(100)")
        }
        try settle(one.map { ($0, "stored") })
        #expect(try circle["alice"].run("history", []).status == 0)
        #expect(try outbox.outcomes().count == 3)
    }

    private func lastID() throws -> String {
        try #require(try circle["alice"].history("team").last?["id"]?.string)
    }

    /// Copies without an outcome are waited for as long as the outbox keeps outcomes.
    @Test func aMessageIsStoredAfterThirtyDays() throws {
        let (one, two) = (try write("one"), try write("two"))
        try settle([(one[0], "stored"), (two[0], "rejected 403")])
        #expect(try statuses() == ["unsent", "unsent"] && counted() == 2)
        try circle["alice"].state { connection throws(StateError) in
            try connection.run("UPDATE copy SET day = day - ?", Outbox.outcomeDays + 1)
            try connection.run(
                "UPDATE message SET time = time - ?", (Outbox.outcomeDays + 1) * 86_400)
        }
        try settle([(Envelope.newID(), "stored")])
        #expect(try statuses() == ["stored", nil] && counted() == 0)
    }

    // MARK: Repeats

    /// A program that was killed before it deleted the outcomes leaves them to the next one.
    @Test func outcomesThatAreCollectedTwiceCountOnce() throws {
        let one = try write("one")
        for _ in 0..<3 {
            try settle([(one[0], "rejected 403"), (one[1], "stored")])
            #expect(try statuses() == ["unsent"] && counted() == 2)
        }
        // A later outcome does not take back an earlier one.
        try settle([(one[1], "rejected 403")])
        #expect(try statuses() == ["unsent"])
        for _ in 0..<3 {
            try settle([(one[2], "rejected 403")])
            #expect(try statuses() == ["stored"])
        }
    }

    @Test func c16KilledCollectionIsCompleted() throws {
        try withGenerator { random in
            var moment = KillMoment()
            var (killed, round) = (0, 0)
            var expected: [String?] = []
            while killed < 30 {
                let copies = try write("\(round)").shuffled(using: &random)
                let isStored = Bool.random(using: &random)
                for (place, copy) in copies.enumerated() {
                    let outcome = isStored && place == round % 3 ? "stored" : "rejected 403"
                    try settle([(copy, outcome)])
                    let run = try KillMoment.kill(
                        circle["alice"].command("history", ["unread"]), [], &moment, &random)
                    if run.wasKilled == SIGKILL { killed += 1 }
                }
                expected.append(isStored ? "stored" : "failed")
                round += 1
                try #require(round < 500, "the programs end before they can be killed")
            }
            let shown = try circle["alice"].history("team", "--limit", "1000")
            #expect(shown.map { $0["status"]?.string } == expected, random.comment)
            #expect(try outbox.outcomes().isEmpty && counted() == 0, random.comment)
        }
    }
}

extension GroupOutcomeTests {
    fileprivate static let words = """
        abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about
        """
    fileprivate static let known = "f697707a-26ea-4698-9402-22a2437ea24f"
}
