import Foundation
import Sotto
import TestSupport
import Testing

/// A secret key, an identity and recovery words do not leave in a message by mistake.
struct SecretMessageTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }
    var files: TemporaryDirectory { they.home.files }

    private static let words =
        "legal winner thank year wave sausage worth useful legal winner thank yellow"

    init() throws { they = try Conversing() }

    private func encrypt(_ arguments: [String], _ text: String) throws -> Run {
        try alice.run("encrypt", arguments, stdin: Array(text.utf8))
    }

    @Test func aTextThatIsASecretIsRefused() throws {
        for text in [Self.words, "AGE-SECRET-KEY-1QQPQYQQ", "-----BEGIN OPENSSH PRIVATE KEY-----"] {
            let run = try encrypt(["--to", "bob"], text + "\n")
            #expect(run.status == 64 && run.stdout.isEmpty, "\(run.text)")
            #expect(run.stderr.contains("it is not sent"), "\(run.stderr)")
            #expect(run.stderr.contains("--anyway"), "\(run.stderr)")
        }
        #expect(try alice.history("bob").isEmpty)
        let run = try encrypt(["--to", "bob", "--anyway"], Self.words)
        #expect(run.status == 0, "\(run.stderr)")
        let opened = try bob.run("decrypt", stdin: run.stdout)
        #expect(try opened.messages.map(\.text) == [Self.words])
    }

    @Test func theOwnWordsInASentenceAreRefused() throws {
        let words = try alice.run("keygen", ["words"]).text
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.split(separator: " ").count == 24)
        let long = String(repeating: "We meet at the station. ", count: 300)
        for text in [
            "my words: \(words) ok?", "Keep this:\n> \(words.uppercased())\nplease",
            long + words + ". " + long,
        ] {
            for arguments in [["--to", "bob"], ["--to", "bob", "--jsonl"]] {
                let line = arguments.count > 2 ? text.replacing("\n", with: " ") : text
                let run = try encrypt(arguments, line)
                #expect(run.status == 64, "\(run.text)")
                #expect(run.stderr.contains("it is not sent"), "\(run.stderr)")
            }
            files.write("note.txt", Array(text.utf8))
            let composed = try alice.run("compose", ["file", "note.txt", "bob"])
            #expect(composed.status == 64 && composed.stdout.isEmpty, "\(composed.text)")
        }
        #expect(try alice.history("bob").isEmpty)
        let code = try alice.run(
            "qr", ["-t", "ascii"], stdin: Array("my words: \(words) ok?".utf8))
        #expect(code.status == 0 && code.stderr.contains("can be recovery words"), "\(code.stderr)")
    }

    @Test func aLineWithASecretFailsAlone() throws {
        let lines = ["hello", Self.words, #"{"text":"AGE-SECRET-KEY-1QQ"}"#, "good night"]
        let run = try encrypt(["--to", "bob", "--jsonl"], lines.joined(separator: "\n"))
        #expect(run.status == 15, "\(run.stderr)")
        let records = try run.records
        #expect(records.count { $0["type"] == .string("envelope") } == 2)
        #expect(records.count { $0["type"] == .string("error") } == 2)
    }

    @Test func aComposedSecretIsRefusedByEncrypt() throws {
        let composed = try alice.compose(["text", "bob"], text: Self.words)
        #expect(try alice.run("encrypt", stdin: composed.stdout).status != 0)
        let id = try they.tell(alice, "hello")
        let edit = try alice.compose(["edit", id], text: Self.words)
        #expect(try alice.run("encrypt", stdin: edit.stdout).status != 0)
    }

    @Test func aFileThatIsASecretIsRefused() throws {
        let identity = "alice.key"
        files.write("words.txt", Array((Self.words + "\n").utf8))
        for file in [identity, "words.txt"] {
            let attached = try encrypt(["--to", "bob", "--attach", file], "look")
            #expect(attached.status == 64 && attached.stdout.isEmpty, "\(attached.text)")
            let composed = try alice.run(
                "compose", ["file", file, "bob"], stdin: Array("look".utf8))
            #expect(composed.status == 64 && composed.stdout.isEmpty, "\(composed.text)")
            let whole = try alice.run("encrypt", ["--to", "bob", file])
            #expect(whole.status == 64 && whole.stdout.isEmpty, "\(whole.text)")
        }
        let meant = try alice.compose(["file", "--anyway", "words.txt", "bob"], text: "look")
        #expect(meant.status == 0, "\(meant.stderr)")
        // A backup is made as a file, not as a message.
        let backup = try alice.run("encrypt", ["-r", bob.card, identity])
        #expect(backup.status == 0, "\(backup.stderr)")
    }
}
