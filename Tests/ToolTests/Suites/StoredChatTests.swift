import Glibc
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// The key ring for chats: `keygen chat --store`, `--add`, `--list`, `--forget`, and chats named where a file can be.
struct StoredChatTests {
    let accounts: Accounts
    var alice: Party { accounts.alice }
    var bob: Party { accounts.bob }
    init() throws {
        accounts = try Accounts()
        for party in [alice, bob] {
            let run = try party.run("bridge", ["chat", "--add", "family.chat"])
            guard run.status == 0 else { throw Unexpected(run) }
        }
        // The keys are in the state.
        unlink(accounts.home.files("family.chat"))
    }

    @Test func aStoredChatIsNamedLikeAFileAndFoundByItsID() throws {
        let sealed = try alice.run(
            "encrypt", ["--chat", "family"], stdin: Array("dinner at 8".utf8))
        #expect(sealed.status == 0, "\(sealed.stderr)")
        let read = try bob.run("decrypt", ["--text"], stdin: sealed.stdout)
        #expect(read.status == 0 && read.text == "dinner at 8\n", "\(read.stderr)")
        let bare = try alice.run(
            "encrypt", ["--chat", "FAMILY", "--bare"], stdin: Array("bare".utf8))
        #expect(try bob.run("decrypt", ["--text"], stdin: bare.stdout).text == "bare\n")

        let record = try alice.run(
            "bridge", ["seal", "shainy", "-q", "--chat", "family", "--show-secret"],
            stdin: Array("over there".utf8))
        #expect(record.status == 0, "\(record.stderr)")
        let opened = try bob.run("bridge", ["open", "shainy", "--text"], stdin: record.stdout)
        #expect(opened.status == 0 && opened.text == "over there\n", "\(opened.stderr)")
        // Both forms are one conversation.
        let texts = try bob.history("family").compactMap { $0.at("body", "text")?.string }
        #expect(texts.contains("dinner at 8") && texts.contains("over there"))
        // Without the state the chat is unknown.
        #expect(try bob.run("decrypt", ["--stateless"], stdin: sealed.stdout).status == 11)
        let unknown = try alice.run("encrypt", ["--chat", "friends"], stdin: [0x78])
        #expect(unknown.status == 66, "\(unknown.stderr)")
    }

    @Test func chatsAreListedAndForgotten() throws {
        let made = try alice.run(
            "keygen", ["chat", "--store", "--name", "climbing", "-q"],
            stdin: Array("nine random words of a list that nobody knows\n".utf8))
        #expect(made.status == 0 && made.stdout.isEmpty, "\(made.stderr)")
        #expect(try alice.run("keygen", ["chat", "--list"]).text == "climbing\nfamily\n")
        let shown = try alice.run("keygen", ["chat", "--public", "climbing"])
        #expect(try JSON.object(parsing: shown.stdout)["type"] == .string("chat-name"))
        let sealed = try alice.run("encrypt", ["--chat", "family"], stdin: [0x78])
        #expect(try alice.run("keygen", ["chat", "--forget", "family"]).status == 0)
        #expect(try alice.run("bridge", ["chat", "--list"]).text == "climbing\n")
        #expect(try alice.run("keygen", ["chat", "--forget", "family"]).status == 66)
        #expect(try alice.run("encrypt", ["--chat", "family"], stdin: [0x78]).status == 66)
        #expect(try alice.run("decrypt", [], stdin: sealed.stdout).status == 11)
        // The messages stay.
        #expect(try alice.history("family").count == 1)
        #expect(try alice.run("keygen", ["chat", "--forget", "climbing"]).status == 0)
        #expect(try alice.run("keygen", ["chat", "--list"]).status == 1)
    }

    @Test func aNameMeansOneChat() throws {
        try Accounts.writeChat("another phrase altogether", "family", in: accounts.home)
        let taken = try alice.run("keygen", ["chat", "--add", "family.chat"])
        #expect(taken.status == 64 && taken.stderr.contains("another stored chat"))
        let renamed = try alice.run("keygen", ["chat", "--add", "family.chat", "--name", "other"])
        #expect(renamed.status == 0, "\(renamed.stderr)")
        #expect(try alice.run("keygen", ["chat", "--list"]).text == "family\nother\n")
        for name in ["", "a/b", "-x", "me", "a\u{202E}b"] {
            let run = try alice.run("keygen", ["chat", "--add", "family.chat", "--name", name])
            #expect(run.status == 64, "\(name): \(run.stderr)")
        }
        // A file with exactly the name of a stored chat is not guessed about.
        accounts.home.files.write(
            "family", try accounts.home.files.read("family.chat"), mode: 0o600)
        let both = try alice.run(
            "encrypt", ["--chat", "family", "--to", "bob.card"], stdin: [0x78])
        #expect(both.status == 64 && both.stderr.contains("both a stored chat and a file"))
        let file = try alice.run(
            "encrypt", ["--chat", "./family", "--to", "bob.card"], stdin: [0x78])
        #expect(file.status == 0, "\(file.stderr)")
    }

    /// The state's file has neither the name nor a key, and a backup carries the chat with SHAiny's key.
    @Test func aBackupCarriesTheChats() throws {
        let file = try accounts.home.files.read(alice.database)
        #expect(!String(decoding: file, as: UTF8.self).contains("family"))
        let backup = try alice.run("history", ["export", "--backup", "-o", "backup"])
        #expect(backup.status == 0, "\(backup.stderr)")
        let state = accounts.home.files(alice.stateDirectory)
        #expect(rename(state, state + "-lost") == 0)
        #expect(try alice.run("keygen", ["chat", "--list", "-q"]).status == 1)
        let restored = try alice.run("history", ["import", "backup"])
        #expect(
            restored.status == 0 && restored.stderr.contains("1 chat added"), "\(restored.stderr)")
        let sealed = try alice.run(
            "bridge", ["seal", "shainy", "-q", "--chat", "family", "--show-secret"],
            stdin: Array("again".utf8))
        let opened = try bob.run("bridge", ["open", "shainy", "--text"], stdin: sealed.stdout)
        #expect(opened.text == "again\n", "\(sealed.stderr) \(opened.stderr)")
    }

    /// The documented events, with and without `payload`, are the app's message.
    @Test func theDocumentedEventsAreRead() throws {
        let sealed = try alice.run(
            "bridge", ["seal", "shainy", "-q", "--chat", "family", "--show-secret"],
            stdin: Array("an event".utf8))
        var members = try JSON.object(parsing: sealed.stdout)
        members["type"] = nil
        var message = members
        message["chatId"] = nil
        message["id"] = .string("m-17")
        message["senderName"] = .string("Bea")
        message["timestamp"] = .string("2026-11-25T10:00:00Z")
        let event: JSONObject = [
            "chatId": try #require(members["chatId"]), "message": .object(message),
        ]
        let lines: [JSONObject] = [
            ["type": .string("sendMessage"), "payload": .object(members)],
            ["type": .string("new_message"), "payload": .object(event)],
        ]
        for (place, line) in lines.enumerated() {
            let run = try bob.run("bridge", ["open", "shainy"], stdin: line.serialized() + [10])
            #expect(run.status == 0, "\(run.stderr)")
            let record = try accounts.record(run)
            #expect(record.at("body", "text") == .string("an event"))
            #expect(record["from"] == nil && record["authenticated"] == .bool(false))
            // They are one message.
            #expect(record["seen"] == (place == 0 ? nil : .bool(true)))
        }
        // What the server says of a message is marked as unproven.
        let next = try alice.run(
            "bridge", ["seal", "shainy", "-q", "--chat", "family", "--show-secret"],
            stdin: Array("claimed".utf8))
        var claimed = try JSON.object(parsing: next.stdout)
        (claimed["type"], claimed["chatId"]) = (nil, nil)
        claimed["senderName"] = .string("Bea")
        claimed["id"] = .string("m-18")
        // A malformed claim makes no message unreadable.
        claimed["timestamp"] = .array([])
        let line: JSONObject = [
            "type": .string("new_message"), "chatId": try #require(members["chatId"]),
            "message": .object(claimed),
        ]
        let run = try bob.run("bridge", ["open", "shainy"], stdin: line.serialized() + [10])
        #expect(run.status == 0, "\(run.stderr)")
        let record = try accounts.record(run)
        #expect(record.at("details", "untrusted", "senderName") == .string("Bea"))
        #expect(record.at("details", "untrusted", "messageId") == .string("m-18"))
        #expect(record.at("details", "untrusted", "timestamp") == nil)
        #expect(record["name"] == nil && record["time"] == nil)
    }
}
