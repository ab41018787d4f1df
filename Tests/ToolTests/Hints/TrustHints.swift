import Sotto
import SottoMessengers
import SottoState
import TestSupport
import Testing

extension HintTests {
    @Sendable private static func keepsBob(_ world: HintWorld, _: Run) throws {
        let bob = try world.contact("bob")
        #expect(try bob["id"]?.string == world.id("bob") && bob["changed"] == nil)
    }

    @Sendable private static func hasOther(_ world: HintWorld, _: Run) throws {
        #expect(try world.contact("bob")["id"]?.string == world.id("other"))
    }

    @Sendable private static func showsNumber(_ world: HintWorld, _ run: Run) throws {
        let number = try world.safetyNumber("alice", "bob").split(whereSeparator: \.isWhitespace)
        #expect(try run.records[0]["safetyNumber"]?.string == number.joined(), "\(run.text)")
    }

    /// Hints about verified, changed and blocked keys.
    static let trustHints: [HintCase] = [
        HintCase(
            "after asking … on another channel: «acceptKeyCommand», or sotto contact keep-key …",
            situation: { world in
                try world.addBob()
                try world.makeOther("bob")
                return try world.run("contact", ["add", "other.card"])
            }, result: hasOther),
        HintCase(
            "after asking … on another channel: «acceptKeyCommand», or sotto contact keep-key …",
            choice: 1,
            situation: { world in
                try world.addBob()
                try world.makeOther("bob")
                return try world.run("contact", ["add", "other.card"])
            }, result: keepsBob),
        HintCase(
            "after asking … on another channel: «acceptKeyCommand», or sotto contact keep-key …",
            situation: { world in
                try world.offerOtherKey()
                return try world.run("encrypt", ["--to", "bob"], text: "x")
            }, result: hasOther),
        HintCase(
            "after asking … on another channel: «acceptKeyCommand», or sotto contact keep-key …",
            choice: 1,
            situation: { world in
                try world.offerOtherKey()
                return try world.run("encrypt", ["--to", "bob"], text: "x")
            }, result: keepsBob),
        HintCase(
            "sotto contact accept-key …",
            situation: { world in
                try world.offerOtherKey()
                return try world.run("contact", ["add", "other.card"])
            }, result: hasOther),
        HintCase(
            "accept the key: «acceptKeyCommand»",
            situation: { world in
                try world.offerOtherKey()
                return try world.run(
                    "contact", ["verify", "bob", world.safetyNumber("alice", "other")])
            }, result: hasOther),
        HintCase(
            "reject the other key, which was offered before: sotto contact keep-key …",
            situation: { world in
                try world.offerOtherKey()
                return try world.run(
                    "contact", ["verify", "bob", world.safetyNumber("alice", "bob")])
            }, result: keepsBob),
        HintCase(
            "reject it: sotto contact keep-key …",
            situation: { world in
                try world.offerOtherKey()
                return try world.run("contact", ["accept-key", "bob", world.id("carol")])
            }, result: keepsBob),
        HintCase(
            "show both for the offered key: sotto contact show …",
            situation: { world in
                try world.offerOtherKey()
                return try world.run("contact", ["accept-key", "bob", "rubbish"])
            },
            result: { (world, run) throws in #expect(try run.text.contains(world.id("other"))) }),
        HintCase(
            "another key is still offered for …: sotto contact show …",
            situation: { world in
                try world.offerOtherKey()
                return try world.run("contact", ["add", "bob.card"])
            },
            result: { (world, run) throws in #expect(try run.text.contains(world.id("other"))) }),
        HintCase(
            "… is …; compare the safety number: sotto contact show …",
            situation: { world in
                try world.offerOtherKey()
                return try world.run("contact", ["accept-key", "bob"])
            },
            result: { (world, run) throws in #expect(try run.text.contains(world.id("other"))) }),
        HintCase(
            "no session exists with the new key: sotto recv --bundle …, or sotto contact set … --suite auto",
            situation: { world in
                try world.startRelay()
                try world.offerOtherKey()
                try sessionWithBob(world)
                try world.must(
                    "other", "send", ["-q"], text: world.must("other", "keygen", ["prekeys"]))
                return try world.run("contact", ["accept-key", "bob"])
            },
            result: { (world, _) throws in try world.must("encrypt", ["--to", "bob"], text: "x") }),
        HintCase(
            "no session exists with the new key: sotto recv --bundle …, or sotto contact set … --suite auto",
            choice: 1,
            situation: { world in
                try world.offerOtherKey()
                try sessionWithBob(world)
                return try world.run("contact", ["accept-key", "bob"])
            },
            result: { (world, _) throws in try world.must("encrypt", ["--to", "bob"], text: "x") }),
        HintCase(
            "; compare the safety number: sotto contact show …",
            situation: { world in try world.run("contact", ["add", "bob.card"]) },
            result: showsNumber),
        HintCase(
            "show yours and compare: sotto contact show …",
            situation: { world in
                try world.addBob()
                return try world.run("contact", ["verify", "bob"])
            }, result: showsNumber),
        HintCase(
            "compare the safety number: sotto fingerprint --with …",
            situation: { world in
                try world.addBob()
                return try world.run("encrypt", ["--to", "bob", "--trust", "verified"], text: "x")
            },
            result: { (world, run) throws in
                let number = try world.safetyNumber("alice", "bob").split(
                    whereSeparator: \.isWhitespace)
                #expect(number.allSatisfy { run.text.contains($0) }, "\(run.text)")
            }),
        HintCase(
            "show the number of the signing key: sotto fingerprint …",
            situation: { world in
                try world.run(
                    "decrypt", ["--from", "bob.card"], text: world.message("carol"))
            },
            result: { (world, run) throws in
                #expect(try run.text == world.must("fingerprint", ["carol.card"]))
            }),
        HintCase(
            "sotto contact unblock …",
            situation: { world in
                try world.addBob()
                try world.must("contact", ["block", "bob"])
                return try world.run("encrypt", ["--to", "bob"], text: "x")
            },
            result: { (world, _) throws in try world.must("encrypt", ["--to", "bob"], text: "x") }),
        HintCase(
            "still blocked; to unblock: sotto contact unblock …",
            situation: { world in
                try world.must("contact", ["block", "bob.card"])
                return try world.run("contact", ["add", "bob.card"])
            },
            result: { (world, _) throws in
                #expect(try world.contact("bob")["blocked"] == .bool(false))
            }),
        HintCase(
            "ask … on another channel; if the key is right, remove the old contact first: sotto contact remove …",
            situation: { world in
                for (name, status) in [("bob", Int32(0)), ("carol", 12)] {
                    let run = try world.run(
                        "contact", ["add", "--name", "bob", whisperURL(world, name)])
                    if status == 12 { return run }
                    #expect(run.status == status)
                }
                throw Failed()
            },
            result: { (world, _) throws in
                try world.must("contact", ["add", "--name", "bob", whisperURL(world, "carol")])
            }),
        HintCase(
            "write to the account: sotto bridge seal … --to …", typed: { _ in "hi" },
            situation: { world in
                try world.must("bridge", ["set", "-q", "--whisper-id", "WSP-WI7U-4VDX-HXY2"])
                try world.must(
                    "contact", ["add", "--name", "bob", shortWhisperURL(world, "bob")])
                return try world.run("encrypt", ["--to", "bob"], text: "x")
            },
            result: { (_, run) throws in
                #expect(try run.records[0]["to"]?.string == "WSP-YS3T-HJGR-KQBZ")
            }),
        HintCase(
            "remove the contact with only the account: sotto contact remove …",
            situation: { world in
                // Two accounts with the same keys.
                let keys = try world.identity("bob").whisper2Keys()
                let other = try keys.contact(#require(WhisperID("WSP-WI7U-4VDX-HXY2")))
                try world.must(
                    "contact", ["add", "--name", "other", Whisper2AddURL.text(other)])
                try world.must(
                    "contact", ["add", "--name", "bob", shortWhisperURL(world, "bob")])
                return try world.run("contact", ["add", "--name", "bob", whisperURL(world, "bob")])
            },
            result: { (world, _) throws in
                #expect(try world.run("contact", ["show", "bob"]).status == 66)
            }),
    ]

    /// The URL of the same account without its signing key.
    @Sendable private static func shortWhisperURL(
        _ world: HintWorld, _ person: String
    ) throws -> String {
        let whole = try whisperURL(world, person)
        return String(whole[..<(whole.firstRange(of: "&skey=")?.lowerBound ?? whole.endIndex)])
    }

    private struct Failed: Error {}

    @Sendable private static func whisperURL(_ world: HintWorld, _ person: String) throws -> String
    {
        let id = try #require(WhisperID("WSP-YS3T-HJGR-KQBZ"))
        return Whisper2AddURL.text(try world.identity(person).whisper2Keys().contact(id))
    }

    /// Begins a session with Bob, whatever other key is offered.
    @Sendable private static func sessionWithBob(_ world: HintWorld) throws {
        let bob = try world.identity("bob")
        let time = Timestamp.now()
        let publication = PreKeyPublication(
            by: bob, signedPreKey: SecretPreKey(.signed, id: 1).signed(by: bob, at: time),
            pqSignedPreKey: SecretPreKey(.postQuantum, id: 2).signed(by: bob, at: time),
            oneTimePreKeys: [])
        try world.store().transaction { _ = try $0.begin(with: publication.bundle(oneTime: nil)) }
    }
}
