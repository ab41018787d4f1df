import Glibc
import Sotto
import SottoTool
import TestSupport
import Testing

/// A tool whose output pipe was closed ends by SIGPIPE, like cat(1) and age(1).
struct ClosedPipeTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob") }

    /// The status that a shell reports for a process ended by SIGPIPE.
    static let status = ExitStatus.closedPipe.rawValue

    /// Runs a tool with a pipe without a reader as standard output.
    func run(_ tool: String, _ arguments: [String], _ input: [UInt8] = []) throws -> Run {
        let pipeline = try Pipeline([home.command(tool, arguments)], hasReader: false)
        try pipeline.feed(.whole(input))
        return try pipeline.finish()[0]
    }

    @Test func theStatusIsThatOfTheSignal() { #expect(Self.status == 128 + SIGPIPE) }

    @Test(
        arguments: [
            ("keygen", ["public", "alice.key"]), ("keygen", ["words", "alice.key"]),
            ("keygen", ["public", "--uri", "alice.key"]), ("keygen", ["prekeys", "alice.key"]),
            ("keygen", ["--help"]), ("keygen", ["--name", "new", "-o", "-"]),
            ("fingerprint", ["alice.card"]), ("qr", []), ("pad", []),
            ("encrypt", ["-r", "bob.card"]), ("encrypt", ["-r", "bob.card", "-a"]),
            ("encrypt", ["--to", "bob.card", "-i", "alice.key"]),
            ("encrypt", ["--jsonl", "--to", "bob.card", "-i", "alice.key"]),
            ("contact", ["export", "-i", "alice.key"]), ("contact", ["list", "-i", "alice.key"]),
            ("recv", ["--version"]), ("sotto", ["help"]),
            ("sotto", ["keygen", "public", "alice.key"]),
        ] as [(String, [String])])
    func aClosedPipeEndsATool(_ tool: String, _ arguments: [String]) throws {
        _ = try home.output("contact", ["add", "bob.card", "-i", "alice.key"])
        let run = try run(tool, arguments, Array("hello\n".utf8))
        #expect(run.status == Self.status, "\(tool) \(arguments): \(run.status) \(run.stderr)")
        #expect(!run.stderr.contains(": error: "), "\(run.stderr)")
    }

    @Test func aClosedPipeEndsAToolInTheMiddle() throws {
        let plain = randomBytes(3 << 20)
        let runs = try Command.pipeline(
            [
                home.command("encrypt", ["-r", "bob.card"]),
                home.other("/usr/bin/head", ["-c", "1"]),
            ], stdin: .whole(plain))
        #expect(runs[0].status == Self.status && runs[0].stderr.isEmpty)
        #expect(runs[1].stdout.count == 1)
        let file = try home.output("encrypt", ["-r", "bob.card"], stdin: plain)
        for (tool, arguments, input) in [
            ("decrypt", ["-i", "bob.key"], file), ("pad", [], plain),
        ] {
            let run = try run(tool, arguments, input)
            #expect(run.status == Self.status && run.stderr.isEmpty, "\(tool): \(run.stderr)")
        }
    }

    @Test func aProgramThatAToolRunsEndsItToo() throws {
        let run = try run("keygen", ["paper", "-o", "-", "alice.key"])
        #expect(run.status == Self.status, "\(run.status) \(run.stderr)")
    }

    @Test func decryptedMessagesAreRemembered() throws {
        let line = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: Array("once".utf8))
        let decrypt = ["-i", "bob.key"]
        #expect(try run("decrypt", decrypt, line).status == Self.status)
        let again = try home.run("decrypt", decrypt, stdin: .whole(line))
        #expect(again.status == 0 && again.text.contains("\"seen\":true"), "\(again.text)")
        #expect(again.text.contains("once"))
    }

    @Test func aClosedPipeLeavesNoFile() throws {
        let names = try home.files.names()
        _ = try run("encrypt", ["-r", "bob.card"], randomBytes(1 << 20))
        #expect(try home.files.names() == names)
    }

    /// systemd(1) starts services with SIGPIPE ignored.
    @Test func ifTheSignalIsIgnoredAClosedPipeIsAnError() throws {
        let script = "trap '' PIPE; exec \"$0\" public alice.key"
        let command = home.other("/bin/sh", ["-c", script, Programs.path("keygen")])
        let run = try Pipeline([command], hasReader: false).finish()[0]
        #expect(run.status == 74 && run.stderr.contains("standard output"), "\(run.stderr)")
    }

    @Test func aClosedStandardErrorEndsNothing() throws {
        let script = "\"$0\" paper -o - alice.key 2>&-"
        let run = try home.other("/bin/sh", ["-c", script, Programs.path("keygen")]).run()
        #expect(run.status == 0)
    }
}
