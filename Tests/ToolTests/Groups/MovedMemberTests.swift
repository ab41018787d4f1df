import Sotto
import SottoState
import TestSupport
import Testing

/// A member who moves to another relay: Bob and Carol are contacts of Alice, and not of each other.
struct MovedMemberTests {
    private let circle: Circle
    private let clock: MovedClock
    private let start = Timestamp.now().seconds
    private static let old = "tls://old.example.org:1"
    private static let new = "tls://new.example.org:2"

    init() throws {
        clock = try MovedClock()
        circle = try Circle("alice", "bob", "carol", clock: clock)
        for who in ["alice", "bob", "carol"] { try Self.move(who, to: Self.old, in: circle) }
        try circle.team("alice", "bob", "carol")
        // Bob and Carol tell each other of their joins, with the cards of then.
        for who in ["bob", "carol"] { try circle.group(who, "sync") }
        try circle.settle()
        // A card of the same second is no later one if another member has it.
        clock.set(60)
    }

    private static func move(_ who: String, to relay: String, in circle: Circle) throws {
        try circle.must(who, "keygen", ["set", "-q", "--relay", relay])
    }

    /// The relay on the card that a member has of another.
    private func relay(of who: String, at reader: String) throws -> String? {
        let id = try circle.groupID(reader)
        let member = circle[who].identity.id
        return try circle[reader].store().transaction { transaction in
            let group = try #require(try transaction.group(id))
            return try transaction.note(of: member, in: group).card?.relay
        }
    }

    /// The cards in the records that `group sync` prints.
    private func cards(_ run: Run) throws -> [JSONObject] {
        try run.records.flatMap { $0.body["cards"]?.array ?? [] }.compactMap(\.object)
    }

    /// Sends cards about the group, as another program could.
    private func tell(_ who: String, _ reader: String, _ cards: [Card]) throws {
        var body = try GroupBody(circle.groupID(who))
        body.cards = cards.compactMap(\.record)
        try circle.tell(who, reader, body)
        try circle.settle()
    }

    /// The same time at each call, however long the programs run.
    private func later(_ seconds: Int64) -> Timestamp {
        Timestamp(seconds: start + 60 + seconds)
    }

    /// Every member gets the card once, with the next `group sync`, and mail goes to the new relay after the group lists it.
    @Test func membersWhoAreNoContactsFollow() throws {
        #expect(try cards(circle.must("bob", "group", ["sync"])).isEmpty)
        try Self.move("bob", to: Self.new, in: circle)
        let told = try circle.must("bob", "group", ["sync"])
        let sent = try cards(told)
        #expect(sent.count == 2)
        #expect(sent.allSatisfy { $0["relay"] == .string(Self.new) && $0["issued"] != nil })
        try circle.post("bob", told.stdout)
        try circle.settle()
        #expect(try cards(circle.must("bob", "group", ["sync"])).isEmpty)
        #expect(try relay(of: "bob", at: "carol") == Self.new)
        try circle.group("alice", "policy", "team", "relays=\(Self.old),\(Self.new)")
        try circle.settle()
        let bob = circle["bob"].identity.id.description
        let lines = try circle.encrypt("carol", "hi", ["--group", "team", "--elsewhere"])
            .filter { $0.contains("\"to\":\"\(bob)\"") }
        #expect(!lines.isEmpty && lines.allSatisfy { $0.contains("\"relay\":\"\(Self.new)\"") })
    }

    /// Who moves is told of the groups whose rules lack a relay, with the command for an admin.
    @Test func aMoveNamesTheGroupsThatListNoRelay() throws {
        let third = "tls://third.example.org:3"
        for who in ["bob", "carol"] { try Self.move(who, to: third, in: circle) }
        for who in ["bob", "carol"] { try circle.group(who, "sync") }
        try circle.settle()
        #expect(try relay(of: "carol", at: "bob") == third)
        let rule = "relays=\(Self.new),\(third)"
        for (who, command) in [("bob", "GROUP"), ("alice", "team")] {
            let run = try circle.must(who, "keygen", ["set", "--relay", Self.new])
            let isTold = run.stderr.contains(
                "in team, you and members who are no contacts of yours get nothing from each other")
            // All others are contacts of Alice.
            #expect(isTold == (who == "bob"), "\(run.stderr)")
            #expect(run.stderr.contains("sotto group policy \(command) ") == isTold)
        }
        try circle.group("alice", "policy", "team", rule)
        try circle.settle()
        let run = try circle.must("carol", "keygen", ["set", "--relay", Self.new])
        #expect(!run.stderr.contains("get nothing from each other"), "\(run.stderr)")
    }

    /// The next message to the group brings the card too, and a contact stores it as one that a message carries.
    @Test func aMessageToTheGroupBringsTheCard() throws {
        try Self.move("carol", to: Self.new, in: circle)
        try circle.say("carol", "moved")
        #expect(try circle.texts("bob") == ["moved"] && circle.texts("alice") == ["moved"])
        #expect(try relay(of: "carol", at: "bob") == Self.new)
        let contact = try circle.must("alice", "contact", ["show", "--json", "carol"]).records[0]
        #expect(contact["card"]?.object?["relay"] == .string(Self.new))
        try circle.say("carol", "again")
        #expect(try cards(circle.must("carol", "group", ["sync"])).isEmpty)
    }

    /// A card in an envelope that did not reach the outbox is told again.
    @Test func aLostCardIsToldAgain() throws {
        try Self.move("bob", to: Self.new, in: circle)
        _ = try circle.encrypt("bob", circle.must("bob", "group", ["sync"]).text, [])
        #expect(try cards(circle.must("bob", "group", ["sync"])).count == 2)
    }

    /// Of two cards with one date, the last one that the member sent is kept. Another member can tell the former one.
    @Test func ofTwoCardsOfOneSecondTheLastOneIsKept() throws {
        let bob = circle["bob"].identity
        let third = "tls://third.example.org:3"
        let date = later(10)
        let former = bob.card(relay: Self.new, issued: date)
        try tell("bob", "carol", [former])
        #expect(try relay(of: "bob", at: "carol") == Self.new)
        try tell("bob", "carol", [bob.card(relay: third, issued: date)])
        #expect(try relay(of: "bob", at: "carol") == third)
        try tell("alice", "carol", [former])
        #expect(try relay(of: "bob", at: "carol") == third)
        try tell("bob", "carol", [bob.card(relay: Self.new, issued: later(9))])
        #expect(try relay(of: "bob", at: "carol") == third)
    }

    /// C4, C19: neither an older card nor one without a relay replaces a card; another pin does. A relay that the group does not list,
    /// such as one without TLS or in the own network, gets no copy, and the author is told.
    @Test func c19ACardMovesNobodyToAWorseRelay() throws {
        let bob = circle["bob"].identity
        try tell("bob", "carol", [bob.card(relay: Self.new, issued: later(10))])
        #expect(try relay(of: "bob", at: "carol") == Self.new)
        // Another member has the older card, and one with a date before the present one.
        try tell("alice", "carol", [bob.card(relay: Self.old)])
        try tell("alice", "carol", [bob.card(relay: Self.old, issued: later(9))])
        #expect(try relay(of: "bob", at: "carol") == Self.new)
        for (place, worse) in ["tcp://new.example.org:2", "tls://192.168.0.1:2"].enumerated() {
            try tell("bob", "carol", [bob.card(relay: worse, issued: later(20 + Int64(place)))])
            let run = try circle["carol"].run(
                "encrypt", ["--group", "team"], stdin: Array("hello".utf8))
            #expect(run.status == 15)
            #expect(run.stderr.contains("\(worse) is not listed by the group"), "\(run.stderr)")
            #expect(!run.text.contains(bob.id.description))
        }
        try tell("bob", "carol", [bob.card(issued: later(22))])
        #expect(try relay(of: "bob", at: "carol") == "tls://192.168.0.1:2")
        try tell("bob", "carol", [bob.card(relay: Self.new, issued: later(23))])
        let pinned = Self.new + "#sha256=" + String(repeating: "ab", count: 32)
        try tell("bob", "carol", [bob.card(relay: pinned, issued: later(30))])
        #expect(try relay(of: "bob", at: "carol") == pinned)
        // A card of Bob that Alice signed is none.
        var forged = try #require(bob.card(relay: Self.old, issued: later(40)).record)
        SignedRecord.sign(&forged, with: circle["alice"].identity.signingKey)
        var body = try GroupBody(circle.groupID("alice"))
        body.cards = [forged]
        try circle.tell("alice", "carol", body)
        try circle.settle()
        #expect(try relay(of: "bob", at: "carol") == pinned)
    }
}
