import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Groups with the built programs.
@Suite(.timeLimit(.minutes(60))) struct GroupToolTests {
    @Test func threePeopleTalk() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        #expect(Set(try ["alice", "bob", "carol"].map { try circle.state($0) }).count == 1)
        try circle.say("alice", "one")
        #expect(try circle.texts("bob") == ["one"])
        #expect(try circle.texts("carol") == ["one"])
        // Bob and Carol are not contacts, but both are members.
        try circle.say("bob", "two")
        let opened = try circle.read("carol").records.filter { $0.body["text"] != nil }
        #expect(opened.count == 1)
        #expect(opened.first?["from"] == .string(circle["bob"].identity.id.description))
        #expect(opened.first?["role"] == .string("member"))
        #expect(opened.first?["suite"] == .string("group"))
        #expect(opened.first?["group"]?.string?.count == 64)
        try circle.compose("carol", ["reply", "-1", "--with", "team"], "three")
        try circle.compose("carol", ["react", "-2", "👍", "--with", "team"])
        try circle.settle()
        for who in ["alice", "bob", "carol"] {
            #expect(try circle.history(who) == ["one", "two", "three"])
            let two = try circle[who].history("team")[1]
            #expect(two["reactions"]?.array?.count == 1, "\(two)")
        }
        #expect(try circle["bob"].run("history", ["list", "--text"]).text.contains("team"))
    }

    /// A message has one id for all members, which its author cannot choose.
    @Test func aMessageHasOneID() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("alice", "one")
        try circle.settle()
        let ids = try ["alice", "bob", "carol"].map { try circle[$0].history("team")[0]["id"] }
        #expect(Set(ids).count == 1 && ids[0] != nil)
    }

    @Test func aRepeatedMessageIsSeen() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "one")
        let lines = circle.take("bob")
        #expect(try circle.read("bob", lines).status == 0)
        let again = try circle.read("bob", lines)
        #expect(again.status == 0)
        #expect(try again.records.allSatisfy { $0["seen"] == .bool(true) })
        #expect(try circle.history("bob") == ["one"])
    }

    /// The history and the output have no keys of chains.
    @Test func keysAreNotPrinted() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "one")
        let run = try circle.read("bob")
        let raw = try circle["bob"].run("history", ["--raw"])
        for text in [run.text, raw.text, try circle["alice"].run("history", ["--raw"]).text] {
            // With the quotation mark, because four letters can occur in base64 by chance.
            #expect(!text.contains("chainKey") && !text.contains("\"wrap"))
        }
    }

    /// `decrypt --stateless` prints no chain either.
    @Test func keysAreNotPrintedWithoutAState() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "one")
        let run = try circle.read("bob", nil, ["--stateless"])
        #expect(run.status == 64 && !run.text.contains("chainKey"), "\(run.text)")
    }

    /// A member of two groups is told of changes of both at once.
    @Test func aChangeOfASecondGroupIsPrinted() throws {
        let circle = try Circle("alice", "bob")
        for name in ["first", "second"] {
            try circle.group("alice", "create", name, "bob")
            try circle.texts("bob")
            try circle.group("bob", "accept", name)
            try circle.settle()
            try circle.say("alice", "hello", to: name)
            try circle.settle()
        }
        for name in ["first", "second"] {
            let run = try circle.group("alice", "timer", name, "1h")
            #expect(run.lines.count == 1)
            try circle.settle()
            #expect(try circle.state("alice", name) == circle.state("bob", name))
        }
    }

    /// A change at an old head can void what others did since, so it waits until the mail was received.
    @Test func aChangeNeedsRecentMail() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        func receive(_ ago: Int64) throws {
            try circle["alice"].state { connection throws(StateError) in
                try connection.run(
                    "INSERT OR REPLACE INTO number (name, value) VALUES ('mail received', ?)",
                    Timestamp.now().seconds - ago)
            }
        }
        try receive(3_500)
        try circle.group("alice", "rename", "team", "crew")
        try receive(2 * 3_600)
        for line in [
            ["rename", "crew", "other"], ["policy", "crew", "post=admin"],
            ["remove", "crew", "bob"],
            ["role", "crew", "bob", "admin"], ["door", "--close", "crew"],
        ] {
            let refused = try circle["alice"].run("group", line)
            #expect(
                refused.status == 75 && refused.stderr.contains("2 h ago"), "\(line): \(refused)")
        }
        for line in [["policy", "crew"], ["show", "crew"], ["list"], ["sync", "crew"]] {
            #expect(try circle["alice"].run("group", line).status == 0, "\(line)")
        }
        try circle.group("alice", "rename", "--anyway", "crew", "other")
        // A clock that was ahead does not count.
        try receive(-3_600)
        try circle.group("alice", "rename", "other", "team")
        try circle.settle()
        #expect(try circle.state("alice") == circle.state("bob"))
    }

    /// The rule for names of contacts.
    @Test func namesHaveNoInvisibleCharacters() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        for name in [
            "a\u{202E}b", "a\u{7}b", "a\nb", "a\u{200B}b", "a\u{FFFD}b", "\u{200D}\u{FE0F}",
        ] {
            for line in [
                ["create", name], ["create", "--nickname", name, "other"],
                ["rename", "team", name], ["nickname", "team", name],
                ["continue", "--nickname", name, "team"], ["accept", "--nickname", name, "team"],
                ["join", "--nickname", name, "--phrase", "@FILE:phrase"],
            ] {
                let run = try circle["alice"].run("group", line)
                #expect(run.status == 64 && run.stdout.isEmpty, "\(line): \(run.stderr)")
                #expect(run.stderr.contains("the name "), "\(line): \(run.stderr)")
            }
        }
        let list = try circle["alice"].run("group", ["list", "--text"])
        #expect(list.lines.count == 1 && list.text.hasPrefix("team "), "\(list.text)")
        // The joiners are letters in some scripts.
        try circle.group("alice", "rename", "team", "\u{646}\u{200C}\u{647}")
    }

    @Test func aGroupHasAPicture() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        #expect(try circle["bob"].run("group", ["avatar", "team"]).status == 1)
        try circle.must("alice", "qr", ["-t", "png", "-o", "large.png"], "a picture")
        try circle.group("alice", "avatar", "team", "large.png")
        try circle.settle()
        let picture = try circle.must("bob", "group", ["avatar", "team"]).stdout
        #expect(picture.starts(with: [0xFF, 0xD8, 0xFF]) && picture.count <= 8_192)
        let shown = try circle.must("bob", "group", ["show", "team"]).records[0]
        #expect(shown["avatar"]?.object?["picture"] == .base64(picture))
        circle.home.files.write("text.jpg", Array("no picture".utf8))
        let refused = try circle["alice"].run("group", ["avatar", "team", "text.jpg"])
        #expect(refused.status == 65)
        try circle.group("alice", "avatar", "--remove", "team")
        try circle.settle()
        #expect(try circle["bob"].run("group", ["avatar", "team"]).status == 1)
    }

    /// The creator of a group is a member without a join, also with a lower rank. The last owner keeps the rank.
    @Test func theCreatorStepsDown() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        let refused = try circle["alice"].run("group", ["role", "team", "me", "admin"])
        #expect(refused.status == 64 && refused.stdout.isEmpty)
        let hint = "sotto group role team WHO owner | sotto encrypt | sotto send"
        #expect(refused.stderr.contains(hint), "\(refused.stderr)")
        try circle.group("alice", "role", "team", "bob", "owner")
        try circle.settle()
        func rank(_ seen: String) throws -> JSON? {
            let id = circle["alice"].identity.id.description
            return try circle.must(seen, "group", ["participants", "--json", "team"]).records
                .first { $0["id"]?.string == id }?["role"]
        }
        for (by, role) in [("alice", "member"), ("bob", "owner"), ("alice", "admin")] {
            let who = by == "alice" ? "me" : circle["alice"].identity.id.description
            try circle.group(by, "role", "team", who, role)
            try circle.settle()
            for name in ["alice", "bob", "carol"] { #expect(try rank(name) == .string(role)) }
        }
        // An admin still removes members and writes.
        try circle.say("alice", "hello")
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        #expect(try circle.history("bob") == ["hello"])
        #expect(try circle.state("alice") == circle.state("bob"))
    }

    /// A stolen owner cannot be removed, so the others continue without them.
    @Test func aGroupIsContinued() throws {
        let circle = try Circle("alice", "bob", "carol", "mallory")
        try circle.team("alice", "bob", "carol", "mallory")
        try circle.group("alice", "role", "team", "mallory", "owner")
        try circle.settle()
        #expect(try circle["alice"].run("group", ["remove", "team", "mallory"]).status == 12)
        let mallory = circle["mallory"].identity.id.description
        try circle.group("bob", "continue", "--without", mallory, "team")
        #expect(circle.take("mallory").isEmpty)
        // Carol does not know Bob, but both are members of the group that is continued.
        for who in ["alice", "carol"] {
            let run = try circle.read(who)
            #expect(run.status == 0)
            let events = try run.records.flatMap { $0.body["events"]?.array ?? [] }
            #expect(events.contains { $0.object?["continues"] != nil }, "\(run.text)")
            let list = try circle.must(who, "group", ["list", "--json"]).records
            let id = try #require(
                list.first { $0["standing"] == .string("invited") }?["id"]?.string)
            try circle.group(who, "accept", id)
        }
        try circle.settle()
        try circle.group("bob", "sync", "team")
        try circle.settle()
        // The name means the new group.
        #expect(try Set(["alice", "bob", "carol"].map { try circle.state($0) }).count == 1)
        try circle.say("carol", "without mallory")
        #expect(circle.take("mallory").isEmpty)
        #expect(try circle.texts("alice") == ["without mallory"])
        #expect(
            try circle.must("bob", "group", ["show", "team"]).records[0]["rank"] == .string("owner")
        )
    }

    /// A long invitation has several bodies, which may arrive in any order. The newcomer then has the cards of all members.
    @Test func aLongInvitationArrivesInAnyOrder() throws {
        let names = ["alice"] + (1...12).map { "p\($0)" }
        let circle = try Circle(names + ["last"])
        try circle.team(names)
        try circle.group("alice", "invite", "team", "last")
        let lines = circle.take("last")
        #expect(lines.count > 1)
        #expect(try circle.read("last", lines.reversed()).status == 0)
        try circle.group("last", "accept", "team")
        let run = try circle.must("last", "encrypt", ["--group", "team"], "hello")
        #expect(!run.stderr.contains("does not get the message"), "\(run.stderr)")
        let copies = try run.records.filter { $0["suite"] == .string("group") }
        #expect(copies.count == names.count)
    }

    /// A file is encrypted and uploaded once for all members.
    @Test func aFileIsUploadedOnce() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.must(
            "alice", "keygen", ["set", "--relay", "tcp://relay.example:7", "alice.key"])
        try circle.team("alice", "bob", "carol")
        circle.home.files.write("file", Array("a file".utf8))
        let sealed = try circle.must("alice", "encrypt", ["--group", "team", "--attach", "file"])
        let blobs = try sealed.records.filter { $0["type"] == .string("blob") }
        #expect(blobs.count == 1)
        #expect(blobs[0]["to"] == .string(circle["alice"].identity.id.description))
        let copies = try sealed.records.filter { $0["suite"] == .string("group") }
        #expect(copies.count == 2 && copies[0]["blob"] == copies[1]["blob"])
        for line in sealed.lines where !line.contains(#""type":"blob""#) {
            let to = try JSON.object(parsing: Array(line.utf8))["to"]?.string
            let who = to == circle["bob"].identity.id.description ? "bob" : "carol"
            try circle.read(who, [line])
        }
        let files = try ["bob", "carol"].map { try circle[$0].history("team")[0].body["blob"] }
        #expect(files[0] == files[1])
        #expect(files[0]?.object?["relay"] == .string("tcp://relay.example:7"))
    }

    // MARK: Order and loss

    /// A message that arrives before its chain waits for it.
    @Test func aMessageWaitsForItsChain() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "one")
        try circle.say("alice", "two")
        let lines = circle.take("bob")
        #expect(lines.count == 3)
        let early = try circle.read("bob", Array(lines[1...].reversed()))
        #expect(early.status == 0 && early.stdout.isEmpty, "\(early.stderr)")
        let late = try circle.read("bob", [lines[0]])
        #expect(try late.records.compactMap { $0.body["text"]?.string } == ["two", "one"])
    }

    /// A message names a change which was lost. It is read, and its author sends the change again.
    @Test func aLostChangeIsAskedFor() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "before")
        try circle.settle()
        try circle.group("alice", "rename", "team", "crew")
        _ = circle.take("bob")
        try circle.say("alice", "after", to: "crew")
        #expect(try circle.texts("bob") == ["after"])
        #expect(try circle.state("alice", "crew") != circle.state("bob"))
        try circle.group("bob", "sync")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        #expect(try circle.history("bob", "crew") == ["before", "after"])
        #expect(try circle.state("alice", "crew") == circle.state("bob", "crew"))
    }

    /// The records of a change may be lost before they are encrypted: the next message brings the change.
    @Test func aChangeThatWasNotSentComesWithTheNextMessage() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.must("alice", "group", ["rename", "team", "crew"])
        try circle.say("alice", "hello", to: "crew")
        #expect(try circle.texts("bob") == ["hello"])
        #expect(try circle.history("bob", "crew") == ["hello"])
    }

    /// `group sync` tells a removed person if the records of the removal were lost.
    @Test func whoWasRemovedIsTold() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.must("alice", "group", ["remove", "team", "carol"])
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        #expect(try circle.must("carol", "group", ["list", "--text"]).text.contains("left"))
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
    }

    @Test func c15ChangesInAnyOrderGiveOneState() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        try circle.group("bob", "timer", "team", "1w")
        try circle.group("alice", "rename", "team", "crew")
        try circle.group("alice", "policy", "crew", "pin=admin")
        for who in ["alice", "bob", "carol"] {
            let lines = circle.take(who)
            let run = try circle.read(who, Array((lines + lines).shuffled()))
            // A repeated message of a session is reported.
            #expect([0, 13, 15].contains(run.status), "\(run.stderr)")
        }
        #expect(
            Set(try ["alice", "bob", "carol"].map { try circle.state($0, "crew") }).count == 1)
    }

    // MARK: Authority

    @Test func c1AMemberCannotInviteWithoutTheRank() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob")
        try circle.must("bob", "contact", ["add", circle["carol"].card])
        let run = try circle["bob"].run("group", ["invite", "team", "carol"])
        #expect(run.status == 12 && run.stdout.isEmpty, "\(run.stderr)")
    }

    @Test func c2ARemovedMemberReadsNothingLater() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("alice", "before")
        try circle.say("bob", "before too")
        try circle.settle()
        try circle.group("alice", "remove", "team", "carol")
        try circle.texts("bob")
        try circle.texts("carol")
        for who in ["alice", "bob"] {
            try circle.say(who, "after")
            #expect(circle.take("carol").isEmpty)
        }
        #expect(try circle.history("carol") == ["before", "before too"])
        // A copy that Carol gets in another way does not open.
        try circle.say("alice", "later")
        let copies = circle.take("bob")
        try circle.read("bob", copies)
        let stolen = copies.map {
            $0.replacing(
                circle["bob"].identity.id.description, with: circle["carol"].identity.id.description
            )
        }
        #expect(try !circle.read("carol", stolen).text.contains("later"))
        let run = try circle["carol"].run("encrypt", ["--group", "team"], stdin: Array("x".utf8))
        #expect(run.status == 12 && run.stdout.isEmpty, "\(run.stderr)")
        #expect(try circle.must("carol", "group", ["list", "--text"]).text.contains("left"))
    }

    /// C17: a message that was sent before the removal counts, also if it arrives later; one after it does not.
    @Test func c17ARemovedMemberWritesNothingLater() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("carol", "early")
        let early = circle.take("bob")
        try circle.texts("alice")
        try circle.group("alice", "remove", "team", "carol")
        try circle.texts("bob")
        // Carol does not read her mail, and goes on.
        try circle.say("carol", "late")
        let late = circle.take("bob")
        #expect(try circle.read("alice").status == 12)
        // Bob gets the message from before the removal only now.
        #expect(try circle.read("bob", early).status == 0)
        let run = try circle.read("bob", late)
        #expect(run.status == 12, "\(run.stderr)")
        for who in ["alice", "bob"] { #expect(try circle.history(who) == ["early"]) }
    }

    @Test func c7OnlyAModeratorDeletesTheMessagesOfOthers() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "rude")
        try circle.settle()
        let deletion = try circle.must("carol", "compose", ["delete", "-1", "--with", "team"])
        let refused = try circle["carol"].run("encrypt", ["--jsonl"], stdin: deletion.stdout)
        #expect(refused.status == 12 && !refused.text.contains("envelope"), "\(refused.stderr)")
        try circle.group("alice", "role", "team", "carol", "moderator")
        try circle.settle()
        try circle.compose("carol", ["delete", "-1", "--with", "team"])
        try circle.settle()
        for who in ["alice", "bob", "carol"] {
            #expect(try circle.history(who).isEmpty, "\(who)")
            #expect(try circle[who].history("team").first?["deleted"] == .bool(true))
        }
        // Only its author edits a message.
        try circle.say("bob", "mine")
        try circle.settle()
        #expect(
            try circle["carol"].run("compose", ["edit", "-1", "--with", "team"], stdin: [120])
                .status != 0)
    }

    /// A moderator can delete a message before it is read: members know the ids of the next messages. It is printed all the
    /// same.
    @Test func c7AnEarlyDeletionByAModeratorHidesNothing() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "role", "team", "carol", "moderator")
        try circle.settle()
        try circle.say("bob", "early")
        try circle.settle()
        try circle.say("bob", "late")
        let late = circle.take("alice")
        try circle.settle()
        try circle.compose("carol", ["delete", "-1", "--with", "team"])
        try circle.settle()
        let run = try circle.read("alice", late)
        #expect(try run.records.compactMap { $0.body["text"]?.string } == ["late"], "\(run)")
        #expect(try circle.history("alice") == ["early"])
    }

    /// A member says in a deletion that the message of another is their own.
    @Test func c7ADeletionWithAFalseAuthorChangesNothing() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "stays")
        try circle.settle()
        let id = try #require(try circle["carol"].history("team")[0]["id"]?.string)
        let line: JSONObject = [
            "v": .integer(1), "type": .string("message"), "group": .string("team"),
            "body": .object([
                "type": .string("delete"),
                "target": .object([
                    "id": .string(id), "from": .string(circle["carol"].identity.id.description),
                ]),
            ]),
        ]
        try circle.post("carol", line.serialized() + [10])
        try circle.settle()
        for who in ["alice", "bob", "carol"] { #expect(try circle.history(who) == ["stays"]) }
    }

    @Test func onlyAdminsWriteAnnouncements() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob", options: ["--preset", "announcements"])
        try circle.say("alice", "welcome")
        #expect(try circle.texts("bob") == ["welcome"])
        let run = try circle["bob"].run("encrypt", ["--group", "team"], stdin: Array("x".utf8))
        #expect(run.status == 12 && run.stdout.isEmpty, "\(run.stderr)")
        #expect(try circle["bob"].run("history", ["unread"]).text.contains("1"))
    }

    /// A welcome that was written before a newcomer joined waits unread for the newcomer.
    @Test func aWelcomeWaitsForNewcomers() throws {
        let circle = try Circle("alice", "bob")
        try circle.group("alice", "create", "--preset", "announcements", "team")
        try circle.say("alice", "welcome")
        try circle.group("alice", "invite", "team", "bob")
        try circle.texts("bob")
        try circle.group("bob", "accept", "team")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        #expect(try circle.history("bob") == ["welcome"])
        #expect(try circle["bob"].history("team")[0]["unread"] == .bool(true))
    }

    @Test func participantsSayWhenTheyJoined() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let people = try circle.must("bob", "group", ["participants", "--json", "team"]).records
        #expect(people.count == 2 && people.allSatisfy { $0["joined"]?.string != nil })
    }

    @Test func theCreatorAloneRenamesInKecaleksPreset() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob", options: ["--preset", "creator"])
        #expect(try circle["bob"].run("group", ["rename", "team", "mine"]).status == 12)
        #expect(try circle["bob"].run("group", ["remove", "team", "alice"]).status == 12)
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        #expect(try circle.must("bob", "group", ["list", "--text"]).text.contains("crew"))
    }

    /// A member writes a body about a group to the group: it could look like an event, and is not shown.
    @Test func aForgedEventIsRefused() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let group = try #require(circle.must("bob", "group", ["show", "team"]).records[0]["id"])
        let body: JSON = .object([
            "type": .string("group"), "group": group,
            "events": .array([.object(["event": .string("left"), "who": .string("all")])]),
        ])
        func line(_ name: String, _ value: JSON) -> [UInt8] {
            let record: JSONObject = [
                "v": .integer(1), "type": .string("message"), name: value, "body": body,
            ]
            return record.serialized() + [10]
        }
        let refused = try circle["bob"].run("encrypt", ["--jsonl"], stdin: line("group", group))
        #expect(refused.status == 12 && !refused.text.contains("envelope"))
        // Over a session its events are ignored.
        try circle.post("bob", line("to", .string(circle["alice"].identity.id.description)))
        let run = try circle.read("alice")
        #expect(run.status == 0 && run.stdout.isEmpty, "\(run.text)")
        // In a chat it has no authenticated sender.
        let phrase = Array("abandon ability able about above absent\n".utf8)
        let made = try circle["bob"].run(
            "keygen", ["chat", "--name", "c", "--phrase", "@FD:0", "-o", "c.chat"], stdin: phrase)
        #expect(made.status == 0, "\(made.stderr)")
        let record: JSONObject = [
            "v": .integer(1), "type": .string("message"), "body": body,
        ]
        let sealed = try circle["bob"].run(
            "encrypt", ["--chat", "c.chat", "--jsonl"], stdin: record.serialized() + [10])
        let opened = try circle["alice"].run(
            "decrypt", ["--chat", "c.chat"], stdin: sealed.stdout)
        #expect(opened.status == 65 && !opened.text.contains("events"), "\(opened.text)")
    }

    // MARK: Invitations

    @Test func anInvitationIsDeclined() throws {
        let circle = try Circle("alice", "bob")
        try circle.group("alice", "create", "team", "bob")
        try circle.texts("bob")
        #expect(try circle.must("bob", "group", ["list", "--text"]).text.contains("invited"))
        let declined = try circle.must("bob", "group", ["decline", "team"])
        #expect(declined.stdout.isEmpty)
        #expect(try circle["bob"].run("group", ["decline", "team"]).status == 1)
        try circle.say("alice", "before bob joins")
        #expect(circle.take("bob").isEmpty)
        // A new invitation is shown again.
        try circle.group("alice", "invite", "team", "bob")
        try circle.texts("bob")
        try circle.group("bob", "accept", "team")
        try circle.texts("alice")
        try circle.say("alice", "hello")
        #expect(try circle.texts("bob") == ["hello"])
    }

    /// The invitation of a stranger waits as a request, and that of a blocked person is dropped.
    @Test func strangersAndTheBlockedDoNotInvite() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.must("carol", "contact", ["add", circle["bob"].card])
        try circle.group("carol", "create", "trap", "bob")
        let run = try circle.read("bob")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try run.records.first?["type"] == .string("request"))
        #expect(try circle["bob"].run("group", ["list"]).status == 1)
        try circle.must("bob", "contact", ["block", "alice"])
        try circle.group("alice", "create", "team", "bob")
        #expect(try circle.read("bob").stdout.isEmpty)
        #expect(try circle["bob"].run("group", ["list"]).status == 1)
    }

    @Test func whoLeavesIsNoMember() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "bye")
        try circle.group("bob", "leave", "team")
        try circle.settle()
        for who in ["alice", "carol"] {
            #expect(try circle.history(who) == ["bye"])
            #expect(
                try !circle.must(who, "group", ["participants", "--text", "team"]).text.contains(
                    "bob"))
        }
        try circle.say("alice", "to carol")
        #expect(circle.take("bob").isEmpty)
        #expect(try circle.texts("carol") == ["to carol"])
    }

    /// C19: a member who is no contact cannot make others connect to an address.
    @Test func c19TheRelayOfAMemberMustBeListed() throws {
        let circle = try Circle("alice", "bob", "carol")
        for who in ["alice", "carol"] {
            try circle.must(
                who, "keygen", ["set", "--relay", "tls://inner.\(who).example:7", "\(who).key"])
            let card = try circle.must(who, "keygen", ["public", "\(who).key"])
            circle.home.files.write("\(who).card", card.stdout)
        }
        try circle.must("alice", "contact", ["add", "carol.card"])
        for who in ["bob", "carol"] { try circle.must(who, "contact", ["add", "alice.card"]) }
        try circle.team("alice", "bob", "carol")
        let id = circle["carol"].identity.id.description
        func relay(status: Int32) throws -> JSON? {
            let sealed = try circle["bob"].run(
                "encrypt", ["--group", "team", "--elsewhere"], stdin: Array("hello".utf8))
            #expect(sealed.status == status, "\(sealed.stderr)")
            try circle.deliver(sealed)
            return try sealed.records.last { $0["to"]?.string == id }?["relay"]
        }
        #expect(try relay(status: 15) == nil)
        // Nothing tells her of a change until the relay is listed. Then she gets what she lacks.
        let named = try circle.must("bob", "group", ["nickname", "team", "Bobby"])
        let told = try circle.must("bob", "encrypt", ["--jsonl"], named.text)
        #expect(try !told.records.contains { $0["to"]?.string == id })
        #expect(told.stderr.contains("not listed by the group"), "\(told.stderr)")
        try circle.deliver(told)
        try circle.settle()
        // The order of the list does not matter.
        try circle.group(
            "alice", "policy", "team",
            "relays=tls://relay.example.org:7,tls://inner.carol.example:7")
        try circle.group("alice", "policy", "team", "relays=tls://inner.carol.example:7")
        try circle.settle()
        #expect(try relay(status: 0) == .string("tls://inner.carol.example:7"))
        try circle.settle()
        #expect(try circle.history("carol") == ["hello", "hello"])
        #expect(try circle.state("carol") == circle.state("bob"))
        // A former member still tells the members.
        let left = try circle.must("bob", "group", ["leave", "team"])
        let last = try circle.must("bob", "encrypt", ["--jsonl"], left.text).records
        let toCarol = last.last { $0["to"]?.string == id }
        #expect(toCarol?["relay"] == .string("tls://inner.carol.example:7"), "\(last)")
    }

    // MARK: Visibility and lifetimes

    @Test func aNewcomerSeesWhoGrantsIt() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", options: ["--visibility", "granted"])
        try circle.group("alice", "grant", "team", "bob")
        try circle.group("alice", "invite", "team", "carol")
        try circle.texts("carol")
        try circle.group("carol", "accept", "team")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.say("alice", "not for carol")
        #expect(circle.take("carol").isEmpty)
        #expect(try circle.texts("bob") == ["not for carol"])
        try circle.say("carol", "for all")
        #expect(try circle.texts("alice") == ["for all"])
        #expect(
            try circle.must("alice", "group", ["participants", "--text", "team"]).text.contains(
                "does not see your messages"))
        try circle.group("alice", "grant", "team", "carol")
        try circle.say("alice", "for carol too")
        #expect(try circle.texts("carol") == ["for carol too"])
        // The earlier message stands before those that Carol knew, and is Alice's.
        #expect(try circle.history("carol") == ["not for carol", "for all", "for carol too"])
        let earlier = try circle["carol"].history("team")[0]
        #expect(earlier["from"] == .string(circle["alice"].identity.id.description))
        #expect(earlier["authenticated"] == .bool(true) && earlier["unread"] == .bool(true))
        let same = try circle["bob"].history("team")[0]["id"]
        #expect(earlier["id"] == same)
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
        // A removal ends the grant.
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.group("alice", "invite", "team", "carol")
        try circle.texts("carol")
        try circle.group("carol", "accept", "team")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.say("alice", "not for carol again")
        #expect(try circle.texts("carol") == [])
    }

    /// `--all` means the members who need a grant.
    @Test func allPresentMembersAreGranted() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol", options: ["--visibility", "granted"])
        try circle.group("alice", "grant", "team", "carol")
        try circle.settle()
        try circle.say("alice", "one")
        try circle.settle()
        #expect(try circle.history("bob") == [] && circle.history("carol") == ["one"])
        let granted = try circle.group("alice", "grant", "team", "--all")
        #expect(
            granted.stderr
                == "group: 1 more member can read your messages; later members need another grant\n"
        )
        try circle.settle()
        #expect(try circle.history("bob") == ["one"])
        let again = try circle.group("alice", "grant", "team", "--all")
        #expect(again.stdout.isEmpty && again.stderr.contains("already"))
        for usage in [["team"], ["team", "bob", "--all"]] {
            #expect(try circle["alice"].run("group", ["grant"] + usage).status == 64)
        }
    }

    /// With the visibility `global` a newcomer gets the earlier messages of each author.
    @Test func aNewcomerGetsEarlierMessages() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", options: ["--visibility", "global"])
        try circle.say("alice", "one")
        try circle.settle()
        try circle.say("bob", "two")
        try circle.settle()
        try circle.group("alice", "invite", "team", "carol")
        try circle.texts("carol")
        try circle.group("carol", "accept", "team")
        for who in ["alice", "bob", "alice"] {
            try circle.settle()
            try circle.group(who, "sync")
        }
        try circle.settle()
        #expect(Set(try circle.history("carol")) == ["one", "two"])
        #expect(try circle.history("bob") == ["one", "two"])
    }

    /// C14: who shows earlier messages shows only their own, and changes no message that is there.
    @Test func c14AGrantBringsNoMessagesOfOthers() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol", options: ["--visibility", "granted"])
        try circle.group("bob", "grant", "team", "alice")
        try circle.say("bob", "by bob")
        try circle.settle()
        let known = try #require(try circle.place(ofLastBy: "bob"))
        let group = try #require(circle.must("alice", "group", ["show", "team"]).records[0]["id"])
        func claim(_ place: JSONObject, _ text: String) -> JSON {
            .object([
                "place": .object(place), "time": .string("2026-01-01T00:00:00Z"),
                "from": .string(circle["bob"].identity.id.description),
                "body": .object(["type": .string("text"), "text": .string(text)]),
            ])
        }
        let line: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "to": .string(circle["alice"].identity.id.description),
            "body": .object([
                "type": .string("group"), "group": group,
                "history": .array([
                    claim(known, "in a chain of bob"),
                    claim(
                        ["signingKey": .base64(randomBytes(32)), "iteration": .integer(0)],
                        "in the name of bob"),
                ]),
            ]),
        ]
        try circle.post("carol", line.serialized() + [10])
        try circle.settle()
        let messages = try circle["alice"].history("team")
        #expect(
            messages.compactMap { $0.body["text"]?.string } == [
                "in a chain of bob", "in the name of bob", "by bob",
            ])
        let carol = JSON.string(circle["carol"].identity.id.description)
        #expect(messages.dropLast().allSatisfy { $0["from"] == carol })
        #expect(messages.last?["from"] == .string(circle["bob"].identity.id.description))
    }

    @Test func theTimerOfAGroupIsOnItsMessages() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.group("alice", "timer", "team", "1h")
        try circle.say("alice", "short")
        let opened = try circle.read("bob").records.first { $0.body["text"] != nil }
        #expect(opened?.body["expires"]?.object?["after"] == .integer(3600))
    }

    /// Only a change of the group sets its timer.
    @Test func theTimerOfAMemberHasNoEffectAndSaysSo() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let id = try #require(
            circle.must("bob", "group", ["show", "team"]).records[0]["id"]?.string)
        try circle.post(
            "bob",
            Array(
                #"{"v":1,"type":"message","group":"\#(id)","body":{"type":"timer","seconds":5}}"#
                    .utf8))
        let words = "[tried to set a timer, which has no effect here]"
        #expect(try circle.read("alice", nil, ["--text"]).text.contains(words))
        #expect(
            try circle.must("alice", "history", ["page", "--text", "team"]).text.contains(words))
        try circle.say("bob", "kept")
        let opened = try circle.read("alice").records.first { $0.body["text"] != nil }
        #expect(opened != nil && opened?.body["expires"] == nil)
    }

    // MARK: The command line

    /// A group whose name is the id of another group does not get its messages.
    @Test func anIDIsNoName() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob")
        let id = try #require(
            circle.must("alice", "group", ["show", "team"]).records[0]["id"]?.string)
        let made = try circle.must("alice", "group", ["create", id, "carol"])
        try circle.post("alice", made.stdout)
        try circle.texts("carol")
        try circle.group("carol", "accept", circle.onlyGroup("carol"))
        try circle.settle()
        try circle.say("alice", "for the team", to: id)
        #expect(try circle.texts("carol") == [])
        #expect(try circle.texts("bob") == ["for the team"])
        let short = try circle["alice"].run("encrypt", ["--group", String(id.prefix(16))])
        #expect(short.status != 64, "\(short.stderr)")
    }

    /// A change of a removed person that only one member has does not make that member unreadable.
    @Test func aLastChangeOfARemovedMemberIsNamed() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        let change = try circle.must("carol", "group", ["nickname", "team", "cc"]).records
        let second = try circle.must("carol", "group", ["nickname", "team", "dd"]).records
        let bob = JSON.string(circle["bob"].identity.id.description)
        for record in change + second where record["to"] == bob {
            try circle.post("carol", record.serialized() + [10])
        }
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.say("bob", "after it")
        for _ in 0..<3 {
            for name in ["alice", "bob"] {
                try circle.settle()
                try circle.group(name, "sync")
            }
        }
        try circle.settle()
        #expect(try circle.history("alice") == ["after it"])
        #expect(try circle.state("alice") == circle.state("bob"))
    }

    /// C15: many changes of one member with one number do not lock the group.
    @Test func c15AMemberWithManyForksIsRemoved() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        let log = try circle.must("bob", "group", ["log", "team"]).records
        let last = try GroupChange(#require(log.last))
        let group = try #require(last.group)
        let bob = circle["bob"].identity
        let seq = try log.map { try GroupChange($0) }.filter { $0.by == bob.id }.count + 1
        let forks = try (0..<600).map { number in
            try GroupChange(
                .set(.nickname("bob \(number)")), in: group, by: bob.signingKey, seq: Int64(seq),
                parents: [last.id])
        }
        for start in stride(from: 0, to: forks.count, by: 50) {
            var body = GroupBody(group)
            body.changes = try forks[start..<start + 50].map {
                try JSON.object(parsing: $0.bytes)
            }
            let line: JSONObject = [
                "v": .integer(1), "type": .string("message"),
                "to": .string(circle["alice"].identity.id.description),
                "body": .object(body.record),
            ]
            try circle.post("bob", line.serialized() + [10])
        }
        // The fork is reported once.
        let run = try circle.read("alice")
        #expect(run.status == 15, "\(run.stderr)")
        try circle.group("alice", "remove", "team", "bob")
        #expect(
            try circle.must("alice", "group", ["participants", "--json", "team"]).records.count == 1
        )
    }

    /// A reader may not write messages, and shows no earlier ones.
    @Test func aReaderShowsNoMessages() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob", options: ["--visibility", "global"])
        try circle.group("alice", "policy", "team", "post=admin")
        try circle.settle()
        let group = try #require(circle.must("alice", "group", ["show", "team"]).records[0]["id"])
        let shown: JSONObject = [
            "place": .object([
                "signingKey": .base64(randomBytes(32)), "iteration": .integer(0),
            ]),
            "time": .string("2026-01-01T00:00:00Z"),
            "body": .object(["type": .string("text"), "text": .string("by a reader")]),
        ]
        let line: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "to": .string(circle["alice"].identity.id.description),
            "body": .object([
                "type": .string("group"), "group": group,
                "history": .array([.object(shown)]),
            ]),
        ]
        try circle.post("bob", line.serialized() + [10])
        try circle.settle()
        #expect(try circle["alice"].history("team").isEmpty)
    }

    /// C15: a member continues a group once; more invitations are requests.
    @Test func c15AGroupIsContinuedOnce() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        for _ in 0..<3 {
            try circle.post("bob", circle.must("bob", "group", ["continue", "team"]).stdout)
        }
        try circle.settle()
        #expect(try circle.must("carol", "group", ["list", "--json"]).records.count == 2)
    }

    @Test func aNameOfBothAGroupAndAContactIsTheContacts() throws {
        let circle = try Circle("alice", "bob")
        let made = try circle.group("alice", "create", "bob", "bob")
        let composed = try circle.must("alice", "compose", ["text", "bob"], "x").records
        #expect(composed[0]["to"] == .string(circle["bob"].identity.id.description))
        #expect(try circle["alice"].run("encrypt", ["--group", "bob"], stdin: [120]).status == 64)
        // The group has another name, and the text names it.
        let id = try circle.must("alice", "group", ["show", "bob"]).records[0]["id"]?.string ?? ""
        let name = "bob (\(id.prefix(8)))"
        #expect(made.stderr.contains("created \(name), id"))
        try circle.say("alice", "x", to: name)
    }

    @Test func anInvitationDoesNotTakeTheNameOfAContact() throws {
        let circle = try Circle("alice", "bob")
        try circle.group("alice", "create", "alice", "bob")
        try circle.texts("bob")
        let composed = try circle.must("bob", "compose", ["text", "alice"], "x").records
        #expect(composed[0]["to"] == .string(circle["alice"].identity.id.description))
    }

    @Test func unknownGroupsAreReported() throws {
        let circle = try Circle("alice", "bob")
        #expect(try circle["alice"].run("group", ["show", "none"]).status == 66)
        #expect(try circle["alice"].run("group", ["list"]).status == 1)
        let run = try circle["alice"].run("encrypt", ["--group", "none"], stdin: [120])
        #expect(run.status == 66 && run.stdout.isEmpty)
        #expect(try circle["alice"].run("group", []).status == 64)
    }
}
