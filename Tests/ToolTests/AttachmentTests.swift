import Foundation
import Sotto
import TestSupport
import Testing

@testable import SottoMessages

/// `encrypt --attach` and `decrypt --attachment` with the built programs.
struct AttachmentTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }
    var files: TemporaryDirectory { they.home.files }

    init() throws { they = try Conversing() }

    private func attach(_ name: String = "file", to blob: String = "blob") throws -> Run {
        try alice.run("encrypt", ["--to", "bob", "-q", "--attach", name, "--blob", blob])
    }

    /// Sends a file. Returns the opened message.
    private func send(_ file: [UInt8]) throws -> Run {
        files.write("file", file)
        let sealed = try attach()
        guard sealed.status == 0 else { throw Unexpected(sealed) }
        return try bob.run("decrypt", stdin: sealed.stdout)
    }

    @Test(arguments: [0, 1, 4_097, 65_535, 65_536, 65_537, 3_000_000])
    func aFileArrives(_ size: Int) throws {
        let file = randomBytes(size)
        let message = try send(file)
        let body = try #require(try message.records.first).body
        #expect(body["size"] == .integer(Int64(size)) && body["key"] == nil)
        #expect(try files.read("blob").count == Int(Blob.size(ofFile: Int64(size))))
        files.write("message", message.stdout)
        let arguments = ["--attachment", "message"]
        #expect(try bob.run("decrypt", arguments + ["-o", "got", "blob"]).status == 0)
        #expect(try files.read("got") == file)
        // To a pipe, and from a pipe.
        #expect(try bob.run("decrypt", arguments + ["blob"]).stdout == file)
        #expect(try bob.run("decrypt", arguments, stdin: files.read("blob")).stdout == file)
        #expect(try bob.run("decrypt", ["--attachment", "1", "blob"]).stdout == file)
        // One standard input cannot have both.
        let both = try bob.run("decrypt", ["--attachment", "-"], stdin: message.stdout)
        #expect(both.status == 64)
    }

    /// A pipe can be attached: its length is not needed in advance.
    @Test func aPipeIsAttached() throws {
        let file = randomBytes(200_000)
        files.write("file", file)
        var command = alice.command("encrypt", [])
        let line = "\"$0\" -q --to bob --attach <(cat file) --blob blob </dev/null"
        command.arguments = ["-c", line, command.path]
        command.path = "/bin/bash"
        let sealed = try command.run()
        #expect(sealed.status == 0, "\(sealed.stderr)")
        files.write("message", try bob.run("decrypt", stdin: sealed.stdout).stdout)
        #expect(try bob.run("decrypt", ["--attachment", "message", "blob"]).stdout == file)
    }

    /// No byte of a changed, cut, extended or exchanged blob is written, to a file or to a pipe.
    @Test func nothingOfAChangedBlobIsWritten() throws {
        let file = randomBytes(200_000)
        files.write("message", try send(file).stdout)
        let blob = try files.read("blob")
        var forms: [(String, [UInt8])] = [
            ("cut", Array(blob.dropLast())), ("cut at a chunk", Array(blob[..<(65_536 + 32)])),
            ("extended", blob + [0]), ("empty", []), ("exchanged", randomBytes(blob.count)),
        ]
        for place in [0, 16, 65_552, 100_000, blob.count - 1] {
            var changed = blob
            changed[place] ^= 0x80
            forms.append(("byte \(place)", changed))
        }
        for (what, bytes) in forms {
            files.write("changed", bytes)
            let saved = try bob.run(
                "decrypt", ["--attachment", "message", "-o", "got", "changed"])
            let (status, words): (Int32, String) =
                bytes.isEmpty ? (1, "the input is empty") : (11, "fetch it again")
            #expect(saved.status == status && saved.stderr.contains(words), "\(what)")
            #expect(!FileManager.default.fileExists(atPath: files("got")), "\(what)")
            let piped = try bob.run("decrypt", ["--attachment", "message"], stdin: bytes)
            #expect(piped.status == status && piped.stdout.isEmpty, "\(what)")
        }
    }

    /// The input is the text of the message and not a second file.
    @Test func aSecondFileNeedsItsOption() throws {
        files.write("file", randomBytes(100))
        for (text, words) in [
            ([UInt8](repeating: 0xFF, count: 100), "not UTF-8"),
            ([UInt8](repeating: 0x61, count: 40_000), "too long"),
        ] {
            files.write("other", text)
            let run = try alice.run("encrypt", ["--to", "bob", "--attach", "file", "other"])
            #expect(run.status == 65 && run.stdout.isEmpty, "\(run.stderr)")
            #expect(run.stderr.contains(words) && run.stderr.contains("--attach again"))
        }
    }

    @Test func aFileAboveTheLimitIsRefused() throws {
        let large = open(files("file"), O_CREAT | O_WRONLY, 0o600)
        #expect(ftruncate(large, 100 << 20 + 1) == 0)
        close(large)
        let run = try attach()
        #expect(run.status == 65 && run.stdout.isEmpty)
        #expect(run.stderr.contains("file is longer than 100 MiB"), "\(run.stderr)")
        #expect(!FileManager.default.fileExists(atPath: files("blob")))
    }

    @Test func aFullDiskLeavesNoMessage() throws {
        files.write("file", randomBytes(300_000))
        let run = try attach(to: "/dev/full")
        #expect(run.status == 74 && run.stdout.isEmpty, "\(run.stderr)")
        #expect(try alice.history("bob").isEmpty)
        #expect(try attach("missing").status == 66)
    }

    /// Kecalek and Message Flow read one box and know no chunks.
    @Test func aMessengerGetsOneBox() throws {
        try they.two.beginClassical()
        let file = randomBytes(100_000)
        files.write("file", file)
        let sealed = try alice.run(
            "bridge",
            ["seal", "kecalek", "--to", "bob", "-q", "--attach", "file", "--blob", "blob"])
        #expect(sealed.status == 0, "\(sealed.stderr)")
        let opened = try bob.run(
            "bridge", ["open", "kecalek", "--from", "alice"], stdin: sealed.stdout)
        let body = try #require(try opened.records.first, "\(opened.stderr)").body
        let key = try Fields<FieldError>(body)["key"].bytes(count: 32)
        #expect(body["blob"] == nil && body["size"] == .integer(100_000))
        #expect(
            try AESGCM.open(files.read("blob"), key: SecretBytes(copying: key)) == file)
        files.write("message", opened.stdout)
        #expect(try bob.run("decrypt", ["--attachment", "message", "blob"]).stdout == file)
    }

    /// A long file is not held in memory, although one tag covers it. Its chunks are parts of the blob.
    @Test func aLongBoxIsBoundedInMemory() throws {
        try they.two.beginClassical()
        files.write("beginning", randomBytes(100_000))
        let bounded = "ulimit -S -v 250000; exec \"$0\" \"$@\""
        func run(_ party: Party, _ tool: String, _ arguments: [String]) throws -> Run {
            var command = party.command(tool, arguments)
            command.arguments = ["-c", bounded, command.path] + command.arguments
            command.path = "/bin/bash"
            return try command.run()
        }
        func shell(_ line: String) throws {
            let made = try Command(path: "/bin/bash", ["-c", line], directory: files.path).run()
            #expect(made.status == 0, "\(made.stderr)")
        }
        try shell("cp beginning file && truncate -s 300M file")
        let sealed = try run(
            alice, "bridge",
            ["seal", "kecalek", "--to", "bob", "-q", "--attach", "file", "--blob", "blob"])
        #expect(sealed.status == 0, "\(sealed.stderr)")
        let opened = try bob.run(
            "bridge", ["open", "kecalek", "--from", "alice"], stdin: sealed.stdout)
        files.write("message", opened.stdout)
        try shell(
            "split -b 24576 -a 4 blob chunk. && rm blob && cat chunk.* > joined && rm chunk.*")
        let saved = try run(bob, "decrypt", ["--attachment", "message", "-o", "got", "joined"])
        #expect(saved.status == 0, "\(saved.stderr)")
        try shell("cmp file got")
    }

    /// A file of Kecalek is one AES-256-GCM box, with its key in the body.
    @Test func aBlobOfKecalekIsOpened() throws {
        let (file, key) = (randomBytes(50_000), randomBytes(32))
        files.write("blob", AESGCM.seal(file, key: SecretBytes(copying: key)))
        let body: JSONObject = [
            "type": .string("file"), "name": .string("old"), "contentType": .string("a/b"),
            "size": .integer(50_000), "key": .base64(key),
        ]
        let line: JSONObject = [
            "v": .integer(1), "type": .string("message"), "body": .object(body),
        ]
        let sealed = try alice.run(
            "encrypt", ["--to", "bob", "--jsonl"], stdin: line.serialized() + [10])
        files.write("message", try bob.run("decrypt", stdin: sealed.stdout).stdout)
        let run = try bob.run("decrypt", ["--attachment", "message", "blob"])
        #expect(run.status == 0 && run.stdout == file, "\(run.stderr)")
        let piped = try bob.run("decrypt", ["--attachment", "message"])
        #expect(piped.status == 64 && piped.stderr.contains("is read twice"))
    }

    // MARK: Metadata

    /// Pillow makes pictures with a place, a name and a camera, and looks at what arrives.
    @Test(
        .needs(.pythonPackages),
        arguments: ["photo.jpg", "scan.jpg", "drawing.png"])
    func aPictureArrivesWithoutItsMetadata(_ name: String) throws {
        let made = try Peers.run("pictures.py", ["make", files.path])
        #expect(made.status == 0, "\(made.stderr)")
        let sealed = try attach(name)
        let message = try bob.run("decrypt", stdin: sealed.stdout)
        let type = name.hasSuffix("png") ? "image/png" : "image/jpeg"
        let body = try #require(try message.records.first).body
        #expect(body["contentType"] == .string(type))
        files.write("message", message.stdout)
        #expect(
            try bob.run("decrypt", ["--attachment", "message", "-o", "got", "blob"]).status == 0)
        let same = try Peers.run("pictures.py", ["compare", files(name), files("got")])
        #expect(same.status == 0, "\(same.stderr)")
        #expect(body["size"] == .integer(Int64(try files.read("got").count)))
        // With --keep-metadata each byte arrives.
        let kept = try alice.run(
            "encrypt",
            ["--to", "bob", "-q", "--attach", name, "--blob", "blob", "--keep-metadata"])
        let whole = try bob.run("decrypt", stdin: kept.stdout)
        files.write("message", whole.stdout)
        let saved = try bob.run("decrypt", ["--attachment", "message", "blob"])
        #expect(try saved.stdout == files.read(name))
    }

    @Test func aCutPictureIsRefusedWithoutAdviceToSendItsMetadata() throws {
        files.write("file", [0xFF, 0xD8, 0xFF, 0xE0, 0, 16, 1, 2, 3])
        let run = try attach()
        #expect(run.status == 65 && run.stdout.isEmpty)
        #expect(
            run.stderr.contains("save it as a new file") && !run.stderr.contains("--keep-metadata"),
            "\(run.stderr)")
        let kept = try alice.run(
            "encrypt", ["--to", "bob", "--attach", "file", "--blob", "blob", "--keep-metadata"])
        #expect(kept.status == 0)
        // A format whose metadata stays is named.
        files.write("file", Array("....ftypheic....".utf8))
        let note = try alice.run("encrypt", ["--to", "bob", "--attach", "file", "--blob", "blob"])
        #expect(note.status == 0 && note.stderr.contains("are not removed"), "\(note.stderr)")
        #expect(try attach().stderr.isEmpty)
        let alone = try alice.run("encrypt", ["--to", "bob", "--keep-metadata"])
        #expect(alone.status == 64)
    }

    /// An imported record can have any suite. The command that the line shows is harmless when it is pasted.
    @Test func theSuiteOfARecordBeginsNoCommand() throws {
        let record = try JSON.object(
            parsing: Array(
                """
                {"suite":"x; touch pwned #","body":{"type":"text","text":""},
                "details":{"untrusted":{"attachment":{"objectKey":"a","key":"AAAA"}}}}
                """.utf8))
        let file = try #require(AttachedFile(record: record))
        let line = file.line(number: 7, identity: "")
        #expect(line.contains("sotto bridge open 'x; touch pwned #' --attachment 7"), "\(line)")
    }
}
