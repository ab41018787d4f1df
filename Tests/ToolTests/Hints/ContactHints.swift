import Sotto
import SottoState
import TestSupport
import Testing

extension HintTests {
    /// Hints about the address book.
    static let contactHints: [HintCase] = [
        HintCase(
            "sotto contact rename … …",
            situation: { world in
                try world.addBob()
                return try world.run("contact", ["add", "--name", "bob the builder", "bob.card"])
            },
            result: { (world, _) throws in
                #expect(try world.contact("bob the builder")["id"]?.string == world.id("bob"))
            }),
        HintCase(
            "rename the other contact first: sotto contact rename … …",
            situation: { world in
                try world.addBob()
                try world.must("contact", ["add", "carol.card"])
                return try world.run("contact", ["rename", "carol", "bob"])
            },
            result: { (world, _) throws in try world.must("contact", ["rename", "carol", "bob"]) }),
        HintCase(
            "rename the contact: sotto contact rename … other",
            situation: { world in
                // A version without the reserved name could give it to a contact.
                let bob = try world.identity("bob")
                try world.addBob()
                try world.store().transaction { transaction in
                    try transaction.save(Contact(name: "me", id: bob.id, card: bob.card()))
                }
                return try world.run("encrypt", ["--to", "me"], text: "x")
            },
            result: { (world, _) throws in
                try world.must("encrypt", ["--to", "me"], text: "x")
                #expect(try world.contact("other")["id"]?.string == world.id("bob"))
            }),
        HintCase(
            "… saved; … restores them…: sotto contact import …",
            situation: { world in
                try world.addBob()
                let run = try world.run("contact", ["export", "--backup", "-o", "my backup"])
                try world.must("contact", ["remove", "bob"])
                return run
            },
            result: { (world, _) throws in
                #expect(try world.contact("bob")["id"]?.string == world.id("bob"))
            }),
        HintCase(
            "list the contacts: sotto contact list",
            situation: { world in
                try world.addBob()
                return try world.run("contact", ["show", "nobody"])
            },
            result: { (_, run) throws in
                #expect(try run.records.map { $0["name"]?.string } == ["bob"])
            }),
        HintCase(
            "show how to add a contact: sotto add --help",
            situation: { world in try world.run("contact", ["list"]) },
            result: { (_, run) throws in #expect(run.text.contains("sotto add bob.card")) }),
        HintCase(
            "list the contacts: sotto contact list, or show how to add one: sotto add --help",
            situation: { world in
                try world.addBob()
                return try world.run("encrypt", ["--to", "nobody"], text: "x")
            },
            result: { (_, run) throws in
                #expect(try run.records.map { $0["name"]?.string } == ["bob"])
            }),
        HintCase(
            "list the contacts: sotto contact list, or show how to add one: sotto add --help",
            choice: 1,
            situation: { world in
                try world.run("encrypt", ["--to", "nobody"], text: "x")
            },
            result: { (_, run) throws in #expect(run.text.contains("sotto add bob.card")) }),
        HintCase(
            "list the commands: sotto contact --help",
            situation: { world in try world.run("contact", []) },
            result: { (_, run) throws in #expect(run.text.contains("contact verify")) }),
        HintCase(
            "give it to others: sotto keygen public --json",
            situation: { world in try world.run("contact", ["add", "alice.card"]) },
            result: { (world, run) throws in
                let card = try Card(record: JSON.object(parsing: run.stdout))
                #expect(try card.id == world.identity("alice").id)
            }),
    ]

    /// Puts a message for an unreachable relay into the outbox.
    @Sendable private static func queued(_ world: HintWorld) throws {
        let line = try world.must("encrypt", ["--to", "bob.card"], text: "x")
        let run = try world.run("send", ["--relay", "tcp://127.0.0.1:9"], text: line)
        #expect(run.status == 75)
    }

    /// Hints of other programs.
    static let otherHints: [HintCase] = [
        HintCase(
            "list the options: … --help",
            situation: { world in try world.run("contact", ["add", "--nothing"]) },
            result: { (_, run) throws in #expect(run.text.contains("--name")) }),
        HintCase(
            "list the messages with their numbers: sotto history",
            situation: { world in
                try world.must("decrypt", ["-q"], text: world.message("bob"))
                world.home.files.write("blob", [1, 2, 3])
                return try world.run("decrypt", ["--attachment", "99999", "blob"])
            },
            result: { (_, run) throws in #expect(run.text.contains(#""text":"hello""#)) }),
        HintCase(
            "list the messages with their ids: sotto history --limit 20",
            situation: { world in
                try world.must("decrypt", ["-q"], text: world.message("bob"))
                return try world.run("history", ["show", "ffffffff"])
            },
            result: { (_, run) throws in #expect(run.text.contains(#""text":"hello""#)) }),
        HintCase(
            "history: … saved; restore them…: sotto history import …",
            situation: { world in
                try world.must("decrypt", ["-q"], text: world.message("bob"))
                return try world.run("history", ["export", "--backup", "-o", "state.age"])
            },
            result: { (_, run) throws in #expect(run.stderr.contains("1 message was here")) }),
        HintCase(
            "pass over it: sotto history ack --as … …",
            situation: { world in
                try world.must("decrypt", ["-q"], text: world.message("bob"))
                return try world.run(
                    "history", ["--as", "my bot", "--from-start", "--exec", "false"])
            },
            result: { (world, _) throws in
                #expect(try world.run("history", ["--as", "my bot"]).status == 1)
            }),
        HintCase(
            "with the first message: «startCommand», or with the next one: «nowCommand»",
            situation: { world in
                try world.must("decrypt", ["-q"], text: world.message("bob"))
                return try world.run("history", ["--as", "my bot", "--exec", "cat"])
            },
            result: { (world, run) throws in
                #expect(run.text.contains(#""text":"hello""#))
                #expect(try world.run("history", ["--as", "my bot"]).status == 1)
            }),
        HintCase(
            "list the ids: sotto history list",
            situation: { world in
                for group in ["team", "crew"] {
                    try world.must("group", ["create", group])
                    try world.must("encrypt", ["--group", group, "-q"], text: "x")
                    try world.must("history", ["rename", group, "x"])
                }
                return try world.run("history", ["x"])
            },
            result: { (_, run) throws in #expect(run.lines.count == 2) }),
        HintCase(
            "list the ids: sotto send --list",
            situation: { world in
                try queued(world)
                return try world.run("send", ["--drop", Envelope.newID()])
            },
            result: { (_, run) throws in #expect(!run.text.isEmpty) }),
        HintCase(
            "send: note: … more … in the outbox for other relays: sotto send --list",
            situation: { world in
                try queued(world)
                try world.startRelay()
                let line = try world.must("encrypt", ["--to", "bob.card"], text: "y")
                return try world.run("send", [], text: line)
            },
            result: { (_, run) throws in #expect(run.text.contains("127.0.0.1:9")) }),
        HintCase(
            "list the tools: sotto help",
            situation: { world in try world.run("sotto", ["nothing"]) },
            result: { (_, run) throws in #expect(run.text.contains("fingerprint")) }),
    ]
}
