import Foundation
import Sotto
import SottoState
import TestSupport
import Testing

extension HintTests {
    /// Alice's identity, recovered from its words on a machine without her state; a backup exists.
    @Sendable private static func recovered(_ world: HintWorld) throws -> Run {
        try world.addBob()
        try world.must("history", ["export", "--backup", "-o", "state.age"])
        let words = try world.must("keygen", ["words", "alice.key"])
        _ = try world.paste("rm -r state-alice alice.key")
        return try world.run("keygen", ["recover", "-o", "alice.key"], text: words)
    }

    /// Hints about identities, key files and the state directory.
    static let identityHints: [HintCase] = [
        HintCase(
            "The words do not restore contacts and messages; make a backup of them too: sotto history export --backup -o state.age",
            situation: { world in
                try world.addBob()
                return try world.run("keygen", ["-o", "new.key"])
            },
            result: { (world, _) throws in
                try world.must("contact", ["remove", "bob"])
                try world.must("history", ["import", "state.age"])
                #expect(try world.contact("bob")["trust"] == .string("trusted"))
            }),
        HintCase(
            "not restored: sessions, messages and contacts; to restore a backup of messages and contacts: sotto history import state.age",
            situation: { try recovered($0) },
            result: { (world, _) throws in
                #expect(try world.contact("bob")["id"]?.string == world.id("bob"))
            }),
        HintCase(
            "to let others begin new sessions: sotto keygen prekeys | sotto send",
            situation: { world in
                try world.startRelay()
                return try recovered(world)
            },
            result: { (world, _) throws in
                try world.must("bob", "recv", ["--bundle", "alice.card"])
            }),
        HintCase(
            "to send them: «sendCommand»",
            situation: { world in
                try world.startRelay()
                return try TerminalSession(
                    world.home.command(
                        "keygen", ["public"], environment: world.environment("alice")),
                    columns: 200
                ).finish()
            },
            result: { (world, _) throws in
                try world.must("bob", "recv", ["--card", world.id("alice")])
            }),
        HintCase(
            "not published; to publish it: sotto keygen public… --send",
            situation: { world in
                try world.startRelay()
                return try world.run("sotto", ["whoami"])
            },
            result: { (world, _) throws in
                #expect(try world.must("sotto", ["whoami"]).contains("card         published"))
            }),
        HintCase(
            "… made here, perhaps none at the relay; to publish them: sotto keygen prekeys… --send",
            situation: { world in
                try world.startRelay()
                _ = try world.must("keygen", ["prekeys"])
                return try world.run("sotto", ["whoami"])
            },
            result: { (world, _) throws in
                try world.must("bob", "recv", ["--bundle", world.id("alice")])
            }),
        HintCase(
            "none; to publish them: sotto keygen prekeys… --send",
            situation: { world in
                try world.startRelay()
                return try world.run("sotto", ["whoami"])
            },
            result: { (world, _) throws in
                #expect(try world.must("sotto", ["whoami"]).contains("prekeys      50"))
            }),
        HintCase(
            "to write a message: sotto encrypt --to … --send", typed: { _ in "hello" },
            situation: { world in
                try world.startRelay()
                try world.addBob()
                return try world.run("encrypt", ["bob"])
            },
            result: { (world, _) throws in
                try world.must("bob", "contact", ["add", "alice.card"])
                let mail = try world.must("bob", "recv", [])
                #expect(
                    try world.must("bob", "decrypt", ["-q", "--text"], text: mail) == "hello\n")
            }),
        HintCase(
            "to show it: sotto contact show …",
            situation: { world in
                try world.addBob()
                return try world.run("contact", ["add", "bob"])
            },
            result: { (world, run) throws in #expect(try run.text.contains(world.id("bob"))) }),
        HintCase(
            "to show it: sotto group show …",
            situation: { world in
                try world.must("group", ["create", "team"])
                return try world.run("contact", ["add", "team"])
            },
            result: { (_, run) throws in #expect(run.text.contains("team")) }),
        HintCase(
            "to write to it: sotto say …, or to show it: sotto group show …", choice: 1,
            situation: { world in
                try world.must("group", ["create", "team"])
                return try world.run("encrypt", ["--to", "team"], text: "hello")
            },
            result: { (_, run) throws in #expect(run.text.contains("team")) }),
        HintCase(
            "to read the messages: sotto history … --text",
            situation: { world in
                try world.addBob()
                try world.must("decrypt", ["-q"], text: world.message("bob"))
                return try world.run("decrypt", ["bob"])
            },
            result: { (_, run) throws in #expect(run.text.contains("hello")) }),
        HintCase(
            "to see what is missing: sotto whoami, or to print your card: sotto keygen public --json",
            situation: { world in try world.run("sotto", ["init", "--no-passphrase"]) },
            result: { (world, run) throws in
                #expect(try run.text.contains(world.id("alice")))
            }),
        HintCase(
            "to see what is missing: sotto whoami, or to print your card: sotto keygen public --json",
            choice: 1,
            situation: { world in try world.run("sotto", ["init", "--no-passphrase"]) },
            result: { (world, run) throws in
                let card = try Card(record: JSON.object(parsing: run.stdout))
                #expect(try card.id == world.identity("alice").id)
            }),
        HintCase(
            "words… restore your keys, and are shown only on a terminal; to see them: sotto keygen words…",
            situation: { world in try world.run("keygen", ["-o", "new key"]) },
            result: { (_, run) throws in
                #expect(run.text.split(whereSeparator: \.isWhitespace).count == 24)
            }),
        HintCase(
            "create one: sotto keygen -o …",
            situation: { world in
                try world.run("encrypt", ["--to", "bob.card", "-i", "new.key"], text: "x")
            },
            result: { (world, _) throws in
                try world.must("encrypt", ["--to", "bob.card", "-i", "new.key"], text: "x")
            }),
        HintCase(
            "to publish the new card: sotto keygen public… --send",
            situation: { world in
                try world.startRelay()
                let relay = try #require(world.relayURL)
                return try TerminalSession(
                    world.home.command(
                        "keygen", ["set", "--relay", relay],
                        environment: world.environment("alice")),
                    columns: 200
                ).finish()
            },
            result: { (world, _) throws in
                let card = try Card(
                    record: JSON.object(
                        parsing: Array(
                            world.must("bob", "recv", ["--card", world.id("alice")]).utf8)))
                #expect(card.relay == world.relayURL)
            }),
        HintCase(
            "to fetch what still arrives there: sotto recv… --relay … | sotto decrypt…",
            situation: { world in
                try world.startRelay()
                let relay = try #require(world.relayURL)
                try world.must("keygen", ["set", "-q", "--relay", relay])
                try world.must("bob", "send", ["-q"], text: world.message("bob"))
                return try world.run("keygen", ["set", "--relay", "tcp://127.0.0.1:1"])
            },
            result: { (_, run) throws in #expect(run.text.contains(#""text":"hello""#)) }),
        HintCase(
            "chmod 600 …",
            situation: { world in
                chmod(world.home.files("alice.key"), 0o644)
                return try world.run("contact", ["list"])
            },
            result: { (world, _) throws in #expect(try world.run("contact", ["list"]).status == 1) }
        ),
        HintCase(
            "…: hint: chmod 600 …",
            situation: { world in
                let path = world.home.files("a key.pem")
                world.home.files.write("a key.pem", [1], mode: 0o644)
                let line = "sotto keygen export ssh -o - alice.key >> 'a key.pem'"
                let run = try world.paste(line)
                #expect(run.status == 0, "\(path)")
                return run
            },
            result: { (world, _) throws in
                var status = stat()
                #expect(stat(world.home.files("a key.pem"), &status) == 0)
                #expect(status.st_mode & 0o777 == 0o600)
            }),
        HintCase(
            "chmod 700 …",
            situation: { world in
                mkdir(world.home.files("state-alice"), 0o755)
                chmod(world.home.files("state-alice"), 0o755)
                return try world.run("contact", ["add", "bob.card"])
            },
            result: { (world, _) throws in try world.addBob() }),
        HintCase(
            "use a directory of your own: export SOTTO_HOME=…",
            situation: { world in
                let path = world.home.files("state-alice")
                mkdir(path, 0o700)
                // As for /tmp: open to all users, each of whom owns the own files.
                chmod(path, 0o1777)
                let run = try world.run("contact", ["add", "bob.card"])
                #expect(!run.stderr.contains("chmod"))
                return run
            },
            result: { (world, _) throws in
                let line = "export SOTTO_HOME=\(world.home.files("state-alice/sotto-state"))"
                #expect(try world.paste("\(line); sotto contact add bob.card").status == 0)
            }),
        HintCase(
            "find them: find . -samefile …",
            situation: { world in
                link(world.home.files("alice.key"), world.home.files("second.key"))
                world.home.files.write("secret", Array("correct horse\n".utf8))
                return try world.run(
                    "keygen", ["passwd", "--passphrase", "@FILE:secret", "alice.key"])
            },
            result: { (_, run) throws in
                #expect(run.text.contains("second.key") && run.text.contains("alice.key"))
            }),
        HintCase(
            "ssh-keygen -p -f …", typed: { _ in "a passphrase\na passphrase\n" },
            situation: { world in
                _ = try world.paste("ssh-keygen -q -t ed25519 -N '' -f sshkey")
                world.home.files.write("secret", Array("correct horse\n".utf8))
                return try world.run(
                    "keygen", ["passwd", "--passphrase", "@FILE:secret", "sshkey"])
            },
            result: { (world, _) throws in
                #expect(try world.paste("ssh-keygen -y -P 'a passphrase' -f sshkey").status == 0)
            }),
        HintCase(
            "create one: ssh-keygen -t ed25519",
            typed: { world in "\(world.home.files("id"))\n\n\n" },
            situation: { world in
                try world.run("encrypt", ["-r", "ssh-rsa AAAAB3NzaC1yc2E="], text: "x")
            },
            result: { (world, _) throws in
                let key = String(decoding: try world.home.files.read("id.pub"), as: UTF8.self)
                try world.must("encrypt", ["-r", key], text: "x")
            }),
        HintCase(
            "create one and store it in the identity: sotto bridge set --rsa 3072",
            situation: { world in try world.run("bridge", ["account", "mercurio", "--signed"]) },
            result: { (world, _) throws in
                try world.must("bridge", ["account", "mercurio", "--signed"])
            }),
        HintCase(
            "create one with the same phrase: sotto bridge chat -o shainy.chat",
            typed: { _ in "seventeen quiet herons by the canal\n" },
            situation: { world in
                _ = try world.must(
                    "keygen", ["chat", "-o", "family.chat"],
                    text: "seventeen quiet herons by the canal\n")
                return try world.run(
                    "bridge", ["seal", "shainy", "--show-secret", "--chat", "family.chat"],
                    text: "x")
            },
            result: { (world, _) throws in
                try world.must(
                    "bridge", ["seal", "shainy", "--show-secret", "--chat", "shainy.chat"],
                    text: "x")
            }),
        HintCase(
            "create it: sotto keygen chat -o …",
            typed: { _ in "seventeen quiet herons by the canal\n" },
            situation: { world in
                try world.run("encrypt", ["--chat", "our chat"], text: "x")
            },
            result: { (world, _) throws in
                try world.must("encrypt", ["--chat", "our chat"], text: "x")
            }),
        HintCase(
            "name its file with --chat; to make one: sotto keygen chat -o family.chat",
            typed: { _ in "seventeen quiet herons by the canal\n" },
            situation: { world in
                try world.run("encrypt", ["--to", "bob.card", "--suite", "phrase"], text: "x")
            },
            result: { (world, _) throws in
                try world.must("encrypt", ["--chat", "family.chat"], text: "x")
            }),
    ]
}
