import Foundation
import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Tests of the address book, using Alice's.
struct ContactTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob", "carol") }

    @discardableResult
    func contact(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        try home.run("contact", arguments + ["-i", "alice.key"], stdin: .whole(stdin))
    }

    func must(_ arguments: String..., stdin: [UInt8] = []) throws -> Run {
        let run = try home.run("contact", arguments + ["-i", "alice.key"], stdin: .whole(stdin))
        #expect(run.status == 0, "\(arguments): \(run.stderr)")
        return run
    }

    func records(_ bytes: [UInt8]) throws -> [JSONObject] {
        try bytes.split(separator: 10).map { try JSON.object(parsing: Array($0)) }
    }

    func record(_ name: String) throws -> JSONObject {
        try JSON.object(parsing: must("show", "--json", name).stdout)
    }

    func names() throws -> [String] {
        try records(contact("list", "--json").stdout).compactMap { $0["name"]?.string }
    }

    /// The address on a card is a mailbox of its owner, so that of a known person is refused.
    @Test func theAddressOfAnotherPersonIsRefused() throws {
        _ = try must("add", "bob.card")
        let mal = Sample.identity()
        let mailbox = try SendAddress().id(of: identity("carol"))
        var carol = try #require(card("carol").record)
        carol["address"] = .string(mailbox.description)
        try SignedRecord.sign(&carol, with: identity("carol").signingKey)
        _ = try must("add", stdin: carol.serialized())
        for (id, name) in [
            (try card("bob").id, "bob"), (try card("alice").id, "you"), (mailbox, "carol"),
        ] {
            var record = try #require(mal.card().record)
            record["name"] = .string("mal")
            record["address"] = .string(id.description)
            SignedRecord.sign(&record, with: mal.signingKey)
            let line = record.serialized() + [10]
            let added = try contact("add", stdin: line)
            #expect(added.status == 65, "\(added)")
            #expect(added.stderr.contains("messages to this card would go to \(name)"))
            let imported = try contact("import", stdin: line)
            #expect(imported.status == 65, "\(imported)")
        }
        #expect(try names() == ["bob", "carol"])
        // The owner of the address keeps it.
        #expect(try must("add", stdin: carol.serialized()).status == 0)
    }

    func card(_ name: String) throws -> Card {
        try Card(record: JSON.object(parsing: home.files.read("\(name).card")))
    }

    func identity(_ name: String) throws -> Identity {
        try Identity(record: JSON.object(parsing: home.files.read("\(name).key")))
    }

    func number(_ one: String, _ other: String) throws -> String {
        String(
            decoding: try home.output(
                "fingerprint", ["--with", "\(one).card", "\(other).card"]), as: UTF8.self)
    }

    func uri(_ name: String) throws -> String {
        try card(name).uri.text
    }

    /// Returns Alice's state as the programs use it.
    func makeStore() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: home.files("state")), identity: identity("alice"),
            lockTimeout: 10)
    }

    /// Creates another person with the name `name`: `other.key`, `other.card`.
    func makeImpostor(of name: String) throws {
        #expect(try home.run("keygen", ["--name", name, "-o", "other.key"]).status == 0)
        try home.files.write("other.card", home.output("keygen", ["public", "other.key"]))
    }

    // MARK: Adding

    @Test func aCardIsAddedUnderItsNameOrAGivenName() throws {
        let run = try must("add", "bob.card")
        #expect(run.stdout.isEmpty)
        #expect(run.stderr.contains("added bob (05"))
        #expect(
            run.stderr.contains(
                "…), trusted on first use; compare the safety number: sotto contact show bob\n"))
        #expect(try must("add", "--name", "Caro L", "-q", "carol.card").stderr.isEmpty)
        #expect(try names() == ["bob", "Caro L"])
        let bob = try record("bob")
        #expect(bob["type"] == .string("contact-entry") && bob["v"] == .integer(1))
        #expect(bob["trust"] == .string("trusted") && bob["blocked"] == .bool(false))
        #expect(bob["card"]?.object == (try card("bob").record))
        #expect(try record("caro l")["id"]?.string == card("carol").id.description)
    }

    @Test func stdinMayBeACardAURIOrTheTextOfAPicture() throws {
        _ = try must("add", "--name", "one", stdin: home.files.read("bob.card"))
        _ = try must("remove", "one")
        _ = try must("add", "--name", "two", stdin: Array((uri("bob") + "\n").utf8))
        _ = try must("remove", "two")
        _ = try home.output("qr", ["-o", "bob.png"], stdin: Array(uri("bob").utf8))
        let pipeline = try Command.pipeline([
            home.command("qr", ["scan", "bob.png"]),
            home.command("contact", ["add", "-i", "alice.key"]),
        ])
        #expect(pipeline.map(\.status) == [0, 0], "\(pipeline.map(\.stderr))")
        #expect(try record("bob")["card"]?.string == uri("bob"))
        _ = try must("add", uri("carol"))
        #expect(try names() == ["bob", "carol"])
    }

    @Test func theSameCardAgainChangesNothing() throws {
        _ = try must("add", "bob.card")
        let before = try record("bob")
        #expect(try must("add", "bob.card").stderr.contains("is already a contact"))
        // Under another name: the user's name remains, and the command to change it is printed.
        let other = try must("add", "--name", "bobby", "bob.card")
        #expect(other.stderr.contains("contact rename bob bobby"))
        #expect(try record("bob") == before)
    }

    @Test func aSignedCardReplacesAURIButNotTheReverse() throws {
        _ = try must("add", uri("bob"))
        #expect(try record("bob")["card"]?.string != nil)
        _ = try must("add", "bob.card")
        #expect(try record("bob")["card"]?.object != nil)
        _ = try must("add", uri("bob"))
        #expect(try record("bob")["card"]?.object != nil)
        // A card without the post-quantum key does not replace a card with it.
        var poor = try #require(card("bob").record)
        poor["pq"] = nil
        SignedRecord.sign(&poor, with: try identity("bob").signingKey)
        _ = try must("add", stdin: poor.serialized())
        #expect(try record("bob")["card"]?.object?["pq"] != nil)
    }

    @Test(arguments: [
        "", " ", "-x", "a/b", "sotto:x", "SOTTO:05", "age1abc", "AGE1x", "0512345678", "a\nb",
        "a\u{1b}[2J", "a\u{202e}b", "a\u{200b}b", "a\u{a0}b", "-", "@ENV:X", ".", "..",
        "a\u{fffd}b",
        String(repeating: "x", count: 129),
    ])
    func namesThatMeanSomethingElseAreRefused(_ name: String) throws {
        let option = name.isEmpty ? ["--name", ""] : ["--name=" + name]
        let run = try home.run("contact", ["add", "-i", "alice.key", "bob.card"] + option)
        #expect(run.status == 64, "\(run.stderr)")
        #expect(try contact("list").status == 1)
        _ = try must("add", "bob.card")
        let renamed = try home.run("contact", ["rename", "-i", "alice.key", "bob", "--", name])
        #expect(renamed.status == 64 && !renamed.stderr.contains("--help"))
    }

    @Test func aNameMustBeUTF8() throws {
        let script = #""$0" add -i alice.key --name "$(printf 'a\377')" bob.card"#
        let run = try home.other("/bin/sh", ["-c", script, Programs.path("contact")]).run()
        #expect(run.status == 64 && run.stderr.contains("UTF-8"), "\(run.stderr)")
        #expect(try contact("list").status == 1)
    }

    @Test func aCardWithoutANameNeedsOne() throws {
        let nameless = ContactURI(
            id: try card("bob").id, x25519: try card("bob").age.publicKey
        ).text
        let run = try contact("add", nameless)
        #expect(run.status == 64 && run.stderr.contains("--name NAME"))
        #expect(!home.files.exists("state/\(try card("alice").id).db"))
        _ = try must("add", "--name", "bob", nameless)
    }

    @Test func ownCardsAndOtherFilesAreRefused() throws {
        #expect(try contact("add", "alice.card").status == 64)
        #expect(try contact("add", "alice.key").status == 65)
        #expect(try contact("add", "missing").status == 66)
        #expect(try contact("add", stdin: Array("rubbish".utf8)).status == 65)
        #expect(try contact("add").status == 65)
        var forged = try #require(card("bob").record)
        forged["name"] = .string("carol")
        #expect(try contact("add", stdin: forged.serialized()).status == 11)
        #expect(try contact("list").status == 1)
    }

    @Test func namesAreUniqueIgnoringCaseAndNormalization() throws {
        _ = try must("add", "--name", "René", "bob.card")
        #expect(try contact("add", "--name", "RENE\u{301}", "carol.card").status == 12)
        #expect(try record("rene\u{301}")["name"] == .string("René"))
        _ = try must("keep-key", "René")
        _ = try must("add", "carol.card")
        #expect(try contact("rename", "carol", "RENÉ").status == 73)
        _ = try must("rename", "René", "RENÉ")
        #expect(try names() == ["carol", "RENÉ"])
    }

    @Test func oneOfSeveralProcessesGetsTheName() throws {
        let people = (0..<6).map { "p\($0)" }
        for person in people { try home.makePerson(person) }
        let runs = try people.map {
            try Pipeline([
                home.command("contact", ["add", "--name", "same", "\($0).card", "-i", "alice.key"])
            ])
        }.map { try $0.finish()[0] }
        #expect(runs.count { $0.status == 0 } == 1, "\(runs.map(\.stderr))")
        #expect(runs.count { $0.status == 12 } == people.count - 1)
        #expect(try names() == ["same"])
    }

    // MARK: Finding

    @Test func anAbbreviationIsAcceptedUnlessAmbiguous() throws {
        _ = try must("add", "--name", "anna", "bob.card")
        _ = try must("add", "--name", "Annabel", "carol.card")
        #expect(try record("annab")["name"] == .string("Annabel"))
        #expect(try record("anna")["name"] == .string("anna"))
        #expect(
            try record(String(card("bob").id.description.prefix(16)))["name"] == .string("anna"))
        let run = try contact("show", "ann")
        #expect(run.status == 64)
        #expect(run.stderr.contains("anna, Annabel"))
    }

    @Test func unknownNamesAre66() throws {
        let commands = [
            ["show", "x"], ["rename", "x", "y"], ["remove", "x"], ["unblock", "x"], ["block", "x"],
            ["verify", "x", "1"], ["unverify", "x"], ["set", "x", "--suite", "auto"],
            ["accept-key", "x"], ["keep-key", "x"], ["requests", "x"], ["accept", "x"],
            ["export", "x"],
        ]
        for withContacts in [false, true] {
            if withContacts { _ = try must("add", "bob.card") }
            for command in commands {
                let run = try home.run("contact", command + ["-i", "alice.key"])
                #expect(run.status == 66, "\(command): \(run.stderr)")
                #expect(run.stderr.contains("hint: "))
            }
            if !withContacts { #expect(!home.files.exists("state/\(try card("alice").id).db")) }
        }
        for command in [["list"], ["requests"], ["export"]] {
            try home.run("contact", ["remove", "bob", "-i", "alice.key"])
            #expect(try home.run("contact", command + ["-i", "alice.key"]).status == 1)
        }
        #expect(try contact().status == 64)
        #expect(try home.run("contact", ["lsit"]).status == 64)
    }

    @Test func theListIsATableWithMarks() throws {
        let long = String(repeating: "long", count: 20)
        _ = try must("add", "--name", long, "bob.card")
        _ = try must("add", "--name", "日本", "carol.card")
        try makeImpostor(of: long)
        #expect(try contact("add", "other.card").status == 12)
        _ = try must("block", "日本")
        _ = try must("set", "日本", "--suite", "sealed")
        let lines = try must("list", "--text").lines
        #expect(lines.count == 2)
        let bob = try card("bob").id.description.prefix(16)
        let carol = try card("carol").id.description.prefix(16)
        let protection = "sealed  session none  post-quantum yes"
        #expect(lines[0] == "\(long.prefix(31))…  trusted  \(bob)  \(protection)  changed key")
        #expect(
            lines[1]
                == "日本\(String(repeating: " ", count: 28))  trusted  \(carol)  \(protection)  blocked"
        )
    }

    @Test func showHasTheFingerprintAndTheSafetyNumber() throws {
        _ = try must("add", "bob.card")
        let text = try must("show", "--text", "bob").text
        let digits = try number("alice", "bob").split(whereSeparator: \.isWhitespace)
        #expect(text.contains(digits.prefix(6).joined(separator: " ")))
        #expect(text.contains(digits.suffix(6).joined(separator: " ")))
        let own = try home.run("fingerprint", ["bob.card"]).lines[0]
        #expect(text.contains("fingerprint  \(own)\n"))
        #expect(text.contains(try card("bob").id.description))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        let record = try record("bob")
        #expect(record["safetyNumber"]?.string == digits.joined())
        #expect(record["fingerprint"]?.string == own.filter { $0 != " " })
        #expect(try must("show", "bob", "--card").stdout == home.files.read("bob.card"))
        _ = try must("remove", "bob")
        _ = try must("add", uri("bob"))
        #expect(try must("show", "bob", "--card").text == uri("bob") + "\n")
    }

    /// The contact's own name and relay are chosen by the contact, and are shown.
    @Test func aCardCannotForgeOutputLines() throws {
        var card = try #require(card("bob").record)
        card["name"] = .string("x\nsafety no.   00000\u{2028}\u{1b}[2J")
        card["relay"] = .string("tcp://x\ntrust        verified")
        SignedRecord.sign(&card, with: try identity("bob").signingKey)
        #expect(try contact("add", stdin: card.serialized()).status == 64)
        _ = try must("add", "--name", "bob", stdin: card.serialized())
        let shown = try must("show", "--text", "bob").text
        // The real number begins with 00000 once in 100,000 runs.
        #expect(shown.components(separatedBy: "\nsafety no. ").count == 2)
        #expect(!shown.contains("\u{1b}"))
        #expect(shown.components(separatedBy: "\ntrust ").count == 2)
    }

    @Test func fingerprintTakesContacts() throws {
        _ = try must("add", "bob.card")
        let expected = try number("alice", "bob")
        let run = try home.run("fingerprint", ["--with", "bob", "-i", "alice.key"])
        #expect(run.status == 0 && run.text == expected, "\(run.stderr)")
        let one = try home.run("fingerprint", ["bob", "-i", "alice.key"])
        #expect(one.text == (try home.run("fingerprint", ["bob.card"]).text))
        #expect(
            try home.run(
                "fingerprint", ["--with", "bob", "--check", expected, "-i", "alice.key"]
            ).status == 0)
        #expect(try home.run("fingerprint", ["--with", "x", "-i", "alice.key"]).status == 66)
    }

    // MARK: Changing

    @Test func renameRemoveAndSet() throws {
        _ = try must("add", "bob.card")
        #expect(try must("rename", "bob", "Robert").stdout.isEmpty)
        _ = try must("set", "Robert", "--suite", "ratchet")
        #expect(try record("robert")["suite"] == .string("ratchet"))
        _ = try must("set", "Robert", "--suite", "auto")
        #expect(try record("robert")["suite"] == nil)
        #expect(try contact("set", "Robert", "--suite", "other").status == 64)
        #expect(try contact("remove", "Rob").status == 64)
        #expect(try must("remove", "Robert").stderr.contains("kept"))
        #expect(try contact("show", "Robert").status == 66)
    }

    @Test func blockingAndUnblocking() throws {
        _ = try must("add", "bob.card")
        _ = try must("block", "bob")
        #expect(try record("bob")["blocked"] == .bool(true))
        let dropped = try send("bob", "x")
        #expect(try open(dropped).stdout.isEmpty)
        _ = try must("unblock", "bob")
        #expect(try open(send("bob", "y"), "--text").text == "y\n")
        // A sender who is not a contact: by card, by id, by the beginning of a known id.
        for name in ["carol.card", try card("carol").id.description, try uri("carol")] {
            _ = try must("block", name)
            #expect(try names() == ["", "bob"])
            #expect(try open(send("carol", "z")).stdout.isEmpty)
            _ = try must("unblock", String(card("carol").id.description.prefix(16)))
            #expect(try names() == ["bob"])
        }
        #expect(try contact("block", "alice.card").status == 64)
    }

    @Test func aBlockedSenderStaysBlockedWhenAdded() throws {
        _ = try must("block", "bob.card")
        let run = try must("add", "bob.card")
        #expect(run.stderr.contains("contact unblock bob"))
        #expect(try record("bob")["blocked"] == .bool(true))
    }

    // MARK: Verifying

    @Test func theSafetyNumberVerifies() throws {
        _ = try must("add", "bob.card")
        let digits = try number("alice", "bob")
        let wrong = try number("alice", "carol")
        #expect(try contact("verify", "bob", wrong).status == 14)
        #expect(try record("bob")["trust"] == .string("trusted"))
        for bad in ["1234", digits + "1", String(repeating: "x", count: 60), ""] {
            #expect(try contact("verify", "bob", bad).status == 65, "\(bad)")
        }
        #expect(try contact("verify", "bob").status == 64)
        _ = try must("verify", "bob", digits)
        #expect(try record("bob")["trust"] == .string("verified"))
        // A wrong number later does not remove the verification; unverify does.
        #expect(try contact("verify", "bob", wrong).status == 14)
        #expect(try record("bob")["trust"] == .string("verified"))
        _ = try must("unverify", "bob")
        #expect(try record("bob")["trust"] == .string("trusted"))
        let dashed = digits.split(whereSeparator: \.isWhitespace).joined(separator: "-")
        _ = try must("verify", "bob", "-", stdin: Array((dashed + "\n").utf8))
        #expect(try record("bob")["trust"] == .string("verified"))
        _ = try must("unverify", "bob")
        let words = digits.split(whereSeparator: \.isWhitespace).map(String.init)
        let run = try home.run("contact", ["verify", "bob"] + words + ["-i", "alice.key"])
        #expect(run.status == 0)
    }

    /// The number covers the ids; no signature binds the encryption key of a URI to the id.
    @Test func aNumberDoesNotVerifyAnUnsignedEncryptionKey() throws {
        let forged = ContactURI(
            id: try card("bob").id, x25519: try card("carol").age.publicKey, name: "bob")
        _ = try must("add", forged.text)
        let run = try contact("verify", "bob", try number("alice", "bob"))
        #expect(
            run.status == 12
                && run.stderr.contains("sotto recv --card bob | sotto contact add\n"))
        #expect(try record("bob")["trust"] == .string("trusted"))
        // Scanning Bob's screen detects it.
        #expect(try contact("verify", "bob", "--scan", uri("bob")).status == 14)
    }

    @Test func aScanVerifies() throws {
        _ = try must("add", "bob.card")
        #expect(
            try contact("verify", "bob", "--scan", stdin: Array(uri("carol").utf8)).status == 14)
        let otherX = ContactURI(
            id: try card("bob").id, x25519: try card("carol").age.publicKey, name: "bob")
        #expect(try contact("verify", "bob", "--scan", otherX.text).status == 14)
        #expect(try contact("verify", "bob", "--scan", stdin: [1, 2]).status == 65)
        #expect(try contact("verify", "bob", "--scan", "missing").status == 66)
        #expect(try record("bob")["trust"] == .string("trusted"))
        _ = try must("verify", "bob", "--scan", stdin: Array(uri("bob").utf8))
        #expect(try record("bob")["trust"] == .string("verified"))
        // The signed card is kept.
        #expect(try record("bob")["card"]?.object != nil)
        // A URI that is completed by its signed card stays verified, because the keys are the same.
        _ = try must("add", uri("carol"))
        try home.files.write("carol.uri", Array((uri("carol") + "\n").utf8))
        _ = try must("verify", "carol", "--scan", "carol.uri")
        _ = try must("add", "carol.card")
        #expect(try record("carol")["trust"] == .string("verified"))
    }

    // MARK: Changed keys

    @Test func aDifferentKeyIsNeverAcceptedSilently() throws {
        _ = try must("add", "bob.card")
        _ = try must("verify", "bob", try number("alice", "bob"))
        let before = try record("bob")
        try makeImpostor(of: "Bob")
        let run = try contact("add", "other.card")
        #expect(run.status == 12 && run.stdout.isEmpty)
        #expect(run.stderr.contains("accept-key bob") && run.stderr.contains("keep-key bob"))
        var after = try record("bob")
        #expect(after["changed"]?.object == (try card("other").record))
        after["changed"] = nil
        #expect(after == before)
        #expect(try must("list", "--text").text.contains("changed key"))
        #expect(try contact("add", "other.card").status == 12)
        _ = try must("keep-key", "bob")
        #expect(try record("bob") == before)
        #expect(try contact("keep-key", "bob").status == 1)
        #expect(try contact("accept-key", "bob").status == 1)
    }

    /// A second person with a known name becomes a contact under another name, and the first one can be written to again.
    @Test func anotherPersonWithAKnownNameIsAddedWithAnotherName() throws {
        _ = try must("add", "bob.card")
        let before = try record("bob")
        try makeImpostor(of: "bob")
        let offered = try contact("add", "other.card")
        #expect(offered.status == 12)
        let other = try card("other").id.description.prefix(16)
        let refused = try home.run(
            "encrypt", ["--to", "bob", "-i", "alice.key"], stdin: .whole(Array("x".utf8)))
        #expect(refused.status == 12)
        for run in [offered, refused] {
            #expect(run.stderr.contains("add the card with --name"), "\(run.stderr)")
            #expect(run.stderr.contains("after asking bob on another channel"), "\(run.stderr)")
            #expect(run.stderr.contains("contact accept-key bob \(other)"), "\(run.stderr)")
        }
        let added = try must("add", "--name", "bob from work", "other.card")
        #expect(added.stderr.contains("bob keeps the key"), "\(added.stderr)")
        #expect(try record("bob") == before)
        #expect(try names() == ["bob", "bob from work"])
        let sent = try home.run(
            "encrypt", ["--to", "bob", "-i", "alice.key"], stdin: .whole(Array("x".utf8)))
        #expect(sent.status == 0, "\(sent.stderr)")
    }

    @Test func anAcceptedKeyIsTrustedAndNotVerified() throws {
        _ = try must("add", "bob.card")
        _ = try must("verify", "bob", try number("alice", "bob"))
        _ = try must("set", "bob", "--suite", "sealed")
        try makeImpostor(of: "bob")
        #expect(try contact("add", "other.card").status == 12)
        // The number of the new key is not the contact's number, and the tool reports which key it belongs to.
        let early = try contact("verify", "bob", try number("alice", "other"))
        #expect(early.status == 14 && early.stderr.contains("accept-key"))
        let run = try must("accept-key", "bob")
        #expect(run.stderr.contains("no longer verified"))
        let record = try record("bob")
        #expect(record["id"]?.string == (try card("other").id.description))
        #expect(record["trust"] == .string("trusted") && record["changed"] == nil)
        #expect(record["suite"] == .string("sealed"))
        #expect(try contact("show", card("bob").id.description).status == 66)
        #expect(try names() == ["bob"])
    }

    @Test func replacingAnOfferedKeyIsReported() throws {
        _ = try must("add", "bob.card")
        try makeImpostor(of: "bob")
        let other = try card("other").id.description.prefix(16)
        let carol = try card("carol").id.description.prefix(16)
        let first = try contact("add", "other.card")
        #expect(first.status == 12 && first.stderr.contains("contact accept-key bob \(other)"))
        #expect(!first.stderr.contains("before"))
        #expect(try !contact("add", "other.card").stderr.contains("before"))
        let second = try contact("add", "-q", "--name", "bob", "carol.card")
        #expect(second.status == 12 && second.stderr.contains("before"))
        #expect(second.stderr.contains(other) && second.stderr.contains(carol))
        // The same id as a URI is a different card, and it is not signed.
        let third = try contact("add", "--name", "bob", uri("carol"))
        #expect(third.stderr.contains("another card of"))
    }

    @Test func showHasTheNumbersOfTheOfferedKey() throws {
        _ = try must("add", "bob.card")
        try makeImpostor(of: "bob")
        _ = try contact("add", "other.card")
        let text = try must("show", "--text", "bob").text
        #expect(text.contains(try card("other").id.description))
        let own = try home.run("fingerprint", ["other.card"]).lines[0]
        #expect(text.contains("fingerprint \(own)\n"))
        let digits = try number("alice", "other").split(whereSeparator: \.isWhitespace)
        #expect(text.contains(digits.prefix(6).joined(separator: " ")))
        #expect(text.contains(digits.suffix(6).joined(separator: " ")))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test func acceptKeyMayNameTheKey() throws {
        _ = try must("add", "bob.card")
        try makeImpostor(of: "bob")
        _ = try contact("add", "other.card")
        let id = try card("other").id.description
        let before = try record("bob")
        for wrong in [
            try card("carol").id.description, try card("bob").id.description,
            String(id.prefix(15)) + (id.dropFirst(15).hasPrefix("0") ? "1" : "0"),
            try number("alice", "bob"),
        ] {
            let run = try contact("accept-key", "bob", wrong)
            #expect(run.status == 14 && run.stderr.contains(id), "\(run.stderr)")
        }
        for bad in ["", "05", String(id.prefix(15)), "1234", "rubbish and more", id + "0"] {
            #expect(try contact("accept-key", "bob", bad).status == 65, "\(bad)")
        }
        #expect(try record("bob") == before)
        let words = try number("alice", "other").split(whereSeparator: \.isWhitespace)
        let run = try home.run(
            "contact", ["accept-key", "bob", "-i", "alice.key"] + words.map(String.init))
        #expect(run.status == 0 && run.stderr.contains(id), "\(run.stderr)")
        #expect(try record("bob")["id"] == .string(id))
        // Back to the old key, by the beginning of an id and by the full id.
        _ = try contact("add", "bob.card")
        _ = try must("accept-key", "bob", card("bob").id.description.prefix(16).uppercased())
        _ = try contact("add", "other.card")
        _ = try must("accept-key", "bob", id)
        #expect(try record("bob")["id"] == .string(id))
    }

    /// Messages that used sessions must not silently use a weaker suite.
    @Test func anAcceptedKeyKeepsTheRatchetSuite() throws {
        _ = try must("add", "bob.card")
        let other = try identity("bob")
        let time = Timestamp.now()
        let publication = PreKeyPublication(
            by: other, signedPreKey: SecretPreKey(.signed, id: 1).signed(by: other, at: time),
            pqSignedPreKey: SecretPreKey(.postQuantum, id: 2).signed(by: other, at: time),
            oneTimePreKeys: [])
        try makeStore().transaction {
            _ = try $0.begin(with: publication.bundle(oneTime: nil))
        }
        // The list and the contact's details show it.
        let today = String(Timestamp.now().description.prefix(8))
        #expect(try must("list", "--text").text.contains("  ratchet  session \(today)"))
        #expect(try must("show", "--text", "bob").text.contains("session      since \(today)"))
        #expect(try record("bob")["uses"] == .string("ratchet"))
        #expect(try record("bob")["session"]?.object?["postQuantum"] == .bool(true))
        // The same id with other keys: the session continues.
        let forged = ContactURI(
            id: other.id, x25519: try card("carol").age.publicKey, name: "bob")
        _ = try contact("add", forged.text)
        #expect(try !must("accept-key", "bob").stderr.contains("no session"))
        #expect(try record("bob")["suite"] == nil)
        try makeImpostor(of: "bob")
        _ = try contact("add", "other.card")
        let run = try must("accept-key", "bob")
        #expect(
            run.stderr.contains(
                "contact: no session exists with the new key: sotto recv --bundle bob, or sotto contact set bob --suite auto\n"
            ))
        #expect(try record("bob")["suite"] == .string("ratchet"))
        let sent = try home.run("encrypt", ["--to", "bob", "-i", "alice.key"], text: "hello")
        #expect(sent.status != 0 && sent.stdout.isEmpty)
        _ = try must("set", "bob", "--suite", "auto")
        #expect(
            try home.run("encrypt", ["--to", "bob", "-i", "alice.key"], text: "hello").status == 0)
    }

    @Test func theSameIdWithOtherEncryptionKeysIsAChangedKey() throws {
        _ = try must("add", "bob.card")
        _ = try must("verify", "bob", "--scan", uri("bob"))
        let forged = ContactURI(
            id: try card("bob").id, x25519: try card("carol").age.publicKey, name: "bob")
        #expect(try contact("add", forged.text).status == 12)
        #expect(try record("bob")["card"]?.object != nil)
        #expect(try record("bob")["changed"]?.string == forged.text)
        let run = try must("accept-key", "bob")
        #expect(run.stderr.contains("no longer verified"))
        #expect(try record("bob")["trust"] == .string("trusted"))
    }

    @Test func aChangedKeyThatIsAnotherContactsIsNotOfferedAnyMore() throws {
        _ = try must("add", "bob.card")
        try makeImpostor(of: "bob")
        #expect(try contact("add", "other.card").status == 12)
        _ = try must("add", "--name", "second", "carol.card")
        #expect(try contact("add", "--name", "third", "other.card").status == 0)
        #expect(try record("bob")["changed"] == nil)
        #expect(try contact("accept-key", "bob").status != 0)
        #expect(try names() == ["bob", "second", "third"])
    }

    @Test func nothingIsSentWhileAKeyChangeIsUnconfirmed() throws {
        func seal() throws -> Run {
            try home.run("encrypt", ["--to", "bob", "-i", "alice.key"], text: "hello")
        }
        _ = try must("add", "bob.card")
        #expect(try seal().status == 0)
        try makeImpostor(of: "bob")
        #expect(try contact("add", "other.card").status == 12)
        let run = try seal()
        #expect(run.status == 12 && run.stdout.isEmpty)
        _ = try must("keep-key", "bob")
        let kept = try seal()
        #expect(
            try home.run("decrypt", ["-i", "bob.key", "--text"], stdin: .whole(kept.stdout)).text
                == "hello\n")
        #expect(try contact("add", "other.card").status == 12)
        _ = try must("accept-key", "bob")
        let taken = try seal()
        #expect(
            try home.run("decrypt", ["-i", "other.key", "--text"], stdin: .whole(taken.stdout)).text
                == "hello\n")
        _ = try must("block", "bob")
        #expect(try seal().status == 12)
    }

    // MARK: Requests

    /// Returns a message of `name`, sealed for Alice, without the card of `name`.
    func send(_ name: String, _ text: String) throws -> [UInt8] {
        try home.output(
            "encrypt", ["--stateless", "--to", "alice.card", "-i", "\(name).key"],
            stdin: Array(text.utf8))
    }

    func open(_ lines: [UInt8], _ more: String...) throws -> Run {
        try home.run("decrypt", ["-i", "alice.key"] + more, stdin: .whole(lines))
    }

    @Test func unknownSendersWaitUntilAccepted() throws {
        // Without contacts no sender is unknown.
        #expect(try open(send("carol", "hi"), "--text").text == "hi\n")
        _ = try must("add", "bob.card")
        let (one, two) = (try send("carol", "one"), try send("carol", "two"))
        let waits = try open(one + two, "--text")
        #expect(waits.status == 0 && waits.stdout.isEmpty)
        let id = try card("carol").id
        let list = try must("requests", "--text").lines
        #expect(list.count == 1)
        #expect(list[0].hasPrefix(id.description.prefix(16) + "  2 messages  20"))
        let record = try records(must("requests", "--json").stdout)[0]
        #expect(record["type"] == .string("requests") && record["count"] == .integer(2))
        #expect(record["from"]?.string == id.description && record["firstSeen"] != nil)

        let beginning = String(id.description.prefix(16))
        let envelopes = try must("requests", beginning).stdout
        #expect(envelopes == one + two)
        #expect(try must("requests", "carol.card").stdout == envelopes)
        #expect(try contact("requests", "bob").status == 1)
        #expect(try open(envelopes, "--preview", "--text").text == "one\ntwo\n")
        #expect(try must("requests", beginning).stdout == envelopes)

        // Without a card there is no name.
        let nameless = try contact("accept", beginning)
        #expect(nameless.status == 64 && nameless.stderr.contains("--name NAME"))
        #expect(try contact("accept", beginning, "--name", "bob").status == 73)
        #expect(try contact("accept", beginning, "bob.card").status == 14)
        let pipeline = try Command.pipeline([
            home.command("contact", ["accept", beginning, "--name", "carol", "-i", "alice.key"]),
            home.command("decrypt", ["-i", "alice.key"]),
        ])
        #expect(pipeline.map(\.status) == [0, 0], "\(pipeline.map(\.stderr))")
        let messages = try records(pipeline[1].stdout)
        #expect(messages.map { $0["body"]?.object?["text"] } == [.string("one"), .string("two")])
        #expect(messages.allSatisfy { $0["name"] == .string("carol") })
        #expect(messages.allSatisfy { $0["trust"] == .string("trusted") })
        #expect(try contact("requests").status == 1)
        #expect(try contact("accept", "carol").status == 1)
        #expect(try contact("show", "carol", "--card").status == 10)
        let answer = try home.run("encrypt", ["--to", "carol", "-i", "alice.key"], text: "x")
        #expect(answer.status == 10 && answer.stderr.contains("contact add"))
        // The sender's card completes the contact.
        _ = try must("add", "carol.card")
        #expect(try must("show", "carol", "--card").stdout == home.files.read("carol.card"))
    }

    @Test func acceptingWithTheCardAndAgain() throws {
        _ = try must("add", "bob.card")
        let envelope = try send("carol", "one")
        _ = try open(envelope)
        #expect(try must("accept", "carol.card").stdout == envelope)
        #expect(try record("carol")["card"]?.object != nil)
        // Messages that were not opened are printed again.
        #expect(try must("accept", "carol").stdout == envelope)
        #expect(try open(envelope, "--text").text == "one\n")
        #expect(try contact("accept", "carol").status == 1)
    }

    @Test func addingAWaitingSenderShowsTheCommandToRead() throws {
        _ = try must("add", "bob.card")
        let envelope = try send("carol", "one")
        _ = try open(envelope)
        let run = try must("add", "carol.card")
        #expect(
            run.stderr.contains(
                "1 message of carol waits: sotto contact accept carol | sotto decrypt"))
        #expect(try record("carol")["requests"] == .integer(1))
        #expect(try must("requests", "--text").lines[0].hasSuffix("Z  carol"))
    }

    @Test func blockingDropsWaitingMessages() throws {
        _ = try must("add", "bob.card")
        let id = try card("carol").id.description
        _ = try open(send("carol", "one"))
        #expect(try must("block", String(id.prefix(16))).stderr.contains("dropped 1 message"))
        #expect(try contact("requests").status == 1)
        #expect(try contact("accept", id, "--name", "carol").status == 12)
    }

    @Test func anAmbiguousIdListsTheCandidates() throws {
        _ = try must("add", "bob.card")
        // Two ids with the same beginning: entries of two contacts, made for this test.
        let key = [UInt8](repeating: 0xAB, count: 31)
        let store = try makeStore()
        for last in [UInt8(1), 2] {
            try store.transaction {
                try $0.save(
                    Contact(name: "", id: KeyID(publicKey: key + [last]), card: nil))
            }
        }
        let run = try contact("accept", "05ababababababab", "--name", "x")
        #expect(run.status == 64)
        #expect(run.stderr.contains("ababab01") && run.stderr.contains("ababab02"))
        #expect(try contact("show", "05abababab").status == 64)
    }

    /// A short abbreviation of an id can be forged by trying keys.
    @Test func anUnknownSenderNeedsTheFullListedId() throws {
        _ = try must("add", "bob.card")
        _ = try open(send("carol", "one"))
        let id = try card("carol").id.description
        for command in [["requests"], ["requests", "--drop"], ["accept"], ["block"]] {
            for count in [8, 15] {
                let run = try home.run(
                    "contact", command + ["-i", "alice.key", String(id.prefix(count))])
                #expect(run.status == 64, "\(command): \(run.stderr)")
                #expect(run.stderr.contains("16 or more characters"), "\(run.stderr)")
            }
        }
        #expect(try must("requests", String(id.prefix(16))).lines.count == 1)
    }

    @Test func requestsAreDroppedWithoutBlocking() throws {
        #expect(try contact("requests", "--drop-all").status == 1)
        _ = try must("add", "bob.card")
        try home.makePerson("dave")
        _ = try open(send("carol", "one") + send("carol", "two") + send("dave", "three"))
        let id = try card("carol").id.description
        let run = try must("requests", "--drop", String(id.prefix(16)))
        #expect(run.stdout.isEmpty)
        #expect(run.stderr == "contact: dropped 2 messages of \(id.prefix(16))…\n")
        #expect(try contact("requests", "--drop", "carol.card").status == 1)
        #expect(try names() == ["bob"])
        #expect(try must("requests", "--text").lines.count == 1)
        _ = try open(send("carol", "four"))
        #expect(
            try must("requests", "--drop-all").stderr
                == "contact: dropped 2 messages of 2 senders\n")
        #expect(try contact("requests", "--drop-all").status == 1)
        #expect(try contact("requests").status == 1)
        _ = try open(send("dave", "five"))
        #expect(try must("requests", "dave.card", "--drop").stderr.contains("dropped 1 message of"))
    }

    /// No sender can fill the list for all others.
    @Test func theSenderWithMostRequestsIsDisplaced() throws {
        let store = try makeStore()
        func sender(_ number: Int) -> KeyID {
            KeyID(publicKey: [UInt8](repeating: 0, count: 31) + [UInt8(number)])
        }
        func ask(_ number: Int) throws -> Bool {
            try store.transaction {
                try $0.request([1], id: Envelope.newID(), from: sender(number))
            }
        }
        func counts() throws -> [Int] { try store.requests().map(\.count).sorted() }
        // A contact's messages that were not read yet are kept.
        try store.transaction { transaction in
            try transaction.save(Contact(name: "zero", id: sender(0), card: nil))
            for number in 0..<10 {
                for index in 0..<100 {
                    #expect(
                        try transaction.request(
                            [UInt8(index)], id: Envelope.newID(), from: sender(number)))
                }
            }
        }
        #expect(try !ask(3))
        #expect(try ask(10))
        #expect(try counts() == [1, 99] + Array(repeating: 100, count: 9))
        // One message was removed from the list and can still be read.
        let shortened = try #require(try store.requests().first { $0.count == 99 }).from
        let kept = try store.requestedEnvelopes(from: shortened)
        #expect(kept == (0..<100).map { [UInt8($0)] })
        #expect(try store.requestsAside().messages == 1)
        while try ask(10) {}
        let fair = try counts()
        #expect(fair.reduce(0, +) == 1000)
        #expect(fair.last == 100 && fair[fair.count - 2] - fair[0] <= 1)
        #expect(try store.requestedEnvelopes(from: sender(0)).count == 100)
        #expect(try ask(11))
        #expect(try counts().reduce(0, +) == 1000)
    }

    @Test func acceptOnATerminalShowsTheCommand() throws {
        _ = try must("add", "bob.card")
        _ = try open(send("carol", "one"))
        let session = try TerminalSession(
            home.command("contact", ["accept", "carol.card", "-i", "alice.key"]))
        try session.expect("1 message to read: sotto read -i alice.key carol")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("envelope"))
    }

    // MARK: Export and import

    @Test func exportedRecordsAreImportedAsTrusted() throws {
        _ = try must("add", "bob.card")
        _ = try must("verify", "bob", try number("alice", "bob"))
        _ = try must("add", uri("carol"))
        #expect(try records(must("export", "carol").stdout).count == 1)
        let all = try must("export").stdout
        #expect(try records(all).map { $0["name"] } == [.string("bob"), .string("carol")])
        // A known contact is not changed, verified or not.
        let again = try must("import", stdin: all)
        #expect(again.stderr.contains("bob is already a contact") && again.stdout.isEmpty)
        #expect(try record("bob")["trust"] == .string("verified"))
        _ = try must("unverify", "bob")
        _ = try must("import", stdin: all)
        #expect(try record("bob")["trust"] == .string("trusted"))
        // The trust in a file is not accepted.
        _ = try must("remove", "bob")
        _ = try must("import", stdin: all)
        #expect(try record("bob")["trust"] == .string("trusted"))
        #expect(try record("carol")["card"]?.string == uri("carol"))
    }

    @Test func blocksAreRestored() throws {
        _ = try must("block", "carol.card")
        _ = try must("add", "bob.card")
        let all = try must("export").stdout
        #expect(try records(all)[0]["name"] == .string(""))
        let backup = try must("export", "--backup").stdout
        try FileManager.default.removeItem(atPath: home.files("state"))
        // A file of another identity blocks no contact, because a block deletes mail.
        let foreign = try contact("import", stdin: all)
        #expect(foreign.status == 15 && foreign.text.contains("own backup"), "\(foreign.text)")
        var blocked = try records(all)[1]
        blocked["blocked"] = .bool(true)
        _ = try must("remove", "bob")
        _ = try must("import", stdin: blocked.serialized())
        #expect(try record("bob")["blocked"] == .bool(false))
        try FileManager.default.removeItem(atPath: home.files("state"))
        _ = try must("import", stdin: backup)
        #expect(try names() == ["", "bob"])
        #expect(try open(send("carol", "z")).stdout.isEmpty)
        #expect(try must("unblock", String(card("carol").id.description.prefix(16))).status == 0)
        #expect(try names() == ["bob"])
        // Neither an entry without a name that is not blocked nor one with a card becomes a contact.
        var entry = try records(all)[0]
        entry["blocked"] = .bool(false)
        #expect(try contact("import", stdin: entry.serialized()).status == 64)
        entry["blocked"] = .bool(true)
        entry["card"] = .object(try #require(card("carol").record))
        #expect(try contact("import", stdin: entry.serialized()).status == 64)
        #expect(try names() == ["bob"])
    }

    /// The example in the manual page.
    @Test func theExampleOfTheManualNamesOnlyContacts() throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../man/contact.1"), encoding: .utf8)
        let line = try #require(page.split(separator: "\n").first { $0.contains("jq -r") })
        let filter = String(line.split(separator: "'")[1]).replacing("\\(dq", with: "\"")
        _ = try must("block", "carol.card")
        _ = try must("add", "bob.card")
        let run = try home.other("/usr/bin/jq", ["-r", filter]).run(
            stdin: .whole(must("list", "--json").stdout))
        #expect(run.text == "bob\n", "\(run.stderr)")
    }

    @Test func importAcceptsURIsAndCards() throws {
        let lines =
            Array("\(try uri("bob"))\r\n\nsotto:05\n".utf8) + (try home.files.read("carol.card"))
            + Array(
                "  \(try ContactURI(id: card("bob").id, x25519: card("bob").age.publicKey).text)"
                    .utf8)
        let run = try contact("import", stdin: lines)
        #expect(run.status == 15, "\(run.stderr)")
        let errors = try records(run.stdout)
        #expect(errors.map { $0["line"] } == [.integer(3), .integer(5)])
        #expect(errors.map { $0["status"] } == [.integer(65), .integer(64)])
        #expect(try names() == ["bob", "carol"])
        #expect(try record("bob")["card"]?.string == uri("bob"))
    }

    @Test func oneBadLineIsOneErrorRecord() throws {
        _ = try must("add", "bob.card")
        let entry = try must("export").stdout
        _ = try must("remove", "bob")
        _ = try must("add", "--name", "known", "carol.card")
        try makeImpostor(of: "known")
        let lines =
            Array("rubbish\n{\"v\":1,\"type\":\"contact-entry\"}\n".utf8) + entry
            + (try home.files.read("other.card")) + (try home.files.read("alice.card"))
        let run = try contact("import", stdin: lines)
        #expect(run.status == 15)
        let errors = try records(run.stdout)
        #expect(errors.map { $0["line"] } == [.integer(1), .integer(2), .integer(4), .integer(5)])
        #expect(
            errors.map { $0["status"] } == [
                .integer(65), .integer(65), .integer(12), .integer(64),
            ])
        #expect(!run.stderr.contains("rubbish"))
        #expect(try names() == ["bob", "known"])
        #expect(try record("known")["changed"] == nil)
        #expect(try contact("import").status == 1)
        #expect(try contact("import", "missing").status == 66)
    }

    @Test func aBackupRestoresEverything() throws {
        _ = try must("add", "bob.card")
        _ = try must("verify", "bob", try number("alice", "bob"))
        _ = try must("add", "carol.card")
        _ = try must("block", "carol")
        let before = try must("list", "--json").stdout
        let records = try must("export").stdout
        #expect(try must("export", "--backup", "-o", "contacts.age").stdout.isEmpty)
        let file = try home.files.read("contacts.age")
        #expect(String(decoding: file.prefix(64), as: UTF8.self).hasPrefix("age-encryption.org/v1"))
        var status = stat()
        #expect(stat(home.files("contacts.age"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        // decrypt can read it.
        let plain = try home.output("decrypt", ["-i", "alice.key", "contacts.age"])
        #expect(Array(plain[(plain.firstIndex(of: 10)! + 1)...]) == records)
        // So can this tool on a machine without contacts.
        try FileManager.default.removeItem(atPath: home.files("state"))
        _ = try must("import", "contacts.age")
        #expect(try must("list", "--json").stdout == before)
        // Importing again changes nothing.
        _ = try must("unverify", "bob")
        _ = try must("import", "contacts.age")
        #expect(try record("bob")["trust"] == .string("trusted"))
    }

    @Test func aBackupByPassphrase() throws {
        _ = try must("add", "bob.card")
        _ = try must("verify", "bob", try number("alice", "bob"))
        home.files.write("secret", Array("a passphrase\n".utf8))
        let file = try must("export", "--backup", "--passphrase", "@FILE:secret").stdout
        #expect(
            try home.output("decrypt", ["--passphrase", "@FILE:secret"], stdin: file).count > 100)
        let note = try must(
            "export", "--backup", "--passphrase", "@FILE:secret", "-o", "contacts.age"
        ).stderr
        #expect(
            note.contains("the passphrase restores them") && !note.contains("and the identity"))
        _ = try must("remove", "bob")
        home.files.write("wrong", Array("x\n".utf8))
        #expect(try contact("import", "--passphrase", "@FILE:wrong", stdin: file).status == 10)
        #expect(
            try contact("import", "--passphrase", "@FILE:secret", stdin: file.dropLast()).status
                == 11)
        #expect(try contact("list").status == 1)
        _ = try must("import", "--passphrase", "@FILE:secret", stdin: file)
        #expect(try record("bob")["trust"] == .string("verified"))
    }

    @Test func aForeignBackupVerifiesNoContact() throws {
        // Carol verified Bob, and encrypts her contacts to Alice, or forges a backup of Alice's.
        _ = try must("add", "bob.card")
        _ = try must("verify", "bob", try number("alice", "bob"))
        let body = try must("export").stdout
        _ = try must("remove", "bob")
        func forged(_ header: JSONObject) throws -> [UInt8] {
            try home.output(
                "encrypt", ["-r", "alice.card"], stdin: header.serialized() + [10] + body)
        }
        let digest = Base64.standard.encode(sha256(body))
        var header = JSONObject([
            ("v", .integer(1)), ("type", .string("contact-backup")),
            ("id", .string(try card("carol").id.description)), ("sha256", .string(digest)),
        ])
        SignedRecord.sign(&header, with: try identity("carol").signingKey)
        let run = try must("import", stdin: forged(header))
        #expect(run.stderr.contains("not a backup of this identity"))
        #expect(try record("bob")["trust"] == .string("trusted"))
        _ = try must("remove", "bob")
        header["id"] = .string(try card("alice").id.description)
        #expect(try contact("import", stdin: forged(header)).status == 11)
        #expect(try contact("list").status == 1)
        // A genuine header with other contacts is refused too.
        var own = header
        own["sha256"] = .string(Base64.standard.encode(sha256([])))
        SignedRecord.sign(&own, with: try identity("alice").signingKey)
        #expect(try contact("import", stdin: forged(own)).status == 11)
        let unencrypted = try must("import", stdin: body)
        #expect(unencrypted.status == 0)
        #expect(try record("bob")["trust"] == .string("trusted"))
    }

    @Test func allContactsGetASetting() throws {
        try contact("add", "bob.card")
        try contact("add", "carol.card")
        let run = try must("set", "--all", "receipts=on", "typing=on")
        #expect(run.stderr.contains("2 contacts: receipts=on"), "\(run.stderr)")
        for name in ["bob", "carol"] {
            #expect(try record(name)["receipts"] == .bool(true))
            #expect(try record(name)["typing"] == .bool(true))
        }
    }

    @Test func invalidCommandLinesAreRefused() throws {
        for arguments in [
            ["export", "--passphrase", "@ENV:X"], ["export", "--backup", "bob"],
            ["show", "--json", "--card", "bob"], ["requests", "--json", "--text", "bob"],
            ["set", "bob"],
            ["set", "--all"], ["set", "--all", "bob", "receipts=on"], ["set", "receipts=on"],
            ["requests", "--drop"], ["requests", "--drop-all", "bob"],
            ["requests", "--drop", "--json", "bob"], ["requests", "--drop-all", "--json"],
            ["requests", "--drop-all", "--text"],
            ["list", "--text", "--json"], ["show", "--text", "--card", "bob"],
            ["requests", "--drop", "--drop-all", "bob"],
            ["add", "--lock-timeout", "-1", "bob.card"], ["verify", "bob", "--scan", "a", "b"],
        ] {
            let run = try home.run("contact", arguments + ["-i", "alice.key"])
            #expect(run.status == 64, "\(arguments): \(run.stderr)")
        }
    }

    // MARK: State

    @Test(arguments: [
        (true, 12, "newer sotto"), (true, 1, "no released sotto wrote"),
        (false, 12, "no released sotto wrote"),
    ])
    func stateOfAnotherVersionIsRefusedAndUntouched(
        _ isState: Bool, _ scripts: Int, _ reason: String
    ) throws {
        let path = "state/\(try card("alice").id).db"
        _ = try StateDirectory(path: home.files("state"))
        let other = try DurableDatabase(
            path: home.files(path), kind: isState ? IdentityStore.fileKind : nil,
            migrations: (0..<scripts).map { "CREATE TABLE t\($0)(x)" }, lockTimeout: 1)
        try other.close()
        let before = try home.files.read(path)
        for arguments in [["add", "bob.card"], ["list"], ["requests"]] {
            let run = try home.run("contact", arguments + ["-i", "alice.key"])
            #expect(run.status == 78 && run.stderr.contains(reason), "\(run.stderr)")
        }
        #expect(try home.files.read(path) == before)
    }

    @Test func theStateShowsNeitherNamesNorIds() throws {
        _ = try must("add", "--name", "Unmistakable", "bob.card")
        let id = try card("bob").id
        for name in try FileManager.default.contentsOfDirectory(atPath: home.files("state")) {
            let bytes = Data(try home.files.read("state/" + name))
            #expect(bytes.range(of: Data("nmistakable".utf8)) == nil)
            #expect(bytes.range(of: Data(id.description.utf8)) == nil)
            #expect(bytes.range(of: Data(id.publicKey)) == nil)
        }
    }
}
