import Sotto
import SottoState
import TestSupport
import Testing

/// Every way to lose a state, with the built programs and a relay: both sides learn of it, and can write again.
@Suite(.timeLimit(.minutes(60))) struct LostStateTests {
    let they: Correspondence

    init() throws {
        they = try Correspondence()
        for (one, other) in [("alice", "bob"), ("bob", "alice")] {
            try they.expect(one, "contact add \(other).card 2>/dev/null")
            try they.expect(one, "keygen prekeys | send -q")
        }
        try they.expect("bob", "cp -r state-bob earlier")
        try they.expect("alice", "recv -q --bundle bob > bob.bundle")
        try say("alice", "first", "--bundle bob.bundle")
        #expect(try read("bob") == ["first"])
        try say("bob", "second")
        #expect(try read("alice") == ["second"])
    }

    private func say(_ who: String, _ text: String, _ options: String = "") throws {
        let peer = who == "alice" ? "bob" : "alice"
        try they.expect(
            who, "echo '\(text)' | encrypt -q --to \(peer) \(options) | send -q >/dev/null")
    }

    /// Returns the texts that a person receives.
    private func read(_ who: String) throws -> [String] {
        let (_, lines) = they.shell(who, "recv -q | decrypt -q")
        return try lines.compactMap {
            try JSON.object(parsing: Array($0.utf8))["body"]?.object?["text"]?.string
        }
    }

    /// Loses Bob's state, in one of these ways.
    enum Loss: String, CaseIterable {
        case deleted = "rm -rf state-bob"
        case wiped = "history wipe --yes --keep-identity -q"
        case rolledBack = "rm -rf state-bob && cp -r earlier state-bob"
        case halfCopied = "rm state-bob/*.db*"
    }

    @Test(arguments: Loss.allCases)
    func bothSidesCanWriteAfterALoss(_ loss: Loss) throws {
        let stock = try they.expect("carol", "recv -q --bundle bob.card")
        try they.expect("bob", loss.rawValue)
        try they.expect("bob", "contact add alice.card 2>/dev/null")
        // The message of a session that Bob lost names who claims to have sent it.
        try say("alice", "lost")
        let (status, lines) = they.shell("bob", "recv -q | decrypt -q")
        #expect(status == 10, "\(lines) \(they.errors)")
        let record = try JSON.object(parsing: Array(try #require(lines.first).utf8))
        #expect(record["claimedFrom"] == .string(they.alice.id.description))
        #expect(they.errors.contains("which claims to be from alice"), "\(they.errors)")
        // The first recv published new prekeys in place of those that Bob lost. The earlier state has them.
        let fresh = try they.expect("carol", "recv -q --bundle bob.card")
        let isNew = try signedPreKey(fresh) > signedPreKey(stock)
        #expect(isNew == (loss != .rolledBack))
        try they.expect("carol", "contact add bob.card 2>/dev/null")
        try they.expect(
            "carol",
            "recv -q --bundle bob | cat > new.bundle; echo hello | encrypt -q --to bob --bundle new.bundle | send -q >/dev/null"
        )
        try they.expect("bob", "contact add carol.card 2>/dev/null")
        // What Bob writes begins a new session, and Alice's answer arrives in it.
        try say("bob", "my laptop was lost")
        #expect(try read("alice").contains("my laptop was lost"))
        try say("alice", "welcome back")
        let texts = try read("bob")
        #expect(texts.contains("welcome back") && texts.contains("hello"), "\(texts)")
    }

    private func signedPreKey(_ lines: [String]) throws -> Int64 {
        let bundle = try JSON.object(parsing: Array(try #require(lines.first).utf8))
        return try #require(bundle["signedPreKey"]?.object?["id"]?.integer)
    }

    /// The state of a name that is no contact names the id.
    @Test func anUnknownSenderIsNamedByItsId() throws {
        try they.expect("bob", "rm -rf state-bob")
        try say("alice", "lost")
        let (status, _) = they.shell("bob", "recv -q | decrypt -q --text")
        #expect(status == 10)
        #expect(
            they.errors.contains("claims to be from \(they.alice.id.description.prefix(16))…"),
            "\(they.errors)")
    }
}
