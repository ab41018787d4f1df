import SottoBytes
import Testing

@testable import SottoChat

/// The identity under a passphrase.
struct LockScreens {
    private func passphrase(_ stage: ChatStage) -> String? {
        for case .unlock(let passphrase) in stage.effects.reversed() {
            return passphrase.secret().withBytes { String(decoding: $0, as: UTF8.self) }
        }
        return nil
    }

    @Test func thePassphraseIsAskedOnceBeforeAnythingElse() {
        var stage = ChatStage(rows: 10)
        stage.answers["keygen unlock --status"] = (["locked"], 1)
        stage.start()
        #expect(stage.commands == ["keygen unlock --status"])
        stage.show("locked")
        stage.type("wrong")
        stage.show("typed without an echo")
        stage.press(.enter)
        #expect(passphrase(stage) == "wrong")
        stage.give(.unlocked(status: 10, message: "keygen: error: wrong passphrase"))
        stage.show("a wrong one")
        stage.press(.tab)
        stage.give(.paste("right one"))
        stage.press(.enter)
        #expect(passphrase(stage) == "right one")
        stage.show("waiting")
        stage.give(.unlocked(status: 0, message: ""))
        stage.show("the list")
        stage.press(.control("d"))
        #expect(stage.isEnded(0))
        #expect(stage.state.locking == .never)
        stage.compare("locked")
    }

    /// The loop locks the identity at each end, also at one that a signal or Ctrl-C forces.
    @Test func withoutTheWishItIsLockedAtTheEnd() {
        var stage = ChatStage(rows: 10)
        stage.answers["keygen unlock --status"] = (["locked"], 1)
        stage.start()
        stage.enter("wrong")
        // The answer can come after the end.
        #expect(stage.state.locking == .ifLast)
        stage.give(.unlocked(status: 10, message: "keygen: error: wrong passphrase"))
        #expect(stage.state.locking == .never)
        stage.enter("right")
        stage.give(.unlocked(status: 0, message: ""))
        stage.press(.control("c"), .control("c"))
        #expect(stage.isEnded(130))
        #expect(stage.state.locking == .ifLast)
    }

    private func typed(_ text: String) -> TypedPassphrase {
        let typed = TypedPassphrase()
        typed.append(text)
        return typed
    }

    /// The loop gives text in memory that is wiped while the prompt is open. After a key that ends the prompt it is ordinary text.
    @Test func aTypedPassphraseIsWiped() {
        var stage = ChatStage(rows: 10)
        stage.answers["keygen unlock --status"] = (["locked"], 1)
        stage.start()
        #expect(stage.state.takesPassphrase)
        let texts = ["rig", "ht", "more"].map { typed($0) }
        stage.give(.typed(texts[0]), .typed(texts[1]), .key(.enter), .typed(texts[2]))
        #expect(passphrase(stage) == "right")
        #expect(texts.allSatisfy { $0.count == 0 })
        stage.give(.unlocked(status: 0, message: ""))
        #expect(!stage.state.takesPassphrase)
        var open = ChatStage.withBob([ChatStage.message(1, "hi")], hasPassphrase: true)
        lock(&open)
        open.enter("/unlock")
        open.give(.key(.escape), .typed(typed("hello")))
        #expect(open.screen.contains("> hello"))
    }

    @Test func theLastWindowLocks() {
        var stage = ChatStage.withBob([ChatStage.message(1, "hi")], hasPassphrase: true)
        #expect(stage.state.locking == .never)
        stage.give(.otherWindowLocks)
        #expect(stage.state.locking == .ifLast)
        stage.enter("/lock")
        #expect(stage.state.locking == .always)
    }

    @Test func aLaterLockTakesNothingThatIsTyped() {
        var stage = ChatStage.withBob(rows: 8, [ChatStage.message(1, "hi")])
        stage.type("a draft")
        lock(&stage)
        stage.type(" goes on")
        stage.show("locked meanwhile")
        stage.press(.enter)
        stage.show("the prompt, because the user wants to send")
        stage.press(.escape)
        stage.show("the text is kept")
        stage.press(.enter)
        stage.enter("right")
        stage.give(.unlocked(status: 0, message: ""))
        stage.show("back")
        stage.compare("locked-later")
    }

    private static let refusal =
        "error: the identity /home/a/identity is locked, and no terminal is available for its passphrase"

    /// Another program has locked the identity, and recv finds it.
    private func lock(_ stage: inout ChatStage) {
        stage.say("recv", "recv: \(Self.refusal)")
        stage.end("recv", 78, 141)
    }

    /// The action that finds the identity locked asks for the passphrase, and keeps what was typed.
    @Test func aLockIsFoundByTheNextAction() {
        for (line, command) in [
            ("a text", "compose text"), ("/timer 7d", "compose timer"),
            ("/search a text", "history search"), ("/verify", "contact show"),
            ("/rename robert", "history rename"), ("/open carol", "compose text -- carol"),
            ("/file a.jpg", "compose file"),
        ] {
            var stage = ChatStage.withBob(columns: 80, rows: 10, [ChatStage.message(1, "hi")])
            stage.enter(line)
            let tool = command.prefix { $0 != " " }
            stage.say(command, "\(tool): \(Self.refusal)")
            if command.hasPrefix("compose"), !command.hasSuffix("carol") {
                stage.end(command, 78, 1)
            } else {
                stage.end(command, 78)
            }
            #expect(stage.screen.contains("The identity is locked."), "\(line): \(stage.screen)")
            stage.enter("right")
            stage.give(.unlocked(status: 0, message: ""))
            #expect(stage.screen.contains("> \(line)"), "\(line): \(stage.screen)")
            #expect(!stage.screen.contains("no terminal"), "\(line): \(stage.screen)")
        }
    }

    /// What is typed meanwhile is no passphrase, so nothing is asked before Enter.
    @Test func aLockThatIsFoundLateTakesNothing() {
        var stage = ChatStage.withBob(columns: 80, rows: 10, [ChatStage.message(1, "hi")])
        stage.enter("first")
        stage.type("second")
        stage.say("compose text", "compose: \(Self.refusal)")
        stage.end("compose text", 78, 1)
        #expect(stage.state.lock == nil && stage.screen.contains("  locked"), "\(stage.screen)")
        stage.press(.enter)
        #expect(stage.state.lock != nil)
        stage.press(.escape)
        #expect(stage.screen.contains("> second"), "\(stage.screen)")
        // A command that needs the identity asks too.
        stage.press(.control("u"))
        stage.enter("/search x")
        #expect(stage.state.lock != nil)
        stage.press(.escape)
        #expect(stage.screen.contains("> /search x"), "\(stage.screen)")
    }

    @Test func unlockTellsUntilWhen() {
        var stage = ChatStage.withBob(columns: 80, rows: 6, [], hasPassphrase: true)
        stage.enter("/unlock")
        #expect(stage.state.lock == nil)
        #expect(stage.screen.contains("the identity is unlocked until 26 Nov 17:30"))
        stage.give(.otherWindowLocks)
        stage.enter("/unlock")
        let words = "unlocked until the end of the chat, at most until 26 Nov 17:30"
        #expect(stage.screen.contains(words), "\(stage.screen)")
        stage.answers["keygen unlock --status"] = (["no passphrase"], 0)
        stage.enter("/unlock")
        #expect(stage.screen.contains("the identity has no passphrase"), "\(stage.screen)")
        stage.answers["keygen unlock --status"] = (["locked"], 1)
        stage.enter("/unlock")
        #expect(stage.state.lock != nil && stage.state.editor.isEmpty)
        stage.press(.escape)
        #expect(stage.screen.contains("  locked"), "\(stage.screen)")
    }

    /// In a container the kernel can refuse keys. Then each tool that uses the identity gets the passphrase.
    @Test func withoutAKeyringEachToolGetsThePassphrase() {
        var stage = ChatStage(columns: 80, rows: 12)
        stage.answers["keygen unlock --status"] = (["locked"], 1)
        for tool in ["history", "contact", "group"] {
            stage.answers["\(tool) list"] = nil
            stage.answers["\(tool) list --identity-passphrase"] = ([], 1)
        }
        stage.start()
        stage.answers["history list --identity-passphrase"] = nil
        let refusal =
            "keygen: error: the kernel's keyring cannot be used here: Operation not permitted"
        stage.enter("wrong")
        stage.give(.unlocked(status: 78, message: refusal))
        stage.say("history list", "history: error: the passphrase of the identity a.key is wrong")
        stage.end("history list", 10)
        stage.show("a wrong one")
        stage.enter("right")
        stage.give(.unlocked(status: 78, message: refusal))
        // A failure of another kind proves nothing about the passphrase.
        stage.say("history list", "history: error: the state cannot be opened: disk I/O error")
        stage.end("history list", 74)
        #expect(stage.state.passphrase == nil && stage.screen.contains("disk I/O error"))
        stage.enter("right")
        stage.give(.unlocked(status: 78, message: refusal))
        stage.answers["history list --identity-passphrase"] = ([], 1)
        stage.end("history list", 1)
        stage.show("the list")
        for _ in 0..<4 { stage.wait() }
        stage.showCommands("the commands")
        stage.press(.control("d"))
        #expect(stage.isEnded(0))
        #expect(stage.state.locking == .never)
        stage.compare("no-keyring")
    }
}
