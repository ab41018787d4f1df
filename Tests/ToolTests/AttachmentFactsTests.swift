import Foundation
import Sotto
import TestSupport
import Testing

/// What a message tells about its file: the type, the size of a picture, a thumbnail, the duration of a recording.
struct AttachmentFactsTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }
    var files: TemporaryDirectory { they.home.files }

    init() throws { they = try Conversing() }

    /// Encrypts files and opens the messages. Returns their bodies.
    private func send(
        _ arguments: [String], text: String = "", file: [UInt8]? = nil
    ) throws -> [JSONObject] {
        let stdin = file ?? Array(text.utf8)
        let sealed = try alice.run("encrypt", ["--to", "bob", "-q"] + arguments, stdin: stdin)
        guard sealed.status == 0 else { throw Unexpected(sealed) }
        let envelopes = sealed.lines.filter { $0.contains(#""type":"envelope""#) }
        let opened = try bob.run("decrypt", stdin: lines(envelopes))
        guard opened.status == 0 else { throw Unexpected(opened) }
        return try opened.records.map { try #require($0["body"]?.object) }
    }

    /// Returns the width and the height in the first frame of a JPEG file (ITU-T T.81, §B.2.2).
    private func size(ofJPEG file: [UInt8]) throws -> [Int] {
        var place = 2
        while !(0xC0...0xC2).contains(file[place + 1]) {
            place += 2 + Int(file[place + 2]) << 8 + Int(file[place + 3])
        }
        return [7, 5].map { Int(file[place + $0]) << 8 + Int(file[place + $0 + 1]) }
    }

    @Test func aPictureHasASizeAndAThumbnail() throws {
        let picture = try alice.run("qr", ["-t", "png", "-o", "code.png"], stdin: Array("x".utf8))
        #expect(picture.status == 0, "\(picture.stderr)")
        let body = try send(["--attach", "code.png"], text: "look")[0]
        #expect(body["contentType"] == .string("image/png") && body["text"] == .string("look"))
        let width = try #require(body["width"]?.integer)
        #expect(width == body["height"]?.integer)
        let thumbnail = try Fields<FieldError>(body)["thumbnail"].bytes()
        #expect(thumbnail.count <= 8_192)
        #expect(try size(ofJPEG: thumbnail) == [Int(width), Int(width)])
        // The line for people tells it too.
        let line = try bob.run("decrypt", ["--again", "--text"])
        #expect(
            line.text.contains("[file code.png, \(width)×\(width), "), "\(line.text)")
    }

    @Test(
        .needs(.pythonPackages), arguments: ["photo.jpg", "drawing.png"])
    func aPictureIsTurnedAsItIsShown(_ name: String) throws {
        #expect(try Peers.run("pictures.py", ["make", files.path]).status == 0)
        let body = try send(["--attach", name])[0]
        let (width, height) = (body["width"]?.integer, body["height"]?.integer)
        let small = try size(ofJPEG: Fields<FieldError>(body)["thumbnail"].bytes())
        let shown = try Peers.run("pictures.py", ["size", files(name)])
        #expect(shown.text == "\(width ?? 0) \(height ?? 0)\n", "\(shown.stderr)")
        #expect((small[0] > small[1]) == (width ?? 0 > height ?? 0))
    }

    /// 60,000 × 60,000 pixels would need 10 GB.
    @Test func aHugePictureIsSentWithoutAThumbnail() throws {
        let size: [UInt8] = [0, 0, 0xEA, 0x60]
        let file = PictureMetadataTests.PNGPicture.make([
            ("IHDR", size + size + [8, 2, 0, 0, 0]), ("IDAT", randomBytes(1_000)), ("IEND", []),
        ])
        files.write("huge.png", file)
        let run = try alice.run(
            "encrypt", ["--to", "bob", "--attach", "huge.png", "--blob", "blob"])
        #expect(run.status == 0 && run.stderr.contains("without a thumbnail"), "\(run.stderr)")
        let body = try send(["--attach", "huge.png"])[0]
        #expect(body["width"] == .integer(60_000) && body["thumbnail"] == nil)
    }

    @Test func otherFilesHaveATypeAndRecordingsADuration() throws {
        files.write("notes", Array("a few words\n".utf8))
        files.write("empty", [])
        files.write("random", [0, 1, 2, 0xFE])
        files.write("note.wav", Sample.wav(seconds: 83))
        let tar = Command(
            path: "/bin/tar", ["cf", "folder.tar", "notes"], directory: files.path)
        #expect(try tar.run().status == 0)
        let names = ["notes", "empty", "random", "folder.tar"]
        let types = try names.map { try send(["--attach", $0])[0]["contentType"]?.string }
        #expect(
            types == [
                "text/plain", "application/octet-stream", "application/octet-stream",
                "application/x-tar",
            ])
        let voice = try send(["--attach", "note.wav", "--voice"])[0]
        #expect(voice["duration"] == .integer(83) && voice["voice"] == .bool(true))
        #expect(voice["contentType"]?.string?.hasPrefix("audio/") == true)
        let line = try bob.run("decrypt", ["--again", "--text"])
        #expect(
            line.text.contains("[voice message note.wav, 1:23, "), "\(line.text)")
        let page = try bob.run("history", ["alice", "--text"])
        #expect(page.text.contains("[voice message note.wav, 1:23]"), "\(page)")
        let given = try send(["--attach", "notes", "--content-type", "text/x-mine"])[0]
        #expect(given["contentType"] == .string("text/x-mine") && given["voice"] == nil)
    }

    // MARK: The restricted program

    /// Runs `encrypt` beside a program `qr-scan` that is a shell with `script`, or without one.
    private func encrypt(beside script: String?) throws -> Run {
        let manager = FileManager.default
        // Not in /tmp: some systems forbid to execute files there.
        let folder = Programs.directory + "/media-tests-\(UUID().uuidString)"
        try manager.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? manager.removeItem(atPath: folder) }
        try manager.linkItem(atPath: Programs.path("encrypt"), toPath: folder + "/encrypt")
        if let script {
            // A written program could still be open in a child of another test.
            try manager.createSymbolicLink(
                atPath: folder + "/qr-scan", withDestinationPath: "/bin/sh")
            files.write("media", Array("\(script)\n".utf8))
        }
        var command = alice.command("encrypt", ["--to", "bob", "--attach", "code.png"])
        command.path = folder + "/encrypt"
        command.environment["LD_LIBRARY_PATH"] = Programs.directory
        return try command.run()
    }

    @Test func theFileIsSentWithoutAnAnswer() throws {
        let picture = try alice.run("qr", ["-t", "png", "-o", "code.png"], stdin: Array("x".utf8))
        #expect(picture.status == 0)
        for (script, note) in [
            (nil, "the program qr-scan, which recognizes files, is not installed"),
            ("exit 127", "the libraries of qr-scan are not installed"),
            ("exit 0", "a library crashed"), ("kill -SEGV $$", "a library crashed"),
            ("kill -SYS $$", "a library crashed"), ("kill -XCPU $$", "takes too long"),
            ("echo nonsense; exec sleep 100", "a library crashed"),
            ("head -c 100000 /dev/zero; exec sleep 100", "a library crashed"),
            (#"echo '{"contentType":"a b/c","width":-1,"thumbnail":"AAAA"}'; cat"#, "thumbnail"),
        ] as [(String?, String)] {
            let run = try encrypt(beside: script)
            #expect(run.status == 0 && run.stderr.contains(note), "\(script ?? ""): \(run.stderr)")
            let opened = try bob.run(
                "decrypt", stdin: lines(run.lines.filter { $0.contains(#""type":"envelope""#) }))
            let body = try #require(try opened.records.first?["body"]?.object)
            #expect(body["contentType"] == .string("image/png") && body["thumbnail"] == nil)
        }
    }

    // MARK: Several files, standard input, long texts

    @Test func severalFilesAreSeveralMessages() throws {
        for name in ["one", "two", "three"] { files.write(name, Array(name.utf8)) }
        let bodies = try send(
            ["--attach", "one", "--attach", "two", "--attach", "three"], text: "all of them")
        #expect(bodies.map { $0["name"]?.string } == ["one", "two", "three"])
        #expect(bodies.map { $0["text"]?.string } == ["all of them", nil, nil])
        // If one cannot be read, none is sent.
        let run = try alice.run("encrypt", ["--to", "bob", "--attach", "one", "--attach", "four"])
        #expect(run.status == 66 && run.stdout.isEmpty)
        #expect(try alice.history("bob").count == 3)
        for more in [["--blob", "b"], ["--name", "n"]] {
            let refused = try alice.run(
                "encrypt", ["--to", "bob", "--attach", "one", "--attach", "two"] + more)
            #expect(refused.status == 64, "\(refused.stderr)")
        }
    }

    @Test func standardInputIsAttached() throws {
        let file = randomBytes(100_000)
        let body = try send(
            ["--attach", "-", "--name", "noise.bin", "--blob", "blob"], file: file)[0]
        #expect(body["name"] == .string("noise.bin") && body["text"] == nil)
        #expect(try bob.run("decrypt", ["--attachment", "1", "blob"]).stdout == file)
        files.write("text", Array("with a text\n".utf8))
        let second = try send(["--attach", "-", "--name", "n", "text"], file: file)[0]
        #expect(second["text"] == .string("with a text"))
        for arguments in [
            ["--attach", "-"], ["--attach", "-", "--name", "a/b"], ["--name", "a"],
            ["--attach", "-", "--name", "a", "-"], ["--voice"],
            ["--attach", "-", "--attach", "-"],
        ] {
            let run = try alice.run("encrypt", ["--to", "bob"] + arguments)
            #expect(run.status == 64 && run.stdout.isEmpty, "\(arguments): \(run.stderr)")
        }
        // Another messenger gets it too.
        try they.two.beginClassical()
        let sealed = try alice.run(
            "bridge",
            [
                "seal", "kecalek", "--to", "bob", "--attach", "-", "--name", "n", "--blob", "box",
            ], stdin: file)
        #expect(sealed.status == 0, "\(sealed.stderr)")
    }

    /// A text that no message can hold is sent as a file.
    @Test(arguments: [40_000, 1_000_000])
    func aLongTextIsAFile(_ count: Int) throws {
        let text = String((0..<count).map { _ in "äbc \n".randomElement()! })
        let run = try alice.run("encrypt", ["--to", "bob"], stdin: Array(text.utf8))
        #expect(run.status == 0 && run.stderr.contains("sent as a file, message.txt"))
        let record = try JSON.object(parsing: Array(try #require(run.lines.first).utf8))
        #expect(record["type"] == .string("blob"))
        let opened = try bob.run("decrypt", stdin: lines([run.lines[1]]))
        let body = try #require(try opened.records.first?["body"]?.object)
        #expect(body["contentType"] == .string("text/plain") && body["text"] == nil)
        #expect(body["size"] == .integer(Int64(text.utf8.count)))
        // Bytes that are no text, too.
        let data = try send([], file: randomBytes(40_000))[0]
        #expect(data["name"] == .string("message.bin"))
        // Without an upload it stays an error.
        let alone = try alice.run(
            "encrypt", ["--to", bob.card, "--stateless"], stdin: Array(text.utf8))
        #expect(alone.status == 65 && alone.stderr.contains("too long"), "\(alone.stderr)")
    }

    /// Texts near the limit are messages or files, and never errors.
    @Test func theLimitHasNoGap() throws {
        for count in stride(from: 31_000, through: 33_000, by: 250) {
            for character in ["a", "\n"] {
                let text = String(repeating: character, count: character == "a" ? count : count / 2)
                #expect(try send([], text: text + "x").count == 1, "\(count)")
            }
        }
    }

    // MARK: compose file

    @Test func aComposedFileIsUploaded() throws {
        let first = try they.tell(bob, "have you got the plan?")
        let file = randomBytes(70_000)
        files.write("plan.pdf", file)
        let reply = try alice.run(
            "compose", ["file", "--reply", first, "plan.pdf"], stdin: Array("here\n".utf8))
        #expect(reply.status == 0, "\(reply.stderr)")
        for _ in 0..<2 {
            let sealed = try alice.run("encrypt", stdin: reply.stdout)
            #expect(sealed.status == 0 && sealed.lines.count == 2, "\(sealed.stderr)")
            let blob = try JSON.object(parsing: Array(sealed.lines[0].utf8))
            #expect(blob["type"] == .string("blob"))
            let id = try Fields<FieldError>(blob)["id"].hexBytes(count: 32)
            let stored = "\(alice.stateDirectory)/blobs/out-\(hex(sha256(id)))"
            let opened = try bob.run("decrypt", stdin: lines([sealed.lines[1]]))
            let message = try #require(try opened.records.first)
            let body = try #require(message["body"]?.object)
            #expect(body["text"] == .string("here") && body["name"] == .string("plan.pdf"))
            let quoted = body["reply"]?.object
            #expect(quoted?["text"] == .string("have you got the plan?"))
            files.write("message", opened.stdout)
            let saved = try bob.run("decrypt", ["--attachment", "message", stored])
            #expect(saved.stdout == file, "\(saved.stderr)")
        }
        // A new message, and standard input.
        let piped = try alice.run(
            "compose", ["file", "-", "bob", "--name", "n", "--voice"], stdin: file)
        #expect(piped.status == 0, "\(piped.stderr)")
        #expect(try alice.run("encrypt", stdin: piped.stdout).lines.count == 2)
        for arguments in [
            ["-", "bob"], ["plan.pdf", "bob", "--reply", first], ["plan.pdf", "--with", "bob"],
            ["plan.pdf", "bob", "--name", "."],
        ] {
            let run = try alice.run("compose", ["file"] + arguments)
            #expect(run.status == 64 && run.stdout.isEmpty, "\(arguments): \(run.stderr)")
        }
        #expect(try alice.run("compose", ["file", "missing", "bob"]).status == 66)
    }
}
