import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of Whisper2 accounts without a known signing key, and without any known key.
struct Whisper2ContactTests {
    let accounts: Accounts
    let alice: Party
    let bob: Party
    /// The WhisperIDs.
    let aliceID: String
    let bobID: String

    init() throws {
        accounts = try Accounts()
        (alice, bob) = (accounts.alice, accounts.bob)
        aliceID = try #require(try alice.identity.whisperID()).description
        bobID = try #require(try bob.identity.whisperID()).description
        // Bob knows Alice's keys.
        let added = try bob.run("contact", ["add", alice.card])
        #expect(added.status == 0, "\(added.stderr)")
    }

    private func account(_ party: Party) throws -> Whisper2Contact {
        try party.identity.whisper2Keys().contact(try #require(try party.identity.whisperID()))
    }

    /// The URL that an iPhone shows.
    private func shortURL(_ party: Party) throws -> String {
        let keys = try account(party)
        return Whisper2AddURL.text(
            Whisper2Contact(id: keys.id, encryptionKey: keys.encryptionKey, signingKey: nil))
    }

    private func url(_ party: Party) throws -> String { Whisper2AddURL.text(try account(party)) }

    private func must(_ arguments: String...) throws -> Run {
        let run = try alice.run("contact", arguments)
        #expect(run.status == 0, "\(arguments): \(run.stderr)")
        return run
    }

    private func shown(_ name: String) throws -> JSONObject {
        try JSON.object(parsing: must("show", "--json", name).stdout)
    }

    /// Returns Bob's records for Alice.
    private func message(_ text: String) throws -> [UInt8] {
        let run = try bob.run(
            "bridge", ["seal", "whisper2", "-q", "--to", "alice"], stdin: Array(text.utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.stdout
    }

    private func open(_ record: [UInt8], _ more: String...) throws -> Run {
        try alice.run("bridge", ["open", "whisper2"] + more, stdin: record)
    }

    private func seal(_ name: String, _ more: String...) throws -> Run {
        try alice.run(
            "bridge", ["seal", "whisper2", "-q", "--to", name] + more, stdin: Array("hi".utf8))
    }

    // MARK: Without a signing key

    @Test func messagesOfAContactWithoutASigningKeyAreNotAuthenticated() throws {
        let added = try must("add", "--name", "bob", shortURL(bob))
        #expect(added.stderr.contains("added bob (\(bobID)), whose messages are not authen"))
        let read = try bob.run("bridge", ["open", "whisper2"], stdin: seal("bob").stdout)
        #expect(try accounts.record(read)["authenticated"] == .bool(true), "\(read.stderr)")

        let line = try message("hello")
        for policy in ["first-use", "verified"] {
            let refused = try open(line, "--text", "--trust", policy)
            #expect(refused.status == 12 && refused.stdout.isEmpty, "\(refused.stderr)")
        }
        let marked = try open(line)
        #expect(marked.status == 12, "\(marked.stderr)")
        let record = try accounts.record(marked)
        #expect(record["authenticated"] == .bool(false))
        #expect(record["trust"] == .string("unverified") && record["name"] == .string("bob"))
        #expect(record["from"]?.string == (try account(bob)).id.accountID.description)
        #expect(record.at("body", "text") == .string("hello"))
        #expect(record.at("details", "untrusted", "account")?.string == bobID)
        let allowed = try open(line, "--allow-unverified", "--text")
        #expect(allowed.status == 0 && allowed.text == "hello\n")
        #expect(allowed.stderr.contains("from bob (not authenticated)"), "\(allowed.stderr)")
        let timed = try open(line, "--allow-unverified", "--text", "--time")
        #expect(timed.text.contains("\tbob (not authenticated)\thello\n"), "\(timed.text)")

        let history = try alice.run("history", ["bob", "--text"])
        #expect(history.text.contains("[not authenticated]"), "\(history.text)")
        let kept = try JSON.object(
            parsing: alice.run("history", ["bob", "--json"]).stdout.split(separator: 10).map(
                Array.init
            ).last ?? [])
        #expect(kept["authenticated"] == .bool(false) && kept["trust"] == .string("unverified"))
        let mail = try alice.run("history", ["export", "bob", "--format", "mbox"])
        // The name is an encoded word (RFC 2047).
        let name = Base64.standard.encode(Array("bob (not authenticated)".utf8))
        #expect(mail.text.contains(name), "\(mail.stderr)")
    }

    /// The relay has no card of a person who uses another messenger.
    @Test func aContactWithOnlyAnAccountIsWrittenToInTheOtherMessenger() throws {
        _ = try must("add", "--name", "bob", url(bob))
        let run = try alice.run("encrypt", ["--to", "bob"], stdin: [120])
        #expect(
            run.status == 10
                && run.stderr.contains("write to the account: sotto bridge seal whisper2 --to bob"),
            "\(run.stderr)")
        #expect(try seal("bob").status == 0)
    }

    @Test func aContactWithoutASigningKeyCannotBeVerified() throws {
        _ = try must("add", "--name", "bob", shortURL(bob))
        let record = try shown("bob")
        #expect(record["trust"] == .string("unverified") && record["safetyNumber"] == nil)
        #expect(record["fingerprint"] == nil && record["uses"] == nil)
        let text = try must("show", "--text", "bob").text
        #expect(text.contains("whose messages are not authenticated"), "\(text)")
        #expect(!text.contains("safety no."))
        let list = try must("list", "--text").text
        #expect(list.contains("bob  unverified  \(bobID)"), "\(list)")
        #expect(list.contains("not authenticated, whisper2"), "\(list)")
        for arguments in [
            ["verify", "bob", String(repeating: "1", count: 60)],
            ["verify", "bob", "--scan", try url(bob)],
        ] {
            let run = try alice.run("contact", arguments)
            #expect(
                run.status == 12 && run.stderr.contains("contact add --name bob URL"),
                "\(run.stderr)")
        }
        #expect(try seal("bob", "--trust", "verified").status == 12)
        #expect(try seal("bob", "--trust", "first-use").status == 0)
        let native = try alice.run("encrypt", ["--to", "bob"], stdin: [120])
        #expect(
            native.status == 10 && native.stderr.contains("sotto bridge seal whisper2 --to bob"),
            "\(native.stderr)")
        // A backup does not restore more.
        let backup = try must("export", "--backup").stdout
        _ = try must("remove", "bob")
        #expect(try alice.run("contact", ["import"], stdin: backup).status == 0)
        #expect(try shown("bob") == record)
        // Another file neither.
        var claimed = record
        claimed["trust"] = .string("verified")
        _ = try must("remove", "bob")
        #expect(try alice.run("contact", ["import"], stdin: claimed.serialized()).status == 0)
        #expect(try shown("bob")["trust"] == .string("unverified"))
    }

    @Test func theURLWithTheSigningKeyCompletesTheContact() throws {
        _ = try must("add", "--name", "bob", shortURL(bob))
        _ = try must("set", "bob", "receipts=on")
        _ = try open(message("one"))
        let other = Whisper2Contact(
            id: try account(bob).id, encryptionKey: try account(alice).encryptionKey,
            signingKey: nil)
        let changed = try alice.run(
            "contact", ["add", "--name", "bob", Whisper2AddURL.text(other)])
        #expect(changed.status == 12, "\(changed.stderr)")
        #expect(try must("add", "--name", "bob", shortURL(bob)).stderr.contains("is already"))
        let completed = try must("add", "--name", "bob", url(bob))
        #expect(completed.stderr.contains("stored the new account of bob"), "\(completed.stderr)")
        let key = try #require(try account(bob).signingKey)
        let record = try shown("bob")
        #expect(record["id"]?.string == KeyID(publicKey: key).description)
        #expect(record["trust"] == .string("trusted") && record["safetyNumber"] != nil)
        #expect(record["receipts"] == .bool(true))
        #expect(try must("list", "--json").lines.count == 1)
        let read = try open(message("two"))
        #expect(try accounts.record(read)["authenticated"] == .bool(true), "\(read.stderr)")
        // The history tells about the key, which nothing has to be sent for.
        let shown = try alice.run("history", ["bob", "--text"]).text
        #expect(shown.contains("a new key of this contact was accepted"), "\(shown)")
        #expect(!shown.contains("[not sent"), "\(shown)")
        #expect(try alice.run("history", ["unsent"]).status == 1)
        let before = try alice.run("history", ["--text", "earlier messages of bob"]).text
        #expect(before.contains("one"), "\(before)")
        // The earlier message was not proven, and is not proven now.
        let earlier = try alice.run("history", ["--json"])
        let texts = try earlier.lines.map { try JSON.object(parsing: Array($0.utf8)) }
        let first = texts.first { $0.at("body", "text") == .string("one") }
        #expect(first == nil || first?["authenticated"] == .bool(false))
    }

    @Test func aSigningKeyOfAnotherContactIsNotTaken() throws {
        _ = try must("add", "--name", "robert", url(bob))
        let keys = try account(bob)
        let elsewhere = Whisper2Contact(
            id: try #require(WhisperID("WSP-YS3T-HJGR-KQBZ")), encryptionKey: keys.encryptionKey,
            signingKey: nil)
        _ = try must("add", "--name", "bob", Whisper2AddURL.text(elsewhere))
        let full = Whisper2Contact(
            id: elsewhere.id, encryptionKey: keys.encryptionKey, signingKey: keys.signingKey)
        let run = try alice.run("contact", ["add", "--name", "bob", Whisper2AddURL.text(full)])
        #expect(run.status == 73 && run.stderr.contains("contact remove bob"), "\(run.stderr)")
    }

    // MARK: Without keys

    @Test func aPlaceholderCannotBeWrittenTo() throws {
        let added = try must("add", "--name", "bob", "--whisper-id", bobID)
        #expect(added.stderr.contains("who cannot be written to"), "\(added.stderr)")
        for name in ["bob", bobID] {
            let run = try seal(name, "--trust", "any")
            #expect(run.status == 10 && run.stdout.isEmpty, "\(run.stderr)")
            #expect(run.stderr.contains("sotto contact add --name bob URL"), "\(run.stderr)")
        }
        let list = try must("list", "--text").text
        #expect(list.contains("cannot be written to, whisper2"), "\(list)")
        #expect(
            try shown("bob").at("profiles", "whisper2")
                == .object(["id": .string(bobID)]))
        // What it writes waits for the keys.
        #expect(try accounts.record(open(message("one")))["type"] == .string("request"))
        #expect(try must("requests", "--text").text.contains("bob"))
        let refused = try alice.run("contact", ["accept", "bob"])
        #expect(
            refused.status == 10 && refused.stderr.contains("contact accept \(bobID) URL"),
            "\(refused.stderr)")
        let completed = try must("add", "--name", "bob", shortURL(bob))
        #expect(
            completed.stderr.contains("sotto contact accept bob | sotto bridge open whisper2"),
            "\(completed.stderr)")
        let read = try open(must("accept", "bob").stdout, "--text", "--allow-unverified")
        #expect(read.status == 0 && read.text == "one\n", "\(read.stderr)")
        #expect(try seal("bob").status == 0)
        #expect(try alice.run("contact", ["requests"]).status == 1)
    }

    @Test func aPlaceholderNeedsANameAndNoCard() throws {
        for arguments in [
            ["add", "--whisper-id", bobID],
            ["add", "--name", "x", "--whisper-id", bobID, bob.card],
            ["add", "--name", "x", "--whisper-id", "WSP-1"],
            ["add", "--name", "x", "--whisper-id", aliceID],
        ] {
            let run = try alice.run("contact", arguments)
            #expect(run.status == 64, "\(arguments): \(run.stderr)")
        }
        #expect(try alice.run("contact", ["list"]).status == 1)
        _ = try must("add", "--name", "bob", url(bob))
        let known = try must("add", "--name", "x", "--whisper-id", bobID)
        #expect(known.stderr.contains("bob (05") && known.stderr.contains("is already a contact"))
    }

    // MARK: Requests

    @Test func messagesOfUnknownAccountsWaitByWhisperID() throws {
        let lines = try message("one") + message("two")
        let waits = try open(lines)
        #expect(waits.status == 0, "\(waits.stderr)")
        let requests = try waits.lines.map { try JSON.object(parsing: Array($0.utf8)) }
        #expect(requests.allSatisfy { $0["type"] == .string("request") })
        #expect(requests.allSatisfy { $0["account"]?.string == bobID })
        // A repeated record waits once.
        _ = try open(lines)
        let list = try must("requests", "--text").lines
        #expect(list.count == 1 && list[0].hasPrefix("\(bobID)  2 messages  20"), "\(list)")
        let record = try accounts.record(must("requests", "--json"))
        #expect(record["account"]?.string == bobID && record["count"] == .integer(2))
        #expect(record["from"]?.string == (try account(bob)).id.accountID.description)
        #expect(try must("requests", bobID).stdout == lines)
        // A preview with the scanned URL changes nothing.
        for url in [try url(bob), try shortURL(bob)] {
            let preview = try open(
                lines, "--preview", "--text", "--allow-unverified", "--from", url)
            #expect(preview.status == 0 && preview.text == "one\ntwo\n", "\(preview.stderr)")
        }
        #expect(try open(lines, "--preview").status == 11)
        #expect(try must("requests", bobID).stdout == lines)

        #expect(try alice.run("contact", ["accept", bobID]).status == 10)
        #expect(try alice.run("contact", ["accept", bobID, url(alice)]).status == 14)
        #expect(try alice.run("contact", ["accept", bobID, alice.card]).status == 10)
        let accepted = try must("accept", bobID, url(bob))
        #expect(accepted.stdout == lines)
        let read = try open(accepted.stdout, "--text")
        #expect(read.status == 0 && read.text == "one\ntwo\n", "\(read.stderr)")
        #expect(try shown(bobID)["name"]?.string == bobID)
        #expect(try alice.run("contact", ["requests"]).status == 1)
    }

    @Test func aRequestIsAcceptedWithAName() throws {
        _ = try open(message("one"))
        let accepted = try must("accept", bobID, shortURL(bob), "--name", "bob")
        let read = try open(accepted.stdout, "--text")
        #expect(read.status == 12 && read.text == "one\n", "\(read.stderr)")
        #expect(try shown("bob")["trust"] == .string("unverified"))
        #expect(
            try must("add", "--name", "bob", url(bob)).stderr.contains("stored the new account"))
        // The account is found by its id, whatever the name is.
        #expect(try shown(bobID)["name"] == .string("bob"))
    }

    @Test func blockingAnUnknownAccountDropsItsMessages() throws {
        _ = try open(message("one") + message("two"))
        let blocked = try must("block", bobID)
        #expect(
            blocked.stderr.contains("\(bobID) is blocked; dropped 2 messages"),
            "\(blocked.stderr)")
        #expect(try alice.run("contact", ["requests"]).status == 1)
        let later = try open(message("three"))
        #expect(later.status == 0 && later.stdout.isEmpty, "\(later.text)")
        #expect(try alice.run("contact", ["requests"]).status == 1)
        #expect(try must("list", "--text").text.contains(bobID))
        // The keys do not end the block.
        #expect(try alice.run("contact", ["accept", bobID, url(bob)]).status == 12)
        let added = try must("add", "--name", "bob", url(bob))
        #expect(added.stderr.contains("still blocked"), "\(added.stderr)")
        #expect(try open(message("four")).stdout.isEmpty)
        #expect(try must("list", "--json").lines.count == 1)
        _ = try must("unblock", "bob")
        #expect(try open(message("five"), "--text").text == "five\n")
    }

    @Test func waitingMessagesOfAnAccountAreDropped() throws {
        _ = try open(message("one"))
        #expect(try must("requests", "--drop", bobID).stderr.contains("dropped 1 message"))
        #expect(try alice.run("contact", ["requests", "--drop", bobID]).status == 1)
        _ = try open(message("two"))
        _ = try must("block", bobID)
        _ = try must("unblock", bobID)
        #expect(try alice.run("contact", ["list"]).status == 1)
    }

    @Test func aCardWithTheAccountFindsWhatWaits() throws {
        let lines = try message("one")
        _ = try open(lines)
        let added = try must("add", bob.card)
        #expect(
            added.stderr.contains(
                "1 message of bob waits: sotto contact accept bob | sotto bridge open whisper2"),
            "\(added.stderr)")
        #expect(try must("accept", "bob").stdout == lines)
        #expect(try open(lines, "--text").text == "one\n")
        #expect(try alice.run("contact", ["requests"]).status == 1)
    }

    @Test func aFloodOfAnUnknownAccountIsBounded() throws {
        let made = try bob.run(
            "bridge", ["seal", "whisper2", "-q", "--jsonl", "--to", "alice"],
            stdin: lines((0...100).map { "message \($0)" }))
        #expect(made.lines.count == 101, "\(made.stderr)")
        let run = try open(made.stdout)
        #expect(run.status == 15 && run.text.contains("too many message requests"))
        let record = try accounts.record(must("requests", "--json"))
        #expect(record["count"] == .integer(100))
        // A longer record than a message can be does not wait.
        let long = try changing(String(decoding: message("x"), as: UTF8.self)) {
            $0["ciphertext"] = .string(Base64.standard.encode([UInt8](repeating: 0, count: 30_000)))
        }
        #expect(try open(Array(long.utf8)).status == 11)
        // A message for another account neither.
        let other = try changing(String(decoding: message("x"), as: UTF8.self)) {
            $0["to"] = .string("WSP-YS3T-HJGR-KQBZ")
        }
        #expect(try open(Array(other.utf8)).status == 11)
        let strict = try open(message("x"), "--trust", "verified")
        #expect(strict.status == 12, "\(strict.stderr)")
    }

    // MARK: Adding in one step

    @Test func sottoAddTakesURLsAndPicturesOfAccounts() throws {
        accounts.home.files.write("bob.url", Array(try url(bob).utf8))
        for (name, text) in [("bob", try url(bob)), ("short", try shortURL(bob))] {
            _ = try accounts.home.output("qr", ["-o", "\(name).png"], stdin: Array(text.utf8))
        }
        let code = try accounts.home.output(
            "bridge", ["account", "kecalek", "--user-id", "bob", "bob.key"])
        _ = try accounts.home.output("qr", ["-o", "kecalek.png"], stdin: code)
        for who in [
            try url(bob), try shortURL(bob), "bob.url", "bob.png", "short.png", "kecalek.png",
        ] {
            let run = try alice.run("sotto", ["add", "--name", "bob", who])
            #expect(run.status == 0 && run.stderr.contains("added bob"), "\(who): \(run.stderr)")
            #expect(try shown("bob")["profiles"] != nil)
            _ = try must("remove", "bob")
        }
    }

    @Test func theWhisperIDIsPrintedAlone() throws {
        let run = try alice.run("bridge", ["account", "whisper2", "--id"])
        #expect(run.status == 0 && run.text == "\(aliceID)\n", "\(run.stderr)")
        #expect(try alice.run("bridge", ["account", "mercurio", "--id"]).status == 64)
    }
}
