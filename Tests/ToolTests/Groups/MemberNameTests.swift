import Sotto
import SottoState
import TestSupport
import Testing

/// The names of members who are no contacts: Bob and Carol know only Alice.
struct MemberNameTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
    }

    /// Alice removes Carol. Returns the event at Bob.
    private func removal() throws -> JSONObject? {
        try circle.group("alice", "remove", "team", "carol")
        let events = try circle.read("bob").records.flatMap { $0.body["events"]?.array ?? [] }
        return events.compactMap(\.object).first { $0["event"] == .string("left") }
    }

    @Test func aMemberHasTheNameOnTheCard() throws {
        try circle.say("carol", "hello")
        let lines = circle.take("bob")
        let read = try circle.read("bob", lines, ["--text"])
        let id = circle["carol"].identity.id.description
        #expect(read.stderr.contains("from carol \(id.prefix(16))…"), "\(read.stderr)")
        let label = "carol \(id.prefix(8))"
        #expect(try circle.must("bob", "history", ["team", "--text"]).text.contains(label))
        let people = try circle.must("bob", "group", ["participants", "--json", "team"]).records
        #expect(people.contains { $0["nickname"] == .string("carol") })
        // The name means the member, as a nickname does.
        let ban = try circle["bob"].run("group", ["remove", "team", "carol"])
        #expect(ban.status != 66, "\(ban.stderr)")
        #expect(try removal()?["nickname"] == .string("carol"))
    }

    /// A name on a card that cannot be a nickname, or that rearranges the text around it, is none.
    @Test func aNameOnACardFollowsTheRule() throws {
        let id = try circle.groupID("bob")
        let long = String(repeating: "x", count: 201)
        let names: [(name: String, shown: String?)] = [
            ("dave", "dave"), ("", nil), ("dave\nalice", nil), ("dave\u{202E}", nil), (long, nil),
        ]
        try circle["bob"].store().transaction { transaction in
            let group = try #require(try transaction.group(id))
            for (name, shown) in names {
                let dave = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: name)
                // That no name was found is forgotten when the card arrives.
                #expect(try transaction.memberName(of: dave.id, in: group) == nil)
                try transaction.note(dave.card(issued: .now()), in: group)
                #expect(try transaction.memberName(of: dave.id, in: group) == shown)
            }
        }
    }

    /// Alice accepted a new key of Carol. The member with the former key still gets the changes.
    @Test func aFormerKeyOfAContactGetsChanges() throws {
        circle.home.files.write("new.card", try Home(people: "carol").files.read("carol.card"))
        _ = try circle["alice"].run("contact", ["add", "new.card"])
        try circle.must("alice", "contact", ["accept-key", "carol"])
        try circle.group("alice", "remove", "team", "bob")
        let events = try circle.read("carol").records.flatMap { $0.body["events"]?.array ?? [] }
        #expect(events.compactMap(\.object).contains { $0["event"] == .string("left") })
        try circle.say("alice", "here")
        #expect(try circle.texts("carol") == ["here"])
    }

    @Test func aRemovalSaysWhoDidIt() throws {
        let event = try #require(try removal())
        #expect(event["by"]?.string == circle["alice"].identity.id.description)
        #expect(event["byName"] == .string("alice"))
        let said = try circle["bob"].run("decrypt", ["--again", "--text"]).text
        #expect(said.contains("[team: alice removed carol]"), "\(said)")
    }

    @Test func whoLeavesWasNotRemoved() throws {
        try circle.group("carol", "leave", "team")
        let said = try circle.read("bob", nil, ["--text"]).text
        #expect(said.contains("[team: carol left the group]"), "\(said)")
    }

    @Test func aFormerMemberKeepsTheLastNickname() throws {
        try circle.group("carol", "nickname", "team", "Caro")
        try circle.settle()
        #expect(try removal()?["nickname"] == .string("Caro"))
    }
}
