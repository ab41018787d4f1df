import Sotto
import SottoContacts
import SottoState
import TestSupport
import Testing

/// The comparison of names that look alike.
struct LookAlikeNameTests {
    private static func id(_ number: Int) -> KeyID {
        KeyID(publicKey: (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
    }

    private static func contact(_ number: Int, _ name: String) -> Contact {
        Contact(name: name, id: id(number), card: nil)
    }

    private func areAlike(_ one: String, _ other: String) -> Bool {
        !NameRule.lookAlikeForms(of: one).isDisjoint(with: NameRule.lookAlikeForms(of: other))
    }

    @Test(arguments: [
        ("bob", "b0b"), ("bob", "b\u{43E}b"), ("bob", "\u{412}\u{41E}\u{412}"), ("bob", " Bob "),
        ("PayPal", "paypaI"), ("alice", "aIice"), ("Alice", "A1ice"), ("maria", "rnaria"),
        ("Alice", "\u{410}LICE"), ("alice", "ali\u{200D}ce"), ("bob", "bob\u{A0}"),
        ("\u{39F}mega", "omega"), ("bob", "\u{FF42}\u{FF4F}\u{FF42}"),
    ])
    func theyLookAlike(_ one: String, _ other: String) {
        #expect(areAlike(one, other))
    }

    @Test(arguments: [
        ("bob", "bobby"), ("bob", "rob"), ("jose", "jos\u{E9}"), ("kai", "kal"), ("", ""),
        (" ", "\u{200D}"), ("nina", "vina"),
    ])
    func theyDoNot(_ one: String, _ other: String) {
        #expect(!areAlike(one, other))
    }

    @Test func theOwnerComesBeforeContactsAndGroups() throws {
        let owner = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice")
        let group = GroupID([UInt8](repeating: 7, count: 32))
        let names = LookAlikeNames(
            owner: owner, contacts: [Self.contact(1, "bob"), Self.contact(2, "a1ice")],
            groups: [group: "b0b"])
        let bob = LookAlikeNames.Holder.contact(Self.id(1), name: "bob")
        #expect(names.holder(like: "B\u{43E}B", of: Self.id(3)) == bob)
        #expect(names.holder(like: "bob", of: Self.id(1)) == .group(name: "b0b"))
        #expect(names.holder(like: "Alice", of: Self.id(3)) == .owner)
        #expect(
            names.holder(like: "alice", of: owner.id) == .contact(Self.id(2), name: "a1ice"))
        #expect(names.holder(like: "m\u{435}", of: Self.id(3)) == .owner)
        #expect(names.holder(like: "carol", of: Self.id(3)) == nil)
        #expect(names.holder(like: "", of: Self.id(3)) == nil)
    }

    /// The search by hashes agrees with a comparison of all pairs.
    @Test func theSearchFindsWhatAComparisonOfAllPairsFinds() throws {
        let owner = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "")
        let letters = ["l", "1", "I", "i", "o", "0", "\u{43E}", "m", "rn", "R", "n"]
        try withGenerator { generator in
            let contacts = (0..<200).map { number in
                let length = Int.random(in: 1...3, using: &generator)
                let name = (0..<length).map { _ in letters.randomElement(using: &generator)! }
                return Self.contact(number, name.joined())
            }
            let names = LookAlikeNames(owner: owner, contacts: contacts, groups: [:])
            var marked = 0
            for contact in contacts {
                let isAlike = contacts.contains {
                    $0.id != contact.id && areAlike($0.name, contact.name)
                }
                let found = names.holder(like: contact.name, of: contact.id)
                #expect((found != nil) == isAlike, generator.comment)
                marked += isAlike ? 1 : 0
            }
            #expect(marked > 0, generator.comment)
        }
    }

    /// A comparison of all pairs of so many names would take minutes.
    @Test func tenThousandNamesAreSearched() {
        let owner = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "")
        let contacts = (0..<10_000).map { Self.contact($0, "name \($0)") }
        let names = LookAlikeNames(owner: owner, contacts: contacts, groups: [:])
        #expect(contacts.allSatisfy { names.holder(like: $0.name, of: $0.id) == nil })
        let found = contacts.indices.compactMap {
            names.holder(like: "n\u{430}me \($0)", of: Self.id(-1))
        }
        let expected = contacts.map { LookAlikeNames.Holder.contact($0.id, name: $0.name) }
        #expect(found == expected)
    }
}

/// The marks of names that look like known ones, in the programs.
struct LookAlikeTests {
    private let circle: Circle
    private let alice: Party

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        alice = circle["alice"]
    }

    /// Returns the records of a command by a member that names the person.
    private func records(
        _ who: String, _ tool: String, _ arguments: [String], by member: String = "id"
    ) throws -> [String: JSONObject] {
        let records = try circle.must(who, tool, arguments + ["--json"]).records
        return Dictionary(records.map { ($0[member]?.string ?? "", $0) }) { first, _ in first }
    }

    /// The id of a person, as text.
    private func id(_ who: String) -> String { circle[who].identity.id.description }

    /// The letters are Cyrillic in the last two.
    private static let likeBob = ["b0b", "b\u{43E}b", "\u{412}\u{41E}\u{412}"]

    @Test(arguments: likeBob)
    func aContactThatLooksLikeAnotherIsMarked(_ name: String) throws {
        let renamed = try circle.must("alice", "contact", ["rename", "carol", name])
        let note = "contact: the name \"\(name)\" looks like your contact bob\n"
        #expect(renamed.stderr.contains(note), "\(renamed.stderr)")
        try circle.must("alice", "contact", ["remove", name])
        let added = try circle.must("alice", "contact", ["add", "--name", name, "carol.card"])
        #expect(added.stderr.contains(note), "\(added.stderr)")

        let list = try records("alice", "contact", ["list"])
        #expect(list[id("carol")]?["looksLike"] == .string("bob"))
        #expect(list[id("bob")]?["looksLike"] == .string(name))
        let lines = try circle.must("alice", "contact", ["list", "--text"]).lines
        #expect(lines.count { $0.hasSuffix("  looks like your contact bob") } == 1, "\(lines)")
        #expect(try records("alice", "contact", ["show", name])[id("carol")]?["looksLike"] != nil)
        let shown = try circle.must("alice", "contact", ["show", "--text", name]).text
        #expect(shown.contains("  the name looks like your contact bob\n"), "\(shown)")
        // What is shown is not stored.
        let exported = try circle.must("alice", "contact", ["export"]).text
        #expect(!exported.contains("looksLike"))

        try circle.must("alice", "contact", ["rename", name, "carol"])
        let others = try records("alice", "contact", ["list"]).values
        #expect(others.allSatisfy { $0["looksLike"] == nil })
    }

    private static let likeAlice = ["aIice", "m\u{435}"]

    @Test(arguments: likeAlice)
    func aNameThatLooksLikeTheOwnOneIsMarked(_ name: String) throws {
        let run = try circle.must("alice", "contact", ["rename", "carol", name])
        #expect(run.stderr.contains("the name \"\(name)\" looks like your own name\n"))
        let list = try records("alice", "contact", ["list"])
        #expect(list[id("carol")]?["looksLike"] == .string("me"))
        #expect(list[id("bob")]?["looksLike"] == nil)
    }

    @Test func aNameThatLooksLikeThatOfAGroupIsMarked() throws {
        try circle.group("alice", "create", "team")
        let run = try circle.must("alice", "contact", ["rename", "carol", "te\u{430}m"])
        let note = "the name \"te\u{430}m\" looks like your group team\n"
        #expect(run.stderr.contains(note), "\(run.stderr)")
        #expect(
            try records("alice", "contact", ["list"])[id("carol")]?["looksLike"]
                == .string("team"))
    }

    /// Lets Alice's `decrypt` put a message of a new person with a card among the requests.
    private func request(from name: String) throws -> Identity {
        let person = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: name)
        let card = try #require(person.card(issued: .now()).record)
        let sealed = try Sealed.seal(
            body: Message.textBody("hi"), extra: [(name: "card", value: .object(card))],
            from: person, to: alice.identity.card(), time: .now())
        let line = String(decoding: sealed.record.serialized(), as: UTF8.self)
        #expect(try circle.read("alice", [line], ["-q"]).status == 0)
        return person
    }

    @Test(
        arguments: [("b0b", "bob"), ("BOB", "bob"), ("A1ice", "me"), ("dave", nil)]
            as [(String, String?)])
    func aClaimedNameThatLooksLikeAContactIsMarked(_ name: String, _ known: String?) throws {
        let person = try request(from: name)
        let listed = try records("alice", "contact", ["requests"], by: "from")
        #expect(listed[person.id.description]?["claimedName"] == .string(name))
        #expect(listed[person.id.description]?["looksLike"]?.string == known)
        let text = try circle.must("alice", "contact", ["requests", "--text"]).text
        switch known {
        case "bob"?: #expect(text.hasSuffix("  looks like your contact bob\n"), "\(text)")
        case "me"?: #expect(text.hasSuffix("  looks like your own name\n"), "\(text)")
        default: #expect(!text.contains("looks like"), "\(text)")
        }
        guard name != "BOB" else { return }
        // It is accepted, and marked again.
        let accepted = try circle.must("alice", "contact", ["accept", person.id.description])
        #expect(accepted.stderr.contains("the name \"\(name)\" looks like") == (known != nil))
        let list = try records("alice", "contact", ["list"])
        #expect(list[person.id.description]?["looksLike"]?.string == known)
    }

    @Test func aNicknameThatLooksLikeAContactIsMarked() throws {
        try circle.team("alice", "bob", "carol")
        try circle.group("carol", "nickname", "team", "b\u{43E}b")
        try circle.settle()
        let participants = ["participants", "team"]
        let people = try records("alice", "group", participants)
        #expect(people[id("carol")]?["nickname"] == .string("b\u{43E}b"))
        #expect(people[id("carol")]?["looksLike"] == .string("bob"))
        #expect(people[id("bob")]?["looksLike"] == nil)
        let lines = try circle.must("alice", "group", participants + ["--text"]).lines
        #expect(lines.count { $0.hasSuffix("  looks like your contact bob") } == 1, "\(lines)")
        // For Bob it is the own name. Carol has no contact of this name.
        let atBob = try records("bob", "group", participants)
        #expect(atBob[id("carol")]?["looksLike"] == .string("me"))
        #expect(try records("carol", "group", participants)[id("carol")]?["looksLike"] == nil)
    }
}
