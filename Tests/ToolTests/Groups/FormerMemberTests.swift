import Sotto
import TestSupport
import Testing

/// People who left or were removed, and those who come back although the change that brings them back was lost.
@Suite(.timeLimit(.minutes(60))) struct FormerMemberTests {
    /// The person's place in the group.
    private func standing(_ circle: Circle, _ who: String) throws -> String? {
        let group = try circle.onlyGroup(who)
        return try circle.must(who, "group", ["show", group]).records[0]["standing"]?.string
    }

    /// The people run `group sync` three times: questions, answers, and questions that follow from answers.
    private func sync(_ circle: Circle, _ names: String...) throws {
        for name in names + names + names {
            try circle.group(name, "sync")
            try circle.settle()
        }
    }

    /// A member whose key is revoked gets nothing, and no command names the member as one who lacks something.
    @Test func aRevokedMemberIsToldNothing() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.must("carol", "keygen", ["revoke", "-o", "carol.revocation"])
        let page = circle.home.files("carol.revocation")
        try circle.must("alice", "contact", ["add", page])
        try circle.group("alice", "rename", "team", "crew")
        #expect(circle.take("carol").isEmpty)
        try circle.group("alice", "remove", "crew", "carol")
        let synced = try circle.group("alice", "sync")
        #expect(synced.text.isEmpty && circle.take("carol").isEmpty)
        try circle.settle()
        #expect(try circle.state("alice", "crew") == circle.state("bob", "crew"))
    }

    /// Posts a question of a person for changes.
    private func ask(
        _ circle: Circle, _ who: String, _ other: String, for changes: Set<String>
    ) throws {
        let question: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "to": .string(circle[other].identity.id.description),
            "body": .object([
                "type": .string("group"), "group": .string(try circle.onlyGroup(who)),
                "request": .array(changes.map { .string($0) }),
            ]),
        ]
        try circle.post(who, question.serialized() + [10])
        try circle.settle()
    }

    /// The ids of the changes of a group, as a person has them.
    private func changes(_ circle: Circle, _ who: String) throws -> Set<String> {
        let group = try circle.onlyGroup(who)
        return Set(
            try circle.must(who, "group", ["log", group]).records.map {
                try GroupChange($0).id.description
            })
    }

    /// Bob removes Carol while Alice takes his rank. So Carol stays a member for all who have both changes. She lacks the
    /// second one.
    private func removedInVain() throws -> Circle {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "role", "team", "bob", "moderator")
        try circle.settle()
        try circle.group("alice", "role", "team", "bob", "member")
        let late = circle.take("bob")
        _ = circle.take("carol")
        try circle.group("bob", "remove", "team", circle["carol"].identity.id.description)
        try circle.texts("carol")
        #expect(try standing(circle, "carol") == "left")
        #expect(try circle.read("bob", late).status == 0)
        try circle.settle()
        return circle
    }

    /// A message names the change that the person lacks.
    @Test func aMemberAsksAfterARemovalInVain() throws {
        let circle = try removedInVain()
        try circle.say("alice", "still here")
        try circle.settle()
        #expect(try standing(circle, "carol") == "left")
        #expect(try circle.history("carol") == ["still here"])
        try sync(circle, "carol", "alice")
        #expect(try standing(circle, "carol") == "member")
        #expect(try circle.history("carol") == ["still here"])
        #expect(try circle.state("carol") == circle.state("alice"))
        try circle.say("carol", "back")
        try circle.settle()
        for who in ["alice", "bob"] { #expect(try circle.history(who).contains("back")) }
    }

    /// Another change names the change that the person lacks, and its author answers.
    @Test func anyMemberAnswersAfterARemovalInVain() throws {
        let circle = try removedInVain()
        try circle.group("bob", "nickname", "team", "Bobby")
        try circle.settle()
        try sync(circle, "carol", "bob")
        #expect(try standing(circle, "carol") == "member")
        #expect(try circle.state("carol") == circle.state("alice"))
    }

    /// A change that Bob signed before he learned of his removal is stored by nobody. His next join comes after it.
    @Test func aPersonIsInvitedAgainAfterALateChange() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "remove", "team", "bob")
        let removal = circle.take("bob")
        try circle.group("bob", "nickname", "team", "Bobby")
        try circle.settle()
        _ = try circle.read("bob", removal)
        try circle.group("alice", "invite", "team", "bob")
        try circle.settle()
        try circle.group("bob", "accept", "team")
        try circle.settle()
        try sync(circle, "alice", "bob", "carol")
        for who in ["alice", "bob", "carol"] {
            #expect(try circle.state(who) == circle.state("alice"), "\(who)")
        }
        try circle.say("bob", "back")
        try circle.say("alice", "hello again")
        try circle.settle()
        #expect(try circle.history("carol") == ["back", "hello again"])
        #expect(try circle.history("bob").contains("hello again"))
    }

    /// A message of a second membership, after whose end it arrives, is judged by that end alone.
    @Test func aMessageOfASecondMembershipArrivesLate() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "first")
        try circle.settle()
        try circle.group("alice", "remove", "team", "bob")
        try circle.settle()
        try circle.group("alice", "invite", "team", "bob")
        try circle.settle()
        try circle.group("bob", "accept", "team")
        try circle.settle()
        try circle.say("bob", "second")
        try circle.settle()
        try circle.say("bob", "third")
        let late = circle.take("carol")
        try circle.group("bob", "leave", "team")
        try circle.settle()
        #expect(try circle.read("carol", late).status == 0)
        #expect(try circle.history("carol") == ["first", "second", "third"])
    }

    /// A removed person who asks gets the changes before the removal, and no later one.
    @Test func c2ARemovedPersonLearnsNothingLater() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        let known = try changes(circle, "alice")
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        try circle.group("bob", "nickname", "crew", "Bobby")
        try circle.settle()
        let all = try changes(circle, "alice")
        #expect(all.count == known.count + 2)
        for who in ["alice", "bob"] {
            try ask(circle, "carol", who, for: all)
            let answer = try circle.must(who, "group", ["sync"]).records
            let told = try answer.flatMap { $0.body["changes"]?.array ?? [] }.map {
                try GroupChange($0.object ?? [:]).id.description
            }
            #expect(!told.isEmpty && told.allSatisfy(known.contains), "\(who)")
            try circle.settle()
        }
        #expect(try standing(circle, "carol") == "left")
        #expect(try changes(circle, "carol") == known)
    }

    /// A person who was removed, and was invited again, asks for the lost part of the invitation. It ends where the invitation
    /// is.
    @Test func aLostPartOfAnInvitationIsAskedFor() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        for number in 0..<12 {
            let text = "\(number) " + String(repeating: "a", count: 1_900)
            try circle.group("alice", "about", "team", text)
        }
        try circle.settle()
        try circle.group("alice", "invite", "team", "carol")
        let known = try changes(circle, "alice")
        var invitation = circle.take("carol")
        #expect(invitation.count > 1)
        invitation.removeFirst()
        try circle.read("carol", invitation)
        #expect(try standing(circle, "carol") == "left")
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        // The answer has the changes before the one that Carol asks for, too.
        try sync(circle, "carol", "alice")
        #expect(try standing(circle, "carol") == "invited")
        #expect(try changes(circle, "carol") == known)
        try circle.group("carol", "accept", circle.onlyGroup("carol"))
        try circle.settle()
        #expect(try standing(circle, "carol") == "member")
    }

    /// A person who was never a member asks for the lost part after accepting, and not before.
    @Test func acceptAsksForALostPartOfAnInvitation() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob")
        for number in 0..<12 {
            let text = "\(number) " + String(repeating: "a", count: 1_900)
            try circle.group("alice", "about", "team", text)
        }
        try circle.settle()
        try circle.group("alice", "invite", "team", "carol")
        let known = try changes(circle, "alice")
        var invitation = circle.take("carol")
        #expect(invitation.count > 1)
        invitation.removeFirst()
        try circle.read("carol", invitation)
        try circle.group("alice", "rename", "team", "crew")
        try circle.settle()
        #expect(try circle.must("carol", "group", ["sync"]).stdout.isEmpty)
        let group = try circle.onlyGroup("carol")
        let run = try circle["carol"].run("group", ["accept", group])
        #expect(run.status == 75, "\(run.stderr)")
        try circle.post("carol", run.stdout)
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        #expect(try changes(circle, "carol") == known)
        try circle.group("carol", "accept", group)
        try circle.settle()
        try sync(circle, "alice", "carol")
        #expect(try standing(circle, "carol") == "member")
        #expect(try circle.state("alice", group) == circle.state("carol", group))
    }

    /// The records of `group leave` can be lost before they are encrypted.
    @Test func aLostLeaveIsToldAgain() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.must("bob", "group", ["leave", "team"])
        try sync(circle, "bob")
        for who in ["alice", "carol"] {
            #expect(
                try !circle.must(who, "group", ["participants", "--text", "team"]).text.contains(
                    "bob"))
        }
        #expect(try circle.must("bob", "group", ["sync"]).stdout.isEmpty)
    }
}
