import Foundation
import Glibc
import TestSupport
import Testing

@testable import Sotto

/// Typical user sessions without a relay.
struct SessionTests {
    @Test func theReadmesSessionWorksAsWritten() throws {
        let home = Home()
        let made = try home.run("keygen", ["--name", "alice", "-o", "alice.key"])
        #expect(made.status == 0 && made.stdout.isEmpty)
        #expect(
            made.stderr.contains(
                "keygen: note: words restore your keys, and are shown only on a terminal; to see them: sotto keygen words alice.key\n"
            ), "\(made.stderr)")
        var status = stat()
        #expect(stat(home.files("alice.key"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        let words = String(
            decoding: try home.output("keygen", ["words", "alice.key"]), as: UTF8.self)
        #expect(words.split(whereSeparator: \.isWhitespace).count == 24)
        #expect(!made.stderr.contains(words.trimmingCharacters(in: .newlines)))
        for name in ["bob", "carol"] { try home.makePerson(name) }
        try home.files.write("alice.card", home.output("keygen", ["public", "alice.key"]))

        let one = try home.output("fingerprint", ["--with", "bob.card", "alice.card"])
        let two = try home.output("fingerprint", ["--with", "alice.card", "bob.card"])
        #expect(one == two && one.filter { (0x30...0x39).contains($0) }.count == 60)
        let digits = String(decoding: one, as: UTF8.self)
        let wrong = String(repeating: "1", count: 60)
        let match = try home.run(
            "fingerprint", ["--with", "bob.card", "--check", digits, "alice.card"])
        #expect(match.status == 0 && match.stdout.isEmpty)
        let other = try home.run(
            "fingerprint", ["--with", "carol.card", "--check", digits, "alice.card"])
        #expect(other.status == 14 && other.stderr.contains("do not match"))
        #expect(
            try home.run(
                "fingerprint", ["--with", "bob.card", "--check", "-", "alice.card"], text: digits
            ).status == 0)
        #expect(
            try home.run(
                "fingerprint", ["--with", "bob.card", "-q", "--check", wrong, "alice.card"]
            )
            .stderr.isEmpty)

        let photos = Array("photos\0".utf8) + randomBytes(100_000)
        let pipeline = try Command.pipeline(
            [
                home.command("encrypt", ["-r", "bob.card", "-s", "-i", "alice.key"]),
                home.command("decrypt", ["-i", "bob.key", "--from", "alice.card"]),
            ], stdin: .whole(photos))
        #expect(pipeline.map(\.status) == [0, 0] && pipeline[1].stdout == photos)
        #expect(pipeline[1].stderr.contains("signed by 05"))
        #expect(pipeline[1].stderr.contains("(alice)"))

        let messages = try Command.pipeline(
            [
                home.command("encrypt", ["--to", "bob.card", "-i", "alice.key"]),
                home.command("decrypt", ["-i", "bob.key", "--text"]),
            ], stdin: .whole(Array("hello, bob\n".utf8)))
        #expect(messages.map(\.status) == [0, 0] && messages[1].text == "hello, bob\n")
    }

    @Test func wordsRestoreTheSameIdentity() throws {
        let home = try Home(people: "alice")
        let words = try home.output("keygen", ["words", "alice.key"])
        let run = try home.run(
            "keygen", ["recover", "--name", "alice", "-o", "again.key"], stdin: .whole(words))
        #expect(run.status == 0)
        #expect(try home.files.read("again.key") == home.files.read("alice.key"))
    }

    @Test(arguments: [12, 15, 18, 21, 24])
    func anyNumberOfWordsIsAccepted(_ count: Int) throws {
        let home = Home()
        #expect(try home.run("keygen", ["--words", "\(count)", "-o", "k"]).status == 0)
        let words = try home.output("keygen", ["words", "k"])
        #expect(words.split(separator: 0x20).count == count)
        #expect(try home.run("keygen", ["--words", "\(count + 1)", "-o", "l"]).status == 64)
    }

    @Test(arguments: Wordlist.allCases)
    func anyLanguageIsAccepted(_ language: Wordlist) throws {
        let home = Home()
        let made = try home.run(
            "keygen", ["--language", language.rawValue, "--name", "a", "-o", "a.key"])
        #expect(made.status == 0)
        let words = try home.output("keygen", ["words", "a.key"])
        let again = try home.run(
            "keygen", ["recover", "--language", language.rawValue, "--name", "a", "-o", "b.key"],
            stdin: .whole(words))
        #expect(again.status == 0, "\(again.stderr)")
        #expect(try home.files.read("a.key") == home.files.read("b.key"))
    }

    @Test func aProtectedIdentityOpensWithItsPassphraseAlone() throws {
        let home = try Home(people: "bob")
        let secret = ["PASS": "correct horse", "WRONG": "wrong"]
        let made = try home.run(
            "keygen", ["--name", "alice", "--protect", "--passphrase", "@ENV:PASS", "-o", "a.key"],
            environment: secret)
        #expect(made.status == 0)
        #expect(
            String(decoding: try home.files.read("a.key"), as: UTF8.self)
                .hasPrefix("-----BEGIN AGE ENCRYPTED FILE-----\n"))
        let card = try home.run(
            "keygen", ["public", "--identity-passphrase", "@ENV:PASS", "a.key"], environment: secret
        )
        #expect(card.status == 0 && card.text.contains("\"name\":\"alice\""))
        let wrong = try home.run(
            "keygen", ["public", "--identity-passphrase", "@ENV:WRONG", "a.key"],
            environment: secret)
        #expect(wrong.status == 10 && wrong.stdout.isEmpty)
        home.files.write("pass", Array("correct horse\nnot this line\n".utf8))
        #expect(
            try home.run("keygen", ["words", "--identity-passphrase", "@FILE:pass", "a.key"])
                .status == 0)
        #expect(
            try home.run(
                "keygen", ["words", "--identity-passphrase", "@FD:0", "a.key"],
                text: "correct horse\n"
            ).status == 0)
    }

    @Test func theDefaultIdentityIsFoundInItsPlaces() throws {
        let home = try Home(people: "alice")
        #expect(try home.run("keygen", ["public"]).status == 66)
        let key = try home.files.read("alice.key")
        #expect(
            try home.run(
                "keygen", ["public"], environment: ["SOTTO_IDENTITY": home.files("alice.key")]
            ).status == 0)
        let folder = home.files("config/sotto")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        home.files.write("config/sotto/identity", key)
        // The signed card has the current time, the URI has not.
        #expect(
            try home.output("keygen", ["public", "--uri"])
                == home.output("keygen", ["public", "--uri", "alice.key"]))
    }

    @Test func listsURIsAndArmorWorkForFiles() throws {
        let home = try Home(people: "alice", "bob", "carol")
        let cards = try ["bob", "carol"].flatMap { try home.files.read("\($0).card") }
        home.files.write("friends", [UInt8](text: "# friends\n\n") + cards)
        let plain = Array("for both".utf8)
        let file = try home.output("encrypt", ["-R", "friends", "-a"], stdin: plain)
        #expect(String(decoding: file, as: UTF8.self).hasPrefix("-----BEGIN AGE"))
        for name in ["bob", "carol"] {
            #expect(try home.output("decrypt", ["-i", "\(name).key"], stdin: file) == plain)
        }
        let refused = try home.run("decrypt", ["-i", "alice.key"], stdin: .whole(file))
        #expect(refused.status == 10 && refused.stdout.isEmpty)

        let uri = String(
            decoding: try home.output("keygen", ["public", "--uri", "bob.key"]), as: UTF8.self
        ).trimmingCharacters(in: .newlines)
        #expect(uri.hasPrefix("sotto:05"))
        let classic = try home.output("encrypt", ["-r", uri], stdin: plain)
        #expect(try home.output("decrypt", ["-i", "bob.key"], stdin: classic) == plain)
        let mixed = try home.run("encrypt", ["-r", uri, "-r", "carol.card"], text: "x")
        #expect(mixed.status == 64 && mixed.stdout.isEmpty && mixed.stderr.contains("--classic"))
        let both = try home.output(
            "encrypt", ["--classic", "-r", uri, "-r", "carol.card"], stdin: plain)
        #expect(try home.output("decrypt", ["-i", "carol.key"], stdin: both) == plain)
        let anyOf = try home.output(
            "decrypt", ["-i", "alice.key", "-i", "carol.key"], stdin: both)
        #expect(anyOf == plain)
    }

    @Test func aPassphraseFileNeedsNoIdentity() throws {
        let home = Home()
        home.files.write("pass", Array("correct horse".utf8))
        let file = try home.output(
            "encrypt", ["--passphrase", "@FILE:pass"], stdin: Array("secret".utf8))
        let opened = try home.output("decrypt", ["--passphrase", "@FILE:pass"], stdin: file)
        #expect(opened == Array("secret".utf8))
        home.files.write("pass", Array("wrong".utf8))
        #expect(
            try home.run("decrypt", ["--passphrase", "@FILE:pass"], stdin: .whole(file)).status
                == 10)
    }

    @Test func paddingHidesALengthAndIsRemoved() throws {
        let home = try Home(people: "bob")
        for arguments in [[], ["--scheme", "pow2"], ["--scheme", "iso7816", "--block", "512"]] {
            let padded = try home.output("pad", arguments, stdin: Array("x".utf8))
            #expect([64, 64, 512].contains(padded.count))
            #expect(try home.output("pad", arguments + ["--remove"], stdin: padded) == [0x78])
        }
        let pipeline = try Command.pipeline(
            [
                home.command("pad", []), home.command("encrypt", ["-r", "bob.card"]),
                home.command("decrypt", ["-i", "bob.key"]), home.command("pad", ["--remove"]),
            ], stdin: .whole(Array("report".utf8)))
        #expect(pipeline.map(\.status) == [0, 0, 0, 0] && pipeline[3].text == "report")
        #expect(try home.run("pad", ["--remove"], text: "not a frame").status == 65)
    }

    @Test func theDispatcherFindsTheTools() throws {
        let home = Home()
        let list = try home.run("sotto", ["help"])
        #expect(list.status == 0 && list.text.contains("encrypt"))
        #expect(try home.run("sotto", ["keygen", "--version"]).status == 0)
        #expect(try home.run("sotto", ["pad"], text: "x").stdout.count == 64)
        #expect(try home.run("sotto", ["frobnicate"]).status == 64)
        #expect(try home.run("sotto", []).status == 64)
    }

    @Test(arguments: ["keygen", "encrypt", "decrypt", "fingerprint", "pad", "sotto"])
    func helpGoesToStdoutAndAWrongOptionIs64(_ tool: String) throws {
        let home = Home()
        let help = try home.run(tool, ["--help"])
        #expect(help.status == 0 && help.text.contains("USAGE") && help.stderr.isEmpty)
        let version = try home.run(tool, ["--version"])
        #expect(version.status == 0 && version.lines.count == 1 && version.stderr.isEmpty)
        let wrong = try home.run(tool, ["--frobnicate"])
        #expect(wrong.status == 64 && wrong.stdout.isEmpty)
        #expect(wrong.stderr.hasPrefix("\(tool): error: "), "\(wrong.stderr)")
    }
}

/// Tests of signatures inside files, and of files forwarded to recipients for whom they were not signed.
struct SignedFileTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob", "carol") }

    func sign(_ recipients: String...) throws -> [UInt8] {
        try home.output(
            "encrypt", recipients.flatMap { ["-r", "\($0).card"] } + ["-s", "-i", "alice.key"],
            stdin: Array("signed".utf8))
    }

    func decrypt(_ file: [UInt8], _ who: String, _ more: String...) throws -> Run {
        try home.run("decrypt", ["-i", "\(who).key"] + more, stdin: .whole(file))
    }

    /// Returns the content that another age program decrypts: the signed stream.
    func stream(_ file: [UInt8], _ who: String) throws -> [UInt8] {
        let record = try JSON.object(parsing: Array(home.files.read("\(who).key")))
        let identity = try Identity(record: record)
        return try AgeFileReader.open(
            file, identities: [.hybrid(identity.hybridKey), .x25519(identity.ageKey)])
    }

    @Test func theRequiredSignerIsChecked() throws {
        let file = try sign("bob")
        #expect(try decrypt(file, "bob").text == "signed")
        #expect(try decrypt(file, "bob", "--from", "alice.card").text == "signed")
        #expect(
            try decrypt(file, "bob", "--from", "carol.card", "--from", "alice.card").status == 0)
        let wrong = try decrypt(file, "bob", "--from", "carol.card")
        #expect(wrong.status == 12 && wrong.stdout.isEmpty)
        let plain = try home.output("encrypt", ["-r", "bob.card"], stdin: Array("x".utf8))
        let unsigned = try decrypt(plain, "bob", "--from", "alice.card")
        #expect(unsigned.status == 11 && unsigned.stdout.isEmpty)
    }

    @Test func eachOfSeveralRecipientsVerifies() throws {
        let file = try sign("bob", "carol")
        for who in ["bob", "carol"] {
            #expect(try decrypt(file, who, "--from", "alice.card").text == "signed")
        }
    }

    func recipient(_ who: String) throws -> AgeRecipient {
        try Card(record: JSON.object(parsing: home.files.read("\(who).card"))).recipient()
    }

    /// Encrypts signed content like another age program; ours refuses to.
    func pass(on stream: [UInt8], to recipients: [String]) throws -> [UInt8] {
        try AgeFile.seal(stream, for: .recipients(recipients.map(recipient)))
    }

    @Test func aForwardedFileIsDetected() throws {
        let stream = try stream(try sign("bob"), "bob")
        for recipients in [["carol"], ["bob", "carol"], ["carol", "bob"]] {
            let file = try pass(on: stream, to: recipients)
            let run = try decrypt(file, "carol", "--from", "alice.card")
            #expect(run.status == 11 && run.stdout.isEmpty, "\(recipients): \(run.stderr)")
            #expect(run.stderr.contains("forwarded"))
        }
        // Sent back to the same recipient, the file is still the one that was signed.
        let same = try pass(on: stream, to: ["bob"])
        #expect(try decrypt(same, "bob", "--from", "alice.card").text == "signed")
    }

    @Test func aFileForTwoForwardedToOneOrAThirdIsDetected() throws {
        let stream = try stream(try sign("alice", "bob"), "bob")
        for recipients in [["carol"], ["bob"], ["alice", "bob", "carol"]] {
            let file = try pass(on: stream, to: recipients)
            let who = recipients.last!
            let run = try decrypt(file, who)
            #expect(run.status == 11 && run.stdout.isEmpty, "\(recipients)")
        }
    }

    /// The headers that Bob, who knows the file key, can make for Carol: the true list of recipients, sealed correctly
    /// but without her; or a false list that includes her.
    @Test(arguments: [["bob"], ["alice", "bob"], ["bob", "carol"], ["carol"]])
    func aForgedRecipientListDoesNotAllowForwarding(_ named: [String]) throws {
        let original = named.contains("alice") ? try sign("alice", "bob") : try sign("bob")
        let stream = try stream(original, "bob")
        guard case .hybrid(let carol) = try recipient("carol") else {
            Issue.record("carol's card has no post-quantum key")
            return
        }
        let key = SecretBytes(randomCount: 16)
        let stanza = AgeHybrid.wrap(key, to: carol)!
        let audience = AgeAudience.stanza(try named.map(recipient), fileKey: key)
        let sink = MemorySink()
        try sink.write(AgeHeader.encode([stanza, audience], fileKey: key))
        let payload = try AgePayload.writer(fileKey: key, to: sink)
        try payload.write(stream)
        try payload.finish()
        let run = try decrypt(sink.bytes, "carol", "--from", "alice.card")
        #expect(run.status == 11 && run.stdout.isEmpty && run.stderr.contains("forwarded"))
    }

    @Test func aSignatureForAnyoneIsReported() throws {
        let file = try home.run(
            "encrypt", ["--passphrase", "@ENV:P", "-s", "-i", "alice.key"],
            stdin: .whole(Array("open letter".utf8)), environment: ["P": "x"])
        let run = try home.run(
            "decrypt", ["--passphrase", "@ENV:P", "--from", "alice.card"],
            stdin: .whole(file.stdout), environment: ["P": "x"])
        #expect(run.status == 0 && run.text == "open letter")
        #expect(run.stderr.contains("for anyone"))
    }
}
