import Foundation
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of the messengers' suites with the built programs: envelopes, their own records, and the reported sender.
struct SuiteMessageTests {
    let accounts: Accounts
    init() throws {
        accounts = try Accounts()
        try accounts.meet()
    }

    static let stateless = ["phrase", "shainy", "whisper2", "mercurio"]

    private func route(_ suite: String) -> [String] {
        ["phrase", "shainy"].contains(suite) ? [] : ["--to", "bob"]
    }

    private func write(_ text: String, _ suite: String, _ more: [String] = []) throws -> [String] {
        let chat = route(suite).isEmpty ? ["--chat", "family.chat"] : []
        let run = try accounts.alice.seal(
            ["--suite", suite, "-q"] + chat + route(suite) + more,
            stdin: Array(text.utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.lines
    }

    @Test(arguments: stateless)
    func aTextComesBackFromAnEnvelopeAndFromTheMessengersOwnRecord(_ suite: String) throws {
        let text = "zwölf Boxkämpfer 🥊\nzweite Zeile"
        for form in ["envelope", "app"] {
            let secret = suite == "shainy" && form == "app" ? ["--show-secret"] : []
            let lines = try write(text, suite, ["--form", form] + secret)
            #expect(lines.count == 1)
            let run = try accounts.read(lines, "--suite", suite)
            #expect(run.status == 0, "\(suite) \(form): \(run.stderr)")
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

    @Test(arguments: stateless)
    func aRepeatIsPrintedAsSeenInAnyEnvelope(_ suite: String) throws {
        let line = try write("once", suite)[0]
        #expect(try accounts.record(accounts.read([line]))["seen"] == nil)
        #expect(try accounts.record(accounts.read([line]))["seen"] == .bool(true))
        guard suite != "phrase" else { return }
        // A carrier puts the payload into another envelope.
        let other = try changing(line) { $0["id"] = .string(Envelope.newID()) }
        let again = try accounts.read([other])
        #expect(again.status == 0)
        #expect(try accounts.record(again)["seen"] == .bool(true))
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
        for (name, _) in try payload(line).members {
            // Members without authentication are tested elsewhere, and so is the recipient.
            if ["msgType", "created_at", "sig"].contains(name), suite == "mercurio" { continue }
            if name == "msgType" { continue }
            broken.append(try changing(payload: line) { $0[name] = flip($0[name]) })
            broken.append(try changing(payload: line) { $0[name] = .integer(2) })
            broken.append(try changing(payload: line) { $0[name] = .string("") })
        }
        broken.append(try changing(line) { $0["payload"] = .object(JSONObject()) })
        for broken in broken {
            let run = try accounts.read([broken])
            if run.status == 12 { continue }  // without its signature a row is shown, and labelled
            #expect(run.status == 11, "\(broken) \(run.stderr)")
            let error = try accounts.record(run)
            #expect(error["message"] == .string(refusal))
            #expect(error["status"] == .integer(11))
            #expect(!run.text.contains("a secret"))
        }
        // Another chat and other keys.
        let stranger = try accounts.alice.open(
            ["--chat", "other.chat"], stdin: lines([line]))
        #expect(stranger.status == 11)
        #expect(try accounts.record(stranger)["message"] == .string(refusal))
        // None of these attempts affects the message.
        #expect(
            try accounts.record(accounts.read([line])).at("body", "text") == .string("a secret"))
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
        let made = try stranger.seal(
            ["--suite", "mercurio", "--to", "rob", "--form", "app", "-q"],
            stdin: Array("hi".utf8))
        let read = try accounts.bob.open(["--suite", "mercurio"], stdin: made.stdout)
        #expect(try accounts.record(read).at("body", "text") == .string("hi"), "\(made.stderr)")
        #expect(try accounts.record(read)["legacy"] != nil)
        let wrapped = try stranger.seal(
            ["--suite", "mercurio", "--to", "rob"], stdin: Array("again".utf8))
        #expect(wrapped.status == 0)
        let opened = try accounts.bob.open([], stdin: wrapped.stdout)
        #expect(try accounts.record(opened).at("body", "text") == .string("again"))
        let shown = try stranger.run("contact", ["show", "rob", "--json"])
        let number = try #require(accounts.record(shown)["safety_number"]?.string)
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
                try accounts.record(accounts.read(made.lines)).at("body", "text")
                    == .string("hello"))
        }
        let sent = try nobody.run(
            "send", ["--relay", "tcp://127.0.0.1:9"],
            stdin: .whole(
                try nobody.output("encrypt", ["--chat", "family.chat"], stdin: Array("x".utf8))))
        #expect(sent.status == 65, "\(sent.stderr)")
    }

    @Test func aChatsMessageGoesToEachMailbox() throws {
        let lines = try write("to all", "phrase", ["--to", "bob", "--to", "alice.card"])
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
        let made = try accounts.alice.seal(
            ["--chat", "family.chat", "--jsonl"], stdin: lines([reaction]))
        let record = try accounts.record(accounts.read(made.lines))
        #expect(record.at("body", "emoji") == .string("👍") && record["thread"] == .string("t1"))
        let bare = try accounts.alice.seal(
            ["--chat", "family.chat", "--suite", "phrase", "--jsonl", "--form", "app"],
            stdin: lines([reaction, "plain"]))
        #expect(bare.status == 65 || bare.status == 15, "\(bare.status) \(bare.stderr)")
        for suite in ["shainy", "whisper2", "mercurio"] {
            let chat = route(suite).isEmpty ? ["--chat", "family.chat"] : []
            let refused = try accounts.alice.seal(
                ["--suite", suite, "--jsonl"] + chat + route(suite),
                stdin: lines([reaction]))
            #expect(refused.status == 65)
            #expect(refused.stderr.contains("carries only text"))
        }
    }

    @Test(arguments: ["shainy", "whisper2", "mercurio"])
    func aLegacySuiteCausesANoteWithTheReason(_ suite: String) throws {
        let chat = route(suite).isEmpty ? ["--chat", "family.chat"] : []
        let arguments = ["--suite", suite] + chat + route(suite)
        let run = try accounts.alice.seal(arguments, stdin: Array("x".utf8))
        let reason = try #require(Messenger(rawValue: suite)?.format.legacyReason)
        #expect(run.stderr.contains("another messenger's format: \(reason)"))
        let quiet = try accounts.alice.seal(arguments + ["-q"], stdin: Array("x".utf8))
        #expect(quiet.status == 0 && quiet.stderr.isEmpty)
        let help = try accounts.alice.run("bridge", ["--help"]).text
        #expect(help.contains("  \(suite): "))
        let ours = try accounts.alice.run("encrypt", ["--help"]).text
        for line in SuiteTraits.table { #expect(ours.contains(line), "\(line)") }
        #expect(!ours.contains(suite))
    }

    @Test func optionsOfAnotherSuiteAreRefused() throws {
        for arguments in [
            ["--chat", "family.chat", "--gcm"],
            ["--to", "bob", "--chat", "family.chat", "--suite", "whisper2"],
            ["--to", "bob", "--no-hash"], ["--to", "bob", "--bare"],
            ["--suite", "phrase", "--to", "bob"], ["--suite", "shainy"],
            ["--public-channel", "--chat", "family.chat"],
            ["--suite", "whisper2", "--to", "bob", "--user-id", "x"],
            ["--to", "bob", "--blob", "a"], ["--to", "bob", "--attach", "a", "--stateless"],
            ["--chat", "family.chat", "--attach", "a"],
            ["--suite", "mercurio", "--to", "bob", "--new-session"],
        ] {
            let run = try accounts.alice.seal(arguments, stdin: Array("x".utf8))
            #expect(run.status == 64, "\(arguments): \(run.status) \(run.stderr)")
            #expect(run.stdout.isEmpty)
        }
    }
}
