import Sotto
import SottoContacts
import SottoMessengers
import SottoState
import TestSupport
import Testing

extension HintTests {
    /// Checks that Bob's signed card was fetched.
    @Sendable private static func hasBobsCard(_ world: HintWorld, _: Run) throws {
        #expect(try world.contact("bob")["card"]?.object?["pq"] != nil)
    }

    private static func withRelay(
        _ situation: @escaping @Sendable (HintWorld) throws -> Run
    ) -> @Sendable (HintWorld) throws -> Run {
        { world in
            try world.startRelay()
            try world.publish("bob")
            return try situation(world)
        }
    }

    @Sendable private static func bobsURI(_ world: HintWorld) throws -> String {
        try world.identity("bob").card().uri.text
    }

    /// Hints that get a card, a bundle or an account from its owner.
    static let cardHints: [HintCase] = [
        HintCase(
            "for the sender of a message request: sotto contact accept …",
            situation: { world in
                try world.addBob()
                try world.must("decrypt", ["-q"], text: world.message("carol"))
                return try world.run("sotto", ["add", String(world.id("carol").prefix(16))])
            },
            result: { (world, _) throws in
                #expect(try world.contact("carol")["card"]?.object != nil)
            }),
        HintCase(
            "contact: note: no relay has the signed card, so the contact has no post-quantum key; to try again: «cardLookupCommand»",
            situation: { world in
                try world.startRelay()
                let uri = try world.must("keygen", ["public", "--uri", "bob.key"])
                let run = try world.run("sotto", ["add", uri])
                try world.publish("bob")
                return run
            },
            result: { (world, _) throws in
                #expect(try world.contact("bob")["card"]?.object != nil)
            }),
        HintCase(
            "get the card: «cardLookupCommand»",
            situation: withRelay { world in
                try world.run("encrypt", ["--to", world.id("bob")], text: "x")
            },
            result: { (world, run) throws in
                try hasBobsCard(world, run)
                try world.must("encrypt", ["--to", world.id("bob")], text: "x")
            }),
        HintCase(
            "sotto recv --card … | sotto contact add",
            situation: withRelay { world in
                try world.run("encrypt", ["-r", world.id("bob")], text: "x")
            }, result: hasBobsCard),
        HintCase(
            "to answer, get the sender's card: «cardLookupCommand»",
            situation: withRelay { world in
                try world.run("contact", ["accept", world.id("bob"), "--name", "bob"])
            }, result: hasBobsCard),
        HintCase(
            "; get the signed card: «cardLookupCommand»",
            situation: withRelay { world in try world.run("contact", ["add", bobsURI(world)]) },
            result: { (world, run) throws in
                try hasBobsCard(world, run)
                let number = try world.safetyNumber("alice", "bob")
                try world.must("contact", ["verify", "bob", number])
            }),
        HintCase(
            "sotto recv --relay … --card … | sotto contact add",
            situation: withRelay { world in
                let uri = try world.must(
                    "keygen", ["public", "--uri", "--relay", #require(world.relayURL), "bob.key"])
                return try world.run("contact", ["add"], text: uri)
            }, result: hasBobsCard),
        HintCase(
            "get the signed card, then verify again: «cardLookupCommand»",
            situation: withRelay { world in
                try world.must("contact", ["add", bobsURI(world)])
                return try world.run(
                    "contact", ["verify", "bob", world.safetyNumber("alice", "bob")])
            },
            result: { (world, run) throws in
                try hasBobsCard(world, run)
                let number = try world.safetyNumber("alice", "bob")
                try world.must("contact", ["verify", "bob", number])
            }),
        HintCase(
            "get the card and add it: «cardLookupCommand»",
            situation: withRelay { world in
                try world.run("encrypt", ["--to", "bob.card", "--trust", "first-use"], text: "x")
            }, result: hasBobsCard),
        HintCase(
            "get the signed card: «cardLookupCommand»",
            situation: withRelay { world in
                try world.must("contact", ["accept", world.id("bob"), "--name", "bob"])
                let number = try world.safetyNumber("alice", "bob")
                try world.must("contact", ["verify", "bob", number])
                return try world.run("contact", ["add", bobsURI(world)])
            }, result: hasBobsCard),
        HintCase(
            "get the signed card, which may name it: «cardLookupCommand»",
            situation: withRelay { world in
                // An account of Carol's that a foreign file adds to Bob.
                let id = try #require(WhisperID("WSP-YS3T-HJGR-KQBZ"))
                var entry = Contact(name: "bob", id: try world.identity("bob").id, card: nil)
                entry.learned.whisper2 = try world.identity("carol").whisper2Keys().contact(id)
                let line = String(decoding: entry.record.serialized(), as: UTF8.self)
                try world.must("contact", ["import"], text: line)
                let url = Whisper2AddURL.text(try #require(entry.learned.whisper2))
                return try world.run("contact", ["verify", "bob", "--scan", url])
            }, result: hasBobsCard),
        HintCase(
            "ask its owner to publish it: sotto keygen public --send", as: "bob",
            situation: { world in
                try world.startRelay()
                return try world.run("recv", ["--card", world.id("bob")])
            },
            result: { (world, _) throws in try world.must("recv", ["--card", world.id("bob")]) }),
        HintCase(
            "claim a bundle: sotto recv --bundle …",
            situation: withRelay { world in
                try world.run("encrypt", ["--to", "bob.card", "--suite", "ratchet"], text: "x")
            },
            result: { (world, _) throws in
                try world.must("encrypt", ["--to", "bob.card", "--suite", "ratchet"], text: "x")
            }),
        HintCase(
            "an attacker may have changed it; claim another: sotto recv --bundle …",
            situation: withRelay { world in
                let bundle = try world.must("bob", "keygen", ["prekeys", "--bundle"])
                world.home.files.write("bundle", Array(bundle.utf8))
                try world.must("encrypt", ["--to", "bob.card", "--bundle", "bundle"], text: "x")
                var changed = try JSON.object(parsing: Array(bundle.utf8))
                changed["pairSignature"] = nil
                world.home.files.write("changed", changed.serialized())
                return try world.run(
                    "encrypt", ["--to", "bob.card", "--bundle", "changed", "--new-session"],
                    text: "x")
            },
            result: { (world, run) throws in
                world.home.files.write("another", run.stdout)
                try world.must(
                    "encrypt", ["--to", "bob.card", "--bundle", "another", "--new-session"],
                    text: "x")
            }),
        HintCase(
            "if this state is new or was restored, tell your contacts: sotto contact repair --send",
            as: "bob",
            situation: { world in
                try world.startRelay()
                try world.home.files.write(
                    "bundle", Array(world.must("bob", "keygen", ["prekeys", "--bundle"]).utf8))
                let sent = try world.must(
                    "encrypt", ["--to", "bob.card", "--bundle", "bundle"], text: "x")
                _ = try world.paste("rm -r state-bob", as: "bob")
                try world.must("bob", "contact", ["add", "--name", "alice", "alice.card"])
                return try world.run("bob", "decrypt", [], text: sent)
            },
            result: { (world, run) throws in #expect(run.status == 0, "\(run.stderr)") }),
        HintCase(
            "ask the recipient for a card with these keys: sotto bridge card …", as: "bob",
            situation: { world in
                for name in ["alice", "bob"] {
                    let made = Identity(
                        mnemonic: Mnemonic(randomWordCount: 12), name: name,
                        others: Identity.members(whisperID: .random()))
                    world.home.files.write(
                        "\(name).key", made.record.serialized(), mode: 0o600)
                    let card = try world.must("keygen", ["public", "\(name).key"])
                    world.home.files.write("\(name).card", Array(card.utf8))
                }
                return try world.run("bridge", ["seal", "whisper2", "--to", "bob.card"], text: "x")
            },
            result: { (world, run) throws in
                world.home.files.write("bob.card", run.stdout)
                try world.must("bridge", ["seal", "whisper2", "--to", "bob.card"], text: "x")
            }),
        HintCase(
            "ask its owner for the signed key: sotto bridge account mercurio --signed",
            as: "bob",
            situation: { world in
                let made = Identity(
                    mnemonic: Mnemonic(randomWordCount: 12), name: "bob",
                    others: Identity.members(rsaKey: try MercurioPrivateKey(bits: 2048)))
                world.home.files.write("bob.key", made.record.serialized(), mode: 0o600)
                let web = try world.must(
                    "bridge", ["account", "mercurio", "--form", "web", "bob.key"])
                try world.must("contact", ["add", "--name", "bob"], text: web)
                let number = try #require(try world.contact("bob")["safetyNumber"]?.string)
                return try world.run("contact", ["verify", "bob", number])
            },
            result: { (world, run) throws in
                try world.must("contact", ["add"], text: run.text)
                let number = try #require(try world.contact("bob")["safetyNumber"]?.string)
                try world.must("contact", ["verify", "bob", number])
            }),
    ]
}
