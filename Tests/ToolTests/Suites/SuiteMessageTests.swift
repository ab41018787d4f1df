import Foundation
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of messages without a session with the built programs: the suite phrase, the messengers' own records, and the
/// reported sender.
struct SuiteMessageTests {
    let accounts: Accounts
    init() throws {
        accounts = try Accounts()
        try accounts.meet()
    }

    static let stateless = ["phrase", "shainy", "whisper2", "mercurio"]

    /// The program and its arguments that seal a message for Bob or for the common chat.
    private func sealing(_ suite: String) -> (tool: String, arguments: [String]) {
        switch suite {
        case "phrase": ("encrypt", ["--chat", "family.chat"])
        case "shainy": ("bridge", ["seal", suite, "--chat", "family.chat", "--show-secret"])
        default: ("bridge", ["seal", suite, "--to", "bob"])
        }
    }

    private func seal(_ suite: String, _ more: [String], stdin: [UInt8]) throws -> Run {
        let (tool, arguments) = sealing(suite)
        return try accounts.alice.run(tool, arguments + more, stdin: stdin)
    }

    private func write(_ text: String, _ suite: String, _ more: String...) throws -> [String] {
        let run = try seal(suite, ["-q"] + more, stdin: Array(text.utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.lines
    }

    /// Opens Bob's messages.
    private func read(_ lines: [String], _ suite: String) throws -> Run {
        try suite == "phrase" ? accounts.read(lines) : accounts.open(suite, lines)
    }

    /// Returns a message with changed encrypted members: a messenger's own record has them itself, an envelope in its payload.
    private func changed(
        _ line: String, _ suite: String, _ change: (inout JSONObject) throws -> Void
    ) throws -> String {
        try suite == "phrase" ? changing(payload: line, change) : changing(line, change)
    }

    @Test(arguments: stateless) func aTextComesBack(_ suite: String) throws {
        let text = "zwölf Boxkämpfer 🥊\nzweite Zeile"
        for more in suite == "phrase" ? [[], ["--bare"]] : [[]] {
            let made = try seal(suite, ["-q"] + more, stdin: Array(text.utf8))
            #expect(made.lines.count == 1)
            let run = try read(made.lines, suite)
            #expect(run.status == 0, "\(suite) \(more): \(run.stderr)")
            let record = try accounts.record(run)
            #expect(record.at("body", "text") == .string(text))
            #expect(record["suite"] == .string(suite))
            let isProven = ["whisper2", "mercurio"].contains(suite)
            #expect(record["authenticated"] == .bool(isProven))
            #expect(
                record["from"]
                    == (isProven ? .string(accounts.alice.identity.id.description) : nil))
            #expect(record["trust"] == .string(isProven ? "trusted" : "unverified"))
            #expect(record["name"] == (isProven ? .string("alice") : nil))
        }
    }

    @Test(arguments: stateless) func aRepeatIsPrintedAsSeen(_ suite: String) throws {
        let line = try write("once", suite)[0]
        #expect(try accounts.record(read([line], suite))["seen"] == nil)
        #expect(try accounts.record(read([line], suite))["seen"] == .bool(true))
    }

    @Test(arguments: stateless)
    func everyFailureIsElevenWithOneText(_ suite: String) throws {
        let line = try write("a secret", suite)[0]
        try Accounts.writeChat("another phrase altogether", "other", in: accounts.home)
        func flip(_ value: JSON?) -> JSON {
            guard case .string(let text) = value else { return .integer(7) }
            var bytes = Array(text.utf8)
            let place = bytes.count / 2
            bytes[place] = bytes[place] == UInt8(ascii: "1") ? UInt8(ascii: "2") : UInt8(ascii: "1")
            return .string(String(decoding: bytes, as: UTF8.self))
        }
        var broken: [String] = []
        let record = try JSON.object(parsing: Array(line.utf8))
        let encrypted = suite == "phrase" ? try payload(line) : record
        for (name, _) in encrypted.members {
            // Members without authentication are tested elsewhere, and so is the recipient.
            if ["msgType", "createdAt", "sig"].contains(name), suite == "mercurio" { continue }
            if ["msgType", "type"].contains(name) { continue }
            broken.append(try changed(line, suite) { $0[name] = flip($0[name]) })
            broken.append(try changed(line, suite) { $0[name] = .integer(2) })
            broken.append(try changed(line, suite) { $0[name] = .string("") })
        }
        broken.append(try changed(line, suite) { $0 = JSONObject() })
        for broken in broken {
            let run = try read([broken], suite)
            if run.status == 12 { continue }  // without its signature a row is shown, and labelled
            #expect(run.status == 11, "\(broken) \(run.stderr)")
            let error = try accounts.record(run)
            #expect(error["message"] == .string(refusal))
            #expect(error["status"] == .integer(11))
            #expect(!run.text.contains("a secret"))
        }
        // Another chat and other keys.
        let chat = ["phrase", "shainy"].contains(suite) ? ["--chat", "other.chat"] : []
        let stranger = try accounts.alice.run(
            suite == "phrase" ? "decrypt" : "bridge",
            (suite == "phrase" ? [] : ["open", suite]) + chat, stdin: lines([line]))
        #expect(stranger.status == 11)
        #expect(try accounts.record(stranger)["message"] == .string(refusal))
        // None of these attempts affects the message.
        #expect(
            try accounts.record(read([line], suite)).at("body", "text") == .string("a secret"))
    }

    @Test(arguments: ["ios", "web", "flutter"])
    func anUnsignedRSAKeyOfTheAppsIsAcceptedAndNotVerified(_ client: String) throws {
        let home = accounts.home
        try home.files.write(
            "bob.\(client)",
            home.output("bridge", ["account", "mercurio", "--form", client, "bob.key"]))
        let stranger = Party(name: "stranger", identity: accounts.alice.identity, home: home)
        try home.files.write("stranger.key", home.files.read("alice.key"))
        let added = try stranger.run("contact", ["add", "--name", "rob", "bob.\(client)"])
        #expect(added.status == 0 && added.stderr.contains("is not signed"), "\(added.stderr)")
        let made = try stranger.run(
            "bridge", ["seal", "mercurio", "--to", "rob", "-q"], stdin: Array("hi".utf8))
        let read = try accounts.open("mercurio", made.lines)
        #expect(try accounts.record(read).at("body", "text") == .string("hi"), "\(made.stderr)")
        #expect(try accounts.record(read)["legacy"] != nil)
        let shown = try stranger.run("contact", ["show", "rob", "--json"])
        let number = try #require(accounts.record(shown)["safetyNumber"]?.string)
        #expect(try stranger.run("contact", ["verify", "rob", number]).status == 12)
        try home.files.write(
            "bob.bundle",
            home.output("bridge", ["account", "mercurio", "--signed", "bob.key"]))
        #expect(try stranger.run("contact", ["add", "bob.bundle"]).status == 0)
        #expect(try stranger.run("contact", ["verify", "rob", number]).status == 0)
        // Another key for that id.
        let other = try MercurioPrivateKey(bits: 2048).publicKey.text(.web)
        let id = try JSON.object(parsing: home.files.read("bob.bundle"))["mercurio_id"]
        let forged = JSONObject([
            ("mercurio_id", id), ("modulus", .string(other.modulus)),
            ("exponent", .string(other.exponent)),
        ])
        let changed = try stranger.run("contact", ["add"], stdin: forged.serialized())
        #expect(changed.status == 12, "\(changed.stderr)")
    }

    @Test func aChatNeedsNoIdentity() throws {
        let nobody = Home()
        try nobody.files.write(
            "family.chat", accounts.home.files.read("family.chat"), mode: 0o600)
        for suite in ["phrase", "shainy"] {
            let isOurs = suite == "phrase"
            let made = try nobody.run(
                isOurs ? "encrypt" : "bridge",
                (isOurs ? [] : ["seal", "shainy", "--show-secret"]) + ["--chat", "family.chat"],
                text: "hello\n")
            #expect(made.status == 0, "\(made.stderr)")
            let read = try nobody.run(
                isOurs ? "decrypt" : "bridge",
                (isOurs ? [] : ["open", "shainy"]) + ["--chat", "family.chat", "--text"],
                stdin: .whole(made.stdout))
            #expect(read.text == "hello\n" && read.status == 0)
            #expect(read.stderr.contains("in the chat family, from an unknown sender"))
            #expect(
                try accounts.record(self.read(made.lines, suite)).at("body", "text")
                    == .string("hello"))
        }
        let sent = try nobody.run(
            "send", ["--relay", "tcp://127.0.0.1:9"],
            stdin: .whole(
                try nobody.output("encrypt", ["--chat", "family.chat"], stdin: Array("x".utf8))))
        #expect(sent.status == 65, "\(sent.stderr)")
    }

    @Test func aChatsMessageGoesToEachMailbox() throws {
        let lines = try write("to all", "phrase", "--to", "bob", "--to", "alice.card")
        #expect(lines.count == 2)
        let ids = try lines.map { try JSON.object(parsing: Array($0.utf8))["to"]?.string }
        #expect(
            ids == [
                accounts.bob.identity.id.description, accounts.alice.identity.id.description,
            ])
        // The recipient is authenticated.
        let moved = try changing(lines[0]) { $0["to"] = .string(ids[1]!) }
        #expect(try accounts.read([moved]).status == 11)
        #expect(
            try accounts.record(accounts.read([lines[0]])).at("details", "chat", "name")
                == .string("family"))
    }

    @Test func aPhraseMessageHasAnyBodyAndItsBareFormOnlyText() throws {
        let target = #"{"id":"\#(Envelope.newID())","from":"\#(accounts.bob.identity.id)"}"#
        let reaction =
            #"{"body":{"type":"reaction","target":\#(target),"emoji":"👍"},"thread":"t1"}"#
        let made = try seal("phrase", ["--jsonl"], stdin: lines([reaction]))
        let record = try accounts.record(accounts.read(made.lines))
        #expect(record.at("body", "emoji") == .string("👍") && record["thread"] == .string("t1"))
        let bare = try seal("phrase", ["--jsonl", "--bare"], stdin: lines([reaction, "plain"]))
        #expect(bare.status == 65 || bare.status == 15, "\(bare.status) \(bare.stderr)")
        for suite in ["shainy", "whisper2", "mercurio"] {
            let refused = try seal(suite, ["--jsonl"], stdin: lines([reaction]))
            #expect(refused.status == 65)
            #expect(refused.stderr.contains("carries only text"))
        }
    }

    @Test(arguments: ["shainy", "whisper2", "mercurio"])
    func aLegacySuiteCausesANoteWithTheReason(_ suite: String) throws {
        let run = try seal(suite, [], stdin: Array("x".utf8))
        let reason = try #require(Messenger(rawValue: suite)?.format.legacyReason)
        #expect(run.stderr.contains("another messenger's format: \(reason)"))
        let quiet = try seal(suite, ["-q"], stdin: Array("x".utf8))
        #expect(quiet.status == 0 && quiet.stderr.isEmpty)
        let help = try accounts.alice.run("bridge", ["--help"]).text
        #expect(help.contains("  \(suite): "))
        let ours = try accounts.alice.run("encrypt", ["--help"]).text
        for line in SuiteTraits.table { #expect(ours.contains(line), "\(line)") }
        #expect(!ours.contains(suite))
    }

    @Test func optionsOfAnotherSuiteAreRefused() throws {
        for arguments in [
            ["encrypt", "--chat", "family.chat", "--gcm"],
            ["bridge", "seal", "whisper2", "--to", "bob", "--chat", "family.chat"],
            ["encrypt", "--to", "bob", "--no-hash"], ["encrypt", "--to", "bob", "--bare"],
            ["encrypt", "--suite", "phrase", "--to", "bob"], ["bridge", "seal", "shainy"],
            ["bridge", "seal", "shainy", "--public-channel", "--chat", "family.chat"],
            ["bridge", "seal", "whisper2", "--to", "bob", "--user-id", "x"],
            ["encrypt", "--to", "bob", "--blob", "a"],
            ["encrypt", "--to", "bob", "--attach", "a", "--stateless"],
            ["encrypt", "--chat", "family.chat", "--attach", "a"],
            ["bridge", "seal", "mercurio", "--to", "bob", "--new-session"],
        ] {
            let run = try accounts.alice.run(
                arguments[0], Array(arguments[1...]), stdin: Array("x".utf8))
            #expect(run.status == 64, "\(arguments): \(run.status) \(run.stderr)")
            #expect(run.stdout.isEmpty)
        }
    }
}
