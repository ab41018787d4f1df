import Sotto
import TestSupport
import Testing

/// Files and pipes with a byte order mark and CRLF, as editors and shells on Windows write them.
struct ByteOrderMarkTests {
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let home: Home

    init() throws {
        home = try Home(people: "alice", "bob")
        _ = try home.output("contact", ["add", "-q", "-i", "bob.key", "alice.card"])
    }

    /// Writes a file with a mark and CRLF.
    private func write(_ name: String, _ content: [UInt8]) {
        let lines = content.split(separator: 10, omittingEmptySubsequences: false)
        home.files.write(name, Self.mark + Array(lines.joined(separator: [13, 10])), mode: 0o600)
    }

    private func expect(
        _ tool: String, _ arguments: [String], stdin: [UInt8] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let run = try home.run(tool, arguments, stdin: .whole(stdin))
        #expect(
            run.status == 0, "\(tool) \(arguments): \(run.stderr)", sourceLocation: sourceLocation)
    }

    @Test func aFileWithAMarkIsRead() throws {
        let hello = Array("hello".utf8)
        write("age.key", try home.output("keygen", ["export", "age", "alice.key", "-o", "-"]))
        write("sotto.key", try home.files.read("alice.key"))
        write("list", try home.output("keygen", ["export", "age", "--public-key", "alice.key"]))
        write("card", try home.files.read("alice.card"))
        write("uri", try home.output("keygen", ["public", "--uri", "alice.key"]))
        write("words", try home.output("keygen", ["words", "alice.key"]))
        write("passphrase", Array("a long passphrase\n".utf8))
        home.files.write("plain", hello)
        home.files.write("file", try home.output("encrypt", ["-r", "alice.card", "plain"]))
        write("armored", try home.output("encrypt", ["-a", "-r", "alice.card", "plain"]))
        write("signature", try home.output("encrypt", ["--detached", "-i", "alice.key", "plain"]))
        write(
            "envelope",
            try home.output(
                "encrypt", ["--to", "bob.card", "-i", "alice.key", "--stateless", "plain"]))
        write("contacts", try home.output("contact", ["export", "-i", "bob.key"]))
        try expect("decrypt", ["-i", "age.key", "file"])
        try expect("decrypt", ["-i", "sotto.key", "file"])
        try expect("encrypt", ["-R", "list", "plain"])
        try expect("encrypt", ["-r", "uri", "plain"])
        try expect("fingerprint", ["card"])
        try expect("decrypt", ["-i", "alice.key", "armored"])
        try expect("decrypt", ["--inspect", "armored"])
        try expect(
            "keygen", ["recover", "--name", "x", "-q", "-o", "-"], stdin: home.files.read("words"))
        try expect("decrypt", ["--verify", "signature", "--from", "alice.card", "plain"])
        try expect("encrypt", ["--passphrase", "@FILE:passphrase", "-o", "sealed", "plain"])
        try expect("decrypt", ["-i", "bob.key", "envelope"])
        home.files.write("phrase", Array("a long passphrase".utf8))
        try expect("decrypt", ["--passphrase", "@FILE:phrase", "sealed"])
        #expect(try home.run("contact", ["import", "-i", "alice.key", "contacts"]).status != 65)
    }

    /// A record is no text, and a text has no mark and no CR.
    @Test func aLineWithAMarkIsARecord() throws {
        let input =
            Self.mark + Array("{\"text\":\"one\"}\r\ntwo\r\n".utf8)
            + Self.mark + Array("{\"text\":\"three\"}\r\n".utf8)
        let sealed = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key", "--stateless", "--jsonl"],
            stdin: input)
        let lines = Array(
            String(decoding: sealed, as: UTF8.self).split(separator: "\n").joined(separator: "\r\n")
                .utf8)
        let opened = try home.run(
            "decrypt", ["-i", "bob.key"], stdin: .whole(Self.mark + lines + [13, 10]))
        #expect(
            try opened.records.map { $0.body["text"]?.string } == ["one", "two", "three"],
            "\(opened.stderr)")
    }

    @Test func aWholeTextHasNoMarkAndNoLineEnd() throws {
        for (text, expected) in [
            ("one\r\n", "one"), ("one\r\ntwo\r\n", "one\r\ntwo"), ("one\n", "one"),
            ("one\r", "one\r"),
        ] {
            let sealed = try home.output(
                "encrypt", ["--to", "bob.card", "-i", "alice.key", "--stateless"],
                stdin: Self.mark + Array(text.utf8))
            let opened = try home.run("decrypt", ["-i", "bob.key"], stdin: .whole(sealed))
            #expect(try opened.records.first?.body["text"]?.string == expected)
        }
    }

    /// A file is encrypted as it is.
    @Test func aFileKeepsItsMark() throws {
        let file = Self.mark + Array("text\r\n".utf8)
        let sealed = try home.output("encrypt", ["-r", "bob.card"], stdin: file)
        #expect(try home.output("decrypt", ["-i", "bob.key"], stdin: sealed) == file)
    }

    @Test func textInUTF16IsNamed() throws {
        home.files.write("card16", [0xFF, 0xFE] + Array("{\0}\0".utf8))
        let run = try home.run("fingerprint", ["card16"])
        #expect(run.status == 65 && run.stderr.contains("UTF-16"), "\(run.stderr)")
    }
}
