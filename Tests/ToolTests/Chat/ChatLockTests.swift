import Sotto
import TestSupport
import Testing

/// `sotto chat` with an identity that has a passphrase.
@Suite(
    .needs(.tmux), .enabled(if: UnlockTests.hasKeyring, UnlockTests.hint),
    .timeLimit(.minutes(60))) struct ChatLockTests
{
    private let they: Conversing
    private let stage: ChatStage

    init() throws {
        they = try Conversing()
        stage = try ChatStage(they.home)
        they.home.files.write("passphrase", Array("correct horse battery\n".utf8))
        try stage.must(they.alice, "keygen passwd -q --passphrase @FILE:passphrase")
    }

    /// The passphrase is asked for once, before anything else, and is never on the screen. A wrong one is asked for again.
    @Test func thePassphraseIsAskedForOnce() throws {
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("The identity is locked.")
        try terminal.enter("wrong")
        try terminal.waitFor("wrong")
        #expect(try !terminal.lines().contains { $0 == "Passphrase: wrong" })
        try terminal.enter("correct horse battery")
        try terminal.waitFor("no messages yet")
        #expect(try !terminal.lines().contains { $0.contains("horse") })
        try terminal.enter("hello")
        try terminal.waitFor("me  hello ✓")
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
        // It was not to stay unlocked.
        #expect(try they.alice.run("keygen", ["unlock", "--status"]).status == 1)
    }

    private func isUnlocked() throws -> Bool {
        try they.alice.run("keygen", ["unlock", "--status"]).status == 0
    }

    /// An end that waits for nothing locks the identity too.
    @Test func ctrlCTwiceLocks() throws {
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("The identity is locked.")
        try terminal.enter("correct horse battery")
        try terminal.waitFor("no messages yet")
        #expect(try isUnlocked())
        try terminal.press("C-c", "C-c")
        try terminal.waitFor("ended 130")
        #expect(try !isUnlocked())
    }

    /// Another program locks the identity: the next text asks for the passphrase, and stays in the line.
    @Test func aLockOfAnotherProgramIsNoticed() throws {
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("The identity is locked.")
        try terminal.enter("correct horse battery")
        try terminal.waitFor("no messages yet")
        try stage.must(they.alice, "keygen lock -q")
        try terminal.enter("hello")
        try terminal.waitFor("The identity is locked.")
        try terminal.enter("correct horse battery")
        try terminal.waitFor("> hello")
        try terminal.press("Enter")
        try terminal.waitFor("me  hello ✓")
        try terminal.enter("/unlock")
        try terminal.waitFor("the identity is unlocked until the end of the chat")
    }

    /// The second window finds the identity unlocked, and uses it after the end of the first one.
    @Test func theLastWindowLocksTheIdentity() throws {
        let first = try stage.chat(they.alice, with: "bob")
        try first.waitFor("The identity is locked.")
        try first.enter("correct horse battery")
        try first.waitFor("no messages yet")
        let second = try stage.chat(they.alice, with: "bob")
        try second.waitFor("another recv receives the mail")
        try first.press("C-d")
        try first.waitFor("ended 0")
        #expect(try isUnlocked())
        try second.enter("still here")
        try second.waitFor("me  still here ✓")
        try second.press("C-d")
        try second.waitFor("ended 0")
        #expect(try !isUnlocked())
    }

    /// In a container that forbids keys, the chat keeps the passphrase for its tools. A wrong one is asked for again.
    @Test(.needs(.compiler)) func withoutAKeyringTheToolsGetThePassphrase() throws {
        let terminal = try stage.chat(
            they.alice, with: "bob",
            environment: ["LD_PRELOAD": try UnlockTests.refusal.get(), "KEYRING_ERRNO": "1"])
        try terminal.waitFor("The identity is locked.")
        try terminal.enter("wrong")
        try terminal.waitFor("is wrong")
        try terminal.enter("correct horse battery")
        try terminal.waitFor("no messages yet")
        try terminal.enter("hello")
        try terminal.waitFor("me  hello ✓")
        try stage.must(they.bob, "recv -q | decrypt -q > /dev/null")
        try stage.must(they.bob, "echo hi | encrypt -q --to alice | send -q")
        #expect(try terminal.waitFor("hi").hasSuffix("bob  hi"))
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
        #expect(try they.alice.run("keygen", ["unlock", "--status"]).status == 1)
    }

    @Test func withoutAScreenNoPassphraseIsAskedFor() throws {
        let run = try stage.sotto(they.alice, ["chat", "bob"], "one\n")
        #expect(run.status == 78)
        #expect(run.stderr.contains("sotto chat: hint: unlock it: sotto keygen unlock"))
    }
}
