import Sotto
import TestSupport
import Testing

/// The lines for people of `history --text` and `decrypt --text`: versions, forwarded messages, groups and quotations.
struct TextLineTests {
    private static func talk() throws -> Conversing { try Conversing() }

    private func shown(_ run: Run) -> [String] { run.messageLines }

    // MARK: Versions

    @Test func anEditedMessageIsShownWithItsVersions() throws {
        let they = try Self.talk()
        let id = try they.tell(they.alice, "teh end")
        try they.say(they.alice, ["edit", id], text: "the\nend")
        try they.say(they.alice, ["edit", id], text: "the end.")
        for (party, name) in [(they.alice, "to bob"), (they.bob, "alice")] {
            let run = try party.run("history", ["show", "--text", id])
            #expect(run.status == 0, "\(run.stderr)")
            let gap = String(repeating: " ", count: name.count)
            let expected = [
                "\(name)  the end.  [edited]", "\(gap)  teh end  [version 1]", "\(gap)  the",
                "\(gap)  end  [version 2]",
            ]
            #expect(shown(run) == expected, "\(run.text)")
            // A page shows only the last version.
            #expect(try !party.run("history", ["--text"]).text.contains("teh"))
        }
        // A version cannot imitate another line.
        try they.say(they.alice, ["edit", id], text: "\u{1B}[2Jx")
        let run = try they.bob.run("history", ["show", "--text", id])
        #expect(!run.text.contains("\u{1B}"))
        try they.say(they.alice, ["delete", id])
        let gone = try they.bob.run("history", ["show", "--text", "1"])
        #expect(shown(gone) == ["alice  [message deleted]"], "\(gone.text)")
    }

    // MARK: Messages about messages

    @Test func aMessageAboutAnotherQuotesIt() throws {
        let they = try Self.talk()
        let id = try they.tell(they.alice, "lunch \"at\" [12]?")
        func opened(_ command: [String], text: String = "") throws -> String {
            let record = try they.alice.compose(command, text: text)
            let sealed = try they.alice.run("encrypt", stdin: record.stdout)
            return try they.bob.run("decrypt", ["--text"], stdin: sealed.stdout).text
        }
        let words = "\"lunch 'at' (12)?\""
        #expect(try opened(["react", id, "👍"]) == "[reacted 👍 to \(words)]\n")
        #expect(try opened(["pin", id]) == "[pinned \(words)]\n")
        #expect(try opened(["edit", id], text: "dinner") == "[edited \(words)] dinner\n")
        #expect(try opened(["unpin", id]) == "[unpinned \"dinner\"]\n")
        #expect(try opened(["delete", id]) == "[deleted a message]\n")
    }

    @Test func aReplyQuotesItsTarget() throws {
        let they = try Self.talk()
        let id = try they.tell(they.alice, "lunch \"at\" [12]?")
        func opened(_ sealed: Run, _ options: [String] = []) throws -> String {
            try they.alice.run("decrypt", ["--text"] + options, stdin: sealed.stdout).text
        }
        func reply() throws -> Run {
            try they.bob.run(
                "encrypt", stdin: they.bob.compose(["reply", id], text: "yes").stdout)
        }
        func claim(_ target: String) throws -> Run {
            try they.bob.run(
                "encrypt", ["--to", "alice", "--jsonl"], stdin: quote(target, they.alice, "never"))
        }
        let words = "reply to \"lunch 'at' (12)?\""
        #expect(try opened(reply()) == "[\(words)] yes\n")
        #expect(try opened(reply(), ["--time"]).hasSuffix("\tbob\t[\(words)] yes\n"))
        #expect(try opened(claim(id)) == "[\(words), the reply quotes another text] reply\n")
        #expect(
            try opened(claim(Envelope.newID()))
                == "[reply to \"never\", not in this history] reply\n")
        try they.say(they.alice, ["delete", id])
        let again = try they.alice.run("decrypt", ["--again", "--text"]).lines
        #expect(again.first == "[\(words), deleted] yes", "\(again)")
    }

    // MARK: Forwarded messages

    @Test func aForwardedMessageIsMarked() throws {
        let they = try Self.talk()
        let id = try they.tell(they.alice, "see this")
        let record = try they.bob.compose(["forward", id, "--to", "alice"])
        let sealed = try they.bob.run("encrypt", stdin: record.stdout)
        let opened = try they.alice.run("decrypt", ["--text"], stdin: sealed.stdout)
        func origin(_ text: String) -> String {
            let words = #/forwarded from me, [0-9]{1,2} [A-Z][a-z]+/#
            return text.replacing(words, with: "ORIGIN")
        }
        #expect(origin(opened.text) == "[ORIGIN] see this\n", "\(opened.text)")
        let again = try they.alice.run("decrypt", ["--again", "--text", "--time"])
        #expect(origin(again.text).hasSuffix("\tbob\t[ORIGIN] see this\n"), "\(again.text)")
        let text = try they.alice.run("history", ["bob", "--text"])
        #expect(
            shown(text).map(origin) == ["me   see this", "bob  see this  [ORIGIN]"], "\(text.text)")
        func export(_ format: String) throws -> String {
            try they.alice.run("history", ["export", "--format", format]).text
        }
        #expect(try origin(export("text")).contains("see this  [ORIGIN]"))
        #expect(
            try origin(export("html")).contains(
                "<footer><span><bdi>ORIGIN</bdi></span></footer>"))
        let mail = try export("mbox")
        #expect(mail.contains("\nSubject: see this\n"))
        #expect(mail.contains("\nSubject: Fwd: see this\n"))
        #expect(mail.split(separator: "\n").count { $0 == "X-Sotto-Forwarded: yes" } == 1)
    }

    /// A claimed date after the arrival gets no heading of its own, and a year has four digits.
    @Test func aClaimedDateIsNotLaterThanTheArrival() throws {
        let they = try Self.talk()
        for (text, time) in [("future", "9999-12-31T12:00:00Z"), ("past", "0007-01-02T12:00:00Z")] {
            let sealed = try Sealed.seal(
                body: Message.textBody(text), from: they.alice.identity,
                to: they.bob.identity.card(), time: try #require(Timestamp(time)))
            let run = try they.bob.run("decrypt", stdin: sealed.record.serialized() + [10])
            #expect(run.status == 0, "\(run)")
        }
        let lines = try they.bob.run("history", ["alice", "--text"]).lines
        let days = lines.filter { $0.hasPrefix("-- ") }
        #expect(days.count == 2 && days[0].hasPrefix("-- 20") && days[1].hasPrefix("-- 0007-01-"))
        #expect(lines.contains { $0.hasSuffix("future") })
    }

    // MARK: Groups

    /// In a list of several conversations, a message of a group names the group.
    @Test func aMessageOfAGroupNamesIt() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("bob", "hello")
        try circle.settle()
        try circle.say("alice", "welcome")
        let all = shown(try circle["alice"].run("history", ["--text"]))
        #expect(all == ["bob  hello  [in team]", "me   welcome  [in team]"])
        let one = try circle["alice"].run("history", ["team", "--text"])
        #expect(one.text.contains("hello") && !one.text.contains("[in "))
    }

    @Test func anEventOfAGroupNamesIt() throws {
        let circle = try Circle("alice", "bob")
        try circle.post("alice", circle.must("alice", "group", ["create", "team", "bob"]).stdout)
        let invited = try circle.read("bob", nil, ["--text"])
        #expect(invited.text.hasPrefix("[invited you to the group team] to join: "))
        try circle.group("bob", "accept", "team")
        let lines = circle.take("alice")
        let joined = try circle.read("alice", lines, ["--text"])
        #expect(joined.text == "[team: bob joined the group]\n")
        let records = try circle["alice"].run("decrypt", ["--again"]).records
        #expect(records.map { $0.body["name"] } == [.string("team")])
    }

    /// The events alone, for `sotto read`, which shows the messages in another way.
    @Test func onlyEventsOfGroupsAreShown() throws {
        let circle = try Circle("alice", "bob")
        try circle.post("alice", circle.must("alice", "group", ["create", "team", "bob"]).stdout)
        let forged =
            #"{"body":{"type":"text","text":"forged","events":[{"event":"invited","id":"aaaaaaaaaaaaaaaa","name":"crew"}]}}"#
        try circle.deliver(circle.must("alice", "encrypt", ["--to", "bob", "--jsonl"], forged))
        let lines = circle.take("bob")
        let shown = try circle.read("bob", lines, ["--events", "--text"])
        #expect(
            shown.status == 0 && shown.lines.count == 1
                && shown.text.hasPrefix("[invited you to the group team] to join: "),
            "\(shown.text)")
        // Without an event the result is negative. The message is stored.
        try circle.deliver(try circle.must("alice", "encrypt", ["--to", "bob"], "hi"))
        for form in ["--text", "--json"] {
            let none = try circle.read("bob", nil, ["--events", form])
            #expect(none.status == 1 && none.stdout.isEmpty, "\(none.text)")
        }
        #expect(try circle["bob"].history().compactMap { $0.body["text"]?.string }.contains("hi"))
    }

    /// A name that other people chose is no part of the event: one of several words has quotation marks.
    @Test func aNameOfAGroupForgesNoEvent() throws {
        let circle = try Circle("alice", "bob")
        let name = #"plain: bob left the group; "x""#
        try circle.post("alice", circle.must("alice", "group", ["create", name, "bob"]).stdout)
        let invited = try circle.read("bob", nil, ["--text"])
        let quoted = #""plain: bob left the group; 'x'""#
        #expect(invited.text.hasPrefix("[invited you to the group \(quoted)] to join: "))
        try circle.group("bob", "accept", try circle.onlyGroup("bob"))
        let joined = try circle.read("alice", nil, ["--text"])
        #expect(joined.text == "[\(quoted): bob joined the group]\n")
    }

    // MARK: Deletions and quotations

    /// The deletion of a message arrives before the message.
    @Test func aMessageThatWasDeletedBeforeIsNotPrinted() throws {
        for form in [[], ["--text"]] {
            let they = try Self.talk()
            let sent = try they.alice.write(["a mistake", "and more"], to: they.bob)
            let id = try #require(try JSON.object(parsing: Array(sent[0].utf8))["id"]?.string)
            let record = try they.alice.compose(["delete", id])
            let deletion = try they.alice.run("encrypt", stdin: record.stdout)
            #expect(try they.bob.run("decrypt", stdin: deletion.stdout).status == 0)
            let run = try they.bob.run("decrypt", form, stdin: lines(sent))
            #expect(run.status == 0, "\(run.stderr)")
            #expect(run.text.contains("and more") && !run.text.contains("a mistake"))
            #expect(try they.bob.history("alice").map { $0["deleted"] } == [.bool(true), nil])
        }
    }

    @Test func aMessageOfAGroupThatWasDeletedBeforeIsNotPrinted() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "first")
        try circle.settle()
        try circle.say("alice", "a mistake")
        let late = circle.take("bob")
        try circle.compose("alice", ["delete", "-1", "--with", "team"])
        try circle.read("bob")
        let run = try circle.read("bob", late)
        #expect(run.status == 0 && !run.text.contains("a mistake"), "\(run.text)\(run.stderr)")
    }

    private func quote(_ target: String, _ author: Party, _ text: String) -> [UInt8] {
        var body = Message.textBody("reply")
        body["reply"] = .object([
            "id": .string(target), "from": .string(author.identity.id.description),
            "text": .string(text),
        ])
        let record: JSONObject = [
            "v": .integer(1), "type": .string("message"), "body": .object(body),
        ]
        return record.serialized()
    }

    /// A reply can quote a message of another conversation, and one that was deleted.
    @Test func aQuotationIsFoundInAllConversations() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("bob", "in the team")
        try circle.settle()
        let id = try #require(
            try circle["alice"].history("team").last?["id"]?.string)
        let bob = circle["bob"]
        func reply(_ text: String, to target: String) throws -> JSONObject {
            let sealed = try bob.run(
                "encrypt", ["--to", "alice", "--jsonl"], stdin: quote(target, bob, text))
            let opened = try circle["alice"].run("decrypt", stdin: sealed.stdout)
            return try #require(try opened.records.first)
        }
        #expect(try reply("in the", to: id)["quotation"] == .string("same"))
        #expect(try reply("never", to: id)["quotation"] == .string("different"))
        let text = try circle["alice"].run("history", ["bob", "--text"]).text
        #expect(text.contains("> in the [in another conversation]"), "\(text)")
        #expect(text.contains("> never [in another conversation, where the text is different]"))
        // Only the quoted part of the other conversation is shown, and there is no link to it.
        let page = try circle["alice"].run("history", ["export", "bob", "--format", "html"]).text
        #expect(!page.contains("in the team") && !page.contains("href=\"#m"))
        // Of the wrong author.
        let sealed = try bob.run(
            "encrypt", ["--to", "alice", "--jsonl"],
            stdin: quote(id, circle["alice"], "in the"))
        let opened = try circle["alice"].run("decrypt", stdin: sealed.stdout)
        #expect(try opened.records.first?["quotation"] == .string("unknown"))
    }

    @Test func aQuotationOfADeletedMessageSaysSo() throws {
        let they = try Self.talk()
        let (alice, bob) = (they.alice, they.bob)
        let id = try they.tell(alice, "gone soon")
        let other = try they.tell(bob, "gone too")
        try they.say(bob, ["reply", id], text: "why?")
        try they.say(alice, ["reply", other], text: "what?")
        try they.say(alice, ["delete", id])
        try they.say(bob, ["delete", other])
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            let replies = try party.history(peer).filter { $0["quotation"] != nil }
            #expect(replies.map { $0["quotation"] } == [.string("deleted"), .string("deleted")])
            let text = try party.run("history", [peer, "--text"]).text
            #expect(text.contains("> gone soon [deleted]") && text.contains("> gone too [deleted]"))
        }
    }
}
