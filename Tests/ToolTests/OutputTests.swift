import Foundation
import TestSupport
import Testing

/// Tests of the files that `-o` must not replace, and of their names.
struct OutputTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob") }

    /// Runs a tool that must refuse to replace its input `name`.
    func expectKept(
        _ name: String, _ tool: String, _ arguments: [String], stdin: [UInt8] = [120],
        environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try home.files.read(name)
        let run = try home.run(
            tool, arguments, stdin: .whole(stdin), environment: environment)
        #expect(run.status == 64, "\(run.stderr)", sourceLocation: sourceLocation)
        #expect(
            run.stderr.contains("is also an input file"), "\(run.stderr)",
            sourceLocation: sourceLocation)
        #expect(try home.files.read(name) == before, sourceLocation: sourceLocation)
    }

    @Test func encryptReplacesNoFileThatItReads() throws {
        try home.files.write("list", home.files.read("bob.card"))
        home.files.write("secret", Array("a secret\n".utf8))
        symlink("alice.key", home.files("other-name"))
        let sign = ["-r", "bob.card", "-s", "-i", "alice.key"]
        try expectKept("alice.key", "encrypt", sign + ["-o", "alice.key"])
        try expectKept("alice.key", "encrypt", sign + ["-o", "other-name"])
        try expectKept("bob.card", "encrypt", sign + ["-o", "bob.card"])
        try expectKept("list", "encrypt", ["-R", "list", "-o", "./list"])
        try expectKept("secret", "encrypt", ["--passphrase", "@FILE:secret", "-o", "secret"])
        let to = ["--to", "bob.card", "-i", "alice.key"]
        try expectKept("alice.key", "encrypt", to + ["-o", "alice.key"])
        try expectKept("bob.card", "encrypt", to + ["-o", "bob.card"])
        try expectKept(
            "alice.key", "encrypt", ["-r", "bob.card", "-s", "-o", "alice.key"],
            environment: ["SOTTO_IDENTITY": "alice.key"])
        try expectKept(
            "alice.key", "encrypt", ["--to", "bob.card", "-o", "alice.key"],
            environment: ["SOTTO_IDENTITY": "alice.key"])
    }

    @Test func decryptReplacesNoFileThatItReads() throws {
        let file = try home.output(
            "encrypt", ["-r", "bob.card", "-s", "-i", "alice.key"], stdin: [120])
        let envelope = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: [120])
        for input in [file, envelope] {
            let open = ["-i", "bob.key", "--from", "alice.card"]
            try expectKept("bob.key", "decrypt", open + ["-o", "bob.key"], stdin: input)
            try expectKept("alice.card", "decrypt", open + ["-o", "alice.card"], stdin: input)
            try expectKept(
                "bob.key", "decrypt", ["-o", "bob.key"], stdin: input,
                environment: ["SOTTO_IDENTITY": "bob.key"])
        }
    }

    /// A file that replaces another, or is new, has one name and leaves nothing beside it.
    @Test func aFileHasOneName() throws {
        let environment = ["SOTTO_IDENTITY": "alice.key"]
        for (tool, arguments) in [
            ("contact", ["add", "bob.card"]),
            ("history", ["export", "--backup", "-o", "kept/backup"]),
            ("history", ["export", "--backup", "-o", "kept/backup"]),
            ("contact", ["export", "--backup", "-o", "kept/contacts"]),
            ("contact", ["export", "--backup", "-o", "kept/contacts"]),
            ("encrypt", ["-r", "bob.card", "-o", "kept/file", "bob.card"]),
            ("encrypt", ["-r", "bob.card", "-o", "kept/file", "bob.card"]),
            ("keygen", ["-q", "-o", "kept/key"]),
        ] {
            mkdir(home.files("kept"), 0o700)
            let run = try home.run(tool, arguments, environment: environment)
            #expect(run.status == 0, "\(tool): \(run.stderr)")
        }
        let names = ["backup", "contacts", "file", "key"]
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: home.files("kept")).sorted()
                == names)
        for name in names {
            var status = stat()
            #expect(stat(home.files("kept/\(name)"), &status) == 0 && status.st_nlink == 1)
        }
    }

    @Test func anEmptyNameIsAUsageError() throws {
        for (tool, arguments) in [
            ("encrypt", ["-r", "bob.card"]), ("encrypt", ["--to", "bob.card", "-i", "alice.key"]),
            ("pad", []), ("keygen", []),
        ] as [(String, [String])] {
            let run = try home.run(tool, arguments + ["-o", ""], text: "x")
            #expect(run.status == 64 && run.stdout.isEmpty, "\(tool) \(run.stderr)")
        }
    }

    @Test func unsignedContentThatLooksSignedIsRefused() throws {
        let plain = Array("signed-stream/1\nand more".utf8)
        let refused = try home.run("encrypt", ["-r", "bob.card"], stdin: .whole(plain))
        #expect(refused.status == 65 && refused.stdout.isEmpty && refused.stderr.contains("-s"))
        let signed = try home.output(
            "encrypt", ["-r", "bob.card", "-s", "-i", "alice.key"], stdin: plain)
        #expect(try home.output("decrypt", ["-i", "bob.key"], stdin: signed) == plain)
        for near in ["signed-stream/1", "signed-stream/2\n", "s", ""] {
            let file = try home.output("encrypt", ["-r", "bob.card"], stdin: Array(near.utf8))
            #expect(
                try home.output("decrypt", ["-i", "bob.key"], stdin: file) == Array(near.utf8))
        }
    }
}
