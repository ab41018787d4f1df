import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// Malformed, truncated, changed or misplaced input gives an exit status, an error message, no output, and leaves no
/// file.
struct BadInputTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob") }

    /// Expects a refusal without output on stdout.
    func expectRefusal(
        _ run: Run, _ status: Int32, _ why: Comment = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(run.status == status, "\(why) \(run.stderr)", sourceLocation: sourceLocation)
        // recv tells the reader of the pipe, with an error record.
        let isTold = run.lines.count == 1 && run.text.contains(#""type":"error""#)
        #expect(
            run.stdout.isEmpty || run.stderr.hasPrefix("recv: ") && isTold, why,
            sourceLocation: sourceLocation)
        #expect(run.stderr.contains(": error: "), why, sourceLocation: sourceLocation)
        #expect(!run.stderr.contains("Fatal"), sourceLocation: sourceLocation)
    }

    func encrypt(_ plain: [UInt8], _ more: String...) throws -> [UInt8] {
        try home.output("encrypt", ["-r", "bob.card"] + more, stdin: plain)
    }

    /// Returns damaged forms of a file with three chunks, with descriptions.
    func damaged(_ file: [UInt8], payload: Int) -> [(String, [UInt8])] {
        let chunk = 65536 + 16
        let head = Array(file[..<payload])
        let chunks = stride(from: payload, to: file.count, by: chunk).map {
            Array(file[$0..<min($0 + chunk, file.count)])
        }
        return [
            ("cut in the header", Array(file[..<(payload / 2)])), ("cut after the header", head),
            ("cut in the last chunk", Array(file.dropLast())),
            ("cut between chunks", head + chunks[0] + chunks[1]),
            ("a bit of the header", file.flipping(bit: 8 * 60)),
            ("a bit of the first chunk", file.flipping(bit: 8 * (payload + 5))),
            ("a bit of the last chunk", file.flipping(bit: 8 * (file.count - 1))),
            ("chunks exchanged", head + chunks[1] + chunks[0] + chunks[2]),
            ("a chunk left out", head + chunks[0] + chunks[2]),
            ("a byte appended", file + [0]), ("the file twice", file + file),
        ]
    }

    @Test(arguments: [[], ["-s", "-i", "alice.key"]] as [[String]])
    func aDamagedFileGivesNothing(_ signing: [String]) throws {
        let plain = randomBytes(150_000)
        let file = try home.output("encrypt", ["-r", "bob.card"] + signing, stdin: plain)
        let overhead = signing.isEmpty ? 0 : 160 + 3 * 68
        let payload = file.count - plain.count - overhead - 3 * 16
        home.files.write("there", Array("before".utf8))
        let names = try home.files.names()
        for (why, bytes) in damaged(file, payload: payload) {
            let run = try home.run("decrypt", ["-i", "bob.key"], stdin: .whole(bytes))
            #expect([10, 11, 65].contains(run.status), "\(why)")
            if !why.contains("header") { #expect(run.status == 11, "\(why)") }
            expectRefusal(run, run.status, "\(why)")
            for output in ["new", "there"] {
                let run = try home.run(
                    "decrypt", ["-i", "bob.key", "-o", output], stdin: .whole(bytes))
                expectRefusal(run, run.status, "\(why)")
            }
            #expect(try home.files.names() == names, "\(why)")
            #expect(try home.files.read("there") == Array("before".utf8), "\(why)")
        }
    }

    @Test func aDamagedArmorIs65AndATruncatedOne11() throws {
        let file = try encrypt(randomBytes(300), "-a")
        let text = String(decoding: file, as: UTF8.self)
        for (form, status) in [
            (text + "x", 65), (text.replacing("\n", with: " \n"), 65),
            (String(text.prefix(300)), 11), (text.replacing("-----END", with: "-----FIN"), 65),
        ] as [(String, Int32)] {
            expectRefusal(try home.run("decrypt", ["-i", "bob.key"], text: form), status)
        }
    }

    @Test func theWrongKeyIs10() throws {
        let file = try encrypt(Array("x".utf8))
        let run = try home.run("decrypt", ["-i", "alice.key"], stdin: .whole(file))
        expectRefusal(run, 10)
        expectRefusal(try home.run("decrypt", [], stdin: .whole(file)), 10)
    }

    @Test func otherInputIs65() throws {
        for text in ["hello", "\0\0\0", "age-encryption.org/v2\n", "-----BEGIN PGP MESSAGE-----\n"]
        {
            expectRefusal(
                try home.run("decrypt", ["-i", "bob.key"], text: text), 65, "\(text)")
        }
    }

    @Test func aMissingInputIs66() throws {
        expectRefusal(try home.run("decrypt", ["-i", "bob.key", "missing"]), 66)
        expectRefusal(try home.run("decrypt", ["-i", "missing"], text: "{}"), 66)
        expectRefusal(try home.run("encrypt", ["-r", "missing"]), 66)
        expectRefusal(try home.run("pad", ["."]), 66)
        expectRefusal(try home.run("fingerprint", ["missing"]), 66)
    }

    @Test func aCardWithABrokenSignatureIs11() throws {
        let card = String(decoding: try home.files.read("bob.card"), as: UTF8.self)
        home.files.write(
            "forged", Array(card.replacing("\"name\":\"bob\"", with: "\"name\":\"bib\"").utf8))
        for arguments in [
            ["-r", "forged"], ["--to", "forged", "-i", "alice.key"], ["-R", "forged"],
        ] {
            expectRefusal(try home.run("encrypt", arguments, text: "x"), 11)
        }
        expectRefusal(try home.run("fingerprint", ["--with", "forged", "alice.card"]), 11)
        let file = try encrypt(Array("x".utf8))
        expectRefusal(
            try home.run("decrypt", ["-i", "bob.key", "--from", "forged"], stdin: .whole(file)), 11)
    }

    @Test func duplicateMembersAre65() throws {
        let card = String(decoding: try home.files.read("bob.card"), as: UTF8.self)
        let key = String(decoding: try home.files.read("bob.key"), as: UTF8.self)
        home.files.write(
            "twice.card", Array(card.replacing("{\"v\":1", with: "{\"v\":1,\"v\":1").utf8))
        home.files.write(
            "twice.key", Array(key.replacing("{\"v\":1", with: "{\"v\":1,\"\\u0076\":1").utf8))
        expectRefusal(try home.run("encrypt", ["-r", "twice.card"], text: "x"), 65)
        expectRefusal(try home.run("keygen", ["public", "twice.key"]), 65)
        let run = try home.run("decrypt", ["-i", "bob.key"], text: "{\"id\":\"a\",\"id\":\"b\"}")
        #expect(run.status == 65)
    }

    @Test(arguments: [0o640, 0o604, 0o644, 0o660, 0o666] as [mode_t])
    func aKeyThatOthersCanReadIsRefusedWithAHint(_ mode: mode_t) throws {
        chmod(home.files("bob.key"), mode)
        let run = try home.run("keygen", ["public", "bob.key"])
        expectRefusal(run, 77)
        #expect(run.stderr.contains("chmod 600 bob.key"))
    }

    @Test func aKeyFileIsNeverOverwritten() throws {
        let before = try home.files.read("bob.key")
        for arguments in [
            ["-o", "bob.key"], ["new", "-o", "bob.key"], ["recover", "-o", "bob.key"],
        ] {
            expectRefusal(
                try home.run("keygen", arguments, text: "words do not matter here"), 73)
        }
        #expect(try home.files.read("bob.key") == before)
        // No words are shown for an identity that was not stored.
        let run = try TerminalSession(home.command("keygen", ["-o", "bob.key"])).finish()
        #expect(run.status == 73 && !run.lines.contains { $0.split(separator: " ").count == 24 })
        expectRefusal(try home.run("keygen", ["-o", "missing/x.key"]), 73)
        expectRefusal(try home.run("keygen", ["-o", "."]), 73)
    }

    @Test func secretsDoNotComeFromTheCommandLine() throws {
        let run = try home.run("encrypt", ["--passphrase", "hunter2"], text: "x")
        #expect(run.status == 64 && run.stdout.isEmpty)
        #expect(try home.run("encrypt", ["--passphrase", "@ENV:UNSET_"], text: "x").status == 64)
        expectRefusal(try home.run("encrypt", ["--passphrase", "@FILE:none"], text: "x"), 66)
        expectRefusal(
            try home.run("encrypt", ["-p"], text: "x"), 78, "without a terminal to ask on")
    }

    @Test func wrongWordsSayWhichWordIsWrong() throws {
        let words = String(
            decoding: try home.output("keygen", ["words", "bob.key"]), as: UTF8.self
        )
        .split(whereSeparator: \.isWhitespace).map(String.init)
        var wrong = words
        wrong[4] = "qqqqq"
        let run = try home.run(
            "keygen", ["recover", "-o", "new.key"], text: wrong.joined(separator: " "))
        expectRefusal(run, 65)
        #expect(run.stderr.contains("word 5"))
        // One word of the list may be in the message by chance, but not two in order.
        #expect(!run.stderr.contains("qqqqq") && !run.stderr.contains(words[2] + " " + words[3]))
        let short = try home.run(
            "keygen", ["recover", "-o", "new.key"], text: words.dropLast().joined(separator: " "))
        expectRefusal(short, 65)
        #expect(!home.files.exists("new.key"))
    }

    @Test func anIdentityWhereACardIsExpectedIsRefusedAndNotShown() throws {
        let secret = try #require(
            JSON.object(parsing: home.files.read("bob.key"))["sign"]?.string)
        for run in [
            try home.run("encrypt", ["-r", "bob.key"], text: "x"),
            try home.run("fingerprint", ["bob.key"]),
            try home.run("encrypt", ["--to", "bob.key", "-i", "alice.key"], text: "x"),
        ] {
            expectRefusal(run, 65)
            #expect(run.stderr.contains("keygen public") && !run.stderr.contains(secret))
        }
    }

    @Test func aCardWhereAnIdentityIsExpectedIsRefused() throws {
        for run in [
            try home.run("keygen", ["public", "bob.card"]),
            try home.run("decrypt", ["-i", "bob.card"], text: "{}"),
            try home.run("encrypt", ["-r", "bob.card", "-s", "-i", "alice.card"], text: "x"),
        ] {
            expectRefusal(run, 65)
            #expect(run.stderr.contains("card"))
        }
    }

    @Test func anAgeRecipientWhereACardIsNeededIs64() throws {
        let record = try JSON.object(parsing: home.files.read("bob.card"))
        let recipient = try #require(record["age"]?.string)
        expectRefusal(
            try home.run("encrypt", ["--to", recipient, "-i", "alice.key"], text: "x"), 64)
        expectRefusal(try home.run("encrypt", ["-r", recipient + "q"], text: "x"), 65)
        #expect(try home.run("encrypt", ["-r", recipient], text: "x").status == 0)
    }

    // MARK: Outputs

    @Test func aFullDeviceIs74() throws {
        let file = try encrypt(randomBytes(100_000))
        expectRefusal(
            try home.run("decrypt", ["-i", "bob.key", "-o", "/dev/full"], stdin: .whole(file)), 74)
        // The same on stdout, and for output that fits into a buffer.
        for (tool, arguments) in [
            ("decrypt", ["-i", "bob.key"]), ("pad", []), ("keygen", ["public", "bob.key"]),
            ("keygen", ["-o", "-"]), ("fingerprint", ["bob.card"]),
            ("encrypt", ["-r", "bob.card"]),
            ("encrypt", ["--help"]), ("keygen", ["--version"]),
        ] {
            let shell = home.other(
                "/bin/sh",
                ["-c", "exec \"$@\" > /dev/full", "sh", Programs.path(tool)] + arguments)
            let run = try shell.run(stdin: .whole(file))
            expectRefusal(run, 74, "\(tool) \(arguments)")
        }
    }

    @Test func aClosedDescriptorIsNotReused() throws {
        let shell = home.other(
            "/bin/sh",
            [
                "-c", "exec \"$@\" 2>&-", "sh", Programs.path("keygen"), "recover", "-o",
                "closed.key",
            ])
        let words = try home.output("keygen", ["words", "bob.key"])
        #expect(try shell.run(stdin: .whole(words)).status == 0)
        #expect(try home.run("keygen", ["public", "closed.key"]).status == 0)
        let silent = home.other(
            "/bin/sh",
            ["-c", "exec \"$@\" >&-", "sh", Programs.path("keygen"), "public", "bob.key"])
        #expect(try silent.run(stdin: .whole([])).status == 74)
    }

    /// Only root can create a file system of 256 KiB.
    static let canMount: Bool = {
        let directory = TemporaryDirectory()
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=256k") == 0 else { return false }
        umount(directory.path)
        return true
    }()

    @Test(.enabled(if: canMount, "only root can mount a small file system"))
    func aFullFileSystemIs74AndLeavesNothing() throws {
        let small = TemporaryDirectory()
        try #require(mount("tmpfs", small.path, "tmpfs", 0, "size=256k") == 0)
        defer { umount2(small.path, Int32(MNT_DETACH)) }
        let file = try encrypt(randomBytes(1 << 20))
        let decrypted = try home.run(
            "decrypt", ["-i", "bob.key", "-o", small("plain")], stdin: .whole(file))
        expectRefusal(decrypted, 74)
        #expect(decrypted.stderr.contains("space"))
        let encrypted = try home.run(
            "encrypt", ["-r", "bob.card", "-o", small("file")], stdin: .whole(file))
        expectRefusal(encrypted, 74)
        #expect(try small.names() == [])
        let message = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: Array("x".utf8))
        small.write("fill", [])
        try? small.append("fill", [UInt8](repeating: 0, count: 256 << 10))
        let stateful = try home.run(
            "decrypt", ["-i", "bob.key"], stdin: .whole(message),
            environment: ["SOTTO_HOME": small("state")])
        #expect([73, 74].contains(stateful.status), "\(stateful.stderr)")
        #expect(stateful.stdout.isEmpty)
    }

    @Test(.enabled(if: canMount, "only root can mount a small file system"))
    func aReadOnlyFileSystemIsNamed() throws {
        let state = TemporaryDirectory()
        try #require(mount("tmpfs", state.path, "tmpfs", 0, "size=1m,mode=700") == 0)
        defer { umount2(state.path, Int32(MNT_DETACH)) }
        let environment = ["SOTTO_HOME": state.path]
        let made = try home.run(
            "keygen", ["prekeys", "bob.key"], environment: environment)
        try #require(made.status == 0, "\(made.stderr)")
        try #require(
            mount(
                "tmpfs", state.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY),
                "size=1m") == 0)
        for (tool, arguments) in [
            ("keygen", ["prekeys", "bob.key"]), ("contact", ["list", "-i", "bob.key"]),
            ("recv", ["--again", "-i", "bob.key"]),
        ] {
            let run = try home.run(tool, arguments, environment: environment)
            expectRefusal(run, 73)
            #expect(run.stderr.contains("read-only file system"), "\(tool): \(run.stderr)")
        }
        let file = try home.run("keygen", ["-q", "-o", state("new.key")])
        #expect(file.status == 73 && file.stderr.contains("read-only file system"))
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalInTheMiddleLeavesNoFile(_ signal: Int32) throws {
        let names = try home.files.names()
        for (tool, arguments) in [
            ("encrypt", ["-r", "bob.card"]), ("decrypt", ["-i", "bob.key"]),
        ] {
            let plain = randomBytes(4 << 20)
            let input = tool == "encrypt" ? plain : try encrypt(plain)
            let pipeline = try Pipeline([home.command(tool, arguments + ["-o", "out"])])
            // More than the pipe's capacity was written, but not the end: the tool is in the middle of its work.
            try pipeline.feed(.whole(Array(input.dropLast(100))))
            pipeline.signal(signal)
            let run = try pipeline.finish()[0]
            #expect(run.wasKilled == signal, "\(tool): \(run.status)")
            #expect(try home.files.names() == names)
        }
    }

    @Test func killLeavesNoFile() throws {
        let names = try home.files.names()
        let pipeline = try Pipeline([home.command("encrypt", ["-r", "bob.card", "-o", "out"])])
        try pipeline.feed(.whole(randomBytes(1 << 20)))
        pipeline.signal(SIGKILL)
        #expect(try pipeline.finish()[0].wasKilled == SIGKILL)
        #expect(try home.files.names() == names)
    }

    @Test func anOutputThatIsTheInputIsRefused() throws {
        let plain = Array("keep me".utf8)
        home.files.write("file", plain)
        link(home.files("file"), home.files("link"))
        symlink("file", home.files("symlink"))
        for output in ["file", "./file", "link", "symlink", home.files("file")] {
            expectRefusal(
                try home.run("encrypt", ["-r", "bob.card", "-o", output, "file"]), 64, "\(output)")
            expectRefusal(try home.run("pad", ["-o", output, "file"]), 64, "\(output)")
        }
        #expect(try home.files.read("file") == plain)
        let file = try encrypt(plain)
        home.files.write("file", file)
        expectRefusal(try home.run("decrypt", ["-i", "bob.key", "-o", "file", "file"]), 64)
        #expect(try home.files.read("file") == file)
    }

    @Test func aNewFileIsPrivate() throws {
        #expect(try home.run("encrypt", ["-r", "bob.card", "-o", "f"], text: "x").status == 0)
        #expect(try home.run("decrypt", ["-i", "bob.key", "-o", "g", "f"]).status == 0)
        for name in ["f", "g"] {
            var status = stat()
            #expect(stat(home.files(name), &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    // MARK: Long files

    @Test func aLongFileWithADamagedEndReleasesOnlyVerifiedBytesAndWithHoldNone() throws {
        var generator = Generator(seed: 20)
        let plain = generator.bytes(20 << 20)
        let file = try encrypt(plain, "-s", "-i", "alice.key")
        let changed = file.flipping(bit: (file.count - 1) * 8)
        let cut = Array(file[..<(18 << 20)])
        for bytes in [changed, cut] {
            let run = try home.run("decrypt", ["-i", "bob.key"], stdin: .whole(bytes))
            #expect(run.status == 11)
            #expect(run.stdout.count >= 16 << 20 && run.stdout.count < plain.count)
            #expect(plain.starts(with: run.stdout))
            for option in [["--hold"], ["-o", "out"], ["--hold", "-o", "out"]] {
                let held = try home.run(
                    "decrypt", ["-i", "bob.key"] + option, stdin: .whole(bytes))
                #expect(held.status == 11 && held.stdout.isEmpty)
                #expect(!home.files.exists("out"))
            }
        }
        let names = try home.files.names()
        let good = try home.run("decrypt", ["-i", "bob.key", "--hold", "-q"], stdin: .whole(file))
        #expect(good.status == 0 && good.stdout == plain && good.stderr.isEmpty)
        #expect(try home.files.names() == names)
    }

    @Test func upToSixteenMiBNothingIsPrintedBeforeTheEndIsVerified() throws {
        let plain = [UInt8](repeating: 7, count: (16 << 20) - 1)
        let file = try encrypt(plain)
        let run = try home.run(
            "decrypt", ["-i", "bob.key"], stdin: .whole(file.flipping(bit: (file.count - 1) * 8)))
        expectRefusal(run, 11)
    }
}
