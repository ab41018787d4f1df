import TestSupport
import Testing

/// Every option without an effect in a mode is refused by name.
struct ModeTests {
    static let encrypt: [ModeCase] = [
        ModeCase(
            "encrypt", "-r bob.card", "-s none",
            takes:
                "--recipient --recipients-file --sign --armor --classic --stateless --identity --identity-passphrase --output --quiet"
        ),
        ModeCase(
            "encrypt", "-r bob", "-s none",
            takes:
                "--recipient --recipients-file --sign --armor --classic --stateless --lock-timeout --identity --identity-passphrase --output --quiet"
        ),
        ModeCase(
            "encrypt", "-r age1x", "-s none",
            takes:
                "--recipient --recipients-file --sign --armor --classic --identity --identity-passphrase --output --quiet"
        ),
        ModeCase(
            "encrypt", "-p", "-s none",
            takes:
                "--ask-passphrase --sign --armor --identity --identity-passphrase --output --quiet"
        ),
        ModeCase(
            "encrypt", "--passphrase @FILE:none", "-s none",
            takes: "--passphrase --sign --armor --identity --identity-passphrase --output --quiet"),
        ModeCase(
            "encrypt", "", "none",
            takes:
                "--recipient --recipients-file --ask-passphrase --passphrase --to --group --chat --detached --jsonl --anyway --suite --classic --trust --ttl --stateless --lock-timeout --identity --identity-passphrase --output --elsewhere --json --quiet"
        ),
        ModeCase(
            "encrypt", "--to bob.card", "none",
            takes:
                "--chat --to --jsonl --anyway --suite --bundle --new-session --require-opk --classic --trust --ttl --stateless --lock-timeout --attach --name --content-type --voice --keep-metadata --blob --identity --identity-passphrase --output --elsewhere --json --quiet"
        ),
        ModeCase(
            "encrypt", "--to bob.card --stateless", "none",
            takes:
                "--chat --to --jsonl --anyway --suite --classic --trust --ttl --stateless --attach --name --content-type --voice --keep-metadata --blob --identity --identity-passphrase --output --json --quiet"
        ),
        ModeCase(
            "encrypt", "--to bob.card --suite sealed", "none",
            takes:
                "--to --jsonl --anyway --suite --classic --trust --ttl --stateless --lock-timeout --attach --name --content-type --voice --keep-metadata --blob --identity --identity-passphrase --output --elsewhere --json --quiet"
        ),
        ModeCase(
            "encrypt", "--group team", "none",
            takes:
                "--group --jsonl --anyway --attach --name --content-type --voice --keep-metadata --trust --ttl --lock-timeout --identity --identity-passphrase --output --elsewhere --json --quiet"
        ),
        ModeCase(
            "encrypt", "--chat family.chat", "none",
            takes:
                "--to --chat --jsonl --anyway --bare --stateless --lock-timeout --attach --name --content-type --voice --keep-metadata --blob --suite --identity --identity-passphrase --output --quiet"
        ),
        ModeCase(
            "encrypt", "--chat family.chat --to bob.card", "none",
            takes:
                "--chat --to --jsonl --anyway --suite --trust --ttl --stateless --lock-timeout --attach --name --content-type --voice --keep-metadata --blob --identity --identity-passphrase --output --elsewhere --json --quiet"
        ),
        ModeCase(
            "encrypt", "--detached", "none",
            takes:
                "--detached --trusted-comment --identity --identity-passphrase --output --quiet"),
    ]

    @Test(arguments: encrypt)
    func anOptionWithoutEffectIsRefused(_ mode: ModeCase) throws {
        try mode.expectRefusals(in: Home(people: "bob"))
    }

    @Test(arguments: [
        (
            ["-r", "bob.card", "-a", "--jsonl"],
            "--jsonl cannot be combined with -r or -R; it is only for --to"
        ),
        (
            ["--to", "bob.card", "-a"],
            "-a cannot be combined with --to; it is only for -r or -R, -p"
        ),
        (["--detached", "--to", "bob.card"], "--to cannot be combined with --detached\n"),
        (
            ["--stateless", "--to", "bob.card", "--trust", "verified"],
            "only --trust any is possible"
        ),
        (["-p", "-i", "alice.key"], "-i requires -s or --to"),
        (
            ["-r", "bob.card", "--identity-passphrase", "@ENV:HOME"],
            "--identity-passphrase cannot be combined with -r without -s"
        ),
        (["--chat", "c", "--suite", "ratchet"], "--chat is only for --suite phrase"),
        (["--chat", "c", "--bare", "--attach", "a", "--blob", "b"], "--attach cannot be combined"),
        (["--to", "bob.card", "--content-type", "image/png"], "--content-type requires --attach"),
    ])
    func theErrorOfEncryptNamesTheConflict(_ arguments: [String], _ text: String) throws {
        let run = try Home(people: "bob").run("encrypt", arguments, text: "x")
        #expect(run.status == 64 && run.stderr.contains(text), "\(run.stderr)")
    }

    /// A card file is compared with the contacts, so `--stateless` has an effect.
    @Test func theCardOfABlockedContactIsUsedOnlyWithoutTheState() throws {
        let home = try Home(people: "alice", "bob")
        let alice = ["-i", "alice.key"]
        for command in [["add", "bob.card"], ["block", "bob"]] {
            _ = try home.output("contact", command + alice)
        }
        let arguments = ["-r", "bob.card", "-s"] + alice
        #expect(try home.run("encrypt", arguments, text: "x").status == 12)
        #expect(try home.run("encrypt", arguments + ["--stateless"], text: "x").status == 0)
    }

    /// With `--stateless` the state is not read, so a contact's name is unknown.
    @Test(arguments: ["-r", "--to"])
    func aNameIsUnknownWithoutTheState(_ option: String) throws {
        let home = try Home(people: "alice", "bob")
        let alice = ["-i", "alice.key"]
        _ = try home.output("contact", ["add", "bob.card"] + alice)
        let signed = option == "-r" ? ["-s"] : []
        let arguments = [option, "bob"] + alice + signed
        #expect(try home.run("encrypt", arguments, text: "x").status == 0)
        let run = try home.run("encrypt", arguments + ["--stateless"], text: "x")
        #expect(run.status == 66 && run.stdout.isEmpty, "\(run.stderr)")
        #expect(run.stderr.contains("omit --stateless"), "\(run.stderr)")
    }
}
