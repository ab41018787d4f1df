import Sotto
import SottoState
import TestSupport
import Testing

/// The rule for names on the command line.
struct NameRuleTests {
    private static let bob = KeyID(publicKey: [UInt8](repeating: 0x77, count: 32))
    private static let group = GroupID([UInt8](repeating: 0xAB, count: 32))

    private func known(_ meaning: Conversation, _ name: String) -> NameRule.Known {
        let id =
            switch meaning {
            case .peer(let id): id.description
            case .group(let id): id.description
            case .chat(let id): id
            case .unknown: ""
            }
        return NameRule.Known(meaning, id: id, name: name)
    }

    private func meaning(
        _ text: String, _ use: NameUse, _ known: [NameRule.Known]
    ) throws -> Conversation? {
        try NameRule.meaning(of: text, among: known, for: use)
    }

    @Test func aPersonComesBeforeAGroupAndAChat() throws {
        let names = [
            known(.chat("c1"), "bob"), known(.group(Self.group), "bob"),
            known(.peer(Self.bob), "Bob"),
        ]
        for use in [NameUse.reading, .acting] {
            #expect(try meaning("bob", use, names) == .peer(Self.bob))
            #expect(try meaning(" BOB ", use, names) == .peer(Self.bob))
        }
    }

    @Test func aBeginningServesToReadAlone() throws {
        let names = [known(.peer(Self.bob), "bob"), known(.group(Self.group), "team")]
        #expect(try meaning("bo", .reading, names) == .peer(Self.bob))
        #expect(try meaning("te", .reading, names) == .group(Self.group))
        #expect(throws: NameError.notWhole("bo", ["bob"])) { try meaning("bo", .acting, names) }
        #expect(try meaning("x", .acting, names) == nil)
        #expect(throws: NameError.severalBegin("b", ["bob", "bobby"])) {
            try meaning("b", .reading, names + [known(.group(Self.group), "bobby")])
        }
    }

    /// An abbreviated id with the dots that the tools print means the id.
    @Test func anAbbreviatedIDHasDots() throws {
        let names = [known(.peer(Self.bob), "bob")]
        let short = String(Self.bob.description.prefix(16))
        #expect(try meaning(short + "…", .acting, names) == .peer(Self.bob))
        #expect(try meaning("bob…", .acting, names) == nil)
        let begun = String(short.prefix(12))
        #expect(throws: NameError.idNotWhole(begun, [short])) { try meaning(begun, .acting, names) }
    }

    /// The name of a group that is not here any more stands before the beginnings of other names.
    @Test func aFormerGroupIsNoBeginning() throws {
        let former = NameRule.Known(
            .group(Self.group), id: Self.group.description, name: "team (abababab)", former: "team")
        let names = [former, known(.peer(Self.bob), "teamster")]
        #expect(throws: NameError.former("team", ["team (abababab)"])) {
            try meaning("team", .acting, names)
        }
        #expect(try meaning("team (abababab)", .acting, names) == .group(Self.group))
        #expect(try meaning("team", .reading, names) == .group(Self.group))
        let present = names + [known(.group(GroupID([UInt8](repeating: 1, count: 32))), "team")]
        #expect(try meaning("team", .acting, present) != .group(Self.group))
    }

    /// An id comes before a name, so that a name cannot look like one.
    @Test func anIDComesFirst() throws {
        let id = Self.bob.description
        let short = String(id.prefix(16))
        let names = [
            known(.peer(Self.bob), "bob"), known(.group(Self.group), short), known(.chat(id), id),
        ]
        for text in [id, short, short.uppercased()] {
            #expect(try meaning(text, .acting, names) == .peer(Self.bob))
        }
        let begun = String(id.prefix(12))
        #expect(throws: NameError.notWhole(begun, [short, id, "bob"])) {
            try meaning(begun, .acting, names)
        }
        #expect(try meaning(begun, .reading, [names[0]]) == .peer(Self.bob))
        #expect(try meaning("abababababababab", .acting, names) == .group(Self.group))
    }

    @Test func namesAreComparedWithoutCaseAndForm() throws {
        for (name, text) in [
            ("Straße", "STRASSE"), ("Σίσυφος", "ΣΊΣΥΦΟΣ"), ("Ärzte", "a\u{308}rzte"),
            ("İstanbul", "istanbul"), ("\u{1E69}", "s\u{307}\u{323}"),
            // Names that look the same are the same.
            ("alice", "alice\u{200D}"), ("al\u{FE0F}ice", "Alice"), ("ａｌｉｃｅ", "alice"),
        ] {
            #expect(try meaning(text, .acting, [known(.peer(Self.bob), name)]) == .peer(Self.bob))
        }
    }

    /// Two things of one name have no name, also to read.
    @Test func twoGroupsOfOneNameAreRefused() throws {
        let other = GroupID([UInt8](repeating: 0xCD, count: 32))
        let names = [known(.group(Self.group), "team"), known(.group(other), "Team")]
        #expect(throws: NameError.self) { try meaning("team", .reading, names) }
    }
}

/// Names that other people chose.
struct GivenNameTests {
    /// A circle in which alice, who knows carol, is in a group of bob.
    private func circle() throws -> (circle: Circle, group: String) {
        let circle = try Circle("alice", "bob", "carol")
        try circle.group("bob", "create", "team", "alice")
        try circle.texts("alice")
        try circle.group("alice", "accept", "team")
        try circle.settle()
        let id = try #require(
            try circle.must("alice", "group", ["show", "team"]).records[0]["id"]?.string)
        return (circle, id)
    }

    private func meant(_ who: String, _ circle: Circle) throws -> String? {
        let run = try circle["alice"].run("compose", ["text", who], stdin: [120])
        guard run.status == 0 else {
            return run.status == 64 ? "64" : "\(run.status): \(run.stderr)"
        }
        let record = try run.records[0]
        return (record["group"] ?? record["to"])?.string
    }

    @Test func aGroupTakesNoNameOfAPerson() throws {
        let (circle, group) = try circle()
        let carol = circle["carol"].identity.id
        let own = circle["alice"].identity.id.description
        for (name, person) in [
            ("me", own), ("ME", own), ("carol", carol.description), ("CAROL", carol.description),
            ("car", "64"), (carol.description, carol.description),
            (String(carol.description.prefix(16)), carol.description),
            (String(carol.description.prefix(9)), "64"),
        ] {
            try circle.group("bob", "rename", group, name)
            let told = try circle.read("alice")
            #expect(told.text.contains(#""called":"\#(name) ("#), "\(name) \(told.text)")
            #expect(try meant(name, circle) == person, "\(name)")
            // The local name means the group.
            let local = "\(name) (\(group.prefix(8)))"
            #expect(try meant(local, circle) == group, "\(name)")
            let list = try circle.must("alice", "group", ["list", "--text"])
            #expect(list.text.contains("(\(group.prefix(8)))") || name.count > 16)
        }
        // A name of its own is used as it is.
        try circle.group("bob", "rename", group, "crew")
        #expect(try !circle.read("alice").text.contains("called"))
        #expect(try meant("crew", circle) == group)
    }

    @Test func aGroupTakesNoNameOfAnEarlierGroup() throws {
        let (circle, group) = try circle()
        try circle.group("bob", "create", "crew", "alice")
        try circle.texts("alice")
        try circle.group("alice", "accept", "crew")
        try circle.settle()
        for name in ["team", "TEAM", "te"] {
            try circle.group("bob", "rename", "crew", name)
            try circle.settle()
            #expect(try meant("team", circle) == group)
            #expect(try meant("te", circle) == "64")
            let crew = try circle.must("bob", "group", ["list", "--json"]).records
                .first { $0["id"]?.string != group }?["id"]?.string
            try circle.group("bob", "rename", #require(crew), "crew")
            try circle.settle()
        }
    }

    /// The name of a group counts from when the group got it, however many changes it had before.
    @Test func aNewGroupTakesNoNameOfAnOlderOne() throws {
        let (circle, group) = try circle()
        for text in ["one", "two"] { try circle.group("bob", "about", group, text) }
        try circle.group("bob", "rename", group, "crew")
        try circle.settle()
        try circle.group("alice", "create", "crew")
        #expect(try meant("crew", circle) == group)
        let names = try circle.must("alice", "group", ["list", "--json"]).records.compactMap {
            $0["called"]?.string ?? $0["name"]?.string
        }
        #expect(Set(names).count == 2, "\(names)")
    }

    @Test func anInvitationTakesNoName() throws {
        let (circle, group) = try circle()
        for name in ["team", "te", "bob"] {
            try circle.group("carol", "create", name, "alice")
            try circle.texts("alice")
        }
        #expect(try meant("team", circle) == group)
        #expect(try meant("bob", circle) == circle["bob"].identity.id.description)
        #expect(try circle["alice"].run("encrypt", ["--group", "team"], stdin: [120]).status == 0)
    }

    /// A new contact takes the name of a group, which is said.
    @Test func aContactTakesTheNameOfAGroup() throws {
        let (circle, group) = try circle()
        let run = try circle.must("alice", "contact", ["rename", "carol", "teamster"])
        let note = "the group team is called team (\(group.prefix(8))) from now on"
        #expect(run.stderr.contains(note), "\(run.stderr)")
        #expect(try meant("team", circle) == "64")
    }

    /// Each tool that sends or changes wants the whole name. The others take its beginning.
    @Test func aPartOfANameIsForReading() throws {
        let (circle, _) = try circle()
        let alice = circle["alice"]
        let acting: [(String, [String])] = [
            ("encrypt", ["--to", "bo"]), ("encrypt", ["-r", "bo"]), ("encrypt", ["--group", "te"]),
            ("compose", ["text", "bo"]), ("compose", ["text", "te"]),
            ("compose", ["react", "-1", "👍", "--with", "bo"]), ("compose", ["typing", "bo"]),
            ("contact", ["set", "bo", "--suite", "auto"]), ("contact", ["rename", "bo", "x"]),
            ("contact", ["remove", "bo"]), ("contact", ["block", "bo"]),
            ("contact", ["unverify", "bo"]), ("contact", ["keep-key", "bo"]),
            ("group", ["rename", "te", "x"]), ("group", ["leave", "te"]),
            ("group", ["remove", "team", "bo"]), ("group", ["invite", "team", "car"]),
            ("history", ["delete", "--all", "bo"]), ("history", ["mute", "te"]),
            ("history", ["read", "bo"]), ("history", ["rename", "bo", "x"]),
            ("bridge", ["seal", "mercurio", "--to", "bo"]),
        ]
        for (tool, arguments) in acting {
            let run = try alice.run(tool, arguments, stdin: [120])
            #expect(run.status == 64, "\(tool) \(arguments): \(run.status) \(run.stderr)")
            #expect(run.stderr.contains("did you mean"), "\(tool) \(arguments): \(run.stderr)")
        }
        #expect(try alice.run("encrypt", ["--group", "team"], stdin: [120]).status == 0)
        let reading: [(String, [String])] = [
            ("contact", ["show", "bo"]), ("contact", ["export", "bo"]), ("group", ["show", "te"]),
            ("group", ["participants", "te"]), ("fingerprint", ["--with", "bo"]),
            ("history", ["te"]),
        ]
        for (tool, arguments) in reading {
            let run = try alice.run(tool, arguments)
            #expect(run.status == 0, "\(tool) \(arguments): \(run.status) \(run.stderr)")
        }
    }
}
