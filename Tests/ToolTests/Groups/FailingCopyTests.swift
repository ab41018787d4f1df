@testable import Sotto
import SottoDatabase
@testable import SottoState
import TestSupport
import Testing

/// One member's copy fails: the others get theirs, and the member is named and gets it later.
@Suite(.timeLimit(.minutes(60))) struct FailingCopyTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        for (name, other) in [("alice", "carol"), ("carol", "alice")] {
            let first = try circle[name].write(
                ["hello"], to: circle[other], "--bundle", circle[other].bundle())
            #expect(try circle[other].texts(first) == ["hello"])
        }
    }

    /// Uses up the numbers of Alice's sessions with Carol, so that no message can be encrypted.
    private func breakSessions() throws {
        let carol = circle["carol"].identity.id
        try circle["alice"].store().transaction { transaction in
            let rows = try transaction.connection.rows(
                "SELECT tag, sealed FROM session WHERE peer = ?", transaction.store.mark(carol)
            ) { ($0.bytes(0), $0.bytes(1)) }
            #expect(!rows.isEmpty)
            for (tag, sealed) in rows {
                let bytes = try transaction.store.unseal(sealed, .session(tag: tag))
                let session = try #require(PeerSession(encoded: bytes)).session
                var changed = session
                if case .received(let theirs) = changed.turn {
                    try changed.begin(ChainBeginning(changed.kind, answering: theirs))
                }
                guard case .sent(var chain) = changed.turn else { continue }
                chain.number = .max
                changed.turn = .sent(chain)
                let place = try #require(bytes.firstRange(of: session.encoded()))
                var broken = bytes
                broken.replaceSubrange(place, with: changed.encoded())
                try transaction.connection.run(
                    "UPDATE session SET sealed = ? WHERE tag = ?",
                    transaction.store.seal(broken, .session(tag: tag)), tag)
            }
        }
    }

    /// The chain for Carol cannot be encrypted.
    @Test func aGroupIsWrittenToWithoutOneMember() throws {
        try circle.team("alice", "bob", "carol")
        try breakSessions()
        let run = try circle.must("alice", "encrypt", ["--group", "team"], "one")
        #expect(run.stderr.contains("carol cannot read the message"), "\(run.stderr)")
        try circle.deliver(run)
        #expect(try circle.texts("bob") == ["one"])
        #expect(try circle.texts("carol").isEmpty)
        // The next message cannot reach Carol either, and nothing is lost.
        try circle.say("alice", "two")
        #expect(try circle.texts("bob") == ["two"])
        #expect(try circle.texts("carol").isEmpty)
        let first = try circle["alice"].write(
            ["again"], to: circle["carol"], "--new-session", "--bundle", circle["carol"].bundle())
        #expect(try circle["carol"].texts(first) == ["again"])
        try circle.say("alice", "three")
        try circle.settle()
        for name in ["carol", "alice", "carol", "alice"] {
            try circle.group(name, "sync", "--keys")
            try circle.settle()
        }
        #expect(try circle.history("carol").sorted() == ["one", "three", "two"])
        #expect(try circle.history("bob") == ["one", "two", "three"])
    }

    /// Of several recipients one fails. The message is in the history of the other one.
    @Test func otherRecipientsGetTheMessage() throws {
        try breakSessions()
        for arguments in [[], ["--jsonl"]] as [[String]] {
            let run = try circle["alice"].run(
                "encrypt", ["--to", "carol", "--to", "bob"] + arguments, stdin: Array("one".utf8))
            #expect(run.status == 15, "\(run)")
            #expect(run.stderr.contains("not encrypted to carol"), "\(run.stderr)")
            #expect(run.lines.count == 1)
            try circle.deliver(run)
            #expect(try circle.texts("bob") == ["one"])
        }
        let texts = { try circle["alice"].history($0).compactMap { $0.body["text"]?.string } }
        #expect(try texts("bob") == ["one", "one"])
        #expect(try !texts("carol").contains("one"))
        // Alone, the failure is that of the copy.
        let alone = try circle["alice"].run("encrypt", ["--to", "carol"], stdin: [0x78])
        #expect(alone.status != 0 && alone.status != 15 && alone.stdout.isEmpty, "\(alone)")
    }

    /// A member signs a card with a post-quantum key that nobody can use. The card before it stays.
    @Test func aCardWithAFalseKeyIsNotTaken() throws {
        try circle.team("alice", "bob", "carol")
        var record = try #require(
            circle["carol"].identity.card(
                issued: Timestamp(seconds: Timestamp.now().seconds + 60)
            ).record)
        record["sig"] = nil
        record["pq"] = .string(
            Bech32.encode(
                prefix: "age1pq",
                [UInt8](repeating: 0xFF, count: 1184) + [UInt8](repeating: 0, count: 32)))
        SignedRecord.sign(&record, with: circle["carol"].identity.signingKey)
        var body = GroupBody(try circle.groupID("bob"))
        body.cards = [record]
        for name in ["alice", "bob"] { try circle.tell("carol", name, body) }
        try circle.settle()
        for name in ["alice", "bob"] {
            try circle.say(name, "from \(name)")
            try circle.settle()
        }
        for name in ["alice", "bob", "carol"] {
            #expect(try circle.history(name) == ["from alice", "from bob"])
        }
    }

    /// Changes, a question for 256 changes and one for 256 messages: what does not fit goes into the next body.
    @Test func aLongQuestionFits() throws {
        try circle.team("alice", "bob", "carol")
        for number in 0..<11 {
            let text = "\(number) " + String(repeating: "a", count: 1_900)
            try circle.must("alice", "group", ["about", "team", text])
        }
        let (bob, group) = (circle["bob"].identity.id, try circle.groupID("alice"))
        try circle["alice"].store().transaction { transaction in
            let found = try #require(try transaction.group(group))
            let missing = (0..<256).map { _ in GroupID(randomBytes(32)) }
            try transaction.note(missing: missing, of: bob, in: found)
            var note = try transaction.note(of: bob, in: found)
            note.missedMessages = (0..<256).map { _ in Envelope.newID() }
            note.asks = 1
            try transaction.write(note, of: found)
            let news = try transaction.news(of: found)
            #expect(news.count > 2 && news.allSatisfy(\.body.fits))
            let asked = news.filter { $0.to == bob }.map(\.body)
            #expect(asked.flatMap(\.request).count == 256)
            #expect(asked.flatMap(\.messageRequest).count == 256)
            #expect(asked.flatMap(\.changes).count == 11)
        }
        try circle.say("alice", "hello")
        #expect(try circle.texts("bob") == ["hello"])
        #expect(try circle.texts("carol") == ["hello"])
    }
}
