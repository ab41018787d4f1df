import Foundation
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Alice and Bob with accounts in every messenger, cards with these accounts, and a common chat.
struct Accounts {
    let home: Home
    let alice: Party
    let bob: Party

    /// RSA keys take a second to create; these are used by all tests.
    private static let rsaKeys = [2048, 3072].map { bits in
        Result { try MercurioPrivateKey(bits: bits) }
    }

    static let phrase = "seventeen quiet herons walk along the canal before dawn"

    init() throws {
        home = Home()
        alice = try Self.party("alice", rsa: Self.rsaKeys[0].get(), in: home)
        bob = try Self.party("bob", rsa: Self.rsaKeys[1].get(), in: home)
        try Self.writeChat(Self.phrase, "family", in: home)
    }

    private static func party(
        _ name: String, rsa: MercurioPrivateKey, in home: Home
    ) throws -> Party {
        let identity = Identity(
            mnemonic: Mnemonic(randomWordCount: 24), name: name,
            others: Identity.members(whisperID: .random(), rsaKey: rsa))
        home.files.write("\(name).key", identity.record.serialized(), mode: 0o600)
        let whisper = try identity.whisper2Keys().contact(try #require(try identity.whisperID()))
        let profiles = Profiles(
            kecalek: "\(name)@kecalek", whisper2: whisper,
            mercurio: MercurioKeyBundle(
                key: rsa.publicKey, by: try identity.mercurioIdentity()))
        let record = try #require(try identity.card(profiles: profiles).record)
        home.files.write("\(name).card", record.serialized())
        return Party(name: name, identity: identity, home: home)
    }

    /// Writes a chat file.
    static func writeChat(_ phrase: String, _ name: String, in home: Home) throws {
        let chat = try MessengerChat(phrase: SecretBytes(copying: phrase.utf8), name: name)
        home.files.write("\(name).chat", chat.record.serialized(), mode: 0o600)
    }

    /// Adds each to the other's address book.
    func meet() throws {
        for (one, other) in [(alice, bob), (bob, alice)] {
            let added = try one.run("contact", ["add", other.card])
            #expect(added.status == 0, "\(added.stderr)")
        }
    }

    /// Runs Bob's `decrypt` on envelopes and bare texts.
    func read(_ lines: [String], _ more: String...) throws -> Run {
        try bob.run("decrypt", ["--chat", "family.chat"] + more, stdin: Self.bytes(lines))
    }

    /// Runs Bob's `bridge open` on a messenger's records.
    func open(_ format: String, _ lines: [String], _ more: String...) throws -> Run {
        try open(format, lines, more)
    }

    /// Runs Bob's `bridge open` on a messenger's records.
    func open(_ format: String, _ lines: [String], _ more: [String]) throws -> Run {
        let chat = format == "shainy" ? ["--chat", "family.chat"] : []
        return try bob.run("bridge", ["open", format] + chat + more, stdin: Self.bytes(lines))
    }

    private static func bytes(_ lines: [String]) -> [UInt8] {
        Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    /// Returns the only printed record.
    func record(_ run: Run) throws -> JSONObject {
        let lines = run.lines
        try #require(lines.count == 1, "\(run.status): \(run.text) \(run.stderr)")
        return try JSON.object(parsing: Array(lines[0].utf8))
    }
}

extension JSONObject {
    /// Returns the member at the end of a path of objects.
    func at(_ path: String...) -> JSON? {
        var value: JSON? = .object(self)
        for name in path { value = value?.object?[name] }
        return value
    }
}

/// The same error text for every failure of every suite without a separate message.
let refusal = "the message cannot be opened"
