import Sotto
import TestSupport
import Testing

/// Recipients that are the owner, an id, or a sender from a record.
struct OwnNameTests {
    let home: Home
    let alice: Party
    let bob: Party

    init() throws {
        home = Home()
        alice = try Party("alice", in: home)
        bob = try Party("bob", in: home)
    }

    private func record(_ run: Run) throws -> JSONObject {
        try JSON.object(parsing: Array(#require(run.lines.first, "\(run.stderr)").utf8))
    }

    // MARK: me

    @Test func aNoteToOneselfIsWritten() throws {
        for withContacts in [false, true] {
            if withContacts { #expect(try alice.run("contact", ["add", bob.card]).status == 0) }
            for name in ["me", alice.identity.id.description, alice.card] {
                let note = try alice.run("encrypt", ["--to", name], stdin: Array("milk".utf8))
                #expect(note.status == 0, "\(note.stderr)")
                let read = try alice.run("decrypt", ["--trust", "verified"], stdin: note.stdout)
                let record = try record(read)
                #expect(record["name"] == .string("me") && record["trust"] == .string("verified"))
                let text = try alice.run("decrypt", ["--text"], stdin: note.stdout)
                #expect(text.text == "milk\n" && text.stderr.contains("from me (verified)"))
            }
        }
    }

    @Test func aFileForOneselfIsEncrypted() throws {
        for name in ["me", alice.identity.id.description] {
            let file = try alice.run(
                "encrypt", ["-r", name, "-s"], stdin: Array("notes".utf8))
            #expect(file.status == 0, "\(name): \(file.stderr)")
            #expect(try alice.run("decrypt", [], stdin: file.stdout).text == "notes")
        }
        let stateless = try alice.run(
            "encrypt", ["--stateless", "--to", "me"], stdin: Array("x".utf8))
        #expect(stateless.status == 0, "\(stateless.stderr)")
    }

    @Test func aFingerprintOfOneselfIsThatOfTheCard() throws {
        let own = try alice.run("fingerprint", [alice.card]).text
        #expect(try alice.run("fingerprint", ["me"]).text == own)
        let both = try alice.run("fingerprint", ["--with", bob.card, alice.card]).text
        #expect(try alice.run("fingerprint", ["--with", bob.card, "me"]).text == both)
    }

    @Test func theNameIsReserved() throws {
        #expect(try alice.run("contact", ["add", "--name", "Me", bob.card]).status == 64)
        #expect(try alice.run("contact", ["add", bob.card]).status == 0)
        #expect(try alice.run("contact", ["rename", "bob", "me"]).status == 64)
        try home.files.write("me", home.files.read(bob.card))
        let run = try alice.run("encrypt", ["--to", "me"], stdin: Array("x".utf8))
        #expect(run.status == 64 && run.stderr.contains("./me"), "\(run.stderr)")
    }

    /// A URI with the owner's id and another encryption key is not used.
    @Test func aForgedURIOfOneselfGetsNothing() throws {
        let forged = ContactURI(
            id: alice.identity.id, x25519: bob.identity.card().age.publicKey, name: "alice"
        ).text
        let note = try alice.run("encrypt", ["--to", forged], stdin: Array("milk".utf8))
        #expect(try alice.run("decrypt", ["--text"], stdin: note.stdout).text == "milk\n")
    }

    // MARK: Ids

    @Test func aSenderFromARecordIsAnswered() throws {
        let bundle = try bob.bundle()
        let first = try alice.encrypt("hello", to: bob, "--bundle", bundle)
        let read = try bob.run("decrypt", [], stdin: first.stdout)
        let from = try #require(try record(read)["from"]?.string)
        // Without contact and card, the session is used.
        let answer = try bob.run("encrypt", ["--to", from], stdin: Array("hi".utf8))
        #expect(answer.status == 0, "\(answer.stderr)")
        #expect(try alice.run("decrypt", ["--text"], stdin: answer.stdout).text == "hi\n")
    }

    @Test func anIdWithoutACardNamesTheCommandThatGetsIt() throws {
        let id = alice.identity.id
        let command = "hint: get the card: sotto recv --card \(id) | sotto contact add\n"
        for arguments in [["--to", id.description], ["-r", id.description]] {
            let run = try bob.run("encrypt", arguments, stdin: Array("x".utf8))
            #expect(run.status == 10 && run.stderr.contains(command), "\(run.stderr)")
        }
        #expect(try bob.run("contact", ["accept", id.description, "--name", "al"]).status == 0)
        let run = try bob.run("encrypt", ["--to", id.description], stdin: Array("x".utf8))
        let named = "hint: get the card: sotto recv --card al | sotto contact add\n"
        #expect(run.status == 10 && run.stderr.contains(named), "\(run.stderr)")
        // The card of the directory, added without a name option, completes the contact.
        #expect(
            try bob.run("contact", ["add"], stdin: home.files.read(alice.card)).status == 0)
        #expect(
            try bob.run("encrypt", ["--to", id.description], stdin: Array("x".utf8)).status == 0)
    }
}
