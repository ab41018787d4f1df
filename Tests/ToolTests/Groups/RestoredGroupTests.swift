import Foundation
import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Groups in a backup: the state of a person is lost, and comes back with its groups. The backup can lack the last changes.
@Suite(.timeLimit(.minutes(60))) struct RestoredGroupTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("alice", "one")
        try circle.say("bob", "two")
        try circle.settle()
    }

    /// The record of the group at a person.
    private func show(_ who: String, _ group: String = "team") throws -> JSONObject {
        try circle.must(who, "group", ["show", group]).records[0]
    }

    private func isConfirmed(_ who: String, _ group: String = "team") throws -> Bool {
        try show(who, group)["unconfirmed"] == nil
    }

    /// A person asks the members, they answer, and all read everything.
    private func confirm(_ who: String, _ group: String? = nil) throws {
        try circle.group(who, "sync", group ?? circle.onlyGroup(who))
        try circle.settle()
        for name in circle.people.keys.sorted() where name != who {
            let run = try circle[name].run("group", ["sync"])
            try circle.post(name, run.stdout)
        }
        try circle.settle()
    }

    /// All have the same log and state, without a fork.
    private func expectOneState(_ names: String..., group: String) throws {
        let shown = try names.map { try show($0, group) }
        #expect(shown.allSatisfy { $0["forks"] == nil })
        #expect(Set(shown.map { $0["state"] }).count == 1)
        #expect(Set(shown.map { $0["changes"] }).count == 1)
    }

    /// Everybody writes and everybody reads.
    private func expectConversation(_ names: String..., group: String = "team") throws {
        for name in names {
            try circle.say(name, "from \(name)", to: group)
            try circle.settle()
        }
        // The keys of other members' messages are asked for and come.
        for name in names + names {
            try circle.group(name, "sync", "--keys")
            try circle.settle()
        }
        for name in names {
            let texts = Set(try circle.history(name, group))
            #expect(texts.isSuperset(of: names.map { "from \($0)" }), "\(name): \(texts)")
        }
    }

    /// Without a backup a member brings the group back.
    @Test func aMemberBringsBackAGroup() throws {
        try circle.loseState(of: "bob")
        try circle.must("bob", "contact", ["add", circle["alice"].card])
        #expect(try circle["bob"].run("group", ["list"]).status == 1)
        let run = try circle.group("alice", "invite", "team", "bob")
        #expect(run.stderr.contains("bob is a member already, and gets the group"))
        let read = try circle.read("bob", circle.take("bob"), ["--text"])
        #expect(read.text.contains("[team: you joined the group]"), "\(read.stderr)")
        #expect(try show("bob")["standing"] == .string("member"))
        try circle.settle()
        try expectConversation("alice", "bob", "carol")
        try expectOneState("alice", "bob", "carol", group: "team")
    }

    // MARK: The whole way

    @Test func aLostStateKnowsItsGroups() throws {
        try circle.must("alice", "history", ["read", "-q", "team"])
        try circle.must("alice", "history", ["favourite", "team"])
        try circle.must("alice", "history", ["mute", "team"])
        try circle.must("alice", "history", ["keep", "90d", "team"])
        let before = try (
            show("alice"), circle.must("alice", "group", ["participants", "--json", "team"]).text,
            circle.must("alice", "group", ["log", "team"]).text, circle["alice"].history("list"),
            circle["alice"].history("keep"), circle.history("alice")
        )
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        let run = try circle.restore("alice")
        #expect(run.stderr.contains("history: 1 group restored"))
        #expect(run.stderr.contains("ask members: sotto group sync | sotto encrypt | sotto send"))
        var after = try show("alice")
        #expect(after["unconfirmed"] == .bool(true))
        after["unconfirmed"] = nil
        #expect(after == before.0)
        let people = try circle.must("alice", "group", ["participants", "--json", "team"]).text
        #expect(people == before.1)
        #expect(try circle.must("alice", "group", ["log", "team"]).text == before.2)
        let list = try circle["alice"].history("list")
        #expect(list == before.3, "\(list) is not \(before.3)")
        #expect(try circle["alice"].history("keep") == before.4)
        #expect(try circle.history("alice") == before.5)
        #expect(try circle.must("alice", "group", ["list", "--text"]).text.contains("team"))
        // Until a member confirms it, nothing is written.
        for line in [
            ["rename", "team", "crew"], ["nickname", "team", "Al"], ["leave", "team"],
            ["remove", "team", "bob"], ["role", "team", "bob", "admin"],
        ] {
            let refused = try circle["alice"].run("group", line)
            #expect(refused.status == 75 && refused.stdout.isEmpty, "\(line): \(refused)")
            #expect(refused.stderr.contains("was restored"), "\(refused.stderr)")
        }
        let refused = try circle["alice"].run(
            "encrypt", ["--group", "team"], stdin: Array("early".utf8))
        #expect(refused.status == 75 && refused.stdout.isEmpty)
        // A second import changes nothing.
        let again = try circle.restore("alice")
        #expect(!again.stderr.contains("group restored"))
        try confirm("alice")
        #expect(try isConfirmed("alice"))
        try expectOneState("alice", "bob", "carol", group: "team")
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        try expectConversation("alice", "bob", "carol", group: "crew")
        try expectOneState("alice", "bob", "carol", group: "crew")
        // A confirmed group stays confirmed.
        try circle.restore("alice")
        #expect(try isConfirmed("alice", "crew"))
    }

    /// An answer is an event, and each member is asked for their chain once.
    @Test func theAnswerIsAnEvent() throws {
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        let questions = try circle.must("alice", "group", ["sync"])
        #expect(try questions.records.count == 2)
        for record in try questions.records {
            #expect(record.body["headsRequest"] != nil && record.body["heads"] != nil)
            #expect(record.body["chainRequest"] == .bool(true) && record.body["changes"] == nil)
        }
        try circle.post("alice", questions.stdout)
        // The question waits for an answer.
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
        try circle.texts("carol")
        try circle.group("carol", "sync")
        #expect(try circle.read("alice").stdout.isEmpty)
        // One answer confirms everybody but its author.
        let shown = try circle.must("alice", "group", ["show", "team"])
        #expect(try shown.records[0]["unconfirmed"] == .bool(true))
        #expect(shown.stderr.contains("carol alone has confirmed"), "\(shown.stderr)")
        try circle.texts("bob")
        let answer = try circle.group("bob", "sync")
        #expect(try answer.records.count == 1)
        let read = try circle.read("alice")
        #expect(read.status == 0)
        let events = try read.records.flatMap { $0.body["events"]?.array ?? [] }
            .compactMap(\.object)
        #expect(events.map { $0["event"]?.string } == ["confirmed"])
        #expect(events[0]["name"] == .string("bob"))
        #expect(try isConfirmed("alice"))
        // The chain of Bob came with it: his next message needs no question.
        try circle.say("bob", "three")
        #expect(try circle.texts("alice") == ["three"])
    }

    /// Carol confirms the group first. What Alice writes before the second answer is listed as not sent to Carol, and Carol gets it
    /// after that answer.
    @Test(arguments: ["say", "sync", "repeat"])
    func theFirstWhoConfirmsIsOwedTheMessages(_ way: String) throws {
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        try circle.group("alice", "sync")
        try circle.texts("carol")
        try circle.group("carol", "sync")
        #expect(try circle.read("alice").status == 0)
        let alice = circle["alice"]
        let carol = circle["carol"].identity.id
        let sent = try alice.run(
            "encrypt", ["--group", "team", "--elsewhere"], stdin: Array("who gets this?".utf8))
        #expect(sent.status == 15, "\(sent.stderr)")
        #expect(
            sent.stderr.contains(
                "carol gets nothing until another member confirms the group; to ask: sotto group sync "
            ), "\(sent.stderr)")
        #expect(try sent.records.allSatisfy { $0["to"] != .string(carol.description) })
        try circle.deliver(sent)
        let unsent = try circle.must("alice", "history", ["unsent", "--json"])
        #expect(
            try unsent.records.map { $0["lacking"] } == [.array([.string(carol.description)])])
        let shown = try circle.must("alice", "history", ["unsent", "--text"])
        #expect(shown.text.contains("[not sent to carol]"), "\(shown.text)")
        #expect(shown.stderr.contains("no other member confirmed team"), "\(shown.stderr)")
        let early = try circle.must("alice", "history", ["repeat", "team"])
        #expect(early.stdout.isEmpty && early.stderr.contains("1 message left out until"))
        try circle.texts("bob")
        try circle.group("bob", "sync")
        try circle.texts("alice")
        #expect(try isConfirmed("alice"))
        switch way {
        case "sync": try circle.group("alice", "sync")
        case "repeat":
            let told = try circle.must("alice", "history", ["repeat", "team"])
            #expect(told.stdout.isEmpty && told.stderr.contains("sotto group sync team --send"))
            try circle.group("alice", "sync")
        default: try circle.say("alice", "later")
        }
        try circle.settle()
        #expect(try circle.history("carol").contains("who gets this?"))
        #expect(try circle.history("bob").filter { $0 == "who gets this?" }.count == 1)
        #expect(try alice.run("history", ["unsent"]).status == 1)
        #expect(try circle.must("alice", "history", ["repeat", "team"]).stdout.isEmpty)
    }

    /// A question whose answer was in a lost session is asked again after `contact repair`. Before it, `group sync` says when it asks again.
    @Test func aQuestionInALostSessionIsAskedAgainAfterTheRepair() throws {
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        let restored = try circle.restore("alice").stderr
        let steps = ["sotto contact repair", "sotto group sync"].compactMap {
            restored.range(of: $0)?.lowerBound
        }
        #expect(steps.count == 2 && steps[0] < steps[1], "\(restored)")
        let first = try circle.must("alice", "group", ["sync"])
        try circle.post("alice", first.stdout)
        _ = (circle.take("bob"), circle.take("carol"))
        let again = try circle.must("alice", "group", ["sync"])
        #expect(again.stdout.isEmpty)
        #expect(
            again.stderr.contains("nothing to send: members of team were asked at "),
            "\(again.stderr)")
        #expect(try circle.must("alice", "group", ["sync", "-q"]).stderr.isEmpty)
        let repair = try circle.must("alice", "contact", ["repair", "--json", "bob", "carol"])
        try circle.post("alice", repair.stdout)
        let questions = try circle.must("alice", "group", ["sync"])
        #expect(try questions.records.count == 2)
        for record in try questions.records {
            #expect(record.body["headsRequest"] != nil)
            #expect(record.body["chainRequest"] == .bool(true))
        }
        try circle.post("alice", questions.stdout)
        for name in ["bob", "carol"] {
            try circle.texts(name)
            try circle.group(name, "sync")
        }
        try circle.texts("alice")
        #expect(try isConfirmed("alice"))
    }

    /// Bob's copies are in his mailbox while his state is lost.
    @Test func messagesOfTheTimeBetweenAreRead() throws {
        try circle.backUp("bob")
        try circle.loseState(of: "bob")
        try circle.say("alice", "three")
        try circle.say("carol", "four")
        try circle.texts("alice")
        try circle.texts("carol")
        try circle.restore("bob")
        try circle.texts("bob")
        // Carol's chain came with her first message. Bob has lost the one of Alice.
        #expect(try Set(circle.history("bob")) == ["one", "two", "four"])
        try confirm("bob")
        try circle.group("bob", "sync")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        let texts = try Set(circle.history("bob"))
        #expect(texts == ["one", "two", "three", "four"], "\(texts)")
        try expectConversation("alice", "bob", "carol")
    }

    // MARK: A backup that lacks changes

    /// C6: the numbers of later changes are not used again.
    @Test func c6AStaleBackupMakesNoFork() throws {
        try circle.backUp("alice")
        try circle.group("alice", "rename", "team", "crew")
        try circle.group("alice", "about", "crew", "climbers")
        try circle.group("alice", "role", "crew", "bob", "moderator")
        try circle.settle()
        let state = try circle.state("bob", "crew")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        #expect(try show("alice")["name"] == .string("team"))
        try confirm("alice")
        #expect(try isConfirmed("alice", "crew"))
        #expect(try circle.state("alice", "crew") == state)
        try circle.group("alice", "timer", "crew", "4w")
        try circle.settle()
        try expectOneState("alice", "bob", "carol", group: "crew")
        try expectConversation("alice", "bob", "carol", group: "crew")
    }

    /// C2: a member whom the owner removed after the backup gets no message from the restored state.
    @Test func c2AMemberRemovedAfterTheBackupReadsNothing() throws {
        try circle.backUp("alice")
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        #expect(try show("alice")["members"] == .integer(3))
        #expect(
            try circle["alice"].run("encrypt", ["--group", "team"], stdin: [0x61]).status == 75)
        try confirm("alice")
        #expect(try show("alice")["members"] == .integer(2))
        try circle.say("alice", "without carol")
        #expect(circle.take("carol").isEmpty)
        try circle.settle()
        #expect(try circle.history("bob").last == "without carol")
        try expectOneState("alice", "bob", group: "team")
    }

    /// C2: the member whom the owner removed after the backup answers first, and hides it.
    @Test func c2ARemovedMemberConfirmsNothing() throws {
        let circle = try Circle("alice", "bob", "carol", "dave")
        try circle.team("alice", "bob", "carol", "dave")
        try circle.backUp("alice")
        try circle.group("alice", "remove", "team", "carol")
        _ = circle.take("carol")
        try circle.settle()
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        func readers(_ text: String) throws -> Set<JSON?> {
            let run = try circle["alice"].run(
                "encrypt", ["--group", "team", "--elsewhere"], stdin: Array(text.utf8))
            // The member who confirmed the group first gets nothing yet.
            #expect(run.status == 15, "\(run.stderr)")
            try circle.deliver(run)
            return Set(try run.records.map { $0["to"] })
        }
        func members() throws -> JSON? {
            try circle.must("alice", "group", ["show", "team"]).records[0]["members"]
        }
        let ids = circle.people.mapValues { JSON.string($0.identity.id.description) }
        try circle.group("alice", "sync")
        try circle.texts("carol")
        try circle.group("carol", "sync")
        #expect(try circle.read("alice").status == 0)
        #expect(try members() == .integer(4))
        #expect(try readers("without carol") == [ids["bob"], ids["dave"]])
        #expect(try circle["alice"].run("group", ["rename", "team", "crew"]).status == 75)
        // Bob's answer names the removal, which counts when it is here.
        for name in ["bob", "alice", "bob"] {
            try circle.texts(name)
            try circle.group(name, "sync")
        }
        try circle.texts("alice")
        #expect(try members() == .integer(3))
        #expect(try readers("for dave") == [ids["dave"]])
        #expect(try circle["alice"].run("group", ["rename", "team", "crew"]).status == 75)
        try circle.texts("dave")
        try circle.group("dave", "sync")
        try circle.texts("alice")
        try circle.group("alice", "rename", "team", "crew")
        #expect(try circle.take("carol").allSatisfy { !$0.contains("\"suite\":\"group\"") })
    }

    /// Many own changes and those of others, more than a message holds.
    @Test func aLongAbsenceIsFilled() throws {
        try circle.backUp("alice")
        for number in 0..<30 {
            let text = "\(number) " + String(repeating: "a", count: 1_900)
            try circle.must("alice", "group", ["about", "team", text])
        }
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        for number in 0..<12 {
            let text = "b \(number) " + String(repeating: "b", count: 1_900)
            try circle.must("bob", "group", ["about", "team", text])
        }
        try circle.group("bob", "sync")
        try circle.settle()
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        try confirm("alice")
        #expect(try isConfirmed("alice"))
        try expectOneState("alice", "bob", "carol", group: "team")
        try expectConversation("alice", "bob", "carol")
    }

    /// A person who was removed after the backup learns it.
    @Test func aRemovedPersonLearnsIt() throws {
        try circle.backUp("carol")
        try circle.group("alice", "remove", "team", "carol")
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        try circle.loseState(of: "carol")
        try circle.restore("carol")
        #expect(try show("carol")["standing"] == .string("member"))
        try confirm("carol")
        #expect(try show("carol")["standing"] == .string("left"))
        #expect(try isConfirmed("carol"))
        // Later changes are not told.
        #expect(try show("carol")["name"] == .string("team"))
    }

    @Test func aLeaverLearnsIt() throws {
        try circle.backUp("bob")
        try circle.group("bob", "leave", "team")
        try circle.settle()
        try circle.loseState(of: "bob")
        try circle.restore("bob")
        try confirm("bob")
        #expect(try show("bob")["standing"] == .string("left"))
        try expectOneState("alice", "carol", group: "team")
    }

    /// An invitation of the backup was accepted after it.
    @Test func anAcceptedInvitationIsNotAcceptedAgain() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob")
        try circle.group("alice", "invite", "team", "carol")
        try circle.settle()
        try circle.backUp("carol")
        try circle.group("carol", "accept", "team")
        try circle.settle()
        try circle.loseState(of: "carol")
        try circle.restore("carol")
        #expect(
            try circle.must("carol", "group", ["show", "team"]).records[0]["standing"]
                == .string("invited"))
        #expect(try circle["carol"].run("group", ["accept", "team"]).status == 75)
        try circle.group("carol", "sync")
        try circle.settle()
        for name in ["alice", "bob"] {
            try circle.group(name, "sync")
            try circle.settle()
        }
        let shown = try circle.must("carol", "group", ["show", "team"]).records[0]
        #expect(shown["standing"] == .string("member") && shown["unconfirmed"] == nil)
        #expect(try circle.state("carol") == circle.state("alice"))
    }

    // MARK: Confirmation

    /// Only an answer to this question counts: not one to an earlier question, and none of a person who is no member.
    @Test func anAnswerBelongsToItsQuestion() throws {
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        let questions = try circle.must("alice", "group", ["sync"]).records
        let question = try #require(
            questions[0].body["headsRequest"]?.string.flatMap { bytes(hex: $0) })
        let group = try circle.groupID("bob")
        let heads = try circle.must("bob", "group", ["log", "team"]).records
        var answer = GroupBody(group)
        answer.heads = [try GroupChange(try #require(heads.last)).id]
        answer.headsAnswer = randomBytes(16)
        try circle.tell("bob", "alice", answer)
        try circle.texts("alice")
        #expect(try !isConfirmed("alice"))
        answer.headsAnswer = question
        answer.heads = [GroupID(randomBytes(32))]
        try circle.tell("carol", "alice", answer)
        try circle.texts("alice")
        #expect(try !isConfirmed("alice"))
        answer.heads = [group]
        let mallory = try Party("mallory", in: circle.home)
        try circle.must("alice", "contact", ["add", mallory.card])
        #expect(try mallory.run("contact", ["add", "alice.card"]).status == 0)
        let line: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "to": .string(circle["alice"].identity.id.description),
            "body": .object(answer.record),
        ]
        let sealed = try mallory.run(
            "encrypt", ["--jsonl"], stdin: line.serialized() + [10])
        #expect(sealed.status == 0)
        try circle.deliver(sealed)
        try circle.settle()
        #expect(try !isConfirmed("alice"))
        for name in ["bob", "carol"] {
            #expect(try !isConfirmed("alice"))
            try circle.tell(name, "alice", answer)
            try circle.texts("alice")
        }
        #expect(try isConfirmed("alice"))
    }

    /// C22: a member gets two answers an hour.
    @Test func c22AnswersAreLimited() throws {
        let group = try circle.groupID("alice")
        for number in 0..<4 {
            var question = GroupBody(group)
            (question.headsRequest, question.heads) = (randomBytes(16), [group])
            try circle.tell("bob", "alice", question)
            try circle.texts("alice")
            let answer = try circle.group("alice", "sync")
            #expect(try answer.records.isEmpty == (number >= 2), "\(number)")
            try circle.settle()
        }
    }

    @Test func aGroupWithoutOthersNeedsNoAnswer() throws {
        try circle.must("alice", "group", ["create", "alone"])
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        #expect(try isConfirmed("alice", "alone"))
        try circle.must("alice", "group", ["rename", "alone", "mine"])
        try circle.must("alice", "encrypt", ["--group", "mine"], "note")
        #expect(try circle.history("alice", "mine") == ["note"])
    }

    /// `--anyway` is for a group whose members do not answer.
    @Test func anywayNeedsNoAnswer() throws {
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        try circle.group("alice", "rename", "--anyway", "team", "crew")
        #expect(try isConfirmed("alice", "crew"))
        try circle.settle()
        try expectConversation("alice", "bob", "carol", group: "crew")
        try expectOneState("alice", "bob", "carol", group: "crew")
        try circle.backUp("bob", "bob.age")
        try circle.loseState(of: "bob")
        try circle.restore("bob", "bob.age")
        #expect(try circle["bob"].run("group", ["sync", "--anyway"]).status == 64)
        try circle.group("bob", "sync", "--anyway", "crew")
        #expect(try isConfirmed("bob", "crew"))
        try circle.say("bob", "again", to: "crew")
        try circle.settle()
        #expect(try circle.history("alice", "crew").last == "again")
        try circle.backUp("carol", "carol.age")
        try circle.loseState(of: "carol")
        try circle.restore("carol", "carol.age")
        #expect(try circle["carol"].run("group", ["leave", "crew"]).status == 75)
        try circle.group("carol", "leave", "--anyway", "crew")
        try circle.settle()
        #expect(try show("alice", "crew")["members"] == .integer(2))
    }

    // MARK: What else is in the backup

    /// Grants are kept, and earlier messages are not sent a second time.
    @Test func grantsAreKept() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", options: ["--visibility", "granted"])
        try circle.say("alice", "one")
        try circle.settle()
        try circle.group("alice", "grant", "team", "bob")
        try circle.settle()
        #expect(try circle.history("bob") == ["one"])
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        let table = try circle.must("alice", "group", ["participants", "--json", "team"]).records
        #expect(table.allSatisfy { $0["seesMe"] == .bool(true) })
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.group("bob", "sync")
        try circle.settle()
        let news = try circle.must("alice", "group", ["sync"]).records
        #expect(news.allSatisfy { $0.body["history"] == nil }, "\(news)")
        try circle.say("alice", "two")
        #expect(try circle.texts("bob") == ["two"])
        // A member who is removed and comes back in the meantime needs a new grant.
        try circle.backUp("alice", "second.age")
        try circle.group("alice", "remove", "team", "bob")
        try circle.settle()
        try circle.group("alice", "invite", "team", "bob")
        try circle.settle()
        try circle.group("bob", "accept", "team")
        try circle.settle()
        try circle.loseState(of: "alice")
        try circle.restore("alice", "second.age")
        try circle.group("alice", "sync")
        try circle.settle()
        try circle.group("bob", "sync")
        try circle.settle()
        let later = try circle.must("alice", "group", ["participants", "--json", "team"]).records
        #expect(later.first { $0["me"] == nil }?["seesMe"] == .bool(false), "\(later)")
    }

    /// A member asks for a message that was lost before the state was.
    @Test func aMessageOfBeforeIsSentAgain() throws {
        try circle.say("alice", "three")
        _ = circle.take("bob")
        try circle.texts("carol")
        try circle.say("alice", "four")
        try circle.settle()
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        try confirm("alice")
        for name in ["bob", "alice", "bob", "alice"] {
            try circle.group(name, "sync")
            try circle.settle()
        }
        #expect(try Set(circle.history("bob")) == ["one", "two", "three", "four"])
    }

    @Test func aDeclinedInvitationStaysDeclined() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob")
        try circle.group("alice", "invite", "team", "carol")
        try circle.settle()
        try circle.must("carol", "group", ["decline", "team"])
        try circle.backUp("carol")
        try circle.loseState(of: "carol")
        try circle.restore("carol")
        let shown = try circle.must("carol", "group", ["show", "team"]).records[0]
        #expect(shown["standing"] == .string("left"))
        #expect(try circle.must("carol", "group", ["sync"]).stdout.isEmpty)
        try circle.group("carol", "accept", "team")
        try circle.settle()
        #expect(
            try circle.must("carol", "group", ["show", "team"]).records[0]["standing"]
                == .string("member"))
    }

    /// sotto-formats(5), History backup.
    @Test(.needs(.pythonPackages))
    func theRecordsHaveASchema() throws {
        try circle.must("alice", "history", ["favourite", "team"])
        try circle.must("alice", "history", ["keep", "90d", "team"])
        try circle.must("alice", "history", ["delete", "-q", "1"])
        try circle.backUp("alice")
        let content = try circle["alice"].content(ofBackup: "backup.age")
        #expect(try Peers.invalid(content, schema: "record.json").isEmpty)
        let records = try content.map { try JSON.object(parsing: Array($0.utf8)) }
        let types = Set(records.filter { $0["group"] != nil }.compactMap { $0["type"]?.string })
        #expect(
            types.isSuperset(of: [
                "group-log", "group-member", "conversation-settings", "retention", "tombstone",
            ]), "\(types)")
        let members = records.filter { $0["type"] == .string("group-member") }
        #expect(members.count == 2 && members.allSatisfy { $0["card"] != nil })
        #expect(members.allSatisfy { $0["readsAfter"] != nil })
    }

    // MARK: Hostile and damaged backups

    /// Only a backup that this identity signed restores a group.
    @Test func onlyAnOwnBackupRestoresAGroup() throws {
        try circle.backUp("alice")
        let content = try circle["alice"].content(ofBackup: "backup.age")
        #expect(content.contains { $0.contains("\"type\":\"group-log\"") })
        #expect(content.contains { $0.contains("\"type\":\"group-member\"") })
        #expect(!content.contains { $0.contains("chainKey") || $0.contains("wrapSecret") })
        try circle.loseState(of: "alice")
        let text = content.map { $0 + "\n" }.joined()
        circle.home.files.write("plain.ndjson", Array(text.utf8))
        let plain = try circle["alice"].run("history", ["import", "plain.ndjson"])
        #expect(plain.status != 0)
        // Bob signs a file with the same records for Alice.
        let signed = try circle["bob"].run(
            "encrypt", ["-s", "-r", "alice.card", "--stateless"], stdin: Array(text.utf8))
        circle.home.files.write("foreign.age", signed.stdout)
        #expect(try circle["alice"].run("history", ["import", "foreign.age"]).status == 12)
        #expect(try circle["bob"].run("history", ["import", "backup.age"]).status == 10)
        #expect(try circle["alice"].run("group", ["list"]).status == 1)
    }

    /// A change with a wrong signature, a change of another group and a log without its beginning restore nothing of it.
    @Test func eachChangeIsVerified() throws {
        try circle.backUp("alice")
        let content = try circle["alice"].content(ofBackup: "backup.age")
        let changes = try circle.must("alice", "group", ["log", "team"]).records.count
        try circle.loseState(of: "alice")
        func restore(_ change: (inout [JSON]) -> Void) throws -> Run {
            let lines = try content.map { line -> String in
                var record = try JSON.object(parsing: Array(line.utf8))
                guard record["type"]?.string == "group-log" else { return line }
                var changes = try #require(record["changes"]?.array)
                change(&changes)
                record["changes"] = .array(changes)
                return String(decoding: record.serialized(), as: UTF8.self)
            }
            circle.home.files.write("changed.age", try circle.backup(of: "alice", lines))
            return try circle["alice"].run("history", ["import", "changed.age"])
        }
        let forged = try restore { changes in
            var last = changes[changes.count - 1].object!
            last["time"] = .string("2020-01-01T00:00:00Z")
            changes[changes.count - 1] = .object(last)
        }
        #expect(forged.status == 15 && forged.stderr.contains("signature"), "\(forged)")
        #expect(try show("alice")["changes"] == .integer(Int64(changes - 1)))
        try circle.loseState(of: "alice")
        let gap = try restore { $0.remove(at: 1) }
        #expect(gap.status == 15 && gap.stderr.contains("do not follow"), "\(gap)")
        try circle.loseState(of: "alice")
        let headless = try restore { $0.removeFirst() }
        #expect(headless.status == 15 && headless.stderr.contains("first change"), "\(headless)")
        #expect(try circle["alice"].run("group", ["list"]).status == 1)
    }

    /// A group that cannot be read is reported, and the others are in the backup. An earlier backup heals it.
    @Test func aDamagedGroupIsLeftOut() throws {
        try circle.must("alice", "group", ["create", "alone"])
        try circle.backUp("alice", "before.age")
        try circle["alice"].state { connection throws(StateError) in
            try connection.run(
                """
                UPDATE group_change SET sealed = zeroblob(length(sealed))
                WHERE number = (SELECT min(number) FROM group_change WHERE group_id = 1)
                """)
        }
        let run = try circle["alice"].run("history", ["export", "--backup", "-o", "part.age"])
        #expect(run.status == 74 && run.stderr.contains("team cannot be read"), "\(run.stderr)")
        let healed = try circle.restore("alice", "before.age")
        #expect(healed.stderr.contains("1 group restored"), "\(healed.stderr)")
        #expect(try !isConfirmed("alice"))
        try confirm("alice", "team")
        try expectConversation("alice", "bob", "carol")
        try circle.loseState(of: "alice")
        try circle.restore("alice", "part.age")
        let names = try circle.must("alice", "group", ["list", "--json"]).records.map {
            $0["name"]?.string
        }
        #expect(names == ["alone"])
    }

    /// C16: a killed import is completed when it is repeated.
    @Test func c16AKilledImportIsRepeated() throws {
        // More than one line of changes.
        for number in 0..<200 {
            let text = "\(number) " + String(repeating: "a", count: 1_900)
            try circle.must("alice", "group", ["about", "team", text])
        }
        let state = try circle.state("alice")
        try circle.backUp("alice")
        let content = try circle["alice"].content(ofBackup: "backup.age")
        #expect(content.filter { $0.contains("\"type\":\"group-log\"") }.count > 1)
        #expect(content.allSatisfy { $0.utf8.count < 1 << 19 })
        try circle.loseState(of: "alice")
        try withGenerator { random in
            var moment = KillMoment()
            var (killed, whole) = (0, 0)
            while killed < 20 {
                let run = try KillMoment.kill(
                    circle["alice"].command("history", ["import", "-q", "backup.age"]), [],
                    &moment, &random)
                if run.wasKilled == SIGKILL { killed += 1 } else { whole += 1 }
                // The group is whole, or not there.
                let list = try circle["alice"].run("group", ["list", "--json"])
                if list.status == 0 {
                    let record = try #require(try list.records.first)
                    #expect(record["state"] == .string(state), random.comment)
                    #expect(record["unconfirmed"] == .bool(true), random.comment)
                }
                if whole > 0 {
                    try circle.loseState(of: "alice")
                    whole = 0
                }
            }
            try circle.restore("alice")
            #expect(try circle.state("alice") == state, random.comment)
            #expect(try circle.history("alice") == ["one", "two"], random.comment)
        }
        try confirm("alice")
        #expect(try isConfirmed("alice"))
        try expectConversation("alice", "bob", "carol")
    }
}

extension Circle {
    /// Writes a backup of a person's state.
    func backUp(_ who: String, _ file: String = "backup.age") throws {
        try must(who, "history", ["export", "--backup", "-o", file])
    }

    /// Removes the state of a person.
    func loseState(of who: String) throws {
        try FileManager.default.removeItem(atPath: home.files(self[who].stateDirectory))
    }

    /// Imports a backup of a person.
    @discardableResult
    func restore(_ who: String, _ file: String = "backup.age") throws -> Run {
        try must(who, "history", ["import", file])
    }

    /// A backup with lines, which a person signs.
    func backup(of who: String, _ lines: [String]) throws -> [UInt8] {
        let identity = self[who].identity
        let file = MemorySink()
        let writer = try SignedStreamWriter(
            by: identity.signingKey,
            audience: SignedStream.backupAudience(of: identity.id.description),
            to: AgeFile.writer(
                for: .recipients([.hybrid(identity.hybridKey.recipient)]), to: file))
        for line in lines {
            try Array((line + "\n").utf8).withUnsafeBytes { try writer.write($0) }
        }
        try writer.finish()
        return file.bytes
    }
}

extension Party {
    /// The lines of a backup.
    func content(ofBackup file: String) throws -> [String] {
        let source = try AgeFileReader(
            MemorySource(home.files.read(file)), identities: [.hybrid(identity.hybridKey)],
            passphrase: { nil })
        let signed = try SignedStreamReader(source)
        var content = [UInt8](repeating: 0, count: 8 << 20)
        let count = try content.withUnsafeMutableBytes { try signed.fill($0) }
        return content[..<count].split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
    }
}
