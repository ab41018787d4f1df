import Sotto
import SottoState
import TestSupport
import Testing

/// Receipts, typing and presence signals: off unless the user set them for a contact.
struct ReceiptTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws { they = try Conversing() }

    func set(_ party: Party, _ settings: String...) throws {
        let name = they.peer(of: party).name
        #expect(try party.run("contact", ["set", name] + settings).status == 0)
    }

    /// Returns the receipts in a file of a party, and removes the file.
    func receipts(_ name: String = "r") throws -> [JSONObject] {
        guard let bytes = try? they.home.files.read(name) else { return [] }
        they.home.files.write(name, [])
        return try bytes.split(separator: 0x0A).map { try JSON.object(parsing: Array($0)) }
    }

    func open(_ envelopes: [String], _ more: String...) throws -> Run {
        // From a file they are one batch; a pipe can have a part of them.
        they.home.files.write("envelopes", lines(envelopes))
        return try bob.run("decrypt", ["--receipts", "r", "envelopes"] + more)
    }

    // MARK: Settings

    @Test func c10ReceiptsTypingAndPresenceAreOffUntilTheyAreSet() throws {
        func shown() throws -> [JSON?] {
            let record = try bob.run("contact", ["show", "--json", "alice"]).records[0]
            return [record["receipts"], record["typing"], record["presence"]]
        }
        #expect(try shown() == [nil, nil, nil])
        try set(bob, "receipts=on", "typing=on", "presence=on")
        #expect(try shown() == [.bool(true), .bool(true), .bool(true)])
        let text = try bob.run("contact", ["show", "--text", "alice"]).text
        for name in ["receipts", "typing", "presence"] { #expect(text.contains(name)) }
        try set(bob, "typing=off", "--suite", "sealed")
        #expect(try shown() == [.bool(true), nil, .bool(true)])
        for bad in [
            ["receipts"], ["receipts=maybe"], ["receipts=on", "receipts=off"],
            ["presence=on", "presence=off"], ["presence"], [],
        ] {
            #expect(try bob.run("contact", ["set", "alice"] + bad).status == 64)
        }
        // A backup restores them, and another person's file does not set them.
        #expect(
            try bob.run("contact", ["export", "--backup", "-o", "backup"]).status == 0)
        let entries = try bob.run("contact", ["show", "--json", "alice"]).stdout
        #expect(try bob.run("contact", ["remove", "alice"]).status == 0)
        #expect(try bob.run("contact", ["import"], stdin: entries).status == 0)
        #expect(try shown() == [nil, nil, nil])
        #expect(try bob.run("contact", ["remove", "alice"]).status == 0)
        #expect(try bob.run("contact", ["import", "backup"]).status == 0)
        #expect(try shown() == [.bool(true), nil, .bool(true)])
    }

    // MARK: Delivered

    @Test func aReceiptNamesAllMessagesOfARun() throws {
        try set(bob, "receipts=on")
        let sent = try alice.write((1...300).map { "\($0)" }, to: bob)
        let ids = try sent.compactMap { try JSON.object(parsing: Array($0.utf8))["id"]?.string }
        #expect(try open(sent).status == 0)
        let found = try receipts()
        let named = found.map { $0.body["ids"]?.array?.compactMap(\.string) ?? [] }
        #expect(named.map(\.count) == [BodyLimits.receiptIDs, 44])
        #expect(named.flatMap(\.self) == ids)
        for record in found {
            #expect(record["to"] == .string(alice.identity.id.description))
            #expect(record.body["status"] == .string("delivered"))
        }
        // An envelope that is opened again gets none.
        #expect(try open(sent).status == 0)
        #expect(try receipts().isEmpty)
    }

    /// A receipt that a later one replaced is erased. The user deleted nothing.
    @Test func aBackupWithAReplacedReceiptNamesNoDeletion() throws {
        try set(bob, "receipts=on")
        try they.say(alice, ["text", "bob"], text: "hello", reading: ["--receipts", "r"])
        #expect(try alice.read(bob.run("encrypt", ["r"]).lines).status == 0)
        #expect(
            try alice.run("history", ["export", "--backup", "-q", "-o", "state"]).status == 0)
        let read = try bob.run("history", ["read", "alice"])
        #expect(try alice.read(bob.run("encrypt", stdin: read.stdout).lines).status == 0)
        #expect(try alice.history("bob")[0]["status"] == .string("read"))
        let imported = try alice.run("history", ["import", "state"])
        #expect(imported.status == 0)
        #expect(!imported.stderr.contains("deleted"), "\(imported.stderr)")
    }

    @Test func theSenderSeesTheStatus() throws {
        try set(bob, "receipts=on")
        try they.say(alice, ["text", "bob"], text: "hello", reading: ["--receipts", "r"])
        func status() throws -> JSON? { try alice.history("bob")[0]["status"] }
        #expect(try status() == .string("unsent"))
        let sealed = try bob.run("encrypt", ["r"])
        #expect(try alice.read(sealed.lines).status == 0)
        #expect(try status() == .string("delivered"))
        let read = try bob.run("history", ["read", "alice"])
        #expect(read.status == 0 && read.lines.count == 1)
        #expect(try alice.read(bob.run("encrypt", stdin: read.stdout).lines).status == 0)
        #expect(try status() == .string("read"))
        // Receipts get no receipts.
        #expect(try alice.run("contact", ["set", "bob", "receipts=on"]).status == 0)
        #expect(
            try alice.run("decrypt", ["--receipts", "r2"], stdin: lines(sealed.lines))
                .status == 0)
        #expect(try receipts("r2").isEmpty)
    }

    @Test func onlyContentOfAnAuthenticatedContactGetsAReceipt() throws {
        let id = try they.tell(alice, "target")
        let target = #""target":{"id":"\#(id)","from":"\#(alice.identity.id)"}"#
        let events = [
            #"{"body":{"type":"reaction","emoji":"👍",\#(target)}}"#,
            #"{"body":{"type":"edit",\#(target),"body":{"type":"text","text":"e"}}}"#,
            #"{"body":{"type":"typing","state":"started"}}"#,
            #"{"body":{"type":"receipt","status":"read","ids":["\#(id)"],"time":"2026-11-23T00:00:00Z"}}"#,
            #"{"body":{"type":"timer","seconds":60}}"#,
        ]
        // Off.
        #expect(try open(alice.write(["x"], to: bob)).status == 0)
        #expect(try receipts().isEmpty)
        try set(bob, "receipts=on")
        // Events, and a note to oneself.
        #expect(try open(alice.write(events, to: bob)).status == 0)
        #expect(try receipts().isEmpty)
        let own = try bob.run("encrypt", ["--to", "me"], stdin: Array("note".utf8))
        #expect(try open(own.lines).status == 0)
        #expect(try receipts().isEmpty)
        // A person who is not a contact: a request, and with --trust any.
        let carol = try Party("carol", in: they.home)
        let strange = try carol.write(["x"], to: bob)
        #expect(try open(strange).status == 0)
        #expect(try open(strange, "--trust", "any").status == 0)
        #expect(try receipts().isEmpty)
        // A malformed body, and a forged envelope.
        let sealed = try alice.write(["good"], to: bob)
        let forged = try changing(sealed[0]) { $0["time"] = .string("2020-01-01T00:00:00Z") }
        #expect(try open([forged]).status == 11)
        #expect(try receipts().isEmpty)
        // Blocked.
        #expect(try bob.run("contact", ["block", "alice"]).status == 0)
        #expect(try open(sealed).status == 0)
        #expect(try receipts().isEmpty)
        #expect(try bob.run("contact", ["unblock", "alice"]).status == 0)
        #expect(try open(alice.write(["last"], to: bob)).status == 0)
        #expect(try receipts().count == 1)
    }

    @Test func theFileIsAppendedAndRefusedWhereItIsUseless() throws {
        try set(bob, "receipts=on")
        for text in ["1", "2"] { #expect(try open(alice.write([text], to: bob)).status == 0) }
        #expect(try receipts().count == 2)
        let sent = try alice.write(["3"], to: bob)
        for options in [["--preview"], ["--stateless", "--trust", "any"], ["-o", "r"]] {
            let run = try bob.run(
                "decrypt", ["--receipts", "r"] + options, stdin: lines(sent))
            #expect(run.status == 64 && run.stdout.isEmpty, "\(options) \(run.stderr)")
        }
        #expect(try open(sent, "-i", "bob.key").status == 0)
        #expect(try receipts().count == 1)
        for path in ["-", "", "bob.key"] {
            let run = try bob.run(
                "decrypt", ["--receipts", path, "-i", "bob.key"], stdin: lines(sent))
            #expect(run.status == 64, "\(path) \(run.stderr)")
        }
        // A directory that is not there: nothing is opened.
        let next = try alice.write(["4"], to: bob)
        let run = try bob.run(
            "decrypt", ["--receipts", "none/r"], stdin: lines(next))
        #expect(run.status == 66 || run.status == 73 || run.status == 74, "\(run.status)")
        #expect(try bob.texts(next) == ["4"])
    }

    /// The messages are stored and printed before their receipts are written.
    @Test func aReceiptThatCannotBeWrittenIsLost() throws {
        try set(bob, "receipts=on")
        let sent = try alice.write(["1"], to: bob)
        let run = try bob.run("decrypt", ["--receipts", "/dev/full"], stdin: lines(sent))
        #expect(run.status == 74)
        #expect(try run.messages.map(\.text) == ["1"])
        let again = try open(sent)
        #expect(again.status == 0)
        #expect(try again.messages.map(\.isSeen) == [true] && receipts().isEmpty)
        #expect(try bob.history("alice").count == 1)
    }

    /// C7: a receipt of a person who got no copy, and one for a message of another conversation.
    @Test func aReceiptOfAPersonWhoGotNoCopyChangesNothing() throws {
        let id = try they.tell(alice, "for bob")
        let carol = try Party("carol", in: they.home)
        #expect(try alice.run("contact", ["add", carol.card]).status == 0)
        let body =
            #"{"type":"receipt","status":"read","ids":["\#(id)"],"time":"2026-11-23T00:00:00Z"}"#
        let forged = try carol.write([#"{"body":\#(body)}"#], to: alice)
        #expect(try alice.read(forged).status == 0)
        let message = try alice.history("bob")[0]
        #expect(message["status"] == .string("unsent") && message["receipts"] == nil)
    }

    // MARK: Read

    @Test func eachMessageGetsOneReadReceipt() throws {
        try set(bob, "receipts=on")
        let ids = try (1...3).map { try they.tell(alice, "\($0)") }
        func named(_ run: Run) throws -> [[String]] {
            try run.records.map { $0.body["ids"]?.array?.compactMap(\.string) ?? [] }
        }
        // compose read marks nothing.
        #expect(try named(bob.compose(["read", "alice"])) == [ids])
        #expect(try named(bob.compose(["read", "-1", "--with", "alice"])) == [[ids[2]]])
        #expect(try named(bob.compose(["read", ids[0], ids[1]])) == [[ids[0], ids[1]]])
        // The id of a message marks up to it.
        #expect(try named(bob.run("history", ["read", ids[1]])) == [[ids[0], ids[1]]])
        #expect(try bob.run("history", ["unread", "--text"]).text == "alice  1\n")
        #expect(try named(bob.run("history", ["read", "alice"])) == [[ids[2]]])
        let again = try bob.run("history", ["read", "alice"])
        #expect(again.status == 0 && again.stdout.isEmpty)
        #expect(try bob.run("compose", ["read", "alice"]).status == 1)
        try set(bob, "receipts=off")
        try they.tell(alice, "4")
        #expect(try bob.run("history", ["read", "alice"]).stdout.isEmpty)
        let off = try bob.run("compose", ["read", ids[0]])
        #expect(off.status == 1 && off.stdout.isEmpty)
        #expect(off.stderr.contains("contact set alice receipts=on"))
        let own = try bob.run("compose", ["read", they.tell(bob, "mine")])
        #expect(own.status == 64 && own.stderr.contains("is your own"))
    }

    // MARK: Typing and presence

    /// C10: each signal needs its own setting, has a time to live of 0, and is stored nowhere.
    @Test(arguments: [
        Signal(name: "typing", off: "--stop", states: ["started", "stopped"]),
        Signal(name: "presence", off: "--offline", states: ["online", "offline"]),
    ])
    func c10ASignalIsOffAndLeavesNothing(_ signal: Signal) throws {
        try set(alice, "receipts=on", signal.name == "typing" ? "presence=on" : "typing=on")
        let off = try alice.run("compose", [signal.name, "bob"])
        #expect(off.status == 1 && off.stdout.isEmpty)
        #expect(off.stderr.contains("bob gets no \(signal.name) signals"))
        #expect(off.stderr.contains("contact set bob \(signal.name)=on"))
        try set(alice, "\(signal.name)=on")
        for (arguments, state) in zip([[], [signal.off]], signal.states) {
            let opened = try they.say(
                alice, [signal.name] + arguments + ["bob"], reading: ["--receipts", "r"])
            #expect(opened[0].body["type"] == .string(signal.name))
            #expect(opened[0].body["state"] == .string(state))
            #expect(opened[0]["ttl"] == .integer(0) && opened[0]["number"] == nil)
        }
        #expect(try alice.run("history").status == 1 && bob.run("history").status == 1)
        let stranger = try alice.run("compose", [signal.name, "me"])
        #expect(stranger.status == 1 && stranger.stderr.contains("only a contact"))
        #expect(try alice.run("contact", ["block", "bob"]).status == 0)
        let blocked = try alice.run("compose", [signal.name, "bob"])
        #expect(blocked.status == 1 && blocked.stderr.contains("not blocked"))
    }

    /// A kind of signal, the option that ends it, and its states.
    struct Signal: Sendable, CustomTestStringConvertible {
        let name: String
        let off: String
        let states: [String]
        var testDescription: String { name }
    }
}
