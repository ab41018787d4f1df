import TestSupport
import Testing

/// `decrypt` refuses every option without an effect by its name.
struct DecryptModeTests {
    private static let identity = "--identity --identity-passphrase --quiet"
    private static let keys = "\(identity) --lock-timeout"
    private static let reading = "--from --trust --text --time --null"
    /// Options that select another mode.
    private static let others = "--attachment --verify"

    static let modes: [ModeCase] = [
        // --time and --null are refused earlier, because they require --text.
        ModeCase(
            "decrypt", "-i bob.key", "file.age",
            takes: "\(identity) \(others) --passphrase --hold --from --output --time --null"),
        ModeCase(
            "decrypt", "-i bob.key --from alice", "file.age",
            takes: "\(keys) --verify --passphrase --hold --from --output --time --null"),
        ModeCase(
            "decrypt", "-i bob.key --text", "messages",
            takes: "\(keys) --chat --events --preview --receipts --stateless \(reading) --output"),
        ModeCase(
            "decrypt", "-i bob.key --text --stateless", "messages",
            takes: "\(identity) --chat --events --stateless \(reading) --output"),
        ModeCase(
            "decrypt", "--again -i bob.key",
            takes: "--again --since \(reading) --json \(keys) --output"),
        ModeCase(
            "decrypt", "--attachment record", "none", takes: "--attachment \(keys) --output"),
        ModeCase(
            "decrypt", "--verify none --from bob.card", "none",
            takes: "--verify --from --quiet"),
        ModeCase(
            "decrypt", "--verify none --from bob", "none", takes: "--verify --from \(keys)"),
        ModeCase("decrypt", "--inspect", "none", takes: "--inspect --json --output --quiet"),
    ]

    private let home: Home

    init() throws {
        home = try Home(people: "alice", "bob")
        let text = Array("hello".utf8)
        try home.files.write("file.age", home.output("encrypt", ["-r", "bob.card"], stdin: text))
        try home.files.write(
            "messages",
            home.output("encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: text))
    }

    @Test(arguments: modes)
    func anOptionWithoutEffectIsRefused(_ mode: ModeCase) throws {
        try mode.expectRefusals(in: home)
    }

    @Test(arguments: [
        (
            ["--trust", "verified"],
            "--trust cannot be combined with an age file; it is only for messages"
        ),
        (
            ["--stateless"],
            "--stateless cannot be combined with an age file; it is only for messages"
        ),
        (["--since", "1"], "--since is only for --again"),
        (
            ["--json"],
            "--json cannot be combined with an age file; it is only for messages, --again, --inspect"
        ),
        (["--again"], "<file> cannot be combined with --again"),
    ])
    func theErrorNamesTheKindOfTheInput(_ arguments: [String], _ text: String) throws {
        let run = try home.run("decrypt", ["-i", "bob.key"] + arguments + ["file.age"])
        #expect(run.status == 64 && run.stdout.isEmpty)
        #expect(run.stderr.contains(text), "\(run.stderr)")
    }

    @Test func anOptionOfFilesIsRefusedForMessages() throws {
        for option in [["--hold"], ["--passphrase", "@ENV:HOME"]] {
            let run = try home.run("decrypt", ["-i", "bob.key"] + option + ["messages"])
            #expect(run.status == 64 && run.stdout.isEmpty)
            #expect(
                run.stderr.contains(
                    "\(option[0]) cannot be combined with messages; it is only for an age file"),
                "\(run.stderr)")
        }
    }
}
