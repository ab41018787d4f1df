import Glibc
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of chat files, which `keygen chat` and `bridge chat` make from phrases.
struct ChatFileTests {
    struct PhraseVectors: Decodable {
        struct Compat: Decodable {
            let phraseUtf8: Hex
            let chatId: String
        }
        struct Safe: Decodable {
            let phrase: String
            let root: Hex
            let chatId: String
        }
        let compat: [Compat]
        let v2OurChoice: [Safe]
    }
    static let vectors: PhraseVectors = Vectors.load("phrase")

    let home: Home
    init() { home = Home() }

    func make(_ phrase: [UInt8], _ more: String...) throws -> Run {
        try home.run(
            "keygen", ["chat", "-o", "a.chat"] + more, stdin: .whole(phrase + [10]))
    }

    func record(_ arguments: String..., stdin: [UInt8] = []) throws -> JSONObject {
        try JSON.object(parsing: home.output("keygen", arguments, stdin: stdin))
    }

    static let strong = "0f1e2d3c4b5a69788796a5b4c3d2e1f0 five plain words more here"

    // MARK: Known answers

    @Test(arguments: vectors.v2OurChoice.indices)
    func aKnownPhraseGivesItsChat(_ index: Int) throws {
        let known = Self.vectors.v2OurChoice[index]
        let run = try make(Array(known.phrase.utf8))
        #expect(run.status == 0 && run.stdout.isEmpty, "\(run.stderr)")
        let file = try JSON.object(parsing: home.files.read("a.chat"))
        #expect(file["type"] == .string("chat") && file["id"] == .string(known.chatId))
        #expect(file["root"] == .string(Base64.standard.encode(known.root.bytes)))
        #expect(try record("chat", "--public", "a.chat")["id"] == .string(known.chatId))
        // The file does not contain the phrase.
        #expect(
            !String(decoding: try home.files.read("a.chat"), as: UTF8.self).contains(known.phrase))
        #expect(!run.stderr.contains(known.phrase))
    }

    static let shainy = Dictionary(
        vectors.compat.map { ($0.phraseUtf8, $0.chatId) }, uniquingKeysWith: { a, _ in a }
    ).map { (phrase: $0, id: $1) }

    @Test func shainysIDIsDerivedFromTheTypedBytes() throws {
        for (index, known) in Self.shainy.enumerated() {
            let file = "\(index).chat"
            let run = try home.run(
                "bridge", ["chat", "-o", file], stdin: .whole(known.phrase.bytes + [10]))
            #expect(run.status == 0, "\(run.stderr)")
            let isPublic = known.phrase.bytes.elementsEqual(ShainyChat.globalPhrase.utf8)
            let shown = try JSON.object(
                parsing: home.output("bridge", ["chat", "--public", file, "--show-secret"]))
            #expect(shown["chatId"]?.string == (isPublic ? ShainyChat.globalID : known.id))
            #expect(run.stderr.contains("this phrase is public") == isPublic)
            let text = String(decoding: known.phrase.bytes, as: UTF8.self)
            #expect(run.stderr.contains("(NFC)") == !isNFC(text))
        }
    }

    // MARK: Making one

    @Test func theStrengthIsReportedWithAWarningIfWeak() throws {
        let weak = try home.run(
            "bridge", ["chat", "-o", "w.chat"], text: "correct horse battery staple")
        #expect(weak.stderr.contains("about 45 bits"))
        #expect(weak.stderr.contains("warning: below 80 bits the phrase can be guessed"))
        let safe = try make(Array("dog".utf8))
        #expect(safe.stderr.contains("bits") && !safe.stderr.contains("warning"))
        let strong = try home.run("bridge", ["chat", "-o", "b.chat"], text: Self.strong + "\n")
        #expect(strong.stderr.contains("bits") && !strong.stderr.contains("warning"))
        let quiet = try home.run("bridge", ["chat", "-q", "-o", "c.chat"], text: Self.strong)
        #expect(quiet.status == 0 && quiet.stderr.isEmpty)
        let warned = try home.run("bridge", ["chat", "-q", "-o", "d.chat"], text: "dog")
        #expect(warned.stderr.contains("warning") && !warned.stderr.contains("note"))
    }

    @Test func thePhraseComesFromASourceAPipeOrTheTerminal() throws {
        home.files.write("phrase", Array((Self.strong + "\nsecond line\n").utf8))
        let source = try home.output("keygen", ["chat", "--phrase", "@FILE:phrase", "-o", "-"])
        let pipe = try home.output(
            "keygen", ["chat", "-o", "-"], stdin: home.files.read("phrase"))
        #expect(source == pipe)
        let session = try TerminalSession(home.command("keygen", ["chat", "-o", "typed.chat"]))
        try session.expect("New phrase: ")
        try session.type(Self.strong + "\n")
        try session.expect("Repeat the phrase: ")
        try session.type(Self.strong + "\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("five plain words"), "\(run.text)")
        #expect(try home.files.read("typed.chat") == source)
    }

    @Test func twoDifferentPhrasesCreateNoChat() throws {
        let session = try TerminalSession(home.command("keygen", ["chat", "-o", "typed.chat"]))
        // It is asked three times.
        for _ in 1...3 {
            try session.expect("New phrase: ")
            try session.type("one\n")
            try session.expect("Repeat the phrase: ")
            try session.type("two\n")
        }
        let run = try session.finish()
        #expect(run.status == 64 && run.text.contains("differ"))
        #expect(!home.files.exists("typed.chat"))
    }

    @Test func theFileIsPrivateAndNotShownOnATerminal() throws {
        #expect(try make(Array("x".utf8), "--name", "x").status == 0)
        var status = stat()
        #expect(stat(home.files("a.chat"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try make(Array("y".utf8)).status == 73)
        home.files.write("phrase", Array("z\n".utf8))
        let shown = try TerminalSession(
            home.command("keygen", ["chat"]), stdin: home.files("phrase")
        ).finish()
        #expect(shown.status == 64 && !shown.text.contains("root"))
        chmod(home.files("a.chat"), 0o644)
        #expect(try home.run("keygen", ["chat", "--public", "a.chat"]).status == 77)
    }

    @Test func invalidPhrasesAndChatsAreRefused() throws {
        #expect(try home.run("keygen", ["chat", "-o", "a.chat"]).status == 64)
        #expect(try make([0xFF, 0xFE]).status == 65)
        #expect(try make([UInt8](repeating: 0x61, count: 5000)).status == 65)
        #expect(try make([0x61], "--name", "a\nb").status == 64)
        #expect(!home.files.exists("a.chat"))
        #expect(try home.run("keygen", ["chat", "--public", "a.chat"]).status == 66)
        #expect(try make([0x61], "--name", "friends").status == 0)
        for (arguments, status) in [
            (["--public", "a.chat", "--read-name", "a.chat"], Int32(64)),
            (["--public", "a.chat", "--name", "x"], 64), (["--shainy"], 64),
            (["--public", "a.chat", "--show-secret"], 64),
        ] {
            let run = try home.run("keygen", ["chat"] + arguments)
            #expect(run.status == status && run.stdout.isEmpty, "\(arguments): \(run.stderr)")
        }
        let secret = try home.run("bridge", ["chat", "--public", "a.chat"])
        #expect(secret.status == 64 && secret.stderr.contains("--show-secret"))
        // A file of keygen has no key for SHAiny.
        let none = try home.run("bridge", ["chat", "--public", "a.chat", "--show-secret"])
        #expect(none.status == 10 && none.stderr.contains("bridge chat"))
        var file = try JSON.object(parsing: home.files.read("a.chat"))
        file["id"] = .string(String(repeating: "0", count: 64))
        home.files.write("bad.chat", file.serialized())
        home.files.write("no.chat", Array("{}".utf8))
        for name in ["bad.chat", "no.chat"] {
            #expect(try home.run("keygen", ["chat", "--public", name]).status == 65)
        }
    }

    // MARK: The name

    @Test func theNameIsReadableWithTheChatFile() throws {
        #expect(
            try home.run(
                "bridge", ["chat", "-o", "a.chat", "--name", "přátelé"], text: "one phrase"
            ).status == 0)
        _ = try home.run("bridge", ["chat", "-o", "other.chat"], text: "another phrase")
        let ours = try home.output("keygen", ["chat", "--public", "a.chat"])
        #expect(!String(decoding: ours, as: UTF8.self).contains("přátelé"))
        let read = try home.run(
            "keygen", ["chat", "--read-name", "a.chat"], stdin: .whole(ours))
        #expect(read.text == "přátelé\n" && read.stderr.isEmpty)
        let theirs = try home.output(
            "bridge", ["chat", "--public", "a.chat", "--show-secret"])
        let shainy = try home.run(
            "bridge", ["chat", "--read-name", "a.chat"], stdin: .whole(theirs))
        #expect(shainy.text == "přátelé\n" && shainy.stderr.contains("does not authenticate"))
        for bytes in [ours, theirs] {
            let run = try home.run(
                "bridge", ["chat", "--read-name", "other.chat"], stdin: .whole(bytes))
            #expect(run.status == 11 && run.stdout.isEmpty, "\(run.stderr)")
        }
        var changed = try JSON.object(parsing: ours)
        changed["name"] = .string("v2.AAAA")
        let bad = try home.run(
            "keygen", ["chat", "--read-name", "a.chat"], stdin: .whole(changed.serialized()))
        #expect(bad.status == 11)
        #expect(try home.run("keygen", ["chat", "--read-name", "a.chat"], text: "x").status == 65)
    }
}
