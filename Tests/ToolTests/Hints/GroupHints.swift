import Sotto
import TestSupport
import Testing

extension HintTests {
    /// Hints of groups.
    static let groupHints: [HintCase] = [
        HintCase(
            "list the commands: group --help",
            situation: { world in try world.run("group", []) },
            result: { (_, run) throws in #expect(run.text.contains("group create")) }),
        HintCase(
            "create one: group create --help",
            situation: { world in try world.run("group", ["list"]) },
            result: { (_, run) throws in #expect(run.text.contains("--preset")) }),
        HintCase(
            "list the groups: sotto group list",
            situation: { world in
                try world.must("group", ["create", "team"])
                return try world.run("group", ["show", "crew"])
            },
            result: { (_, run) throws in #expect(run.text.contains("team")) }),
        HintCase(
            "use the beginning of an id: sotto group list",
            situation: { world in
                try world.must("group", ["create", "team"])
                try world.must("group", ["create", "team"])
                return try world.run("group", ["show", "team"])
            },
            result: { (_, run) throws in #expect(run.lines.count == 2) }),
        HintCase(
            "list the members: sotto group participants …",
            situation: { world in
                try world.must("group", ["create", "team"])
                return try world.run("group", ["remove", "team", "nobody"])
            },
            result: { (_, run) throws in #expect(run.text.contains("owner")) }),
        HintCase(
            " to join: sotto group accept …", as: "bob",
            situation: { world in
                try world.addBob()
                try world.must("bob", "contact", ["add", "alice.card"])
                let invitation = try world.must("group", ["create", "team", "bob"])
                let sealed = try world.must("encrypt", ["--jsonl"], text: invitation)
                return try world.run("bob", "decrypt", ["--text"], text: sealed)
            },
            result: { (world, _) throws in
                #expect(try world.must("bob", "group", ["list"]).contains("member"))
            }),
    ]
}
