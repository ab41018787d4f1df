import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// The ends and stops of `sotto chat`: the terminal is as before, and no program is left.
@Suite(.needs(.tmux, .bash), .timeLimit(.minutes(60))) struct ChatEndTests {
    private let they: Conversing
    private let stage: ChatStage

    init() throws {
        they = try Conversing()
        stage = try ChatStage(they.home)
    }

    /// Starts an interactive shell, and `sotto chat bob` in it.
    private func shell() throws -> TerminalEmulator {
        let terminal = try stage.terminal(
            they.alice, "\(Peer.bash.path) --norc --noprofile -i", columns: 80)
        try terminal.enter("stty -a > before; PS1='ready: '; \(Programs.path("sotto")) chat bob")
        try terminal.waitFor("no messages yet")
        return terminal
    }

    /// Checks that the terminal has the settings of the start, shows the shell's lines again, and echoes.
    private func expectRestored(_ terminal: TerminalEmulator) throws {
        try terminal.waitFor("ready:")
        try terminal.enter("stty -a > after; cmp before after && echo restored: $((40 + 2))")
        try terminal.waitFor("restored: 42")
        #expect(try !terminal.lines().contains { $0.contains("no messages yet") })
    }

    /// The kernel ends the tools that wait for mail and messages.
    @Test func aKilledChatLeavesNoTool() throws {
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("no messages yet")
        try terminal.enter("hello")
        try terminal.waitFor("me  hello ✓")
        kill(try stage.chatProcess(of: they.alice), SIGKILL)
        // Nothing restores the terminal then, so that the lines of the shell overlap.
        try terminal.waitFor("Killed")
        terminal.end()
        #expect(try stage.areEnded(they.alice))
    }

    /// A command that hangs ends, with what it started, and the next one runs.
    @Test func aNotificationThatHangsEnds() throws {
        let terminal = try stage.chat(
            they.alice, with: "--notify 'echo x >> notes; sleep 1000; :'", columns: 80)
        try terminal.waitFor("bob")
        try stage.must(they.bob, "echo one | encrypt -q --to alice | send -q")
        try terminal.waitFor("one")
        try stage.must(they.bob, "echo two | encrypt -q --to alice | send -q")
        try terminal.waitFor("--notify: the command took more than 10 seconds")
        for _ in 0..<5_000 where try terminal.scratch.read("notes").count < 4 { usleep(20_000) }
        #expect(try terminal.scratch.read("notes").count == 4)
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
        terminal.end()
        #expect(try stage.areEnded(they.alice))
    }

    /// When the terminal is closed, all programs end.
    @Test func aClosedTerminalEndsAllPrograms() throws {
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("no messages yet")
        try terminal.enter("hello")
        try terminal.waitFor("me  hello ✓")
        #expect(try stage.processes(of: they.alice).count > 3)
        terminal.end()
        #expect(try stage.areEnded(they.alice))
    }

    /// Signals can arrive while another one is handled.
    @Test func manySignalsEndAllPrograms() throws {
        for _ in 0..<5 {
            let terminal = try stage.chat(they.alice, with: "bob")
            try terminal.waitFor("no messages yet")
            let process = try stage.chatProcess(of: they.alice)
            for number in 0..<2_000 { kill(process, [SIGHUP, SIGTERM, SIGINT][number % 3]) }
            try terminal.waitFor("ended ")
            terminal.end()
            #expect(try stage.areEnded(they.alice))
        }
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGSEGV, SIGILL])
    func aSignalRestoresTheTerminal(_ number: Int32) throws {
        let terminal = try shell()
        kill(try stage.chatProcess(of: they.alice), number)
        try expectRestored(terminal)
    }

    @Test func theProgramStopsAndContinues() throws {
        let terminal = try shell()
        try terminal.press("h", "a", "l", "f", "C-z")
        try terminal.waitFor("Stopped")
        try expectRestored(terminal)
        try terminal.enter("fg")
        try terminal.waitFor("> half")
        try terminal.press("Enter")
        try terminal.waitFor("me  half ✓")
        try terminal.press("C-d")
        try expectRestored(terminal)
        #expect(try they.alice.history("bob").count == 1)
    }

    /// A text that was typed before a signal reaches the outbox.
    @Test func aTypedLineIsNotLost() throws {
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("no messages yet")
        stage.relay.end()
        try terminal.enter("for later")
        try terminal.waitFor("me  for later …")
        kill(try stage.chatProcess(of: they.alice), SIGTERM)
        try terminal.waitFor("ended 143")
        terminal.end()
        #expect(try stage.areEnded(they.alice))
        let history = try they.alice.history("bob")
        #expect(history.map { $0.body["text"]?.string } == ["for later"])
        #expect(history.first?["status"]?.string == "queued")
    }

    /// Ctrl-D does not wait for a relay that accepts the connection and is silent, and the message waits in the outbox.
    @Test func aRelayThatHangsDoesNotHoldTheEnd() throws {
        let relay = SilentRelay()
        defer { withExtendedLifetime(relay) {} }
        let terminal = try stage.chat(
            they.alice, with: "bob", columns: 100, environment: ["SOTTO_RELAY": relay.url])
        try terminal.waitFor("no messages yet")
        try terminal.enter("for later")
        try terminal.waitFor("me  for later …")
        let clock = ContinuousClock()
        let start = clock.now
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
        // It took 55 seconds. Other tests can run at the same time.
        #expect(clock.now - start < .seconds(20))
        try terminal.waitFor("sotto chat: 1 message waits: it is sent by the next sotto chat or")
        terminal.end()
        #expect(try stage.areEnded(they.alice))
        #expect(try they.alice.run("send", ["--list", "--json"]).lines.count == 1)
    }

    /// A line that was not sent stays on the terminal.
    @Test func anUnsentLineIsPrinted() throws {
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("no messages yet")
        try terminal.type("half a line")
        try terminal.waitFor("> half a line")
        kill(try stage.chatProcess(of: they.alice), SIGTERM)
        try terminal.waitFor("ended 143")
        let lines = try terminal.lines()
        let place = try #require(lines.firstIndex(of: "sotto chat: not sent to bob:"))
        #expect(lines[place + 1] == "half a line")
    }

    /// The command gets the name and the number of unread messages, and no word of a message.
    @Test func newMessagesRunTheCommand() throws {
        let terminal = try stage.chat(
            they.alice, with: "--notify 'printf \"%s:%s:$#\\n\" \"$1\" \"$2\" >> notes'")
        try terminal.waitFor("bob")
        try stage.must(they.bob, "echo secret | encrypt -q --to alice | send -q")
        try terminal.waitFor("secret")
        for _ in 0..<500 where !terminal.scratch.exists("notes") { usleep(20_000) }
        let notes = String(decoding: try terminal.scratch.read("notes"), as: UTF8.self)
        #expect(notes == "bob:1:2\n")
    }
}
