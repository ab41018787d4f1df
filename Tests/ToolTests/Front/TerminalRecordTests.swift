import TestSupport
import Testing

/// A command whose records are for another tool changes nothing on a terminal, and names the command that sends them.
struct TerminalRecordTests {
    static let commands: [[String]] = [
        ["compose", "text", "bob"], ["compose", "react", "-2", "👍", "--with", "bob"],
        ["history", "read", "bob"], ["encrypt", "--to", "bob"], ["encrypt", "--group", "team"],
        ["group", "create", "crew", "bob"],
        ["group", "create", "--preset", "room", "--nickname", "Al", "hut"],
        ["group", "leave", "--anyway", "team"],
        ["group", "rename", "--anyway", "team", "the crew"],
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

    /// The last part of a pipe is forgotten: the program before it can have changed a group.
    @Test func aPipeThatEndsWithEncryptNamesItsEnd() throws {
        let front = try FrontWorld()
        let records = try front.must("sotto group about team climbers").text
        let run = try front.onTerminal("encrypt", [], text: records)
        #expect(run.status == 64, "\(run.text)")
        #expect(run.text.contains("end the pipe with | sotto encrypt | sotto send"), "\(run.text)")
        #expect(
            run.text.contains("sotto group sync --send")
                && !run.text.contains("nothing was changed"))
    }

    /// Envelopes are for `decrypt`.
    @Test func nothingIsReceivedOnATerminal() throws {
        let front = try FrontWorld()
        try front.must("echo one | sotto encrypt -q --to alice | sotto send -q", as: "bob")
        for options in [
            [], ["--follow"], ["--wait", "1", "--max", "2"], ["--stateless"], ["--again"],
            ["--dead"], ["-i", "alice.key"],
        ] {
            let run = try front.onTerminal("recv", options)
            let words = (["sotto recv"] + options).joined(separator: " ")
            let option = options.first == "-i" ? " -i alice.key" : ""
            #expect(
                run.status == 64
                    && run.text.contains(
                        "recv: hint: to read them: \(words) | sotto decrypt\(option)\n"),
                "\(options): \(run.text)")
            #expect(!run.text.contains("{"), "\(options): \(run.text)")
        }
        // No invitation is redeemed in place of the dead letters.
        let dead = try front.onTerminal("recv", ["--dead", "--invitation", "@FILE:code"])
        #expect(
            dead.status == 64 && dead.text.contains("envelopes would be lost on the terminal"),
            "\(dead.text)")
        let shown = try front.onTerminal("recv", ["--json"])
        #expect(shown.status == 0 && shown.text.contains("{\"v\":1,"), "\(shown.text)")
        let again = try front.must("sotto recv --again -i alice.key | sotto decrypt -i alice.key")
        #expect(again.text.contains(#""text":"one""#))
        // A command gets the envelopes, and a card is for a person too.
        #expect(try front.onTerminal("recv", ["--exec", "cat > /dev/null"]).status == 1)
        #expect(try front.onTerminal("recv", ["--card", "bob"]).status == 0)
    }

    @Test func theRecordsArePrintedIfTheyAreRequested() throws {
        let front = try FrontWorld()
        for command in Self.commands where !command.contains("room") && !command.contains("leave") {
            let run = try front.onTerminal(
                command[0], Array(command.dropFirst()) + ["--json"], text: "x\n")
            #expect(
                run.status == 0
                    && (run.text.contains("\n{\"v\":1,") || run.text.hasPrefix("{")),
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

    /// Commands for people and programs: text on a terminal, records in a pipe, and the other form on request.
    @Test func recordsAreTextOnATerminal() throws {
        let front = try FrontWorld()
        for command in [
            ["contact", "list"], ["contact", "show", "bob"], ["group", "list"],
            ["group", "show", "team"], ["group", "participants", "team"],
            ["group", "policy", "team"], ["history"], ["history", "bob"], ["history", "list"],
            ["history", "--limit", "1"], ["history", "bob", "--before", "1000"],
            ["history", "--after", "1"], ["history", "--changed-since", "2020-01-01"],
            ["history", "unread"], ["history", "keep"], ["history", "show", "1"],
            ["history", "search", "hello"],
        ] {
            let rest = Array(command.dropFirst())
            let shown = try front.onTerminal(command[0], rest)
            #expect(
                shown.status == 0 && !shown.text.contains("{\"v\""), "\(command): \(shown.text)")
            let forced = try front.onTerminal(command[0], rest + ["--json"])
            #expect(forced.text.contains("{\"v\":1,"), "\(command): \(forced.text)")
            let piped = try front.world.run(command[0], rest)
            #expect(piped.text.hasPrefix("{\"v\":1,"), "\(command): \(piped.text)")
            let text = try front.world.run(command[0], rest + ["--text"])
            #expect(text.status == 0 && !text.text.contains("{\"v\""), "\(command): \(text.text)")
            let both = try front.world.run(command[0], rest + ["--text", "--json"])
            #expect(both.status == 64 && both.stderr.contains("cannot be combined"), "\(command)")
        }
    }

    /// The columns of a list of members have headings on a terminal, and each line of a pipe is a row.
    @Test func aListOfMembersHasHeadingsOnATerminal() throws {
        let front = try FrontWorld()
        let shown = try front.onTerminal("group", ["participants", "team"])
        let heading = #/NAME +RANK +NICKNAME +ID/#
        #expect(try heading.wholeMatch(in: shown.lines[0]) != nil, "\(shown.text)")
        let piped = try front.must("sotto group participants --text team")
        #expect(shown.lines.count == piped.lines.count + 1)
        #expect(!piped.text.contains("RANK"), "\(piped.text)")
    }

    @Test func sendTellsPeopleWhatBecameOfTheMessages() throws {
        let front = try FrontWorld()
        try front.must("echo one | sotto encrypt -q --to bob > one; echo two > two")
        let sent = try front.must("sotto send --text < one")
        #expect(sent.text == "sent\n")
        try front.must(
            "sotto encrypt -q --to bob < two > one; sotto encrypt -q --to bob < two >> one")
        let verbose = try front.must("sotto send --text -v < one")
        #expect(verbose.lines.count == 3 && verbose.lines[2] == "2 sent", "\(verbose.text)")
        #expect(verbose.lines[0].hasPrefix("stored "))
        try front.must("sotto encrypt -q --to bob < two > one")
        let quiet = try front.must("sotto send --text -q < one")
        #expect(quiet.text.isEmpty && quiet.stderr.isEmpty, "\(quiet)")
        try front.must("sotto encrypt -q --to bob < two > one")
        let waits = try front.world.paste(
            "sotto send --text --relay tcp://127.0.0.1:1 < one; exit $?")
        #expect(waits.status == 75 && waits.text.isEmpty, "\(waits)")
        #expect(waits.stderr.contains("send: error: 1 queued: cannot reach"), "\(waits.stderr)")
    }

    /// The program before has said why it printed nothing.
    @Test func anErrorIsNotSaidTwice() throws {
        let front = try FrontWorld()
        let run = try front.world.paste("sotto recv --relay tcp://127.0.0.1:1 | sotto decrypt")
        #expect(run.stderr.contains("cannot reach"), "\(run.stderr)")
        #expect(!run.stderr.contains("decrypt:"), "\(run.stderr)")
        let file = try front.world.paste("sotto decrypt < /dev/null")
        #expect(file.status == 1 && file.stderr.contains("the input is empty"), "\(file.stderr)")
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
