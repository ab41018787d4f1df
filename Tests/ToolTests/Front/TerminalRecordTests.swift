import TestSupport
import Testing

/// A command whose records are for another tool changes nothing on a terminal, and names the command that sends them.
struct TerminalRecordTests {
    static let commands: [[String]] = [
        ["compose", "text", "bob"], ["compose", "react", "-2", "👍", "--with", "bob"],
        ["group", "create", "crew", "bob"], ["group", "rename", "--anyway", "team", "the crew"],
        ["group", "leave", "--anyway", "team"],
        ["group", "create", "--preset", "room", "--nickname", "Al", "hut"],
        ["history", "read", "bob"], ["encrypt", "--to", "bob"], ["encrypt", "--group", "team"],
        ["keygen", "public", "alice.key"], ["keygen", "prekeys", "-i", "alice.key"],
    ]

    @Test func nothingIsDoneOnATerminal() throws {
        let front = try FrontWorld()
        let before = try front.must("sotto history --raw; sotto group list; sotto history list")
            .text
        for command in Self.commands {
            let run = try front.onTerminal(command[0], Array(command.dropFirst()), text: "x\n")
            #expect(run.status == 64, "\(command): \(run.text)")
            let words = command.map { $0.contains(" ") ? "'\($0)'" : $0 }.joined(separator: " ")
            #expect(
                run.text.contains("\(command[0]): hint: to send them: sotto \(words) --send\n"),
                "\(run.text)")
            #expect(!run.text.contains("{"), "\(command): \(run.text)")
        }
        #expect(
            try front.must("sotto history --raw; sotto group list; sotto history list").text
                == before)
    }

    @Test func theRecordsArePrintedIfTheyAreRequested() throws {
        let front = try FrontWorld()
        for command in Self.commands where !command.contains("room") && !command.contains("leave") {
            let run = try front.onTerminal(
                command[0], Array(command.dropFirst()) + ["--json"], text: "x\n")
            #expect(
                run.status == 0 && run.text.contains("\n{\"v\":1,") || run.text.hasPrefix("{"),
                "\(command): \(run.text)")
        }
        let named = try front.onTerminal("encrypt", ["-q", "--to", "bob", "-o", "-"], text: "x")
        #expect(named.status == 0 && named.text.hasPrefix("{"), "\(named.text)")
    }

    /// Without records there is nothing to lose.
    @Test func aCommandWithoutRecordsWorksOnATerminal() throws {
        let front = try FrontWorld()
        for command in [
            ["group", "create", "alone"], ["group", "sync"], ["history", "read", "carol"],
            ["group", "list"], ["keygen", "public", "--uri", "alice.key"],
            ["keygen", "prekeys", "--count", "alice.key"],
        ] {
            let run = try front.onTerminal(command[0], Array(command.dropFirst()))
            #expect(run.status == 0, "\(command): \(run.text)")
        }
        #expect(try front.must("sotto group list").text.contains("alone"))
    }

    @Test func aCardForOneContactIsKeptInAFile() throws {
        let front = try FrontWorld()
        let run = try front.onTerminal("contact", ["address", "bob"])
        #expect(
            run.status == 64
                && run.text.contains("to keep them: sotto contact address bob > for-bob.card"),
            "\(run.text)")
        #expect(try front.onTerminal("contact", ["address", "--json", "bob"]).status == 0)
        let bundle = try front.onTerminal("keygen", ["prekeys", "--bundle", "alice.key"])
        #expect(bundle.status == 64 && bundle.text.contains("--bundle alice.key > my.bundle"))
    }
}
