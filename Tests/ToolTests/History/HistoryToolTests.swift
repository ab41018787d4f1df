import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// `history` over what `encrypt` and `decrypt` stored.
@Suite struct HistoryToolTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }

    init() throws {
        two = try Couple()
        for (one, other) in [(two.alice, two.bob), (two.bob, two.alice)] {
            #expect(try one.run("contact", ["add", other.card]).status == 0)
        }
    }

    /// Sends lines of `encrypt --jsonl` and opens them. Returns the envelopes.
    @discardableResult
    func tell(_ lines: [String], from sender: Party, to reader: Party) throws -> [String] {
        let sent = try sender.write(lines, to: reader)
        #expect(try reader.read(sent).status == 0)
        return sent
    }

    func records(_ party: Party, _ arguments: String...) throws -> [JSONObject] {
        let run = try party.run("history", arguments)
        guard [0, 1].contains(run.status) else { throw Unexpected(run) }
        return try run.lines.map { try JSON.object(parsing: Array($0.utf8)) }
    }

    func texts(_ records: [JSONObject]) -> [String] {
        records.map { $0["body"]?.object?["text"]?.string ?? "-" }
    }

    // MARK: Pages

    @Test func bothSidesHaveTheSameConversation() throws {
        try tell(["one", "two"], from: alice, to: bob)
        try tell(["three"], from: bob, to: alice)
        let (mine, theirs) = (try records(alice, "bob"), try records(bob, "alice"))
        #expect(texts(mine) == ["one", "two", "three"] && texts(theirs) == texts(mine))
        for (a, b) in zip(mine, theirs) {
            for name in ["id", "from", "to", "time", "suite"] { #expect(a[name] == b[name]) }
            #expect(a["direction"] != b["direction"])
        }
        #expect(mine.map { $0["unread"] != nil } == [false, false, true])
        #expect(try texts(records(alice, "bob", "--limit", "1")) == ["three"])
        let number = try #require(mine[1]["number"]?.integer)
        #expect(try texts(records(alice, "bob", "--before", "\(number)")) == ["one"])
        let first = try #require(mine[0]["number"]?.integer)
        for who in [[], ["bob"]] {
            let after = who + ["--after", "\(first)"]
            for (options, expected) in [
                (after, ["two", "three"]), (after + ["--limit", "1"], ["two"]),
                (after + ["--raw"], ["two", "three"]), (who + ["--after", "1000000"], []),
            ] {
                let run = try alice.run("history", options)
                #expect(try texts(run.records) == expected, "\(options)")
            }
        }
        #expect(try texts(records(alice)) == ["one", "two", "three"])
        for time in ["2100-01-01T00:00:00Z", "2100-01-01", "2100-01-01 07:20"] {
            #expect(try records(alice, "--after", time).isEmpty)
            #expect(try records(alice, "--before", time).count == 3)
            #expect(try records(alice, "--changed-since", time).isEmpty)
            #expect(try texts(records(alice, "search", "--before", time, "two")) == ["two"])
        }
        for time in ["2020-01-01", "2020-01-01T07:20:00"] {
            #expect(try records(alice, "bob", "--after", time).count == 3)
            #expect(try records(alice, "bob", "--before", time).isEmpty)
            #expect(try records(alice, "search", "--before", time, "two").isEmpty)
        }
        let wrong = try alice.run("history", ["--before", "noon"])
        #expect(wrong.status == 64 && wrong.stderr.contains("give the number of a message, a day"))
    }

    @Test func eachSuiteIsRecordedBeforeTheEnvelopeIsWritten() throws {
        let chat = try two.home.command(
            "keygen", ["chat", "--name", "family", "-o", "family.chat"], environment: [:]
        ).run(stdin: .whole(Array("correct horse battery staple\n".utf8)))
        #expect(chat.status == 0)
        for arguments in [
            ["--to", "bob", "--suite", "sealed"], ["--to", "bob.card"], ["--to", "me"],
            ["--chat", "family.chat"], ["--chat", "family.chat", "--to", "bob"],
        ] {
            let text = arguments.joined(separator: " ")
            let run = try alice.run("encrypt", arguments, stdin: Array(text.utf8))
            let envelope = try JSON.object(parsing: Array(try #require(run.lines.first).utf8))
            let last = try #require(try records(alice, "--limit", "1").first)
            #expect(texts([last]) == [text] && last["direction"] == .string("sent"))
            #expect(last["id"] == envelope["id"] && last["suite"] == envelope["suite"])
        }
        #expect(try texts(records(alice, "family")).count == 2)
        #expect(try texts(records(alice, "me")) == ["--to me"])
    }

    @Test func withoutAStateNothingIsRecorded() throws {
        let stateless = try alice.run(
            "encrypt", ["--stateless", "--to", "bob.card"], stdin: Array("x".utf8))
        #expect(stateless.status == 0)
        #expect(try bob.read(stateless.lines, "--stateless", "--trust", "any").status == 0)
        #expect(try alice.run("history").status == 1 && bob.run("history").status == 1)
        // The first message makes the state, as in decrypt.
        let carol = try Party("carol", in: two.home)
        #expect(try carol.encrypt("hello", to: bob).status == 0)
        #expect(try texts(records(carol)) == ["hello"])
    }

    @Test func aFailedLineIsNotInTheHistory() throws {
        let run = try alice.run(
            "encrypt", ["--to", "bob", "--jsonl"],
            stdin: lines([
                "good", #"{"body":{"type":"text"}}"#, String(repeating: "x", count: 40_000),
            ])
        )
        #expect(run.status == 15)
        #expect(try texts(records(alice)) == ["good"])
    }

    // MARK: Views

    @Test func aMessageIsPrintedAsItStandsNow() throws {
        let sent = try tell(["first"], from: alice, to: bob)
        let id = try #require(try JSON.object(parsing: Array(sent[0].utf8))["id"]?.string)
        let target = #""target":{"id":"\#(id)","from":"\#(alice.identity.id)"}"#
        try tell(
            [#"{"body":{"type":"edit",\#(target),"body":{"type":"text","text":"second"}}}"#],
            from: alice, to: bob)
        try tell([#"{"body":{"type":"reaction","emoji":"👍",\#(target)}}"#], from: bob, to: alice)
        try tell([#"{"body":{"type":"pin",\#(target)}}"#], from: bob, to: alice)
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            let page = try records(party, peer)
            #expect(texts(page) == ["second"])
            #expect(page[0]["edited"]?.object?["versions"] == .integer(2))
            #expect(page[0]["reactions"]?.array?.count == 1)
            #expect(page[0]["pinned"]?.object?["from"] == .string(bob.identity.id.description))
            #expect(try texts(records(party, peer, "--pinned")) == ["second"])
            #expect(try records(party, peer, "--raw").count == 4)
            let shown = try #require(try records(party, "show", id).first)
            let versions = shown["versions"]?.array?.compactMap { $0.object?["body"]?.object }
            #expect(versions?.compactMap { $0["text"]?.string } == ["first", "second"])
            #expect(try records(party, "show", "--raw", String(id.prefix(8))).count == 4)
            // The last text is found, and no earlier one.
            #expect(try texts(records(party, "search", "SECOND")) == ["second"])
            #expect(try party.run("history", ["search", "first"]).status == 1)
        }
        try tell([#"{"body":{"type":"delete",\#(target)}}"#], from: alice, to: bob)
        for party in [alice, bob] {
            let page = try records(party)
            #expect(page.count == 1 && page[0]["deleted"] == .bool(true) && page[0]["body"] == nil)
            #expect(try party.run("history", ["search", "second"]).status == 1)
        }
    }

    /// C15: the author and the number of erased changes are shown.
    @Test func c15DroppedChangesAreNamed() throws {
        try tell(["target"], from: alice, to: bob)
        let id = try #require(try records(alice, "bob")[0]["id"]?.string)
        let from = alice.identity.id
        let reactions = (0..<70).map { number in
            """
            {"body":{"type":"reaction","emoji":"\(number % 2 == 0 ? "👍" : "👎")",\
            "target":{"id":"\(id)","from":"\(from)"}}}
            """
        }
        try tell(reactions, from: bob, to: alice)
        let shown = try records(alice, "show", id)[0]
        #expect(
            shown["dropped"]
                == .array([
                    .object([
                        "from": .string(bob.identity.id.description), "count": .integer(6),
                    ])
                ]))
        #expect(shown["reactions"]?.array?.count == 1)
        let text = try alice.run("history", ["show", "--text", id]).text
        #expect(text.contains("[6 earlier changes dropped]"))
    }

    /// A message with more lines than a terminal shows at once.
    @Test func aMessageOfLineFeedsIsCutOnATerminal() throws {
        // Each line feed takes two bytes of the 32 KiB of a message; a longer text becomes a file.
        let text = String(repeating: "\n", count: 15_000) + "end"
        let sealed = try alice.run("encrypt", ["--to", "bob"], stdin: Array(text.utf8))
        #expect(sealed.status == 0, "\(sealed.stderr)")
        two.home.files.write("sealed", sealed.stdout)
        for (tool, arguments) in [
            ("decrypt", ["--text", "-q", "sealed"]), ("history", ["alice", "--text"]),
            ("history", ["show", "--text", "1"]),
        ] {
            let run = try TerminalSession(bob.command(tool, arguments), columns: 80).finish()
            #expect(run.status == 0, "\(run.text)")
            #expect(run.text.contains("[14901 more lines]"), "\(tool)")
            // The day and the note have their own lines.
            #expect((100...102).contains(run.lines.count), "\(tool) \(run.lines.count)")
            #expect(!run.text.contains("end"))
        }
        // Elsewhere all of it is printed.
        let whole = try bob.run("decrypt", ["--text", "-q", "sealed"])
        #expect(whole.text == text + "\n")
    }

    @Test func aSearchShowsTheMessagesAround() throws {
        try tell(["one", "two", "three", "four", "five"], from: alice, to: bob)
        for (word, limit, expected) in [
            ("three", "50", ["two", "three", "four"]), ("one", "50", ["one", "two"]),
            ("five", "50", ["four", "five"]),
            // Each message once, the newest match first.
            ("o", "50", ["three", "four", "five", "one", "two"]),
            ("o", "1", ["three", "four", "five"]),
        ] {
            let found = try records(alice, "search", "-C", "1", "--limit", limit, word, "bob")
            #expect(try texts(found) == expected, "\(word)")
        }
        #expect(try texts(records(bob, "search", "three")) == ["three"])
        #expect(try alice.run("history", ["search", "--context", "-1", "three"]).status == 64)
    }

    /// From a message on, a search goes to the newest one as well as to the oldest.
    @Test func aSearchGoesBothWays() throws {
        try tell(["one", "two", "three", "four", "five"], from: alice, to: bob)
        let numbers = try records(alice, "bob").compactMap { $0["number"]?.integer }
        let after = ["search", "--after", "\(numbers[0])"]
        for (options, expected) in [
            (after, ["two", "four"]), (after + ["--limit", "1"], ["two"]),
            (after + ["--limit", "1", "-C", "1"], ["one", "two", "three"]),
            (["search", "--after", "\(numbers[3])"], []),
            (["search", "--after", "1000000"], []),
            (["search", "--after", "2020-01-01"], ["one", "two", "four"]),
            (["search", "--after", "2100-01-01"], []),
            (["search", "--before", "\(numbers[3])"], ["two", "one"]),
        ] {
            for who in [[], ["bob"]] {
                let run = try alice.run("history", options + ["o"] + who)
                #expect(run.status == (expected.isEmpty ? 1 : 0), "\(options)")
                #expect(try texts(run.records) == expected, "\(options)")
            }
        }
        // The edit is after the place, and the message that it changes is before it.
        let id = try #require(try records(alice, "bob")[0]["id"]?.string)
        let target = #""target":{"id":"\#(id)","from":"\#(alice.identity.id)"}"#
        try tell(
            [#"{"body":{"type":"edit",\#(target),"body":{"type":"text","text":"zero"}}}"#],
            from: alice, to: bob)
        #expect(try texts(records(alice, "search", "zero")) == ["zero"])
        #expect(try records(alice, "search", "--after", "\(numbers[0])", "zero").isEmpty)
        #expect(
            try alice.run("history", ["search", "--after", "1", "--before", "2", "o"]).status == 64)
    }

    /// An edited message is found by its present text, at its own place: the edit counts neither for the order nor for the limits.
    @Test func anEditedMessageIsFoundAtItsPlace() throws {
        try tell(["alpha", "beta", "gamma", "last"], from: alice, to: bob)
        let sent = try records(alice, "bob")
        let numbers = sent.compactMap { $0["number"]?.integer }
        for (place, text) in [(0, "beta two"), (2, "delta")] {
            let id = try #require(sent[place]["id"]?.string)
            let target = #""target":{"id":"\#(id)","from":"\#(alice.identity.id)"}"#
            let body = #"{"type":"text","text":"\#(text)"}"#
            try tell(
                [#"{"body":{"type":"edit",\#(target),"body":\#(body)}}"#], from: alice, to: bob)
        }
        for (options, word, expected) in [
            ([], "beta", ["beta", "beta two"]), (["--limit", "1"], "beta", ["beta"]),
            (["--before", "\(numbers[1])"], "beta", ["beta two"]),
            (["--before", "\(numbers[0])"], "beta", []),
            (["--after", "\(numbers[0])"], "beta", ["beta"]),
            (["--after", "2020-01-01"], "beta", ["beta two", "beta"]),
            (["--after", "2020-01-01", "--limit", "1"], "beta", ["beta two"]),
            ([], "alpha", []), (["--before", "\(numbers[3])"], "gamma", []),
            (["--before", "\(numbers[2])"], "delta", []),
            (["--before", "\(numbers[3])"], "delta", ["delta"]),
            (["--after", "\(numbers[1])"], "delta", ["delta"]),
            (["--after", "\(numbers[2])"], "delta", []), ([], "ta", ["delta", "beta", "beta two"]),
        ] as [([String], String, [String])] {
            let run = try alice.run("history", ["search"] + options + [word])
            #expect(run.status == (expected.isEmpty ? 1 : 0), "\(options) \(word)")
            #expect(try texts(run.records) == expected, "\(options) \(word)")
        }
    }

    /// An edit can arrive before its message. The message is found at its own place all the same.
    @Test func anEditThatArrivedFirstIsFoundAtThePlaceOfItsMessage() throws {
        let sent = try alice.write(["one tea", "three", "two tea", "four tea"], to: bob)
        let id = try #require(try JSON.object(parsing: Array(sent[1].utf8))["id"]?.string)
        let target = #""target":{"id":"\#(id)","from":"\#(alice.identity.id)"}"#
        let edit = try alice.write(
            [#"{"body":{"type":"edit",\#(target),"body":{"type":"text","text":"three tea"}}}"#],
            to: bob)
        for envelopes in [[sent[0]], edit, [sent[2], sent[1], sent[3]]] {
            #expect(try bob.read(envelopes).status == 0)
        }
        let page = try records(bob, "alice")
        #expect(texts(page) == ["one tea", "two tea", "three tea", "four tea"])
        let numbers = page.compactMap { $0["number"]?.integer.map { "\($0)" } }
        try #require(numbers.count == 4)
        for (options, expected) in [
            ([], ["four tea", "three tea", "two tea", "one tea"]),
            (["--limit", "2"], ["four tea", "three tea"]),
            (["--before", numbers[3], "--limit", "1"], ["three tea"]),
            (["--before", numbers[2]], ["two tea", "one tea"]),
            (["--after", numbers[0]], ["two tea", "three tea", "four tea"]),
            (["--after", numbers[1]], ["three tea", "four tea"]),
            (["--after", numbers[1], "--limit", "1"], ["three tea"]),
            (["--after", numbers[2]], ["four tea"]),
        ] as [([String], [String])] {
            for who in [[], ["alice"]] {
                let run = try bob.run("history", ["search"] + options + ["tea"] + who)
                #expect(run.status == 0, "\(options): \(run.stderr)")
                #expect(try texts(run.records) == expected, "\(options)")
            }
        }
    }

    @Test func linesForPeopleHaveTheNameOnce() throws {
        try tell(["hello", #"{"text":"two\nlines"}"#], from: alice, to: bob)
        try tell(["answer"], from: bob, to: alice)
        let run = try alice.run("history", ["bob", "--text"])
        let day = try #require(run.lines.first)
        #expect(day.hasPrefix("-- 20") && day.hasSuffix(" --"))
        #expect(run.messageLines == ["me   hello", "     two", "     lines", "bob  answer"])
        // The number of a message names it to the other commands.
        let number = try #require(try records(alice, "bob").last?["number"]?.integer)
        #expect(run.lines.last?.hasPrefix("\(number)  ") == true, "\(run.text)")
        // Names and texts of an attacker: no control character reaches the columns of names.
        let list = try alice.run("history", ["list", "--text"])
        #expect(list.status == 0 && list.text.contains("bob  1 new"))
    }

    // MARK: Conversations

    @Test func conversationsAreListedAndRead() throws {
        try tell(["1", "2", "3"], from: alice, to: bob)
        let list = try records(bob, "list")
        #expect(list.count == 1 && list[0]["unread"] == .integer(3))
        #expect(list[0]["with"] == .string(alice.identity.id.description))
        #expect(list[0]["last"]?.object?["body"]?.object?["text"] == .string("3"))
        #expect(try bob.run("history", ["unread", "--text"]).text == "alice  3\n")
        let second = try #require(try records(bob, "alice")[1]["number"]?.integer)
        #expect(try bob.run("history", ["read", "--upto", "\(second)", "alice"]).status == 0)
        #expect(try bob.run("history", ["unread", "--text"]).text == "alice  1\n")
        #expect(try bob.run("history", ["read", "alice", "-q"]).stderr.isEmpty)
        let none = try bob.run("history", ["unread"])
        #expect(none.status == 1 && none.lines.count == 1)
        // What was sent is never unread.
        #expect(try alice.run("history", ["unread", "--text"]).status == 1)
    }

    @Test func aConversationHasANameAndMarks() throws {
        try tell(["1"], from: alice, to: bob)
        for arguments in [
            ["favourite", "alice"], ["mute", "alice"],
        ] {
            #expect(try bob.run("history", arguments).status == 0)
        }
        let list = try #require(try records(bob, "list").first)
        #expect(list["favourite"] == .bool(true) && list["muted"] == .bool(true))
        // Text is for people, who muted the conversation.
        #expect(try bob.run("history", ["unread", "--text"]).status == 1)
        #expect(try records(bob, "unread").count == 2)
        for arguments in [["favourite", "--off", "alice"], ["mute", "--off", "alice"]] {
            #expect(try bob.run("history", arguments).status == 0)
        }
        let plain = try #require(try records(bob, "list").first)
        #expect(plain["favourite"] == .bool(false) && plain["muted"] == .bool(false))
        for name in ["", "a\u{202E}b", "a\nb", String(repeating: "x", count: 65)] {
            #expect(try bob.run("history", ["rename", "alice", name]).status == 64)
        }
    }

    /// A contact has one name, whichever tool gives it.
    @Test func aContactHasOneName() throws {
        try tell(["1"], from: alice, to: bob)
        func name() throws -> [String?] {
            let contact = try bob.run("contact", ["list", "--json"]).records.first {
                $0["id"]?.string == alice.identity.id.description
            }
            return [try records(bob, "list").first?["name"]?.string, contact?["name"]?.string]
        }
        let run = try bob.run("history", ["rename", "alice", " Alice L. "])
        #expect(run.status == 0 && run.stderr == "history: alice is now called Alice L.\n")
        #expect(try name() == ["Alice L.", "Alice L."])
        #expect(try texts(records(bob, "alice l.")) == ["1"])
        #expect(try bob.run("contact", ["rename", "Alice L.", "Lissy"]).status == 0)
        #expect(try name() == ["Lissy", "Lissy"])
        #expect(try bob.run("history", ["rename", "--off", "Lissy"]).status == 64)
        // The rules of names are those of contacts.
        for wrong in ["me", "a/b", "-x"] {
            #expect(try bob.run("history", ["rename", "Lissy", "--", wrong]).status == 64)
        }
        let carol = try Party("carol", in: two.home)
        #expect(try bob.run("contact", ["add", carol.card]).status == 0)
        #expect(try bob.run("history", ["rename", "Lissy", "carol"]).status == 73)
        #expect(try name() == ["Lissy", "Lissy"])
        // A person without a contact has no name here.
        let dave = try Party("dave", in: two.home)
        let stranger = try bob.run("history", ["rename", dave.identity.id.description, "Dave"])
        #expect(stranger.status == 66, "\(stranger.stderr)")
        // Your notes have a name of this history.
        #expect(try bob.run("history", ["rename", "me", "Notes"]).status == 0)
        #expect(try records(bob, "list").contains { $0["name"] == .string("Notes") })
        #expect(try bob.run("history", ["rename", "--off", "me"]).status == 0)
        #expect(try records(bob, "list").contains { $0["name"] == .string("me") })
    }

    /// The name of a group in this history is no change of the group.
    @Test func aGroupHasALocalName() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let run = try circle.must("bob", "history", ["rename", "team", "climbers"])
        #expect(run.stdout.isEmpty)
        try circle.say("bob", "hello", to: "climbers")
        try circle.settle()
        #expect(try circle.history("bob", "climbers") == ["hello"])
        #expect(try circle.history("alice") == ["hello"])
        let groups = try circle.must("bob", "group", ["list", "--json"]).records
        #expect(groups.map { $0["name"] } == [.string("team")])
        try circle.must("bob", "history", ["rename", "--off", "climbers"])
        #expect(try circle.history("bob") == ["hello"])
    }

    // MARK: Deletion

    @Test func aDeletedMessageLeavesNothingInTheFileAndDoesNotComeBack() throws {
        let sent = try tell(["keep", "erase"], from: alice, to: bob)
        let sealed = try bob.state { connection throws(StateError) in
            try connection.rows("SELECT sealed FROM message ORDER BY number") { $0.bytes(0) }
        }
        func contents() throws -> String {
            let log = TemporaryDirectory.contents(two.home.files(bob.database + "-wal"))
            return hex(try two.home.files.read(bob.database) + log)
        }
        let id = try #require(try records(bob)[1]["id"]?.string)
        #expect(try bob.run("history", ["delete", id]).status == 0)
        #expect(try contents().contains(hex(sealed[0].suffix(32))))
        // The end of the content: the beginning may be on another page.
        #expect(try !contents().contains(hex(sealed[1].suffix(32))))
        #expect(try !contents().contains(hex(sealed[1].prefix(32))))
        let page = try records(bob)
        #expect(texts(page) == ["keep", "-"] && page[1]["deleted"] == .bool(true))
        let again = try bob.read(sent)
        #expect(again.status == 0)
        #expect(try again.messages.map(\.text) == ["keep"])
        #expect(try bob.run("history", ["delete", id]).status == 1)
        #expect(try bob.run("history", ["delete", "--all", "alice"]).status == 0)
        #expect(try records(bob).allSatisfy { $0["deleted"] == .bool(true) })
        #expect(try bob.read(sent).messages.isEmpty)
        // The other side keeps its copy.
        #expect(try texts(records(alice)) == ["keep", "erase"])
    }

    // MARK: Status

    @Test func theOutcomeOfSendIsCollected() throws {
        let sent = try alice.write(["a", "b", "c"], to: bob)
        let ids = try sent.map {
            try #require(try JSON.object(parsing: Array($0.utf8))["id"]?.string)
        }
        let outbox = try alice.outbox()
        let foreign = Envelope.newID()
        let numbers = try outbox.append(
            (ids + [foreign]).map { Outbox.Item(id: $0, to: "bob", envelope: [0x41]) }, relay: "r")
        func statuses() throws -> [JSON?] { try records(alice).map { $0["status"] } }
        let queued = JSON.string("queued")
        #expect(try statuses() == [queued, queued, queued])
        try outbox.settle([(numbers[0], "stored"), (numbers[3], "stored")])
        try outbox.settle([(numbers[1], "rejected 403 no such mailbox")])
        #expect(try statuses() == [.string("stored"), .string("failed"), queued])
        // Outcomes of another identity stay for it.
        #expect(try outbox.outcomes().map(\.id) == [foreign])
    }
}
