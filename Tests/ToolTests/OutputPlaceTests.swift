import Foundation
import TestSupport
import Testing

/// Tests of `-o` with links, descriptors, devices, pipes and long names.
struct OutputPlaceTests {
    let home: Home
    init() throws { home = try Home(people: "bob") }

    private func age(_ text: String = "new") throws -> [UInt8] {
        try home.output("encrypt", ["-r", "bob.card"], stdin: Array(text.utf8))
    }

    private func decrypt(_ output: String, _ file: [UInt8]) throws -> Run {
        try home.run("decrypt", ["-i", "bob.key", "-o", output], stdin: .whole(file))
    }

    private func link(_ target: String, _ name: String) {
        #expect(symlink(target, home.files(name)) == 0)
    }

    private func isLink(_ name: String) -> Bool {
        var status = stat()
        return lstat(home.files(name), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// A link stays, and the file that it leads to has the new content.
    @Test func aLinkIsFollowed() throws {
        let file = try age()
        mkdir(home.files("folder"), 0o700)
        home.files.write("folder/old", Array("old".utf8))
        link("folder/old", "direct")
        link("direct", "chain")
        link("../direct", "folder/up")
        link(home.files("folder"), "folder-link")
        link("folder/made", "dangling")
        for (output, target) in [
            ("direct", "folder/old"), ("chain", "folder/old"), ("folder/up", "folder/old"),
            ("folder-link/up", "folder/old"), ("dangling", "folder/made"),
        ] {
            if target == "folder/old" { home.files.write(target, Array("old".utf8)) }
            let run = try decrypt(output, file)
            #expect(run.status == 0, "\(output): \(run.stderr)")
            #expect(try home.files.read(target) == Array("new".utf8), "\(output)")
            #expect(isLink(output), "\(output)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: home.files("folder"))
        #expect(names.sorted() == ["made", "old", "up"])
    }

    @Test func aLoopAndALinkIntoNothingAreRefused() throws {
        let file = try age()
        link("b", "a")
        link("a", "b")
        link("none/file", "nowhere")
        for output in ["a", "nowhere"] {
            let run = try decrypt(output, file)
            #expect(run.status == 73 && run.stderr.contains("cannot create"), "\(run.stderr)")
            #expect(isLink(output))
        }
    }

    /// A secret key replaces nothing, and a link counts as something.
    @Test func aNewKeyFollowsNoLink() throws {
        link("made", "dangling")
        let run = try home.run("keygen", ["-q", "-o", "dangling"])
        #expect(run.status == 73)
        #expect(isLink("dangling") && !home.files.exists("made"))
    }

    /// Names of descriptors are written as they are: a file behind them gets the content at its place.
    @Test func aDescriptorIsWrittenAsItIs() throws {
        home.files.write("file", try age())
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link", "/dev/fd/7"] {
            if name == "link" { link("/proc/self/fd/1", "link") }
            let line =
                "printf before > out; { exec 7>&1; \(Programs.path("decrypt")) -i bob.key -o \(name) file; printf after; } >> out"
            let run = try home.other("/bin/bash", ["-c", line]).run()
            #expect(run.status == 0, "\(name): \(run.stderr)")
            let text = String(decoding: try home.files.read("out"), as: UTF8.self)
            #expect(text == "beforenewafter", "\(name)")
        }
        #expect(isLink("link"))
        for name in ["/dev/fd/8", "/dev/stdin"] {
            let line = "\(Programs.path("decrypt")) -i bob.key -o \(name) file < file 8>&-"
            let run = try home.other("/bin/bash", ["-c", line]).run()
            #expect([64, 73, 74].contains(run.status), "\(name): \(run.status) \(run.stderr)")
        }
        // Standard output is the input file.
        let line = "\(Programs.path("decrypt")) -i bob.key -o /dev/stdout file >> file"
        let run = try home.other("/bin/bash", ["-c", line]).run()
        #expect(run.status == 64 && run.stderr.contains("is also an input file"))
    }

    @Test func aDeviceAndAPipeAreWritten() throws {
        home.files.write("file", try age())
        #expect(try decrypt("/dev/null", age()).status == 0)
        #expect(mkfifo(home.files("pipe"), 0o600) == 0)
        link("pipe", "to-pipe")
        for name in ["pipe", "to-pipe"] {
            let line = "cat pipe & \(Programs.path("decrypt")) -i bob.key -o \(name) file; wait"
            #expect(try home.other("/bin/bash", ["-c", line]).run().text == "new", "\(name)")
        }
    }

    /// A file name has 255 bytes at most, also when it is replaced.
    @Test(arguments: [249, 250, 255]) func aLongNameIsReplaced(_ count: Int) throws {
        let name = String(repeating: "n", count: count)
        for text in ["one", "two"] {
            let run = try decrypt(name, age(text))
            #expect(run.status == 0, "\(run.stderr)")
            #expect(try home.files.read(name) == Array(text.utf8))
        }
        #expect(try home.files.names().allSatisfy { !$0.hasPrefix(".sotto") })
    }
}
