import Foundation
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of the unsafe parts of the messengers' designs and the programs' countermeasures. Each test is named after a
/// row of the table in SECURITY.md.
struct FlawTests {
    let accounts: Accounts
    init() throws {
        accounts = try Accounts()
        try accounts.meet()
    }

    private var home: Home { accounts.home }
    private var alice: Party { accounts.alice }
    private var bob: Party { accounts.bob }

    /// Runs Alice's `bridge seal`.
    private func seal(_ text: String, _ arguments: String...) throws -> Run {
        try alice.run("bridge", ["seal"] + arguments, stdin: Array(text.utf8))
    }

    /// Runs Alice's `bridge seal shainy` for the common chat, which prints the chat's key.
    private func shainy(_ text: String, _ arguments: String...) throws -> Run {
        try alice.run(
            "bridge", ["seal", "shainy", "--chat", "family.chat", "--show-secret"] + arguments,
            stdin: Array(text.utf8))
    }

    private func encrypt(_ text: String, _ arguments: String...) throws -> Run {
        try alice.run("encrypt", arguments, stdin: Array(text.utf8))
    }

    private func shainyKey() throws -> String {
        let record = try JSON.object(parsing: home.files.read("family.chat"))
        let key = try #require(record["shainy"]?.string.flatMap { Base64.standard.decode($0) })
        return hex(key)
    }

    // MARK: P, SHAiny

    @Test func p1TheChatsKeyIsPrintedOnlyOnRequest() throws {
        let key = try shainyKey()
        let refused = try seal("x", "shainy", "--chat", "family.chat")
        #expect(refused.status == 64 && refused.stdout.isEmpty)
        #expect(refused.stderr.contains("--show-secret") && !refused.stderr.contains(key))
        let shown = try shainy("x")
        #expect(try accounts.record(shown)["chatId"] == .string(key))
        let read = try accounts.open("shainy", shown.lines)
        #expect(read.status == 0 && !read.text.contains(key) && !read.stderr.contains(key))
        let safe = try encrypt("x", "--chat", "family.chat")
        #expect(!safe.text.contains(key))
    }

    /// `--details` shows the ciphertext and the hash as the messenger does, and never the key.
    @Test func theEncryptedMembersAreShownOnRequest() throws {
        let key = try shainyKey()
        let sealed = try shainy("yes")
        let written = try accounts.record(sealed)
        let read = try accounts.open("shainy", sealed.lines, "--details", "--preview")
        let record = try accounts.record(read)
        let encrypted = try #require(record["details"]?.object?["encrypted"]?.object)
        #expect(encrypted["encryptedText"] == written["encryptedText"])
        #expect(encrypted["shaHash"] == .string(hex(sha256(Array("yes".utf8)))))
        #expect(encrypted.members.count == 2 && !read.text.contains(key))
        let plain = try accounts.record(accounts.open("shainy", sealed.lines, "--preview"))
        #expect(plain["details"]?.object?["encrypted"] == nil)
        #expect(try accounts.open("shainy", sealed.lines, "--details", "--text").status == 64)
    }

    @Test func p2AWeakPhraseCausesAWarning() throws {
        try Accounts.writeChat("hello123", "weak", in: home)
        let weak = try seal("x", "shainy", "--chat", "weak.chat", "--show-secret")
        #expect(weak.status == 0 && weak.stderr.contains("can be guessed"))
        let strong = try shainy("x")
        #expect(!strong.stderr.contains("can be guessed"))
    }

    @Test func p3TheHashOfATextCanBeOmitted() throws {
        let open = try shainy("yes")
        let hidden = try shainy("yes", "--no-hash")
        let hash = hex(sha256(Array("yes".utf8)))
        #expect(open.text.contains(hash) && !hidden.text.contains(hash))
        #expect(
            try accounts.record(hidden)["shaHash"] == .string(String(repeating: "0", count: 64)))
        #expect(try accounts.open("shainy", hidden.lines).status == 11)
        let read = try accounts.open("shainy", hidden.lines, "--allow-hidden-hash")
        #expect(try accounts.record(read).at("body", "text") == .string("yes"))
        let safe = try encrypt("yes", "--chat", "family.chat")
        #expect(!safe.text.contains(hash) && !safe.text.contains("shaHash"))
    }

    /// An attacker who knows a text can forge its first block, and the format has no protection; the tools never call
    /// such a text authentic.
    @Test func p4AForgedTextIsNotCalledAuthentic() throws {
        let line = try shainy("pay 100 to bob").lines[0]
        let forged = try changing(line) { payload in
            let parts = try #require(payload["encryptedText"]?.string).split(separator: ":")
            var iv = try #require(bytes(hex: parts[0]))
            iv[4] ^= UInt8(ascii: "1") ^ UInt8(ascii: "9")
            payload["encryptedText"] = .string(hex(iv) + ":" + parts[1])
            payload["shaHash"] = .string(hex(sha256(Array("pay 900 to bob".utf8))))
        }
        let record = try accounts.record(accounts.open("shainy", [forged]))
        #expect(record.at("body", "text") == .string("pay 900 to bob"))
        #expect(record["authenticated"] == .bool(false) && record["from"] == nil)
        // The safe form and the GCM form authenticate it.
        let gcm = try shainy("pay 100", "--gcm").lines[0]
        let changed = try changing(gcm) { payload in
            let parts = try #require(payload["encryptedText"]?.string).split(separator: ":")
            var text = try #require(bytes(hex: parts[1]))
            text[4] ^= UInt8(ascii: "1") ^ UInt8(ascii: "9")
            payload["encryptedText"] = .string(
                [String(parts[0]), hex(text), String(parts[2])].joined(separator: ":"))
            payload["shaHash"] = .string(hex(sha256(Array("pay 900".utf8))))
        }
        #expect(try accounts.open("shainy", [changed]).status == 11)
    }

    @Test func p5ThePublicChannelNeedsAnOptionAndIsReportedAsPublic() throws {
        try Accounts.writeChat(ShainyChat.globalPhrase, "all", in: home)
        let refused = try seal("x", "shainy", "--chat", "all.chat", "--show-secret")
        #expect(refused.status == 64 && refused.stdout.isEmpty)
        #expect(refused.stderr.contains("--public-channel"))
        let sent = try seal("news", "shainy", "--public-channel")
        #expect(sent.status == 0 && sent.stderr.contains("not confidential"))
        #expect(try accounts.record(sent)["chatId"] == .string("global-announcements"))
        let record = try accounts.record(
            bob.run("bridge", ["open", "shainy"], stdin: sent.stdout))
        #expect(record.at("body", "text") == .string("news"))
        #expect(record.at("details", "chat", "public") == .bool(true))
        #expect(record["authenticated"] == .bool(false))
    }

    @Test func p6TheSenderAndOrderOfAChatAreNotAuthenticated() throws {
        func expectUnknown(_ sender: [[String]], _ read: ([String]) throws -> Run) throws {
            let record = try accounts.record(read([]))
            #expect(record["authenticated"] == .bool(false))
            #expect(record["from"] == nil && record["name"] == nil)
            // A required sender cannot be authenticated.
            for option in sender { #expect(try read(option).status == 12, "\(option)") }
        }
        let (record, envelope) = (try shainy("x"), try encrypt("x", "--chat", "family.chat"))
        let demands = [["--from", "alice"], ["--trust", "first-use"]]
        try expectUnknown(demands) { option in
            try bob.run(
                "bridge", ["open", "shainy", "--chat", "family.chat"] + option,
                stdin: record.stdout)
        }
        try expectUnknown(demands) { option in
            try bob.run("decrypt", ["--chat", "family.chat"] + option, stdin: envelope.stdout)
        }
        // In the safe form another chat has different associated data; the messenger's own format does not accept it
        // either, because its key is the chat's.
        try Accounts.writeChat("an entirely different phrase for others", "other", in: home)
        let line = try encrypt("x", "--chat", "family.chat").lines[0]
        let other = try JSON.object(parsing: home.files.read("other.chat"))
        let moved = try changing(payload: line) { $0["chat"] = other["id"] }
        let run = try bob.run(
            "decrypt", ["--chat", "family.chat", "--chat", "other.chat"], stdin: lines([moved]))
        #expect(run.status == 11)
        // A quotation is unauthenticated text of the writer.
        let quoting =
            #"{"body":{"type":"text","text":"see","replyTo":{"messageId":"1","text":"I owe you","senderName":"bob","timestamp":1}}}"#
        let reply = try shainy(quoting + "\n", "--jsonl")
        #expect(!reply.text.contains("I owe you"))
        let opened = try accounts.record(accounts.open("shainy", reply.lines))
        #expect(opened.at("body", "replyTo", "text") == .string("I owe you"))
        #expect(opened["authenticated"] == .bool(false))
    }

    @Test func p7TheSafeFormNormalizesThePhrase() throws {
        for (name, phrase) in [("nfc", "caf\u{E9} au lait"), ("nfd", "cafe\u{301} au lait")] {
            try Accounts.writeChat(phrase, name, in: home)
        }
        let safe = try encrypt("x", "--chat", "nfc.chat")
        #expect(
            try bob.run("decrypt", ["--chat", "nfd.chat", "--text"], stdin: safe.stdout).text
                == "x\n")
        let weak = try seal("x", "shainy", "--chat", "nfc.chat", "--show-secret")
        for (chat, status) in [("nfd.chat", Int32(11)), ("nfc.chat", 0)] {
            let run = try bob.run(
                "bridge", ["open", "shainy", "--chat", chat], stdin: weak.stdout)
            #expect(run.status == status, "\(run.stderr)")
        }
    }

    // MARK: B, Whisper2

    @Test func b2ASignatureIsVerifiedAndAMessageWithoutAKnownKeyIsMarked() throws {
        let line = try seal("hello", "whisper2", "--to", "bob").lines[0]
        let forged = try changing(line) { payload in
            var signature = try #require(
                payload["sig"]?.string.flatMap { Base64.standard.decode($0) })
            signature[0] ^= 1
            payload["sig"] = .string(Base64.standard.encode(signature))
        }
        #expect(try accounts.open("whisper2", [forged]).status == 11)
        // Bob knows a different entry for Alice: the same account without its signing key.
        let account = try #require(
            JSON.object(parsing: home.files.read("alice.card")).at("profiles", "whisper2")?.object)
        let key = try #require(account["key"]?.string)
        let id = try #require(account["id"]?.string)
        let stranger = Home()
        let other = Party(name: "bob", identity: bob.identity, home: stranger)
        try stranger.files.write("bob.key", home.files.read("bob.key"))
        let url = "whisper2://add?id=\(id)&key=\(key)"
        let waits = try other.run("bridge", ["open", "whisper2"], stdin: lines([line]))
        #expect(waits.status == 0, "\(waits.stderr)")
        #expect(try accounts.record(waits)["type"] == .string("request"))
        let marked = try other.run(
            "bridge", ["open", "whisper2", "--from", url], stdin: lines([line]))
        #expect(marked.status == 12, "\(marked.stderr)")
        let record = try accounts.record(marked)
        #expect(record["authenticated"] == .bool(false))
        #expect(record["from"]?.string == WhisperID(id)?.accountID.description)
        #expect(record["trust"] == .string("unverified"))
        #expect(record.at("body", "text") == .string("hello"))
        #expect(record.at("details", "untrusted", "account") == .string(id))
        let allowed = try other.run(
            "bridge", ["open", "whisper2", "--from", url, "--allow-unverified"],
            stdin: lines([line]))
        #expect(allowed.status == 0)
        // With the signing key, the same message is authenticated as hers, and is not a repeat of the other.
        let skey = try #require(account["skey"]?.string)
        let proven = try other.run(
            "bridge", ["open", "whisper2", "--from", url + "&skey=\(skey)"],
            stdin: lines([line]))
        let whole = try accounts.record(proven)
        #expect(proven.status == 0 && whole["authenticated"] == .bool(true))
        #expect(whole["seen"] == nil)
    }

    @Test func b3UnsignedMembersAreMarkedUntrusted() throws {
        let line = try seal("hello", "whisper2", "--to", "bob").lines[0]
        let changed = try changing(line) {
            $0["msgType"] = .string("system")
            $0["replyTo"] = .string("00000000-0000-4000-8000-000000000000")
        }
        let record = try accounts.record(accounts.open("whisper2", [changed]))
        #expect(record.at("body", "type") == .string("text"))
        #expect(record.at("details", "untrusted", "msgType") == .string("system"))
        #expect(record.at("details", "untrusted", "replyTo") != nil)
        #expect(record.at("body", "replyTo") == nil)
    }

    @Test func b4EitherSidesKeyOpensAllAndANoteSaysSo() throws {
        let run = try seal("hello", "whisper2", "--to", "bob")
        #expect(run.stderr.contains("an attacker who gets either side's key can decrypt all"))
        let help = try alice.run("bridge", ["--help"]).text.split(whereSeparator: \.isWhitespace)
        #expect(help.joined(separator: " ").contains("either side's key"))
    }

    @Test func b8ARepeatIsDetectedAndAWindowCanBeSet() throws {
        let line = try seal("hello", "whisper2", "--to", "bob").lines[0]
        let old = try oldMessage()
        #expect(try accounts.record(accounts.open("whisper2", [line]))["seen"] == nil)
        #expect(try accounts.record(accounts.open("whisper2", [line]))["seen"] == .bool(true))
        // A change outside the signature does not make it another message.
        let other = try changing(line) { $0["msgType"] = .string("image") }
        #expect(try accounts.record(accounts.open("whisper2", [other]))["seen"] == .bool(true))
        #expect(try accounts.open("whisper2", [old], "--max-skew", "600").status == 11)
        #expect(try accounts.open("whisper2", [old]).status == 0)
    }

    private func oldMessage() throws -> String {
        let card = try JSON.object(parsing: home.files.read("bob.card"))
        let object = try #require(card["profiles"]?.object)
        let to = try #require(Profiles(object)?.whisper2)
        let own = try #require(try alice.identity.whisperID())
        let message = try Whisper2Message.seal(
            Array("old".utf8), with: alice.identity.whisper2Keys(),
            from: own, to: to, time: 1_700_000_000_000)
        return String(decoding: message.record.serialized(), as: UTF8.self)
    }

    @Test func b10EachMemberOfAGroupOpensTheAttachment() throws {
        let photo = randomBytes(200_000)
        home.files.write("photo.jpg", photo)
        let run = try seal(
            "look", "whisper2", "--group-id", "family", "--to", "bob", "--to", "alice.card",
            "--attach", "photo.jpg", "--blob", "photo.blob", "--content-type", "image/jpeg")
        #expect(run.status == 0, "\(run.stderr)")
        let frame = try accounts.record(run)
        #expect(frame["recipients"]?.array?.count == 2 && frame["groupId"] == .string("family"))
        for reader in [bob, alice] {
            let opened = try reader.run(
                "bridge", ["open", "whisper2", "--from", "alice.card"], stdin: run.stdout)
            #expect(opened.status == 0, "\(opened.stderr)")
            let record = try accounts.record(opened)
            #expect(record.at("details", "group") == .string("family"))
            #expect(record.at("body", "text") == .string("look"))
            home.files.write("record.json", opened.stdout)
            let file = try reader.run(
                "bridge", ["open", "whisper2", "--attachment", "record.json", "photo.blob"])
            #expect(file.status == 0 && file.stdout == photo, "\(file.stderr)")
        }
        // A changed or truncated blob gives no output.
        var blob = try home.files.read("photo.blob")
        blob[blob.count - 1] ^= 1
        for bad in [blob, Array(blob.dropLast()), []] {
            home.files.write("bad.blob", bad)
            let file = try bob.run(
                "bridge", ["open", "whisper2", "--attachment", "record.json", "bad.blob"])
            #expect(file.status == 11 && file.stdout.isEmpty)
            #expect(file.stderr.contains(refusal))
        }
    }

    // MARK: H, Mercurio

    @Test func h1AMessageWithoutASignatureNamesNoSender() throws {
        let line = try seal("hello", "mercurio", "--to", "bob").lines[0]
        let unsigned = try changing(line) { $0["sig"] = nil }
        let run = try accounts.open("mercurio", [unsigned])
        #expect(run.status == 12)
        let record = try accounts.record(run)
        #expect(record["authenticated"] == .bool(false) && record["from"] == nil)
        #expect(record.at("details", "untrusted", "mercurioId") != nil)
        #expect(record.at("details", "mercurioId") == nil)
        #expect(try accounts.open("mercurio", [unsigned], "--allow-unverified").status == 0)
        #expect(try accounts.open("mercurio", [unsigned], "--from", "alice").status == 12)
        let text = try accounts.open("mercurio", [unsigned], "--text", "--allow-unverified")
        #expect(text.text == "hello\n" && text.stderr.contains("not authenticated"))
    }

    @Test func h4EveryFailureOfTheKeyIsTheSame() throws {
        let line = try seal("hello", "mercurio", "--to", "bob").lines[0]
        var answers: Set<String> = []
        for (name, change) in [
            ("encryptedAesKey", { (bytes: inout [UInt8]) in bytes[9] ^= 1 }),
            ("mac", { $0[0] ^= 1 }), ("nonce", { $0[0] ^= 1 }),
            ("encryptedContent", { $0[0] ^= 1 }),
            ("encryptedAesKey", { $0 = [UInt8](repeating: 0, count: $0.count) }),
        ] {
            let broken = try changing(line) { payload in
                var value = try #require(
                    payload[name]?.string.flatMap { Base64.standard.decode($0) })
                change(&value)
                payload[name] = .string(Base64.standard.encode(value))
                payload["sig"] = nil
            }
            let run = try accounts.open("mercurio", [broken])
            #expect(run.status == 11)
            var record = try accounts.record(run)
            record["id"] = nil
            answers.insert(String(decoding: record.serialized(), as: UTF8.self) + run.stderr)
        }
        #expect(answers.count == 1)
    }

    @Test func h5ARowCannotBeMovedOrRepeatedUnnoticed() throws {
        let line = try seal("hello", "mercurio", "--to", "bob").lines[0]
        let id = alice.identity.id.description
        for member in ["conversationId", "senderMercurioId", "recipientMercurioId"] {
            let moved = try changing(line) { $0[member] = .string(id) }
            #expect(try accounts.open("mercurio", [moved]).status == 11, "\(member)")
        }
        #expect(try accounts.open("mercurio", [line]).status == 0)
        #expect(try accounts.record(accounts.open("mercurio", [line]))["seen"] == .bool(true))
        let later = try changing(line) {
            $0["createdAt"] = .string("2031-01-01T00:00:00Z")
        }
        let dated = try accounts.record(accounts.open("mercurio", [later]))
        #expect(dated["seen"] == .bool(true))
        // The time of a row is not authenticated.
        #expect(dated["time"] == nil && dated.at("details", "untrusted", "createdAt") != nil)
        // An attacker who removes the signature does not block the signed message.
        let next = try seal("next", "mercurio", "--to", "bob").lines[0]
        let stripped = try changing(next) { $0["sig"] = nil }
        #expect(try accounts.open("mercurio", [stripped]).status == 12)
        let whole = try accounts.open("mercurio", [next])
        #expect(whole.status == 0)
        #expect(try accounts.record(whole)["authenticated"] == .bool(true))
        #expect(try accounts.open("mercurio", [stripped]).status == 13)
    }

    // MARK: Accounts on cards

    @Test(arguments: ["whisper2", "mercurio"])
    func b5AnAccountOnACardIsProvenByItsOwnKey(_ profile: String) throws {
        try home.makePerson("mallory")
        let theirs = try JSON.object(parsing: home.files.read("alice.card"))
        let mallory = try Identity(record: JSON.object(parsing: home.files.read("mallory.key")))
        var forged = try #require(mallory.card().record)
        let account = try #require(theirs.at("profiles", profile))
        forged["profiles"] = .object([profile: account])
        SignedRecord.sign(&forged, with: mallory.signingKey)
        home.files.write("forged.card", forged.serialized())
        let added = try bob.run("contact", ["add", "forged.card"])
        #expect(added.status == 11 && added.stderr.contains("without a valid proof"))
        // An older card without the accounts does not remove them from a contact.
        let bare = try #require(alice.identity.card().record)
        home.files.write("bare.card", bare.serialized())
        #expect(try bob.run("contact", ["add", "bare.card"]).status == 0)
        let line = try seal("still", profile, "--to", "bob").lines[0]
        #expect(try accounts.record(accounts.open(profile, [line]))["name"] == .string("alice"))
    }

    @Test func unsignedMembersCannotMakeAMessageUnreadable() throws {
        let line = try seal("hello", "whisper2", "--to", "bob").lines[0]
        let changed = try changing(line) {
            $0["msgType"] = .string("weird")
            $0["replyTo"] = .object(JSONObject())
            $0["reactions"] = .object(["a": .array([.string("b")])])
            $0["attachment"] = .object(JSONObject())
        }
        #expect(
            try accounts.record(accounts.open("whisper2", [changed])).at("body", "text")
                == .string("hello"))
        let other = try seal("hello", "whisper2", "--to", "bob").lines[0]
        let own = try #require(try alice.identity.whisperID()).description
        let elsewhere = try changing(other) { $0["to"] = .string(own) }
        #expect(try accounts.open("whisper2", [elsewhere]).status == 11)
    }

    @Test func aBlobReplacesNoInputAndIsCreatedLast() throws {
        home.files.write("pic", [1, 2, 3])
        let key = try home.files.read("alice.key")
        for blob in ["alice.key", "family.chat", "pic", "-"] {
            let run = try encrypt("", "--chat", "family.chat", "--attach", "pic", "--blob", blob)
            #expect(run.status == 64, "\(blob): \(run.stderr)")
        }
        #expect(try home.files.read("alice.key") == key)
        let both = try encrypt("x", "--to", "bob", "--attach", "pic", "--blob", "b", "-o", "b")
        #expect(both.status == 64)
        let nobody = try encrypt("x", "--to", "nobody", "--attach", "pic", "--blob", "b")
        #expect(nobody.status == 66 && !home.files.exists("b"))
        for bad in [["--content-type", "a\nb"], ["--user-id", ""], ["--group-id", "a\nb"]] {
            let run = try alice.run(
                "bridge",
                ["seal", "whisper2", "--to", "bob", "--attach", "pic", "--blob", "b"] + bad)
            #expect(run.status == 64 && !home.files.exists("b"))
        }
        let export = try alice.run("contact", ["export", "--whisper2", "-o", "alice.key"])
        #expect(export.status == 64)
        #expect(try home.files.read("alice.key") == key)
        let pipe = home.files("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        // Whisper2's format needs the file twice.
        let fifo = try seal("x", "whisper2", "--to", "bob", "--attach", "pipe", "--blob", "b")
        #expect(fifo.status == 64 && fifo.stderr.contains("not a regular file"))
    }
}
