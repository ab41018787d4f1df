import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of the relay in an identity file and on its cards.
struct IdentityRelayTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob") }

    static let relay = "tls://relay.example.org:7667#sha256=" + String(repeating: "ab", count: 32)

    func record(_ file: String) throws -> JSONObject {
        try JSON.object(parsing: home.files.read(file))
    }

    func card(_ arguments: String...) throws -> Card {
        try Card(
            record: JSON.object(parsing: home.output("keygen", ["public"] + arguments)))
    }

    @Test func aNewIdentityKeepsItsRelayAndItsCardNamesIt() throws {
        _ = try home.output(
            "keygen", ["--relay", Self.relay, "--name", "carol", "-o", "carol.key"])
        #expect(try record("carol.key")["relay"] == .string(Self.relay))
        #expect(try card("carol.key").relay == Self.relay)
        let uri = String(
            decoding: try home.output("keygen", ["public", "--uri", "carol.key"]), as: UTF8.self)
        #expect(
            try ContactURI(uri.trimmingLineFeed).relay == Self.relay)
        // An option names another relay for one card.
        #expect(
            try card("--relay", "tcp://127.0.0.1:1", "carol.key").relay == "tcp://127.0.0.1:1")
        // The words do not contain it.
        let words = try home.output("keygen", ["words", "carol.key"])
        _ = try home.output(
            "keygen", ["recover", "-o", "again.key", "--relay", "ws://relay.example.org"],
            stdin: words)
        #expect(try record("again.key")["relay"] == .string("ws://relay.example.org:80"))
        _ = try home.output("keygen", ["recover", "-o", "third.key"], stdin: words)
        #expect(try record("third.key")["relay"] == nil)
        for text in ["relay.example.org:7667", "udp://a:1", "tcp://a:1#sha256=00", ""] {
            let run = try home.run("keygen", ["--relay", text, "-o", "bad.key"])
            #expect(
                run.status == 64 && run.stderr.contains("of the form tcp://host:port"), "\(text)")
        }
        #expect(try !home.files.names().contains("bad.key"))
    }

    @Test func theRelayIsSetAndRemoved() throws {
        let before = try record("alice.key")
        #expect(try card("alice.key").relay == nil)
        let run = try home.run("keygen", ["set", "--relay", Self.relay, "alice.key"])
        #expect(run.status == 0 && run.stderr.contains("alice.key has the relay"))
        var status = stat()
        #expect(stat(home.files("alice.key"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try card("alice.key").relay == Self.relay)
        _ = try home.output("contact", ["add", "bob.card", "-i", "alice.key"])
        let given = try home.output("contact", ["address", "bob", "-i", "alice.key"])
        #expect(try Card(record: JSON.object(parsing: given)).relay == Self.relay)
        _ = try home.output("keygen", ["set", "-q", "--no-relay", "-i", "alice.key"])
        #expect(try record("alice.key") == before)
        for arguments in [[], ["--relay", "tcp://a:1", "--no-relay"], ["--relay", "a:1"]] {
            #expect(try home.run("keygen", ["set"] + arguments + ["alice.key"]).status == 64)
        }
        #expect(try record("alice.key") == before)
        home.files.write("age.key", Array("AGE-SECRET-KEY-1\n".utf8))
        chmod(home.files("age.key"), 0o600)
        #expect(try home.run("keygen", ["set", "--no-relay", "age.key"]).status == 65)
    }

    /// The new card is printed for `send`, with the changes alone.
    @Test func theNameIsSetAndTheNewCardIsPrinted() throws {
        let run = try home.run("keygen", ["set", "--name", "Alice B", "alice.key"])
        #expect(run.stderr.contains("alice.key has the name Alice B\n"), "\(run.stderr)")
        #expect(run.stderr.contains("contacts keep the name that they gave you"))
        let printed = try Card(record: JSON.object(parsing: run.stdout))
        #expect(printed.name == "Alice B" && printed.relay == nil && printed.issued != nil)
        let both = try home.output(
            "keygen", ["set", "-q", "--name", "", "--relay", Self.relay, "alice.key"])
        let card = try Card(record: JSON.object(parsing: both))
        #expect(card.name.isEmpty && card.relay == Self.relay)
        #expect(try record("alice.key")["name"] == nil)
        for name in ["a\u{202E}b", String(repeating: "x", count: 129)] {
            #expect(try home.run("keygen", ["set", "--name", name, "alice.key"]).status == 64)
        }
        // On a terminal the card would be lost; a note says how to publish it.
        let session = try TerminalSession(
            home.command("keygen", ["set", "--name", "alice", "alice.key"]), columns: 200)
        let shown = try session.finish()
        #expect(shown.status == 0 && !shown.text.contains("{"), "\(shown.text)")
        #expect(shown.text.contains("sotto keygen public -i alice.key --send"), "\(shown.text)")
    }

    /// A name on a card is a claim. It does not replace the name that the contact has here, and a name of another contact is marked.
    @Test func aNewNameOfAContactIsAClaim() throws {
        for name in ["carol", "eve"] {
            #expect(
                try home.run("keygen", ["-q", "--name", name, "-o", "\(name).key"]).status == 0)
            let card = try home.output("keygen", ["public", "\(name).key"])
            let added = try home.run(
                "contact", ["add", "-q", "-i", "alice.key"], stdin: .whole(card))
            #expect(added.status == 0, "\(added.stderr)")
        }
        let before = try home.output("contact", ["list", "--text", "-i", "alice.key"])
        // The card of the same second replaces the earlier one.
        let card = try home.output("keygen", ["set", "-q", "--name", "car0l", "eve.key"])
        let stored = try home.run("contact", ["add", "-i", "alice.key"], stdin: .whole(card))
        #expect(stored.stderr.contains("stored the new card of eve"), "\(stored.stderr)")
        #expect(try home.output("contact", ["list", "--text", "-i", "alice.key"]) == before)
        let shown = try home.run("contact", ["show", "--text", "-i", "alice.key", "eve"]).text
        #expect(shown.contains("their name"), "\(shown)")
        #expect(shown.contains("their name looks like your contact carol"), "\(shown)")
        #expect(try home.run("contact", ["show", "-i", "alice.key", "car0l"]).status == 66)
    }

    @Test func aProtectedFileKeepsItsPassphraseAndUnknownMembers() throws {
        var plain = try record("alice.key")
        plain["later"] = .string("kept")
        home.files.write("alice.key", plain.serialized())
        chmod(home.files("alice.key"), 0o600)
        let environment = ["GOOD": "a passphrase", "BAD": "another"]
        let protect = try home.run(
            "keygen", ["passwd", "--passphrase", "@ENV:GOOD", "alice.key"], environment: environment
        )
        #expect(protect.status == 0)
        func set(_ name: String) throws -> Int32 {
            try home.run(
                "keygen",
                [
                    "set", "--relay", Self.relay, "--identity-passphrase", "@ENV:\(name)",
                    "alice.key",
                ],
                environment: environment
            ).status
        }
        let sealed = try home.files.read("alice.key")
        #expect(try set("BAD") == 10)
        #expect(try home.files.read("alice.key") == sealed)
        #expect(try set("GOOD") == 0)
        #expect(try home.files.read("alice.key").starts(with: "-----BEGIN AGE".utf8))
        _ = try home.run(
            "keygen",
            ["passwd", "--unprotected", "--identity-passphrase", "@ENV:GOOD", "alice.key"],
            environment: environment)
        #expect(try record("alice.key")["relay"] == .string(Self.relay))
        #expect(try record("alice.key")["later"] == .string("kept"))
    }

    @Test func aCardInPlaceOfAnEnvelopeIsNamed() throws {
        let run = try home.run("decrypt", ["-i", "bob.key", "alice.card"])
        #expect(run.status == 65 && run.stderr.contains("the input is a card"), "\(run.stderr)")
        #expect(run.stderr.contains("contact add FILE"))
    }

    /// Without a state there is no folder for a file that `send` uploads.
    @Test func aTooLongMessageNamesTheRealLimit() throws {
        let encrypt = ["--to", "bob.card", "-i", "alice.key", "--stateless"]
        // Each line feed needs two bytes in the record.
        for (text, status) in [
            (String(repeating: "a", count: 32_000), Int32(0)),
            (String(repeating: "a", count: 32_760), 65),
            (String(repeating: "a\n", count: 10_700), 0),
            (String(repeating: "a\n", count: 11_000), 65),
            (String(repeating: "a", count: 99_999), 65),
        ] {
            let run = try home.run("encrypt", encrypt, text: text)
            #expect(run.status == status, "\(text.utf8.count)")
            guard status != 0 else { continue }
            #expect(run.stderr.contains("32763 bytes of JSON"), "\(run.stderr)")
            #expect(
                run.stderr.contains("--attach FILE, and with --stateless also --blob FILE.blob"),
                "\(run.stderr)")
        }
        // The hint works when pasted.
        home.files.write("FILE", randomBytes(99_999))
        let attached = try home.run(
            "encrypt", encrypt + ["--attach", "FILE", "--blob", "FILE.blob"], text: "see FILE")
        #expect(attached.status == 0, "\(attached.stderr)")
    }
}

extension String {
    fileprivate var trimmingLineFeed: String { hasSuffix("\n") ? String(dropLast()) : self }
}
