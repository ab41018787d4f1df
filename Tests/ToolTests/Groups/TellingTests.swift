import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// A change of a group, an invitation and a chain count as told when their envelope reached the outbox.
@Suite(.timeLimit(.minutes(60))) struct TellingTests {
    let circle: Circle
    let clock: MovedClock

    init() throws {
        clock = try MovedClock()
        circle = try Circle("alice", "bob", "carol", clock: clock)
        try circle.team("alice", "bob", "carol")
    }

    private var alice: Party { circle["alice"] }

    /// Encrypts records or a text for `send`. Returns the lines.
    private func encrypt(_ input: String, _ arguments: String...) throws -> [String] {
        try circle.encrypt("alice", input, arguments)
    }

    /// Writes a message to the group. Returns its lines: the bodies for members, then the copies.
    private func write(_ text: String) throws -> [String] { try encrypt(text, "--group", "team") }

    private func bodies(_ lines: [String]) -> Int {
        lines.count { !$0.contains(#""suite":"group""#) }
    }

    /// The member `untold` of the record of the group.
    private func untold() throws -> JSONObject? {
        try circle.must("alice", "group", ["show", "team"]).records[0]["untold"]?.object
    }

    private static func count(_ changes: Int64, _ members: Int64) -> JSONObject {
        ["changes": .integer(changes), "members": .integer(members)]
    }

    /// Changes the description of the group.
    private func describe(_ name: String) throws -> [String] {
        try encrypt(circle.must("alice", "group", ["about", "team", name]).text)
    }

    // MARK: Changes

    @Test func aChangeOfALostPipeIsNotTold() throws {
        #expect(try untold() == nil)
        let lost = try describe("one")
        #expect(lost.count == 2)
        let shown = try circle.must("alice", "group", ["show", "team"])
        #expect(try shown.records[0]["untold"]?.object == Self.count(1, 2))
        #expect(
            shown.stderr.contains(
                "1 change not told to 2 members: sotto group sync team | sotto encrypt | sotto send"
            ))
        let list = try circle.must("alice", "group", ["list", "--text"])
        #expect(list.text.contains("1 change not told to 2 members"))
        #expect(list.stderr.contains("sotto group sync | sotto encrypt | sotto send"))
        // One of two envelopes reaches the outbox.
        try alice.queue([lost[0]])
        #expect(try untold() == Self.count(1, 1))
        let again = try encrypt(circle.must("alice", "group", ["sync"]).text)
        #expect(again.count == 1)
        try alice.queue(again)
        #expect(try untold() == nil)
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
        #expect(try !circle.must("alice", "group", ["list", "--text"]).text.contains("not told"))
    }

    /// A lost change comes with the next one, and with the first message a minute later.
    @Test func aLostChangeComesWithTheNextMessage() throws {
        try alice.queue(write("with the chain"))
        _ = try describe("one")
        #expect(try bodies(write("at once")) == 0)
        clock.set(61)
        let sent = try write("later")
        #expect(bodies(sent) == 2)
        try alice.queue(sent)
        clock.set(200)
        #expect(try bodies(write("told")) == 0)
        for line in sent { try circle.deliver(line: line) }
        try circle.settle()
        #expect(try circle.must("bob", "group", ["show", "team"]).text.contains("one"))
    }

    /// A preview that wrote would fail at once while another program writes.
    @Test func aPreviewOfTheUntoldWritesNothing() throws {
        _ = try describe("one")
        let id = try circle.groupID("alice")
        let (writer, reader) = (try alice.store(), try alice.store())
        let untold = try writer.transaction { _ in
            try reader.preview { transaction -> UntoldChanges? in
                try transaction.group(id).flatMap { try transaction.untold(in: $0) }
            }
        }
        #expect(untold?.changes == 1 && untold?.members == 2)
        #expect(try tellings() == 2)
    }

    @Test func aBatchTellsOnce() throws {
        _ = try describe("one")
        clock.set(61)
        let sent = try encrypt("a\nb\nc\n", "--group", "team", "--jsonl")
        #expect(bodies(sent) == 2 && sent.count == 8)
    }

    /// A newcomer who loses the records is told, and the members get the join later with the card.
    @Test func aLostJoinIsToldWithTheCard() throws {
        let dave = try Party("dave", in: circle.home)
        try circle.must("alice", "contact", ["add", dave.card])
        let invitation = try circle.encrypt(
            "alice", circle.must("alice", "group", ["invite", "team", "dave"]).text, [])
        let id = dave.identity.id.description
        let own = invitation.filter { $0.contains("\"to\":\"\(id)\"") }
        #expect(try dave.run("contact", ["add", "alice.card"]).status == 0)
        #expect(try dave.read(own).status == 0)
        #expect(try dave.run("group", ["accept", "team"]).status == 0)
        let shown = try dave.run("group", ["show", "team"])
        #expect(try shown.records[0]["untold"]?.object == Self.count(1, 3))
        #expect(shown.stderr.contains("sotto group sync team | sotto encrypt | sotto send"))
        let told = try dave.run("group", ["sync", "team"]).records.filter {
            $0.body["changes"] != nil
        }
        #expect(told.count == 3)
        for record in told {
            let cards = record.body["cards"]?.array?.compactMap { $0.object?["id"]?.string }
            #expect(cards == [id])
        }
    }

    @Test func aRemovedPersonIsToldAgain() throws {
        _ = try encrypt(circle.must("alice", "group", ["remove", "team", "carol"]).text)
        #expect(try untold() == Self.count(1, 2))
        let again = try encrypt(circle.must("alice", "group", ["sync"]).text)
        #expect(again.count == 2)
        try alice.queue(again)
        #expect(try untold() == nil)
    }

    @Test func anInvitationThatWasNotSentIsNamed() throws {
        let dave = try Party("dave", in: circle.home)
        try circle.must("alice", "contact", ["add", dave.card])
        let invitation = try encrypt(
            circle.must("alice", "group", ["invite", "team", "dave"]).text)
        let shown = try circle.must("alice", "group", ["show", "team"])
        let invited = JSON.array([.string(dave.identity.id.description)])
        #expect(try shown.records[0]["untold"]?.object?["invited"] == invited)
        #expect(shown.stderr.contains("the invitation was not sent to dave: sotto group sync"))
        // It is told again, until it reaches the outbox.
        let again = try circle.must("alice", "group", ["sync", "team"])
        #expect(again.text.contains(dave.identity.id.description))
        try alice.queue(invitation + encrypt(again.text))
        #expect(try untold() == nil)
    }

    /// A grant whose records were lost is named, and `group sync` sends it.
    @Test func aGrantThatWasNotSentIsNamed() throws {
        try circle.must("alice", "group", ["policy", "team", "visibility=granted"])
        try alice.queue(encrypt(circle.must("alice", "group", ["sync", "team"]).text))
        try circle.must("alice", "encrypt", ["--group", "team", "--elsewhere"], "hello")
        #expect(try untold() == nil)
        let grant = try encrypt(circle.must("alice", "group", ["grant", "team", "bob"]).text)
        #expect(!grant.isEmpty)
        let shown = try circle.must("alice", "group", ["show", "team"])
        let bob = JSON.array([.string(circle["bob"].identity.id.description)])
        #expect(try shown.records[0]["untold"]?.object?["granted"] == bob)
        #expect(shown.stderr.contains("your messages were not shown to bob: sotto group sync"))
        let unsent = try alice.run("history", ["unsent"])
        #expect(unsent.stderr.contains("changes, invitations or grants of team were not sent"))
        try alice.queue(encrypt(circle.must("alice", "group", ["sync", "team"]).text))
        #expect(try untold() == nil)
    }

    // MARK: Ways

    /// What a stick or ssh carries counts as told.
    @Test func anEnvelopeThatWasHandedOnIsTold() throws {
        let record = try circle.must("alice", "group", ["about", "team", "one"]).text
        #expect(try encrypt(record, "--elsewhere").count == 2)
        #expect(try untold() == nil)
        let second = try circle.must("alice", "group", ["about", "team", "two"]).text
        _ = try encrypt(second, "-o", circle.home.files("stick"))
        clock.set(61)
        #expect(try untold() == nil && bodies(write("x")) == 2)
        #expect(try circle.must("alice", "group", ["sync"]).records.count == 2)
    }

    /// The outcome of an envelope shows that it reached the outbox.
    @Test func anEnvelopeWithAnOutcomeIsTold() throws {
        try alice.queue(describe("one"))
        try alice.settle("stored")
        clock.set(61)
        #expect(try [0, 1].contains(alice.run("history", ["list"]).status))
        #expect(try untold() == nil)
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
    }

    /// An envelope that waits is told, until no relay gets it.
    @Test(arguments: ["rejected 403", "dropped", "expired"])
    func anEnvelopeThatNoRelayGetsIsNotTold(_ outcome: String) throws {
        try alice.queue(describe("one"))
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty && untold() == nil)
        try alice.settle(outcome)
        #expect(try untold() == Self.count(1, 2))
        let again = try encrypt(circle.must("alice", "group", ["sync"]).text)
        #expect(again.count == 2)
        try alice.queue(again)
        #expect(try untold() == nil)
    }

    /// `encrypt` ends between its commit and its output.
    @Test func aProgramThatEndsAfterItsCommitHasToldNothing() throws {
        let record = try circle.must("alice", "group", ["about", "team", "one"]).stdout
        let pipe = try Pipeline([alice.command("encrypt", [])], hasReader: false)
        try pipe.feed(.whole(record))
        #expect(try pipe.finish()[0].wasKilled == SIGPIPE)
        #expect(try untold() == Self.count(1, 2))
    }

    // MARK: Chains

    /// The chain of a lost message comes again, and the members read the next message.
    @Test func aLostChainComesAgain() throws {
        #expect(try bodies(write("lost")) == 2)
        clock.set(61)
        let sent = try write("read")
        #expect(bodies(sent) == 2)
        for line in sent { try circle.deliver(line: line) }
        #expect(try circle.texts("bob") == ["read"] && circle.texts("carol") == ["read"])
    }

    /// A member can have the envelope with a lost chain, so it ends after their removal.
    @Test func c2ALostChainHasItsHolders() throws {
        #expect(try bodies(write("lost")) == 2)
        clock.set(61)
        try circle.group("alice", "remove", "team", "carol")
        let sent = try write("without carol")
        #expect(bodies(sent) == 1)
        let serial = try alice.state { connection throws(StateError) in
            try connection.integer("SELECT serial FROM own_chain")
        }
        #expect(serial == 2)
    }

    /// Rows of told envelopes do not stay.
    @Test func rowsAreForgotten() throws {
        try alice.queue(describe("one"))
        _ = try describe("lost")
        try circle.must("alice", "group", ["sync"])
        #expect(try tellings() == 2)
        try alice.settle("stored")
        try circle.must("alice", "group", ["sync"])
        #expect(try tellings() == 0)
    }

    private func tellings() throws -> Int64 {
        try alice.state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM telling")
        }
    }

    // MARK: Questions

    /// A restored owner asks each member once for their chain.
    @Test func aLostQuestionForAChainIsAskedAgain() throws {
        let id = try circle.groupID("alice")
        let bob = circle["bob"].identity.id
        let store = try alice.store()
        let lacks = try store.transaction { transaction -> [Bool] in
            guard let group = try transaction.group(id) else { return [] }
            var note = try transaction.note(of: bob, in: group)
            note.lacksChain = true
            try transaction.write(note, of: group)
            var body = GroupBody(id)
            body.asksForChain = true
            try transaction.noteSealed(body, to: bob, in: Envelope.newID())
            let asked = try transaction.note(of: bob, in: group)
            _ = try transaction.dues(in: group)
            return [asked.lacksChain, try transaction.note(of: bob, in: group).lacksChain]
        }
        #expect(lacks == [false, true])
    }
}
