import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// The records of `compose`, and its errors.
struct ComposeTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws { they = try Conversing() }

    func record(
        _ party: Party, _ arguments: [String], text: String = ""
    ) throws -> JSONObject {
        let records = try party.compose(arguments, text: text).records
        #expect(records.count == 1)
        return try #require(records.first)
    }

    func target(_ id: String, _ author: Party) -> JSON {
        .object(MessageTarget(id: id, from: author.identity.id).record)
    }

    func refuse(
        _ party: Party, _ arguments: [String], text: String = "x", status: Int32, _ saying: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let run = try party.run("compose", arguments, stdin: Array(text.utf8))
        #expect(run.status == status && run.stdout.isEmpty, sourceLocation: sourceLocation)
        #expect(
            run.stderr.contains(saying), "\(arguments): \(run.stderr)",
            sourceLocation: sourceLocation)
    }

    // MARK: Records

    @Test func aTextIsTheInputWithoutItsLastLineFeed() throws {
        let record = try record(alice, ["text", "bob"], text: "two\nlines\n")
        #expect(record.members.map(\.name) == ["v", "type", "to", "time", "body"])
        #expect(record["to"] == .string(bob.identity.id.description))
        #expect(record.body == ["type": .string("text"), "text": .string("two\nlines")])
        #expect(try self.record(alice, ["text"], text: "x")["to"] == nil)
        #expect(
            try self.record(alice, ["text", "me"], text: "x")["to"]
                == .string(alice.identity.id.description))
        let data = try alice.run("compose", ["text", "bob"], stdin: [0xFF, 0])
        #expect(try data.records[0].body["type"] == .string("data"))
        try refuse(alice, ["text", "bob"], text: "", status: 1, "the message is empty")
        try refuse(
            alice, ["text", "bob"], text: String(repeating: "x", count: 40_000), status: 65,
            "the message is too long")
    }

    @Test func eachKindNamesItsTarget() throws {
        let mine = try they.tell(alice, "mine")
        let yours = try they.tell(bob, "yours")
        let expected: [([String], JSONObject)] = [
            (
                ["reply", yours],
                [
                    "type": .string("text"), "text": .string("t"),
                    "reply": .object([
                        "id": .string(yours), "from": .string(bob.identity.id.description),
                        "text": .string("yours"),
                    ]),
                ]
            ),
            (
                ["react", yours, "👍"],
                [
                    "type": .string("reaction"), "target": target(yours, bob),
                    "emoji": .string("👍"),
                ]
            ),
            (
                ["edit", mine],
                [
                    "type": .string("edit"), "target": target(mine, alice),
                    "body": .object(["type": .string("text"), "text": .string("t")]),
                ]
            ),
            (["delete", mine], ["type": .string("delete"), "target": target(mine, alice)]),
            (["pin", yours], ["type": .string("pin"), "target": target(yours, bob)]),
            (
                ["pin", "--until", "2100-01-01T00:00:00Z", yours],
                [
                    "type": .string("pin"), "target": target(yours, bob),
                    "until": .string("2100-01-01T00:00:00Z"),
                ]
            ),
            (["unpin", yours], ["type": .string("unpin"), "target": target(yours, bob)]),
            (["timer", "bob", "1w"], ["type": .string("timer"), "seconds": .integer(604_800)]),
            (["timer", "bob", "off"], ["type": .string("timer"), "seconds": .integer(0)]),
        ]
        for (arguments, body) in expected {
            let record = try record(alice, arguments, text: "t\n")
            #expect(record.body == body, "\(arguments)")
            #expect(record["to"] == .string(bob.identity.id.description))
        }
    }

    @Test func aTargetIsAnIDItsBeginningOrCountedBack() throws {
        let ids = try (1...3).map { try they.tell(alice, "\($0)") }
        func found(_ arguments: String...) throws -> String? {
            try record(bob, ["react"] + arguments + ["👍"]).body["target"]?.object?["id"]?.string
        }
        #expect(try found(ids[0]) == ids[0])
        #expect(try found(String(ids[1].prefix(8)).uppercased()) == ids[1])
        for (back, id) in zip(["-3", "-2", "-1"], ids) {
            #expect(try found(back, "--with", "alice") == id)
            #expect(try found("--with", alice.identity.id.description, back) == id)
        }
        // Reactions are not counted, and neither are deleted messages.
        try they.say(bob, ["react", "-1", "--with", "alice", "👍"])
        #expect(try found("-1", "--with", "alice", "-i", "bob.key") == ids[2])
        try they.say(alice, ["delete", ids[2]])
        #expect(try found("-1", "--with", "alice") == ids[1])
        // An id is looked up in the conversation of --with only.
        try refuse(bob, ["reply", ids[0], "--with", "me"], status: 66, "no message \(ids[0])")
    }

    @Test func theSameEmojiAgainRemovesTheReaction() throws {
        let id = try they.tell(alice, "x")
        func emoji() throws -> String? {
            try they.say(bob, ["react", id, "❤️"]).first?.body["emoji"]?.string
        }
        #expect(try emoji() == "❤️")
        // The reaction of another person is not one's own.
        #expect(try record(alice, ["react", id, "❤️"]).body["emoji"] == .string("❤️"))
        // Without the presentation selector it is the same emoji.
        #expect(try record(bob, ["react", id, "❤"]).body["emoji"] == .string(""))
        #expect(try record(bob, ["react", id, "👍"]).body["emoji"] == .string("👍"))
        #expect(try emoji() == "")
        #expect(try they.view()[0]["reactions"] == nil)
        #expect(try emoji() == "❤️")
    }

    @Test func aReplyQuotesTheBeginning() throws {
        func quotation(_ text: String) throws -> String? {
            try they.tell(alice, text)
            return try record(bob, ["reply", "-1", "--with", "alice"], text: "r").body["reply"]?
                .object?["text"]?.string
        }
        let exact = String(repeating: "é", count: 160)
        #expect(try quotation(exact) == exact)
        #expect(try quotation(exact + "!") == exact + "…")
        // One character with thousands of scalars.
        let long = "a" + String(repeating: "\u{301}", count: 6_000)
        let short = try #require(try quotation(long))
        #expect(short.utf8.count <= BodyLimits.quotation && short.hasSuffix("…"))
        // The reply itself is accepted by the other side.
        #expect(try they.say(bob, ["reply", "-1", "--with", "alice"], text: "r").count == 1)
        // A message that disappears is not quoted: the quotation would stay.
        let body = #"{"type":"text","text":"gone","expires":{"after":9,"from":"read"}}"#
        let sent = try alice.write([#"{"body":\#(body)}"#], to: bob)
        #expect(try bob.read(sent).status == 0)
        let reply = try record(bob, ["reply", "-1", "--with", "alice"], text: "r")
        #expect(reply.body["reply"]?.object?["text"] == nil)
    }

    @Test func anEditAndAForwardTakeThePresentVersion() throws {
        let id = try they.tell(alice, "first")
        try they.say(bob, ["reply", id], text: "answer")
        try they.say(alice, ["edit", id], text: "second")
        let forward = try record(alice, ["forward", id, "--to", "me"])
        #expect(forward["to"] == .string(alice.identity.id.description))
        #expect(forward.body["text"] == .string("second"))
        let origin = try #require(forward.body["forwarded"]?.object)
        #expect(origin["from"] == .string(alice.identity.id.description))
        #expect(try origin["time"] == they.view()[0]["time"])
        // A reply loses its reference, and a message that was forwarded before keeps its first author.
        let answer = try alice.compose(["forward", "-1", "--with", "bob", "--to", "me"])
        #expect(try answer.records[0].body["reply"] == nil)
        try they.say(alice, ["forward", "-1", "--with", "bob", "--to", "bob"])
        let again = try record(bob, ["forward", "-1", "--with", "alice", "--to", "me"])
        #expect(
            again.body["forwarded"]?.object?["from"] == .string(bob.identity.id.description))
        let several = try alice.compose(["forward", id, "--to", "me", "--to", "bob"])
        #expect(try several.records.map { $0["to"] }.count == 2)
    }

    @Test func aFileKeepsItsKeyWhenItsCaptionIsEdited() throws {
        they.home.files.write("x.txt", Array("content".utf8))
        let sealed = try alice.run(
            "encrypt", ["--to", "bob", "--attach", "x.txt", "--blob", "blob"],
            stdin: Array("caption".utf8))
        #expect(try bob.read(sealed.lines).status == 0)
        let before = try #require(try bob.history("alice").first?.body)
        try they.say(alice, ["edit", "-1", "--with", "bob"], text: "better")
        let after = try they.view()[0].body
        #expect(after["text"] == .string("better") && after["key"] == before["key"])
        let forward = try record(bob, ["forward", "-1", "--with", "alice", "--to", "me"])
        #expect(forward.body["key"] == before["key"] && forward.body["name"] == .string("x.txt"))
    }

    @Test func theStateIsNotChanged() throws {
        let id = try they.tell(alice, "x")
        #expect(try bob.run("contact", ["set", "alice", "receipts=on", "typing=on"]).status == 0)
        func tables() throws -> [[UInt8]] {
            try bob.state { connection throws(StateError) in
                try connection.rows("SELECT sealed FROM message") { $0.bytes(0) }
                    + connection.rows("SELECT sealed FROM contact") { $0.bytes(0) }
            }
        }
        let before = try tables()
        for arguments in [
            ["react", id, "👍"], ["reply", id], ["read", id], ["read", "alice"],
            ["typing", "alice"],
        ] { _ = try bob.compose(arguments, text: "x") }
        #expect(try tables() == before)
        #expect(try bob.run("history", ["unread", "--text"]).text == "alice  1\n")
    }

    // MARK: Refusals

    @Test func onlyTheAuthorEditsAndDeletes() throws {
        let id = try they.tell(alice, "x")
        try refuse(bob, ["edit", id], status: 77, "only the author of a message can edit it")
        try refuse(
            bob, ["delete", id], status: 77, "delete it here only: sotto history delete \(id)")
        // All or nothing.
        let own = try they.tell(bob, "y")
        try refuse(bob, ["delete", own, id], status: 77, "only the author")
        #expect(try bob.compose(["delete", own]).records.count == 1)
    }

    @Test func aReactionIsOneEmoji() throws {
        let id = try they.tell(alice, "x")
        for text in ["ok", "👍👍", "", "1", "\u{200D}"] {
            try refuse(bob, ["react", id, text], status: 64, "must be one emoji")
        }
    }

    @Test func aDeletedMessageIsNoTarget() throws {
        let id = try they.tell(alice, "x")
        try they.say(alice, ["delete", id])
        for command in ["reply", "edit", "delete", "pin", "unpin"] {
            try refuse(alice, [command, id], status: 66, "was deleted")
        }
        try refuse(bob, ["forward", id, "--to", "me"], status: 66, "was deleted")
        try refuse(bob, ["reply", "-1", "--with", "alice"], status: 66, "it has 0 messages")
    }

    @Test func anUnclearTargetIsRefused() throws {
        let beginning = "aaaaaaaa-0000-4000-8000-00000000000"
        let lines = try ["1", "2"].map { last in
            let card = try Card(record: JSON.object(parsing: they.home.files.read(bob.card)))
            return String(
                decoding: try Sealed.seal(
                    body: Message.textBody("x"), from: alice.identity, to: card, time: .now(),
                    id: beginning + last
                ).record.serialized(), as: UTF8.self)
        }
        #expect(try bob.read(lines).status == 0)
        try refuse(
            bob, ["reply", "aaaa"], status: 64,
            "the beginning of several ids: \(beginning)1, \(beginning)2")
        #expect(try bob.compose(["reply", beginning + "1"], text: "x").records.count == 1)
        try refuse(bob, ["reply", "aaa"], status: 66, "the history has no message aaa")
        try refuse(bob, ["reply", "dddd"], status: 66, "the history has no message dddd")
        try refuse(bob, ["reply", "-1"], status: 64, "name the conversation: --with WHO")
        try refuse(
            bob, ["reply", "-3", "--with", "alice"], status: 66,
            "-3 is not in the conversation with alice: it has 2 messages")
        try refuse(bob, ["reply", "-99999999999999999999", "--with", "alice"], status: 66, "")
    }

    @Test func anEventIsNoTarget() throws {
        let id = try they.tell(alice, "x")
        let reaction = try #require(try they.say(bob, ["react", id, "👍"]).first?["id"]?.string)
        try refuse(bob, ["reply", reaction], status: 64, "its type is reaction")
        try they.say(alice, ["timer", "bob", "1h"])
        let timer = try #require(try alice.history("bob").last?["id"]?.string)
        try refuse(alice, ["reply", timer], status: 64, "its type is timer")
        // A negative number counts messages with content.
        let reply = try record(alice, ["reply", "-1", "--with", "bob"], text: "y")
        #expect(reply.body["reply"]?.object?["id"] == .string(id))
    }

    @Test func aNumberNamesAMessage() throws {
        let id = try they.tell(alice, "x")
        let number = try #require(try bob.history("alice").last?["number"]?.integer)
        #expect(
            try record(bob, ["react", "\(number)", "👍"]).body["target"] == target(id, alice))
        let read = try bob.run("history", ["read", "\(number)"])
        #expect(read.status == 0 && read.stderr.contains("1 message marked"), "\(read.stderr)")
        // A pin of a deleted message is no message.
        try they.say(bob, ["pin", id])
        #expect(try bob.run("history", ["--pinned"]).status == 0)
        #expect(try bob.run("history", ["delete", "\(number)"]).status == 0)
        #expect(try bob.run("history", ["--pinned"]).status == 1)
    }

    @Test func aChatHasNoTargets() throws {
        #expect(
            try they.home.run(
                "keygen", ["chat", "--name", "family", "-o", "family.chat"],
                text: "correct horse battery staple\n"
            ).status == 0)
        let sent = try alice.run(
            "encrypt", ["--chat", "family.chat", "--to", "bob"], stdin: Array("x".utf8))
        #expect(try bob.read(sent.lines, "--chat", "family.chat").status == 0)
        for party in [alice, bob] {
            try refuse(
                party, ["reply", "-1", "--with", "family"], status: 64,
                "the messages of a chat have no authenticated authors")
            let record = try record(
                party, ["forward", "-1", "--with", "family", "--to", "me"])
            #expect(record.body["text"] == .string("x"))
        }
        // The author in a chat is not authenticated.
        let forward = try record(bob, ["forward", "-1", "--with", "family", "--to", "me"])
        #expect(forward.body["forwarded"]?.object?["from"] == nil)
    }

    @Test func wrongWordsAreUsageErrors() throws {
        let id = try they.tell(alice, "x")
        for arguments in [
            [], ["reply"], ["react", id], ["forward", id], ["pin", "--until", "soon", id],
            ["pin", "--until", "2020-01-01T00:00:00Z", id], ["typing"], ["timer", "bob"],
            ["timer", "bob", "1"], ["timer", "bob", "0s"], ["timer", "bob", "366d"],
            ["timer", "bob", "-1h"], ["timer", "bob", "99999999w"], ["reply", "-x"],
        ] {
            let run = try bob.run("compose", arguments)
            #expect(run.status == 64 && run.stdout.isEmpty, "\(arguments): \(run.stderr)")
        }
        try refuse(
            bob, ["text", "nobody"], status: 66, "no contact, group or file has the name nobody")
        let carol = try Party("carol", in: they.home)
        try refuse(carol, ["reply", id], status: 66, "the history is empty")
        #expect(try carol.compose(["text", "bob.card"], text: "x").records.count == 1)
    }

    @Test func aWrongLifetimeNamesUnitsAndLimit() throws {
        let form = "give off, or a number with s, m, h, d or w, from 1s to 365d"
        for value in ["5", "400d", "1y", "0s"] {
            try refuse(bob, ["timer", "alice", value], status: 64, form)
            let run = try bob.run("group", ["timer", "team", value])
            #expect(run.status == 64 && run.stderr.contains(form), "\(run.stderr)")
        }
    }

    @Test func aGroupIsNoTargetOfASignal() throws {
        #expect(try bob.run("group", ["create", "our team"]).status == 0)
        try refuse(
            bob, ["timer", "our team", "14d"], status: 64,
            "sotto group timer 'our team' 2w | sotto encrypt | sotto send")
        try refuse(
            bob, ["presence", "our team"], status: 64,
            "our team is a group, and presence signals are sent to contacts only")
        try refuse(
            bob, ["typing", "our team"], status: 1, "no member of our team gets typing signals")
    }

    /// A time without a zone is local.
    @Test func aTimeHasSeveralForms() throws {
        let id = try they.tell(alice, "x")
        func until(_ text: String) throws -> String? {
            var command = bob.command("compose", ["pin", "--until", text, id])
            command.environment["TZ"] = "IST-5:30"
            let run = try command.run(stdin: .whole([]))
            guard run.status == 0 else {
                #expect(run.status == 64 && run.stdout.isEmpty)
                let forms = [
                    "a day such as 2026-11-25,", "2026-11-25 07:20", "2026-11-25T07:20:00Z",
                ]
                #expect(forms.allSatisfy { run.stderr.contains($0) }, "\(run.stderr)")
                return nil
            }
            return try run.records[0].body["until"]?.string
        }
        for (text, expected) in [
            ("2040-02-29", "2040-02-28T18:30:00Z"), ("2040-02-29 07:20", "2040-02-29T01:50:00Z"),
            ("2040-02-29T07:20", "2040-02-29T01:50:00Z"),
            ("2040-02-29 07:20:05", "2040-02-29T01:50:05Z"),
            ("2040-02-29T07:20:05", "2040-02-29T01:50:05Z"),
            ("2040-02-29T07:20:05Z", "2040-02-29T07:20:05Z"),
        ] {
            #expect(try until(text) == expected, "\(text)")
        }
        for text in [
            "2041-02-29", "2040-2-9", "2040-02-29 24:00", "2040-02-29 7:20", "2040-02-29 07:20+1",
            "2040-02-29 07", "20400229", "soon", "2040-02-29x07:20", "2040-02-29 07:20:60",
        ] {
            #expect(try until(text) == nil, "\(text)")
        }
    }

    /// The first read of a file or a full pipe has as many bytes as the tools examine.
    @Test func manyRecordsInAFileAreRead() throws {
        let record = try alice.compose(["text", "bob"], text: String(repeating: "x", count: 900))
        let count = 200
        they.home.files.write(
            "many-records", Array(repeating: record.stdout, count: count).flatMap { $0 })
        let sealed = try alice.run("encrypt", ["many-records"])
        #expect(sealed.status == 0 && sealed.lines.count == count, "\(sealed.stderr)")
        they.home.files.write("many-envelopes", sealed.stdout)
        let opened = try bob.run("decrypt", ["many-envelopes"])
        #expect(opened.status == 0 && opened.lines.count == count, "\(opened.stderr)")
    }
}
