import Glibc
import Sotto
import TestSupport
import Testing

extension HintTests {
    /// Hints of `compose`.
    static let composeHints: [HintCase] = [
        HintCase(
            "a message is encrypted first: sotto encrypt",
            typed: { world in try world.must("compose", ["text", "bob"], text: "hello") },
            situation: { world in
                try world.addBob()
                let record = try world.must("compose", ["text", "bob"], text: "hello")
                return try world.run("send", [], text: record)
            },
            result: { (_, run) throws in #expect(run.text.contains(#""type":"envelope""#)) }),
        HintCase(
            "list the commands: sotto compose --help",
            situation: { world in try world.run("compose", []) },
            result: { (_, run) throws in #expect(run.text.contains("compose react")) }),
        HintCase(
            "delete it here only: sotto history delete …",
            situation: { world in
                let id = try world.hearFromBob()
                return try world.run("compose", ["delete", id])
            },
            result: { (world, _) throws in
                #expect(try world.must("history", ["bob"]).contains(#""deleted":true"#))
            }),
        HintCase(
            "allow it: sotto contact set … …=on",
            situation: { world in
                try world.addBob()
                return try world.run("compose", ["typing", "bob"])
            },
            result: { (world, _) throws in
                #expect(try world.must("compose", ["typing", "bob"]).contains("started"))
            }),
        HintCase(
            "set it: sotto group timer … … | sotto encrypt | sotto send",
            situation: { world in
                try world.startRelay()
                try world.addBob()
                try world.must("bob", "contact", ["add", "alice.card"])
                let invitation = try world.must("group", ["create", "our team", "bob"])
                let sealed = try world.must("encrypt", ["--jsonl"], text: invitation)
                try world.must("bob", "decrypt", [], text: sealed)
                let join = try world.must("bob", "group", ["accept", "our team"])
                let news = try world.must("bob", "encrypt", ["--jsonl"], text: join)
                try world.must("decrypt", [], text: news)
                return try world.run("compose", ["timer", "our team", "1w"])
            },
            result: { (world, _) throws in
                try world.must("bob", "decrypt", [], text: world.must("bob", "recv", []))
                #expect(try world.must("bob", "group", ["show", "our team"]).contains("604800"))
            }),
        HintCase(
            "to save all files of a contact or a group: sotto save --all …",
            situation: { world in
                try world.startRelay()
                try world.addBob()
                world.home.files.write("file", Array("a file".utf8))
                let lines = try world.must(
                    "bob", "encrypt", ["--to", "alice.card", "--attach", "file"])
                // The name is free in this folder.
                unlink(world.home.files("file"))
                try world.must("bob", "send", ["-q"], text: lines)
                try world.must("decrypt", ["-q"], text: world.must("recv", ["-q"]))
                return try world.run("sotto", ["save", "bob"])
            },
            result: { (world, run) throws in
                #expect(run.text == "./file\n")
                #expect(try world.home.files.read("file") == Array("a file".utf8))
            }),
        HintCase(
            "fetch it: sotto recv --blob … --keep",
            situation: { world in
                try world.startRelay()
                world.home.files.write("file", Array("a file".utf8))
                let lines = try world.must(
                    "bob", "encrypt", ["--to", "alice.card", "--attach", "file"])
                try world.must("bob", "send", ["-q"], text: lines)
                try world.must("decrypt", ["-q"], text: world.must("recv", ["-q"]))
                return try world.run("history", ["save", "1"])
            },
            result: { (world, _) throws in
                #expect(try world.must("history", ["save", "-o", "saved", "1"]) == "saved\n")
                let saved = try world.home.files.read("saved")
                #expect(saved == Array("a file".utf8))
            }),
    ]
}

extension HintWorld {
    /// Opens a message of Bob, who is a contact. Returns its id.
    fileprivate func hearFromBob() throws -> String {
        try addBob()
        let sent = try must("bob", "encrypt", ["--to", "alice.card"], text: "hello")
        let record = try JSON.object(parsing: Array(must("decrypt", [], text: sent).utf8))
        return try #require(record["id"]?.string)
    }
}
