import Sotto
import SottoState
import TestSupport
import Testing

extension HintTests {
    /// Accepts the request of carol on a terminal.
    @Sendable private static func accepted(_ world: HintWorld) throws -> Run {
        try world.startRelay()
        try world.addBob()
        try world.wait(for: "carol")
        let session = try TerminalSession(
            world.home.command(
                "contact", ["accept", "carol.card"], environment: world.environment("alice")))
        return try session.finish()
    }

    /// Hints about requests.
    static let requestHints: [HintCase] = [
        HintCase(
            "recv: note: … printed before … not decrypted here; to decrypt: sotto recv --again… | sotto decrypt…",
            situation: { world in
                try world.startRelay()
                try world.addBob()
                try world.must("bob", "send", ["-q"], text: world.message("bob"))
                try world.must("recv", ["-i", "alice.key"])
                return try world.run("recv", ["-i", "alice.key"])
            },
            result: { (_, run) throws in #expect(run.text.contains(#""text":"hello""#)) }),
        HintCase(
            "…: note: a message request waits: sotto contact requests",
            situation: { world in
                try world.addBob()
                return try world.run("decrypt", [], text: world.message("carol"))
            },
            result: { (world, run) throws in
                #expect(try run.records[0]["from"]?.string == world.id("carol"))
            }),
        HintCase(
            "…: note: to answer: sotto contact accept …",
            situation: { world in
                try world.run("decrypt", ["--text"], text: world.message("carol"))
            },
            result: { (world, _) throws in
                #expect(try world.contact("carol")["card"] != nil)
                try world.must("encrypt", ["--to", "carol"], text: "answer")
            }),
        HintCase(
            "a message request with this name waits: sotto contact requests",
            situation: { world in
                try world.addBob()
                try world.must("decrypt", ["-q"], text: world.message("carol"))
                return try world.run("sotto", ["say", "carol", "hello"])
            },
            result: { (world, run) throws in
                #expect(try run.records[0]["from"]?.string == world.id("carol"))
            }),
        HintCase(
            "list the ids: sotto contact requests",
            situation: { world in
                try world.addBob()
                try world.wait(for: "carol")
                return try world.run("contact", ["accept", String(world.id("carol").prefix(10))])
            },
            result: { (world, run) throws in
                #expect(try run.records[0]["from"]?.string == world.id("carol"))
            }),
        HintCase(
            "give a name: sotto contact accept … --name NAME",
            situation: { world in
                try world.addBob()
                try world.wait(for: "carol")
                return try world.run("contact", ["accept", world.id("carol")])
            },
            result: { (world, _) throws in
                #expect(try world.contact("NAME")["id"]?.string == world.id("carol"))
            }),
        HintCase(
            "sotto contact accept … | …",
            situation: { world in
                try world.addBob()
                try world.wait(for: "carol")
                return try world.run("contact", ["add", "carol.card"])
            },
            result: { (_, run) throws in #expect(run.text.contains(#""text":"hello""#)) }),
        HintCase(
            "… waited: sotto contact accept … | …",
            situation: { world in
                try world.offerOtherKey()
                try world.wait(for: "other")
                return try world.run("contact", ["accept-key", "bob"])
            },
            result: { (_, run) throws in #expect(run.text.contains(#""text":"hello""#)) }),
        HintCase(
            "… to read: «readingCommand»", situation: { try accepted($0) },
            result: { (_, run) throws in #expect(run.text.contains(#""text":"hello""#)) }),
        HintCase(
            "sotto read… …", situation: { try accepted($0) },
            result: { (world, _) throws in
                #expect(try world.must("history", ["carol"]).contains(#""text":"hello""#))
            }),
        HintCase(
            "sotto: note: …: sotto contact requests…",
            situation: { world in
                try world.startRelay()
                try world.addBob()
                try world.wait(for: "carol")
                return try world.run("sotto", ["read"])
            },
            result: { (world, run) throws in
                #expect(try run.records[0]["from"]?.string == world.id("carol"))
            }),
        HintCase(
            "…, list: sotto contact requests …",
            situation: { world in
                try world.addBob()
                try world.wait(for: "carol")
                try world.must("contact", ["add", "carol.card"])
                return try world.run("contact", ["show", "--text", "carol"])
            },
            result: { (_, run) throws in #expect(run.text.contains(#""type":"envelope""#)) }),
        HintCase(
            "list the requests: sotto contact requests, or delete all of them: sotto contact requests --drop-all",
            situation: { try manyRequests($0) },
            result: { (_, run) throws in #expect(try run.records[0]["count"] == .integer(100)) }),
        HintCase(
            "list the requests: sotto contact requests, or delete all of them: sotto contact requests --drop-all",
            choice: 1, situation: { try manyRequests($0) },
            result: { (world, _) throws in
                #expect(try world.run("contact", ["requests"]).status == 1)
            }),
    ]

    /// One message more from a sender than can wait as requests.
    @Sendable private static func manyRequests(_ world: HintWorld) throws -> Run {
        try world.addBob()
        let count = Int(IdentityStore.requestLimitPerSender) + 1
        let texts = String(repeating: "hello\n", count: count)
        let sent = try world.must(
            "carol", "encrypt", ["--jsonl", "--to", "alice.card"], text: texts)
        return try world.run("decrypt", ["-q"], text: sent)
    }
}
