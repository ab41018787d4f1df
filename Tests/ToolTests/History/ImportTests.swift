import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// `history export --backup` and `history import` with the built programs: a state is lost and comes back.
@Suite(.timeLimit(.minutes(60))) struct ImportTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }
    var files: TemporaryDirectory { they.home.files }

    init() throws { they = try Conversing() }

    private func loseState(of party: Party) throws {
        try FileManager.default.removeItem(atPath: files(party.stateDirectory))
    }

    private func backUp(_ party: Party, _ arguments: [String] = []) throws {
        let run = try party.run(
            "history", ["export", "--backup", "-o", "backup.age"] + arguments)
        guard run.status == 0 else { throw Unexpected(run) }
    }

    /// The output of the programs for a state.
    private func views(of party: Party) throws -> [[JSONObject]] {
        [
            try party.history("--raw", "--limit", "1000"), try party.history("--limit", "1000"),
            try party.history("list"), try party.history("keep"), try party.history("readers"),
            try party.history("--pinned"), try party.run("contact", ["export"]).records,
        ]
    }

    /// A short conversation, and a setting of each kind.
    private func talk() throws {
        try they.talk()
        try they.say(alice, ["timer", "bob", "4w"])
        #expect(try bob.run("history", ["read", "alice"]).status == 0)
        try they.tell(alice, "ends")
        try they.tell(alice, "unread")
        #expect(try bob.run("history", ["ack", "--as", "bot", "3"]).status == 0)
        #expect(try bob.run("history", ["favourite", "alice"]).status == 0)
        #expect(try bob.run("history", ["rename", "me", "Notes"]).status == 0)
        #expect(try bob.run("history", ["keep", "90d"]).status == 0)
        #expect(try bob.run("contact", ["set", "alice", "receipts=on"]).status == 0)
    }

    @Test(arguments: [[String](), ["--passphrase", "@FILE:pass"]])
    func aLostStateComesBack(_ passphrase: [String]) throws {
        try talk()
        files.write("pass", Array("correct horse".utf8), mode: 0o600)
        let before = try views(of: bob)
        try backUp(bob, passphrase)
        try loseState(of: bob)
        let run = try bob.run("history", ["import", "backup.age"] + passphrase)
        #expect(run.status == 0 && run.stdout.isEmpty, "\(run.stderr)")
        let after = try views(of: bob)
        // The numbers of deleted messages are kept too, so nothing differs.
        for (before, after) in zip(before, after) { #expect(before == after) }
        // A second import changes nothing.
        let again = try bob.run("history", ["import", "backup.age"] + passphrase)
        #expect(again.status == 0 && again.stderr.contains("0 messages imported"))
        #expect(try views(of: bob) == after)
        // Both sides can go on; the sessions are new.
        try they.tell(bob, "back again")
        #expect(try alice.history("bob").last?.body["text"] == .string("back again"))
        try they.tell(alice, "welcome")
        #expect(try bob.history("alice").last?.body["text"] == .string("welcome"))
    }

    /// Messages that came between the loss and the import stand after the imported ones.
    @Test func anImportIntoAUsedState() throws {
        for text in ["one", "two"] { try they.tell(alice, text) }
        try backUp(bob)
        try loseState(of: bob)
        try they.tell(alice, "three")
        #expect(try bob.run("history", ["import", "backup.age"]).status == 0)
        let texts = try bob.history("alice").map { $0.body["text"]?.string }
        #expect(texts == ["one", "two", "three"])
        #expect(try bob.history("unread").last?["unread"] == .integer(3))
    }

    /// C9: the envelope of a message in the backup, and of a deleted one, is known.
    @Test func c9ARestoredStateKnowsItsEnvelopes() throws {
        let sealed = try ["one", "two"].map { text in
            try alice.run("encrypt", ["--to", "bob"], stdin: Array(text.utf8)).stdout
        }
        for envelope in sealed { #expect(try bob.run("decrypt", stdin: envelope).status == 0) }
        #expect(try bob.run("history", ["delete", "2"]).status == 0)
        try backUp(bob)
        try loseState(of: bob)
        #expect(try bob.run("history", ["import", "backup.age"]).status == 0)
        let same = try bob.run("decrypt", stdin: sealed[0])
        #expect(try same.records.first?["seen"] == .bool(true))
        let deleted = try bob.run("decrypt", stdin: sealed[1])
        #expect(!deleted.text.contains("two"))
        #expect(try bob.history("alice").map { $0.body["text"]?.string } == ["one", nil])
    }

    @Test func onlyAnOwnBackupIsABackup() throws {
        try they.tell(alice, "hello")
        try backUp(bob)
        let backup = try files.read("backup.age")
        // Another identity cannot read it.
        #expect(try alice.run("history", ["import", "backup.age"]).status == 10)
        // The same records, encrypted or signed by other means, are not a backup.
        let plain = try bob.run("history", ["export"])
        let decrypted = try bob.run("decrypt", ["backup.age"])
        #expect(decrypted.status == 64 && decrypted.stderr.contains("history import reads it"))
        let contacts = try bob.run("contact", ["import", "backup.age"])
        #expect(contacts.status == 64 && contacts.stderr.contains("history import reads it"))
        let header: JSONObject = [
            "v": .integer(1), "type": .string("history-backup"),
            "id": .string(bob.identity.id.description),
            "time": .string("2026-11-23T00:00:00Z"),
        ]
        let forged = header.serialized() + [10] + plain.stdout
        for arguments in [["-r", "bob.card"], ["-s", "-r", "bob.card"]] {
            let file = try bob.run("encrypt", arguments + ["--stateless"], stdin: forged)
            guard file.status == 0 else { throw Unexpected(file) }
            files.write("forged.age", file.stdout)
            try loseState(of: bob)
            let run = try bob.run("history", ["import", "forged.age"])
            if arguments[0] == "-s" {
                #expect(run.status == 12 && run.stderr.contains("not a backup of this identity"))
            } else {
                // Its messages are claims.
                #expect(run.status == 15)
                #expect(try bob.history("--raw").allSatisfy { $0["imported"] == .bool(true) })
            }
        }
        // Each changed byte is detected. The records before it are authentic.
        for place in [200, backup.count / 2, backup.count - 1] {
            var changed = backup
            changed[place] ^= 1
            files.write("changed.age", changed)
            #expect(
                [10, 11, 65].contains(try bob.run("history", ["import", "changed.age"]).status))
        }
        files.write("short.age", Array(backup.dropLast(20)))
        #expect(try bob.run("history", ["import", "short.age"]).status == 11)
        #expect(try bob.run("history", ["import", "backup.age"]).status == 0)
        #expect(try bob.history("alice").count == 1)
    }

    /// sotto-formats(5), HISTORY BACKUP.
    @Test(.needs(.pythonPackages))
    func aBackupIsRecordsWithASchema() throws {
        try talk()
        try backUp(bob)
        let identity = bob.identity
        let file = try AgeFileReader(
            MemorySource(files.read("backup.age")),
            identities: [.hybrid(identity.hybridKey)], passphrase: { nil })
        let signed = try SignedStreamReader(file)
        #expect(signed.signer == identity.id.publicKey)
        #expect(signed.audience == SignedStream.audience(["history-backup \(identity.id)"]))
        var content = [UInt8](repeating: 0, count: 1 << 20)
        let count = try content.withUnsafeMutableBytes { try signed.fill($0) }
        let lines = content[..<count].split(separator: 10).map {
            String(decoding: $0, as: UTF8.self)
        }
        let types = try lines.map { try JSON.object(parsing: Array($0.utf8))["type"]?.string }
        #expect(types.first == "history-backup")
        #expect(
            Set(types) == [
                "history-backup", "contact-entry", "conversation-settings", "retention", "reader",
                "message", "tombstone",
            ])
        #expect(try Peers.invalid(lines, schema: "record.json").isEmpty)
        // No session and no secret key.
        #expect(!lines.contains { $0.contains("session") || $0.contains("secret\":") })
    }

    // MARK: Records without a proof

    @Test func recordsOfAnotherOriginAreMarked() throws {
        try talk()
        let exported = try bob.run("history", ["export"]).stdout
        try loseState(of: bob)
        let run = try bob.run("history", ["import"], stdin: exported)
        #expect(run.status == 0 && run.stderr.contains("nothing proves who wrote"), "\(run.stderr)")
        let records = try bob.history("--limit", "100")
        #expect(records.count == 6)
        for record in records {
            #expect(record["imported"] == .bool(true) && record["authenticated"] == .bool(false))
            #expect(record["trust"] == .string("unverified") && record["unread"] == nil)
        }
        #expect(records.contains { $0.body["text"] == .string("the end") && $0["edited"] != nil })
        let text = try bob.run("history", ["--text"]).text
        #expect(text.contains("gut, danke  [imported]"))
        // A contact is not made by them, and a reader does not get them.
        #expect(try bob.run("contact", ["list"]).status == 1)
        #expect(try bob.run("history", ["--as", "bot", "--from-start"]).status == 1)
        // Trust in a contact does not extend to claimed messages.
        #expect(try bob.run("contact", ["add", "alice.card"]).status == 0)
        #expect(try bob.history("alice").allSatisfy { $0["trust"] == .string("unverified") })
    }

    /// The output of decrypt can be imported too.
    @Test func theOutputOfDecryptIsImported() throws {
        let envelope = try alice.run("encrypt", ["--to", "bob"], stdin: Array("hello".utf8)).stdout
        let opened = try bob.run("decrypt", ["--stateless"], stdin: envelope)
        #expect(try bob.run("history", ["import"], stdin: opened.stdout).status == 0)
        #expect(try bob.history("alice").map { $0.body["text"]?.string } == ["hello"])
    }

    @Test func eachBadRecordHasItsAnswer() throws {
        try they.tell(alice, "hello")
        let real = try #require(try bob.history("alice").first)
        let stranger = Sample.identity().id.description
        func changed(_ changes: [String: JSON?]) -> [UInt8] {
            var record = real
            record["id"] = .string(Envelope.newID())
            for (name, value) in changes { record[name] = value }
            return record.serialized() + [10]
        }
        let body = JSON.object(Message.textBody("x"))
        let cases: [(String, [UInt8], Int32)] = [
            ("other content under a known id", changed(["id": real["id"], "body": body]), 14),
            ("sent by another", changed(["direction": .string("sent")]), 12),
            ("received by another", changed(["to": .string(stranger)]), 12),
            (
                "a system message",
                changed(["body": .object(["type": .string("system"), "event": .string("x")])]), 65
            ),
            ("no body", changed(["body": nil]), 65),
            ("a malformed body", changed(["body": .object(["type": .string("text")])]), 65),
            ("no id", changed(["id": nil]), 65),
            ("an id with control characters", changed(["id": .string("a\u{1B}[m")]), 65),
            ("a long id", changed(["id": .string(String(repeating: "a", count: 200))]), 65),
            ("a malformed author", changed(["from": .string("alice")]), 65),
            ("a malformed time", changed(["time": .string("yesterday")]), 65),
            ("a malformed direction", changed(["direction": .string("up")]), 65),
            ("no record", Array("hello\n".utf8), 65),
            ("a contact", Array("{\"v\":1,\"type\":\"contact-entry\"}\n".utf8), 65),
            ("a tombstone", Array("{\"v\":1,\"type\":\"tombstone\",\"mark\":\"00\"}\n".utf8), 65),
            (
                "an error",
                Array("{\"v\":1,\"type\":\"error\",\"status\":11,\"message\":\"x\"}\n".utf8), 11
            ),
            ("a long line", Array(repeating: 0x20, count: 2 << 20) + changed([:]), 65),
            ("nothing", [], 1),
        ]
        for (what, line, status) in cases {
            let run = try bob.run("history", ["import"], stdin: line)
            #expect(run.status == status, "\(what): \(run.stderr)")
            if status > 1 { #expect(try run.records.first?["type"] == .string("error"), "\(what)") }
        }
        #expect(try bob.history("alice").count == 1)
        // A bad line does not stop the others.
        let mixed = cases[1].1 + changed(["body": body])
        let run = try bob.run("history", ["import"], stdin: mixed)
        #expect(run.status == 15)
        #expect(try bob.history("alice").count == 2)
        #expect(
            try bob.run("history", ["import", "--passphrase", "@FD:3"], stdin: mixed).status == 64)
    }

    /// A peer cannot set members of the history in its messages.
    @Test func membersOfTheHistoryAreNotTakenFromAMessage() throws {
        let members = [
            "imported": "true", "status": "\"read\"", "deleted": "true", "unread": "false",
            "reactions": "[]", "pinned": "{}", "edited": "{}", "versions": "[]",
            "direction": "\"sent\"", "received": "\"2020-01-01T00:00:00Z\"", "receipts": "[]",
            "digest": "\"00\"", "quotation": "\"same\"", "expires": "\"2020-01-01T00:00:00Z\"",
            "place": "\"x\"", "dropped": "true", "damaged": "true", "expired": "true",
            "role": "\"owner\"", "seen": "true", "legacy": "\"x\"", "number": "7",
            "fileExpired": "true", "ringing": "true", "lacking": "[]",
            "invited": "[]",
            "device": "\"\(alice.identity.id)\"",
        ]
        let extra = members.map { ",\"\($0)\":\($1)" }.joined()
        let line =
            "{\"v\":1,\"type\":\"message\",\"body\":{\"type\":\"text\",\"text\":\"hi\"},\"own\":1\(extra)}\n"
        let sealed = try alice.run(
            "encrypt", ["--to", "bob", "--jsonl"], stdin: Array(line.utf8))
        #expect(sealed.status == 0, "\(sealed.stderr)")
        let opened = try bob.run("decrypt", stdin: sealed.stdout)
        let record = try #require(try opened.records.first)
        #expect(record["own"] == .integer(1))
        for name in members.keys where name != "number" {
            #expect(record[name] == nil, "\(name)")
        }
        #expect(record["number"] == .integer(1))
        // Each member that a program adds to a message is among them, or is of the envelope.
        let ofEnvelope: Set = [
            "v", "type", "id", "from", "to", "name", "time", "ttl", "suite", "authenticated",
            "trust", "details", "body", "group",
        ]
        let schema = try JSON.object(
            parsing: Array(
                Data(
                    contentsOf: URL(filePath: #filePath).appending(
                        path: "../../../../share/schema/message.json"
                    ).standardized)))
        for member in try #require(schema["properties"]?.object).members
        where !ofEnvelope.contains(member.name) {
            #expect(members[member.name] != nil, "\(member.name)")
        }
        // The export of a message with such members can be read back.
        let export = try bob.run("history", ["export"])
        #expect(try bob.run("history", ["import"], stdin: export.stdout).status == 0)
        let shown = try #require(try bob.history("alice").first)
        #expect(shown["direction"] == .string("received") && shown["unread"] == .bool(true))
        #expect(shown["imported"] == nil && shown["status"] == nil && shown["deleted"] == nil)
    }

    /// The programs add system messages; a peer cannot.
    @Test func systemMessagesAreOfThisMachine() throws {
        // Nothing is added to a conversation without messages.
        #expect(try bob.run("contact", ["verify", "alice", "--scan", "alice.card"]).status == 0)
        #expect(try bob.run("history", ["list"]).status == 1)
        try they.tell(alice, "hello")
        #expect(try bob.run("contact", ["unverify", "alice"]).status == 0)
        #expect(try bob.run("contact", ["verify", "alice", "--scan", "alice.card"]).status == 0)
        let events = try bob.history("alice").map { $0.body["event"]?.string }
        #expect(events == [nil, "unverified", "verified"])
        let text = try bob.run("history", ["alice", "--text"]).text
        #expect(text.contains("[the key of this contact was verified]"))
        #expect(try bob.history("unread").last?["unread"] == .integer(1))
        // The last message with content is not one of them.
        #expect(try bob.run("compose", ["react", "-1", "👍", "--with", "alice"]).status == 0)
        // A new key begins a new conversation, which names the one before.
        let old = alice.identity.id.description
        #expect(try they.home.run("keygen", ["--name", "alice", "-o", "new.key"]).status == 0)
        let card = try they.home.run("keygen", ["public", "new.key"]).stdout
        files.write("new.card", card)
        #expect(try bob.run("contact", ["add", "new.card"]).status == 12)
        let accepted = try bob.run("contact", ["accept-key", "alice"])
        #expect(accepted.status == 0)
        #expect(accepted.stderr.contains("sotto history 'earlier messages of alice'"))
        let record = try #require(try bob.history("alice").last)
        #expect(record.body["event"] == .string("key-accepted"))
        #expect(record.body["former"] == .string(old))
        for name in [old, "earlier messages of alice"] {
            #expect(try bob.history(name).first?.body["text"] == .string("hello"))
        }
        // It is not sent, and not accepted from outside.
        let system = "{\"type\":\"system\",\"event\":\"verified\"}\n"
        let sealed = try alice.run(
            "encrypt", ["--to", "bob", "--jsonl"], stdin: Array(system.utf8))
        #expect(sealed.status == 65)
    }

    /// C8: a reply that quotes what was not written is marked.
    @Test func c8AQuotationIsComparedWithTheHistory() throws {
        let id = try they.tell(alice, "I said this")
        try they.say(bob, ["reply", id, "--with", "alice"], text: "fine")
        func reply(_ text: String?, to target: String, is expected: String) throws {
            var quoted: JSONObject = [
                "id": .string(target), "from": .string(alice.identity.id.description),
            ]
            quoted["text"] = text.map { .string($0) }
            var body = Message.textBody("reply")
            body["reply"] = .object(quoted)
            let record: JSONObject = [
                "v": .integer(1), "type": .string("message"), "body": .object(body),
            ]
            let sealed = try bob.run(
                "encrypt", ["--to", "alice", "--jsonl"], stdin: record.serialized())
            // decrypt compares it too, also without storing the message and when it prints it again.
            let preview = try alice.run("decrypt", ["--preview"], stdin: sealed.stdout)
            let opened = try alice.run("decrypt", stdin: sealed.stdout)
            let again = try alice.run("decrypt", stdin: sealed.stdout)
            for run in [preview, opened, again] {
                #expect(run.status == 0)
                #expect(try run.records.map { $0["quotation"]?.string } == [expected])
            }
        }
        try reply("I said something else", to: id, is: "different")
        try reply("I said", to: id, is: "same")
        try reply(nil, to: id, is: "same")
        try reply("never seen", to: Envelope.newID(), is: "unknown")
        let stored = try alice.run("decrypt", ["--again"]).records
        #expect(
            stored.map { $0["quotation"]?.string } == [
                "same", "different", "same", "same", "unknown",
            ])
        let names = try alice.history("bob").map { $0["quotation"]?.string }
        #expect(names == [nil, "same", "different", "same", "same", "unknown"])
        let text = try alice.run("history", ["bob", "--text"]).text
        #expect(text.contains("> I said this [the reply quotes another text]"))
        #expect(text.contains("> never seen [not in this history]"))
        #expect(!text.contains("something else"))
    }
}
