import Glibc
import Sotto
import TestSupport
import Testing

/// `sotto chat` with a group, in terminals, with a relay.
@Suite(.needs(.tmux), .timeLimit(.minutes(60))) struct GroupChatTests {
    private let circle: Circle
    private let stage: ChatStage

    init() throws {
        circle = try Circle("alice", "bob", "carol", "dave")
        stage = try ChatStage(circle.home)
        try circle.team("alice", "bob", "carol")
        try circle.group("bob", "nickname", "team", "bobby")
        try circle.settle()
    }

    private var alice: Party { circle["alice"] }
    private var bob: Party { circle["bob"] }
    private var carol: Party { circle["carol"] }

    /// Bob and Carol are no contacts of each other.
    private func label(_ party: Party, _ nickname: String) -> String {
        "\(nickname) \(party.identity.id.description.prefix(8))"
    }

    @Test func membersTalk() throws {
        let (left, middle, right) = (
            try stage.chat(alice, with: "team"), try stage.chat(bob, with: "Team"),
            try stage.chat(carol, with: "team")
        )
        try left.waitFor(" # team  3 members · you: owner")
        try middle.waitFor(" # team  3 members · you: member")
        try right.waitFor("you: member")
        try left.enter("friday?")
        try left.waitFor("me  friday?")
        #expect(try middle.waitFor("friday?").hasSuffix("alice  friday?"))
        #expect(try right.waitFor("friday?").hasSuffix("alice  friday?"))
        try middle.enter("/reply at 7")
        try left.waitFor("bob  ┃ me: friday?")
        try right.waitFor("at 7")
        try right.waitFor("\(label(bob, "bobby"))  ┃ alice: friday?")
        try right.enter("/react 👍")
        try left.waitFor("      👍 carol")
        try middle.waitFor("      👍 \(label(carol, "carol"))")
        try middle.enter("/members")
        try middle.waitFor("── members: name, rank, nickname, id ──")
        try middle.press("Escape")
        try middle.waitForEnd(of: "── members: name, rank, nickname, id ──")
        try middle.enter("/help")
        try middle.waitFor("Alt-Enter")
        try middle.press("Escape")
        try middle.waitForEnd(of: "Alt-Enter")
        try middle.press("C-d")
        try middle.waitFor("ended 0")
        // The number of unread messages is shown, and they count as read then.
        try left.enter("bring a rope")
        try right.waitFor("bring a rope")
        try stage.must(bob, "recv -q | decrypt -q > /dev/null")
        let again = try stage.chat(bob, with: "team")
        try again.waitFor("1 unread")
        try again.waitFor("bring a rope")
        // A line is sent after the messages were marked.
        for _ in 0..<500 where try unread(bob) != 0 { usleep(20_000) }
        #expect(try unread(bob) == 0)
        try again.enter("yes")
        try again.waitFor("me  yes ✓")
    }

    private func unread(_ party: Party) throws -> Int64? {
        try party.history("unread").last?["unread"]?.integer
    }

    /// The author sees who read a message, in its mark.
    @Test func theAuthorSeesWhoRead() throws {
        for party in [bob, carol] {
            try stage.must(party, "contact set alice receipts=on")
        }
        let (left, right) = (
            try stage.chat(alice, with: "team"), try stage.chat(bob, with: "team")
        )
        try left.waitFor("3 members")
        try right.waitFor("you: member")
        try left.enter("friday?")
        try right.waitFor("friday?")
        try left.waitFor("me  friday? ✓ 1/2 got it, 1 read")
        #expect(try alice.history("team")[0]["status"]?.string == "stored")
        try stage.must(
            carol, "recv -q | decrypt -q --receipts told > /dev/null && encrypt -q told | send -q")
        try left.waitFor("me  friday? ✓✓ 2/2 got it, 1 read")
        #expect(try alice.history("team")[0]["receipts"]?.array?.count == 2)
    }

    /// Members join, leave and rename the group while others talk. A program that runs already writes to newcomers.
    @Test func changesAreShownAndPassedOn() throws {
        let (left, right) = (
            try stage.chat(alice, with: "team"), try stage.chat(bob, with: "team")
        )
        try left.waitFor("3 members")
        try right.waitFor("3 members")
        try right.enter("one")
        try left.waitFor("one")
        try stage.must(alice, "group rename team crew | encrypt -q | send -q")
        try right.waitFor("*   alice named the group crew")
        try right.enter("two")
        try left.waitFor("two")
        let dave = circle["dave"]
        try stage.must(alice, "group invite -q crew dave | encrypt -q | send -q")
        try stage.must(dave, "recv -q | decrypt -q > /dev/null")
        // The invitation is a question in a separate line.
        let list = try stage.chat(dave)
        try list.waitFor("invites you to the group “crew”")
        try list.answer("C-n", until: "declined")
        try list.press("C-d")
        try list.waitFor("ended ")
        try stage.must(alice, "group invite -q crew dave | encrypt -q | send -q")
        try stage.must(dave, "recv -q | decrypt -q > /dev/null")
        try stage.must(dave, "group accept -q crew --nickname davy | encrypt -q | send -q")
        try left.waitFor("*   dave joined the group")
        // Alice's chat tells Bob of it, and Bob's chat writes to Dave.
        try right.waitFor("davy \(dave.identity.id.description.prefix(8)) joined the group")
        try right.enter("welcome")
        let new = try stage.chat(dave, with: "crew")
        #expect(try new.waitFor("welcome").hasSuffix("\(label(bob, "bobby"))  welcome"))
        try new.enter("thank you")
        try right.waitFor("\(label(dave, "davy"))  thank you")
        try left.waitFor("dave  thank you")
        try stage.must(alice, "group remove -q crew dave | encrypt -q | send -q")
        try right.waitFor("alice removed \(label(dave, "davy"))")
        try new.waitFor("*   alice removed you")
        try new.enter("hello?")
        try new.waitFor("you are not a member of the group")
        try right.enter("we are three")
        try left.waitFor("we are three")
        #expect(try !new.lines().contains { $0.contains("we are three") })
    }

    /// Only the contacts with typing=on hear of it, in the conversation of the group.
    @Test func typingInAGroupIsShown() throws {
        try stage.must(bob, "contact set alice typing=on")
        let (left, right) = (
            try stage.chat(alice, with: "team"), try stage.chat(bob, with: "team")
        )
        try left.waitFor("3 members")
        try right.waitFor("3 members")
        // A signal is lost if the other side does not receive yet; a chat sends the next one after ten seconds.
        try left.wait("bob does not type") { lines in
            try? right.type("l")
            return lines.contains { $0.contains("bob is typing") }
        }
    }

    @Test func aDeletedGroupSaysSoAndLeavesTheList() throws {
        let right = try stage.chat(bob, with: "team")
        try right.waitFor("3 members")
        try stage.must(alice, "group delete -q --yes team | encrypt -q | send -q")
        try right.waitFor("*   alice deleted the group")
        try right.waitFor(" # team  deleted for all")
        try right.enter("hello?")
        try right.waitFor("the group was deleted")
        try right.press("C-u")
        try right.press("Escape")
        try right.waitFor("1   alice")
        #expect(try !right.lines().contains { $0.contains("team") })
    }

    @Test func anInvitationIsTakenBack() throws {
        let left = try stage.chat(alice, with: "team", columns: 100)
        try left.waitFor("3 members")
        try left.enter("/invite dave")
        let list = try stage.chat(circle["dave"])
        try list.waitFor("invites you to the group “team”")
        try left.enter("/members")
        try left.waitFor("invited, no answer yet")
        try left.press("Escape")
        try left.waitForEnd(of: "invited, no answer yet")
        try left.enter("/remove dave")
        try left.waitFor("? take the invitation of “dave” to the group “team” back?")
        try left.answer("C-y", until: "the invitation of dave is taken back")
        try list.waitForEnd(of: "invites you to the group “team”")
    }

    @Test func membersOfAGroupWithGrantsAreTold() throws {
        try circle.must("alice", "group", ["create", "--visibility", "granted", "room"])
        let left = try stage.chat(alice, with: "room")
        try left.waitFor("1 member · you: owner")
        try stage.must(alice, "group invite -q room bob | encrypt -q | send -q")
        try stage.must(bob, "recv -q | decrypt -q > /dev/null")
        try stage.must(bob, "group accept -q room | encrypt -q | send -q")
        try left.waitFor("*   bob joined the group")
        // A line is a message, whatever it says, and the question stays open.
        try left.waitFor("? show your messages in the group “room” to “bob”?")
        try left.enter("y")
        try left.waitFor("me  y [nobody sees it yet]")
        try left.waitFor("? show your messages in the group “room” to “bob”?")
        try left.answer("C-y", until: "bob sees your messages")
        try left.waitForEnd(of: "? show your messages in the group “room” to “bob”?")
        try left.waitForEnd(of: "[nobody sees it yet]")
        try left.enter("welcome")
        try left.waitFor("me  welcome")
        let right = try stage.chat(bob, with: "room")
        try right.waitFor("alice  y")
        try right.waitFor("welcome")
        for _ in 0..<500 where try circle.history("bob", "room").count < 2 { usleep(20_000) }
        #expect(try circle.history("bob", "room") == ["y", "welcome"])
        #expect(try circle.history("alice", "room") == ["y", "welcome"])
    }

    /// Messages in other conversations are counted in the header.
    @Test func messagesElsewhereAreCounted() throws {
        let left = try stage.chat(alice, with: "bob")
        try left.waitFor("no messages yet")
        try stage.must(bob, "echo hello | encrypt -q --group team | send -q")
        try left.waitFor("1 unread in 1 other")
        #expect(try unread(alice) == 1)
        try stage.must(bob, "echo here | encrypt -q --to alice | send -q")
        #expect(try left.waitFor("here").hasSuffix("bob  here"))
        try left.enter("/open team")
        #expect(try left.waitFor("hello").hasSuffix("bob  hello"))
        try left.waitForEnd(of: "in 1 other")
    }

    @Test func namesAreResolvedAsByCompose() throws {
        try circle.must("alice", "group", ["create", "bob"])
        let part = try stage.sotto(alice, ["chat", "bo"])
        #expect(part.status == 64 && part.stderr.contains("did you mean"))
        let id = try circle.must("alice", "group", ["show", "bob"]).records[0]["id"]?.string ?? ""
        // The lines of a pipe are sent; the group has no other member.
        for name in [String(id.prefix(16)), "bob (\(id.prefix(8)))"] {
            #expect(try stage.sotto(alice, ["chat", name], "one\ntwo").status == 0)
        }
        #expect(try circle.history("alice", id) == ["one", "two", "one", "two"])
        #expect(try stage.sotto(alice, ["chat", "nothing"]).status == 66)
    }
}
