import TestSupport
import Testing

/// `bridge`, `keygen`, `recv`, `send` and `fingerprint` refuse every option without an effect by its name.
struct OtherModeTests {
    private static let owner = "--identity --identity-passphrase"
    private static let store = "\(owner) --lock-timeout"
    private static let output = "--output --quiet"
    private static let contacts = "--trust --lock-timeout \(owner) --jsonl --anyway \(output)"
    private static let attachment = "--attach --name --content-type --voice --keep-metadata --blob"
    private static let session = "--bundle --new-session --require-opk --classic"
    private static let text = "--text --time --null --lock-timeout \(owner) \(output)"
    private static let messages = "\(text) --from --trust --preview --stateless"

    static let bridge: [ModeCase] = [
        ModeCase(
            "bridge seal", "whisper2 --to bob.card", "none",
            takes: "--to \(contacts) \(attachment) --stateless --whisper-id --group-id"),
        ModeCase(
            "bridge seal", "whisper2 --to bob.card --stateless", "none",
            takes:
                "--to --trust \(owner) --jsonl --anyway \(output) \(attachment) --stateless --whisper-id --group-id"
        ),
        ModeCase(
            "bridge seal", "whisper2 --group team", "none",
            takes: "--group \(contacts) \(attachment) --whisper-id --group-id"),
        ModeCase(
            "bridge seal", "mercurio --to bob.card", "none",
            takes: "--to --snake-case \(contacts) --stateless"),
        ModeCase(
            "bridge seal", "kecalek --group team", "none",
            takes: "--group --group-id \(contacts) \(attachment) \(session)"),
        ModeCase(
            "bridge seal", "kecalek --to bob.card", "none",
            takes: "--to --group-id \(contacts) \(attachment) \(session)"),
        ModeCase(
            "bridge seal", "flow --to bob.card", "none",
            takes: "--to \(contacts) \(attachment) \(session) --user-id"),
        ModeCase(
            "bridge seal", "shainy --chat c", "none",
            takes:
                "--chat --show-secret --gcm --no-hash \(store) --stateless --jsonl --anyway \(output)"
        ),
        ModeCase(
            "bridge seal", "shainy --public-channel", "none",
            takes:
                "--public-channel --gcm --no-hash \(store) --stateless --jsonl --anyway \(output)"),
        ModeCase(
            "bridge open", "whisper2 --text", "none",
            takes: "\(messages) --whisper-id --max-skew --allow-unverified"),
        ModeCase(
            "bridge open", "whisper2 --text --stateless", "none",
            takes:
                "--text --time --null \(owner) \(output) --from --trust --stateless --whisper-id --max-skew --allow-unverified"
        ),
        ModeCase(
            "bridge open", "whisper2 --attachment x", "none",
            takes: "--attachment --lock-timeout \(owner) \(output)"),
        ModeCase(
            "bridge open", "mercurio --text", "none",
            takes: "\(messages) --oaep-sha1 --allow-unverified"),
        ModeCase(
            "bridge open", "shainy --text", "none",
            takes: "\(messages) --chat --allow-hidden-hash"),
        ModeCase("bridge open", "kecalek --text", "none", takes: "\(messages) --own-copy"),
        ModeCase(
            "bridge open", "kecalek --own-copy --text", "none",
            takes: "\(text) --own-copy --stateless"),
        ModeCase("bridge open", "flow --text", "none", takes: "\(messages) --ack --read"),
        ModeCase("bridge account", "whisper2", "none", takes: "\(owner) --whisper-id --id"),
        ModeCase("bridge account", "mercurio", "none", takes: "\(owner) --signed --form"),
        ModeCase("bridge account", "mercurio --form web", "none", takes: "\(owner) --form"),
        ModeCase("bridge account", "kecalek", "none", takes: "\(owner) --user-id"),
        ModeCase("bridge answer", "whisper2", "none", takes: owner),
        ModeCase("bridge answer", "kecalek --key none", takes: "--key --password"),
        ModeCase(
            "bridge import", "ecp1", "none",
            takes: "--password --name --relay --protect --passphrase --output --quiet"),
        ModeCase("bridge import", "rsa", "none", takes: "--password \(owner) --quiet"),
        ModeCase("bridge import", "contacts", "none", takes: "\(owner) --lock-timeout --quiet"),
        ModeCase("bridge export", "ecp1", "none", takes: "--password \(owner) --output --quiet"),
        ModeCase(
            "bridge export", "rsa --unprotected", "none",
            takes: "--unprotected \(owner) --output --quiet"),
        ModeCase(
            "bridge export", "contacts", "none",
            takes: "--json --lock-timeout \(owner) --output --quiet"),
        ModeCase(
            "bridge chat", "--phrase @FILE:none",
            takes: "--store --name --phrase --output --quiet"),
        ModeCase("bridge chat", "--public none", takes: "--public --show-secret --quiet \(store)"),
        ModeCase("bridge chat", "--read-name none", takes: "--read-name --quiet \(store)"),
        ModeCase(
            "bridge chat", "--store --name x --phrase @FILE:none",
            takes: "--store --name --phrase --quiet \(store)"),
        ModeCase("bridge chat", "--add none", takes: "--add --name --quiet \(store)"),
        ModeCase(
            "bridge login-key", "--password @FILE:none -o made",
            takes: "--bits --password --output"),
        ModeCase("bridge login-key", "--public none", takes: "--public --password"),
        ModeCase("bridge login-key", "--record none", takes: "--record --password \(owner)"),
        ModeCase("bridge login-key", "--revoke", takes: "--revoke \(owner)"),
    ]

    static let keygen: [ModeCase] = [
        ModeCase("keygen export", "age", "none", takes: "--classic --public-key --output \(owner)"),
        ModeCase("keygen export", "ssh", "none", takes: "--public-key --output \(owner)"),
        ModeCase(
            "keygen export", "minisign", "none",
            takes: "--password --unprotected --public-key --output \(owner)"),
        ModeCase(
            "keygen export", "minisign --public-key", "none",
            takes: "--public-key --output \(owner)"),
        ModeCase("keygen chat", "--public none", takes: "--public --quiet \(store)"),
        ModeCase("keygen chat", "--read-name none", takes: "--read-name --quiet \(store)"),
        ModeCase("keygen chat", "--list", takes: "--list --quiet \(store)"),
        ModeCase("keygen chat", "--forget none", takes: "--forget --quiet \(store)"),
    ]

    private static let relay = "--relay --ca"

    static let recv: [ModeCase] = [
        ModeCase(
            "recv", "-i none",
            takes:
                "\(relay) \(owner) --lock-timeout --follow --wait --poll-every --protocol --max --exec --invitation --no-bundles --stateless --again --dead --forget --card-of --turn --wake --no-wake --invite --announcements --bundle --card --room --blob --meeting --json --quiet"
        ),
        ModeCase(
            "recv", "-i none --stateless",
            takes:
                "\(relay) \(owner) --follow --wait --poll-every --protocol --max --exec --invitation --stateless --dead --bundle --json --quiet"
        ),
        ModeCase(
            "recv", "--login-key none --of bob.card",
            takes:
                "\(relay) --login-key --login-password --of --follow --wait --poll-every --protocol --max --exec --stateless --dead --json --quiet"
        ),
        ModeCase(
            "recv", "--again -i none",
            takes: "\(owner) --lock-timeout --again --max --json --quiet"),
        ModeCase(
            "recv", "--forget 00000000-0000-4000-8000-000000000000 -i none",
            takes: "\(owner) --lock-timeout --forget --quiet"),
        ModeCase(
            "recv", "--dead -i none",
            takes:
                "\(relay) \(owner) --lock-timeout --dead --stateless --invitation --exec --max --json --quiet"
        ),
        ModeCase(
            "recv", "--dead --stateless -i none",
            takes: "\(relay) \(owner) --dead --stateless --invitation --exec --max --json --quiet"),
        ModeCase(
            "recv", "--bundle bob.card -i none",
            takes: "\(relay) \(owner) --lock-timeout --bundle --stateless --quiet"),
        ModeCase(
            "recv", "--card bob.card -i none",
            takes: "\(relay) \(owner) --lock-timeout --card --quiet"),
        ModeCase(
            "recv", "--room none -i none",
            takes: "\(relay) \(owner) --room --quiet"),
        ModeCase(
            "recv", "--blob none -i none",
            takes: "\(relay) \(owner) --lock-timeout --blob --keep --quiet"),
    ]

    static let send: [ModeCase] = [
        ModeCase(
            "send", "",
            takes:
                "\(relay) --protocol --lock-timeout --list --drop --text --json --verbose --quiet"),
        ModeCase("send", "--list", takes: "--list --text --json --lock-timeout"),
        ModeCase("send", "--drop none", takes: "--drop --text --json --lock-timeout"),
    ]

    private static let numbers =
        "--with --style --key --user --with-key --with-user \(owner) --json"

    static let fingerprint: [ModeCase] = [
        ModeCase(
            "fingerprint", "--style sotto", "bob.card",
            takes: "\(numbers) --words --randomart --qr --check"),
        ModeCase(
            "fingerprint", "--json", "bob.card", takes: "\(numbers) --words --check"),
        ModeCase("fingerprint", "--check 1", "bob.card", takes: "\(numbers) --check --quiet"),
        ModeCase(
            "fingerprint", "--key x --user u",
            takes:
                "--with --style --key --user --with-key --with-user --json --words --randomart --qr --check"
        ),
    ]

    static let groupDoor: [ModeCase] = [
        ModeCase(
            "group door", "none -i none",
            takes: "\(owner) --lock-timeout --new-phrase --close --publish --json --quiet"),
        ModeCase(
            "group door", "--new-phrase none -i none",
            takes:
                "\(owner) --lock-timeout --new-phrase --phrase --public-phrase --relay --anyway --json --quiet"
        ),
        ModeCase(
            "group door", "--close none -i none",
            takes: "\(owner) --lock-timeout --close --anyway --json --quiet"),
        ModeCase(
            "group door", "--publish none -i none",
            takes: "\(owner) --lock-timeout --publish --json --quiet"),
    ]

    @Test(arguments: bridge + keygen + recv + send + fingerprint + groupDoor)
    func anOptionWithoutEffectIsRefused(_ mode: ModeCase) throws {
        try mode.expectRefusals(in: Home(people: "bob"))
    }

    /// The error names all modes that have the option, also the mode that no option selects.
    @Test func theErrorOfRecvNamesTheModeWithoutAnOption() throws {
        let run = try Home(people: "bob").run(
            "recv", ["--bundle", "bob.card", "--follow", "-i", "bob.key"])
        #expect(run.status == 64)
        #expect(
            run.stderr.contains(
                "--follow cannot be combined with --bundle; it is only for --stateless, --login-key, receiving envelopes\n"
            ), "\(run.stderr)")
    }

    @Test func trustNeedsContacts() throws {
        let run = try Home(people: "bob").run(
            "bridge",
            ["seal", "whisper2", "--to", "bob.card", "--stateless", "--trust", "verified"],
            text: "x")
        #expect(run.status == 64 && run.stderr.contains("only --trust any is possible"))
    }

    @Test(arguments: [
        ("contact", ["import", "--passphrase", "@FILE:bob.card", "-i", "bob.key", "bob.card"]),
        ("qr", ["scan", "--camera", "/dev/null", "--time-limit", "1"]),
        ("qr", ["scan", "--camera", "/dev/null", "--memory-limit", "100"]),
        ("relay", ["--store", "x.db", "--listen", "127.0.0.1:0", "--wake-every", "5"]),
    ])
    func aLoneOptionIsRefused(_ tool: String, _ arguments: [String]) throws {
        let run = try Home(people: "bob").run(tool, arguments)
        let option = arguments.last { $0.hasPrefix("--") } ?? ""
        let name = arguments.contains("--passphrase") ? "--passphrase" : option
        #expect(run.status == 64 && run.stderr.contains(name), "\(run.stderr)")
    }

    @Test func acknowledgementsAreNotWrittenInAPreview() throws {
        let run = try Home(people: "bob").run(
            "bridge", ["open", "flow", "--ack", "acks", "--preview"], text: "x")
        #expect(run.status == 64 && run.stderr.contains("--ack cannot be combined with --preview"))
    }
}
