import Sotto
import TestSupport
import Testing

/// `chat` and another key of a contact, which another program accepts meanwhile.
@Suite(.needs(.tmux), .timeLimit(.minutes(60))) struct ChatKeyTests {
    private let they: Conversing
    private let stage: ChatStage

    init() throws {
        they = try Conversing()
        stage = try ChatStage(they.home)
    }

    /// Bob with another identity, which has published prekeys.
    private func newBob() throws -> Party {
        let (home, key) = (they.home, "new.key")
        _ = try home.output("keygen", ["-q", "--name", "bob", "-o", key])
        home.files.write("new.card", try home.output("keygen", ["public", key]))
        let party = Party(
            name: "new", identity: try Identity(record: JSON.object(parsing: home.files.read(key))),
            home: home)
        #expect(try party.run("contact", ["add", they.alice.card]).status == 0)
        try stage.must(party, "keygen prekeys | send -q")
        return party
    }

    @Test func aNewKeyIsAcceptedAndASessionBegins() throws {
        try they.two.begin()
        let new = try newBob()
        try stage.must(new, "printf 'new phone' | encrypt -q --to alice | send -q")
        let terminal = try stage.chat(they.alice, with: "bob", columns: 100)
        try terminal.waitFor("“bob” (claimed)")
        #expect(try they.alice.run("contact", ["add", new.card]).status == 12)
        try terminal.enter("hello")
        try terminal.waitFor("a different key was received for bob and is not accepted yet")
        try terminal.waitFor("CHANGED KEY")
        try terminal.press("Enter")
        try terminal.waitFor("bob's key changed")
        try stage.must(they.alice, "contact accept-key -q bob")
        try terminal.waitFor("the new key of bob is accepted")
        try terminal.waitFor("“bob”, who is a contact now")
        try terminal.waitFor("> hello")
        // The text claims a bundle for the session that it begins.
        try terminal.press("Enter")
        try terminal.waitFor("me  hello ✓")
        let read = try stage.must(new, "recv -q | decrypt -q")
        #expect(try read.records.map { $0.body["text"]?.string } == ["hello"])
        #expect(try read.records.map { $0["suite"]?.string } == ["ratchet"])
        try terminal.answer("C-y", until: "bob  new phone")
    }
}
