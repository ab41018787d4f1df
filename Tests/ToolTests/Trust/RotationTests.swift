import Foundation
import Sotto
import SottoState
import TestSupport
import Testing

/// `keygen rotate` and `keygen revoke`, and their records at contacts, with the built programs.
@Suite struct RotationTests {
    let home: Home

    init() throws {
        home = try Home(people: "alice", "bob")
        for (reader, other) in [("alice", "bob"), ("bob", "alice")] {
            _ = try must("contact", "add", "\(other).card", "-i", "\(reader).key")
        }
    }

    @discardableResult
    private func run(
        _ program: String, _ arguments: String..., input: [UInt8] = []
    ) throws -> Run {
        try home.run(program, arguments, stdin: .whole(input))
    }

    @discardableResult
    private func must(
        _ program: String, _ arguments: String..., input: [UInt8] = []
    ) throws -> Run {
        let run = try home.run(program, arguments, stdin: .whole(input))
        try #require(run.status == 0, "\(program) \(arguments): \(run.stderr)")
        return run
    }

    private func identity(_ file: String) throws -> Identity {
        try Identity(record: JSON.object(parsing: home.files.read(file)))
    }

    /// Rotates Bob's identity into `new.key`, and returns the two records.
    private func rotate() throws -> (succession: JSONObject, card: JSONObject) {
        let lines = try must("keygen", "rotate", "-o", "new.key", "bob.key").stdout
            .split(separator: 10)
        try #require(lines.count == 2)
        return (
            try JSON.object(parsing: Array(lines[0])), try JSON.object(parsing: Array(lines[1]))
        )
    }

    private func line(_ record: JSONObject) -> [UInt8] { record.serialized() + [10] }

    private func bob(_ name: String = "bob") throws -> JSONObject {
        try JSON.object(parsing: must("contact", "show", "--json", "-i", "alice.key", name).stdout)
    }

    /// Alice compares the number of Bob's key.
    private func verifyBob() throws {
        let digits = try #require(try bob()["safetyNumber"]?.string)
        try must("contact", "verify", "bob", digits, "-i", "alice.key")
    }

    @Test func rotateSignsWithBothKeysAndNotesItInBothFiles() throws {
        let (record, card) = try rotate()
        let succession = try Succession(record: record)
        let (old, new) = (try identity("bob.key"), try identity("new.key"))
        #expect(succession.former == old.id && succession.next == new.id)
        #expect(new.name == "bob" && new.hasWords)
        #expect(try Card(record: card) == succession.card)
        #expect(old.succession == succession && new.succession == succession)
        #expect(new.formerFile?.hasSuffix("/bob.key") == true && old.formerFile == nil)
        for file in ["bob.key", "new.key"] {
            #expect(
                try must("keygen", "rotate", "--again", file).stdout == line(record) + line(card))
        }
        // Of two successions none would be taken.
        let again = try run("keygen", "rotate", "-o", "third.key", "bob.key")
        #expect(again.status == 73 && again.stdout.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: home.files("third.key")))
        // An existing file is not overwritten, and the old identity is not changed then.
        #expect(try run("keygen", "rotate", "-o", "bob.card", "alice.key").status == 73)
        #expect(try identity("alice.key").succession == nil)
        #expect(try run("keygen", "rotate", "--again", "alice.key").status == 1)
    }

    /// The new file has a passphrase if the old one has one.
    @Test func aProtectedIdentityIsReplacedByAProtectedOne() throws {
        home.files.write("pass", Array("a long passphrase".utf8))
        try must("keygen", "passwd", "--passphrase", "@FILE:pass", "-q", "bob.key")
        try must(
            "keygen", "rotate", "-o", "new.key", "--identity-passphrase", "@FILE:pass", "bob.key")
        let text = String(decoding: try home.files.read("new.key"), as: UTF8.self)
        #expect(text.hasPrefix("-----BEGIN AGE ENCRYPTED FILE-----"))
        try must("keygen", "public", "--identity-passphrase", "@FILE:pass", "new.key")
    }

    @Test func aContactDecidesAndIsToldThatTheOldKeySigned() throws {
        let (record, _) = try rotate()
        let new = try identity("new.key")
        let offered = try run("contact", "add", "-i", "alice.key", input: line(record))
        #expect(offered.status == 12, "\(offered.stderr)")
        #expect(offered.stderr.contains("the old key signed it"))
        #expect(offered.stderr.contains("contact accept-key bob"))
        // Nothing changed by itself, and nothing is sent.
        #expect(try bob()["id"]?.string == identity("bob.key").id.description)
        let refused = try run(
            "encrypt", "--to", "bob", "-i", "alice.key", input: Array("hi".utf8))
        #expect(refused.status == 12 && refused.stdout.isEmpty)
        let shown = try must("contact", "show", "--text", "-i", "alice.key", "bob")
        #expect(shown.text.contains("the old key signed it on"))

        let accepted = try must("contact", "accept-key", "bob", "-i", "alice.key")
        #expect(accepted.stderr.contains("the old key signed on"))
        let contact = try bob()
        #expect(contact["id"]?.string == new.id.description)
        #expect(contact["trust"] == .string("trusted"))
        #expect(contact["former"]?.string == (try identity("bob.key").id.description))
        // A replay changes nothing.
        #expect(try run("contact", "add", "-i", "alice.key", input: line(record)).status == 0)
        #expect(try bob()["id"]?.string == new.id.description)
    }

    /// `verified` becomes `trusted`.
    @Test func aVerifiedContactIsOnlyTrustedAfterwards() throws {
        try verifyBob()
        #expect(try bob()["trust"] == .string("verified"))
        let (record, _) = try rotate()
        _ = try run("contact", "add", "-i", "alice.key", input: line(record))
        try must("contact", "accept-key", "bob", "-i", "alice.key")
        #expect(try bob()["trust"] == .string("trusted"))
        try verifyBob()
        #expect(try bob()["former"] == nil)
    }

    /// The first message of the new identity, and one of the old identity, carry it.
    @Test(arguments: ["new.key", "bob.key"]) func aMessageCarriesTheSuccession(
        _ sender: String
    ) throws {
        _ = try rotate()
        let sealed = try must(
            "encrypt", "--to", "alice.card", "--suite", "sealed", "-i", sender,
            input: Array("hi".utf8))
        let read = try run("decrypt", "-i", "alice.key", input: sealed.stdout)
        #expect(read.stderr.contains("the old key signed it") || read.text.contains("signed it"))
        #expect(read.status != 0)
        let next = try identity("new.key").id.description
        #expect(try bob()["changed"]?.object?["id"]?.string == next)
        // The request of the new identity waits until the key is accepted.
        if sender == "new.key" {
            let accepted = try must("contact", "accept-key", "bob", "-i", "alice.key")
            #expect(accepted.stderr.contains("waited"))
            let waiting = try must("contact", "accept", "bob", "-i", "alice.key")
            let opened = try must("decrypt", "--text", "-i", "alice.key", input: waiting.stdout)
            #expect(opened.text.contains("hi"))
        }
    }

    @Test func decryptAndImportTakeItFromAPipe() throws {
        let (record, card) = try rotate()
        let opened = try run("decrypt", "-i", "alice.key", input: line(record))
        #expect(opened.status == 12 && opened.text.contains("the old key signed it"))
        #expect(try bob()["changed"] != nil)
        try must("contact", "keep-key", "bob", "-i", "alice.key")
        let both = try run(
            "contact", "import", "-i", "alice.key", input: line(record) + line(card))
        #expect(both.status != 0)
        // A rejected key is not offered again by a record.
        #expect(try bob()["changed"] == nil)
        let stateless = try run("decrypt", "--stateless", "-i", "alice.key", input: line(record))
        #expect(stateless.status == 64)
        let preview = try run("decrypt", "--preview", "-i", "alice.key", input: line(record))
        #expect(preview.status == 0)
    }

    @Test func ofTwoSuccessionsNoneIsAcceptedWithoutTheNumber() throws {
        let old = try identity("bob.key")
        let (record, _) = try rotate()
        let thief = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "bob")
        let second = Succession(of: old, by: thief, issued: .now())
        #expect(try run("contact", "add", "-i", "alice.key", input: line(record)).status == 12)
        let forked = try run(
            "contact", "add", "-i", "alice.key", input: line(second.record))
        #expect(forked.status == 12 && forked.stderr.contains("signed two new keys"))
        let refused = try run("contact", "accept-key", "bob", "-i", "alice.key")
        #expect(refused.status == 12, "\(refused.stderr)")
        let new = try identity("new.key").id.description
        let accepted = try must("contact", "accept-key", "bob", new, "-i", "alice.key")
        #expect(!accepted.stderr.contains("the old key signed on"))
        #expect(try bob()["id"]?.string == new)
    }

    /// The words alone do not prove who has compared the numbers.
    @Test func theContactsAreCopiedAndNotVerified() throws {
        _ = try rotate()
        let exported = try must("contact", "export", "-i", "bob.key")
        try must("contact", "import", "-i", "new.key", input: exported.stdout)
        let alice = try JSON.object(
            parsing: must("contact", "show", "--json", "-i", "new.key", "alice").stdout)
        #expect(alice["trust"] == .string("trusted"))
    }

    // MARK: Revocation

    @Test func aRevocationIsMadeInAdvanceAndEndsTheContact() throws {
        let made = try must("keygen", "revoke", "-o", "bob.revocation", "bob.key")
        #expect(made.stderr.contains("nothing is revoked yet"))
        let bytes = try home.files.read("bob.revocation")
        let revocation = try Revocation(record: JSON.object(parsing: bytes))
        #expect(revocation.id == (try identity("bob.key").id))
        #expect(try run("keygen", "revoke", "bob.key").status == 64)
        #expect(try run("keygen", "revoke", "-o", "bob.revocation", "bob.key").status == 73)

        let sealed = try must(
            "encrypt", "--to", "alice.card", "-i", "bob.key", input: Array("hi".utf8))
        try must("contact", "add", "bob.revocation", "-i", "alice.key")
        #expect(try bob()["doubt"] == .string("revoked"))
        #expect(try must("contact", "list", "--text", "-i", "alice.key").text.contains("revoked"))
        let read = try run("decrypt", "-i", "alice.key", input: sealed.stdout)
        #expect(read.status == 12 && read.text.contains("revoked"))
        #expect(
            try run("encrypt", "--to", "bob", "-i", "alice.key", input: Array("hi".utf8)).status
                == 12)
        // For ever, also after the contact was removed.
        try must("contact", "remove", "bob", "-i", "alice.key")
        #expect(try run("contact", "add", "bob.card", "-i", "alice.key").status == 12)
        #expect(
            try run("contact", "import", "-i", "alice.key", input: home.files.read("bob.card"))
                .status == 12)
        // No succession of it counts.
        let (record, _) = try rotate()
        #expect(try run("contact", "add", "-i", "alice.key", input: line(record)).status == 12)
    }

    @Test func aRevocationVoidsASuccessionThatWasAccepted() throws {
        try must("keygen", "revoke", "-o", "bob.revocation", "bob.key")
        let (record, _) = try rotate()
        _ = try run("contact", "add", "-i", "alice.key", input: line(record))
        try must("contact", "accept-key", "bob", "-i", "alice.key")
        let taken = try must("contact", "add", "bob.revocation", "-i", "alice.key")
        #expect(taken.stderr.contains("compare the safety number"))
        #expect(try bob()["doubt"] == .string("void"))
        let refused = try run(
            "encrypt", "--to", "bob", "-i", "alice.key", input: Array("hi".utf8))
        #expect(refused.status == 12 && refused.stderr.contains("revoked now"))
        try verifyBob()
        #expect(try bob()["doubt"] == nil)
        try must("encrypt", "--to", "bob", "-i", "alice.key", input: Array("hi".utf8))
    }

    /// A changed revocation, and one with another id, have a wrong signature.
    @Test func aForgedRevocationIsRefused() throws {
        var record = Revocation(of: try identity("bob.key"), issued: .now()).record
        record["issued"] = .string("2030-01-01T00:00:00Z")
        #expect(try run("contact", "add", "-i", "alice.key", input: line(record)).status == 11)
        let alice = Revocation(of: try identity("alice.key"), issued: .now()).record
        record["id"] = alice["id"]
        #expect(try run("contact", "add", "-i", "alice.key", input: line(record)).status == 11)
        #expect(try bob()["doubt"] == nil)
    }

    /// The page needs no words: its code is the record that `send` and `contact add` take.
    @Test func thePageHasTheRevocationAsACode() throws {
        try must("keygen", "revoke", "--paper", "-o", "page.svg", "bob.key")
        let page = try String(decoding: home.files.read("page.svg"), as: UTF8.self)
        #expect(page.hasPrefix("<?xml") && page.contains("Revocation \u{2013} bob"))
        let id = try identity("bob.key").id.description
        #expect(page.contains(id.prefix(22)))
        for word in try must("keygen", "words", "bob.key").text.split(separator: " ") {
            #expect(!page.contains(">\(word)<"))
        }
        let parts = page.components(separatedBy: "monospace").count
        #expect(parts > 4)
    }
}
