import Glibc
import Sotto
import TestSupport
import Testing

/// Tests that nothing is encrypted to a key that is not confirmed, however it is named.
struct TrustTests {
    let home: Home
    init() throws {
        home = try Home(people: "alice", "bob", "mallory")
        try run("contact", ["add", "bob.card", "-i", "alice.key"])
    }

    @discardableResult
    func run(_ tool: String, _ arguments: [String], text: String = "") throws -> Run {
        try home.run(tool, arguments, text: text)
    }

    func card(_ name: String) throws -> Card {
        try Card(record: JSON.object(parsing: home.files.read("\(name).card")))
    }

    /// Bob's id with Mallory's encryption key: messages to it would be readable by Mallory.
    @Test func aURIWithAKnownIDAndAnotherKeyIsRefused() throws {
        let (bob, mallory) = (try card("bob"), try card("mallory"))
        let evil = ContactURI(
            id: bob.id, x25519: mallory.age.publicKey, name: "bob", relay: nil
        ).text
        for arguments in [
            ["--to", evil], ["--to", evil, "--trust", "verified"],
            ["--to", evil, "--trust", "any"],
            ["--to", evil, "--suite", "sealed"], ["-r", evil, "-s"],
        ] {
            let refused = try run(
                "encrypt", arguments + ["-i", "alice.key"], text: "for bob")
            #expect(refused.status == 12 && refused.stdout.isEmpty, "\(arguments)")
        }
        // Without -i the default identity is used.
        let plain = try home.command(
            "encrypt", ["-r", evil], environment: ["SOTTO_IDENTITY": home.files("alice.key")]
        ).run(stdin: .whole([1]))
        #expect(plain.status == 12)
        // The true URI is accepted, and the stored card's post-quantum key is used.
        let good = try run(
            "encrypt", ["--to", bob.uri.text, "-i", "alice.key"], text: "for bob")
        #expect(good.status == 0 && !good.stderr.contains("post-quantum"))
    }

    @Test func filesAreNotEncryptedToAnUnconfirmedKey() throws {
        // Another card with the same name is offered, and not accepted.
        let other = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob").card()
        home.files.write("other.card", try #require(other.record).serialized())
        #expect(try run("contact", ["add", "other.card", "-i", "alice.key"]).status == 12)
        for argument in ["bob", "bob.card", try card("bob").uri.text] {
            let refused = try run(
                "encrypt", ["-r", argument, "-s", "-i", "alice.key"], text: "x")
            #expect(refused.status == 12 && refused.stdout.isEmpty, "\(argument)")
        }
        #expect(try run("contact", ["keep-key", "bob", "-i", "alice.key"]).status == 0)
        #expect(try run("encrypt", ["-r", "bob", "-s", "-i", "alice.key"], text: "x").status == 0)
        #expect(try run("contact", ["block", "bob", "-i", "alice.key"]).status == 0)
        #expect(try run("encrypt", ["-r", "bob", "-s", "-i", "alice.key"], text: "x").status == 12)
    }

    @Test func aFileWithAContactsNameIsRefusedUnlessItIsTheirs() throws {
        try home.files.write("bob", home.files.read("mallory.card"))
        for option in ["-r", "--to"] {
            let arguments = [option, "bob", "-i", "alice.key"] + (option == "-r" ? ["-s"] : [])
            #expect(try run("encrypt", arguments, text: "x").status == 64, "\(option)")
        }
        let compared = try home.command(
            "fingerprint", ["--with", "bob", "alice.card"],
            environment: ["SOTTO_IDENTITY": home.files("alice.key")]
        ).run(stdin: .whole([]))
        #expect(compared.status == 64)
        try home.files.write("bob", home.files.read("bob.card"))
        #expect(try run("encrypt", ["--to", "bob", "-i", "alice.key"], text: "x").status == 0)
        unlink(home.files("bob"))
        mkdir(home.files("bob"), 0o700)
        #expect(try run("encrypt", ["--to", "bob", "-i", "alice.key"], text: "x").status == 0)
    }

    @Test func aOneTimePreKeyBeginsOneSession() throws {
        let bundle = try run("keygen", ["prekeys", "--bundle", "bob.key"])
        home.files.write("bundle", bundle.stdout)
        let arguments = [
            "--to", "bob", "--bundle", "bundle", "--new-session", "-i", "alice.key",
        ]
        #expect(try run("encrypt", arguments, text: "one").status == 0)
        let again = try run("encrypt", arguments, text: "two")
        #expect(again.status == 10 && again.stdout.isEmpty)
        #expect(again.stderr.contains("recv --bundle"))
    }

    /// More than 256 messages are lost: after one answer, the session continues.
    @Test func aSessionSurvivesALongGap() throws {
        let bundle = try run("keygen", ["prekeys", "--bundle", "bob.key"])
        home.files.write("bundle", bundle.stdout)
        let first = try run(
            "encrypt", ["--to", "bob", "--bundle", "bundle", "-i", "alice.key"], text: "hello")
        #expect(try run("decrypt", ["-i", "bob.key"], text: first.text).status == 0)
        let lost = String(repeating: "lost\n", count: 300)
        // They left another way, so that the sender does not know of the loss.
        let gap = ["--to", "bob", "--jsonl", "--elsewhere", "-i", "alice.key"]
        #expect(try run("encrypt", gap, text: lost).status == 0)
        func alice(_ text: String) throws -> Run {
            let sent = try run("encrypt", ["--to", "bob", "-i", "alice.key"], text: text)
            return try run("decrypt", ["-q", "--text", "-i", "bob.key"], text: sent.text)
        }
        let refused = try alice("too far")
        #expect(refused.status == 11 && refused.stderr.contains("--new-session"))
        let answer = try run(
            "encrypt", ["--to", "alice.card", "-i", "bob.key"], text: "still here")
        let read = try run("decrypt", ["-q", "--text", "-i", "alice.key"], text: answer.text)
        #expect(read.text == "still here\n")
        #expect(try alice("on").text == "on\n")
    }

    @Test func statelessKnowsNoContacts() throws {
        #expect(
            try run("decrypt", ["--stateless", "--trust", "verified", "-i", "bob.key"]).status
                == 64)
    }
}
