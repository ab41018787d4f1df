import Testing

@testable import SottoChat

/// The header says which relay is in trouble: the user's own or that of a contact.
struct RelayTroubleTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol
    private let own = "tcp://own.example:1"
    private let other = "tls://other.example:2"

    private func stage(columns: Int = 80) -> ChatStage {
        var stage = ChatStage.withBob(columns: columns, rows: 8, [ChatStage.message(1, "hi")])
        stage.enter("x")
        stage.make("compose text", 2)
        return stage
    }

    private func header(_ stage: ChatStage) -> String {
        String(stage.screen.prefix { $0 != "\n" })
    }

    /// Tells that a message waits for a relay.
    private func queue(_ stage: inout ChatStage, _ number: Int64 = 2, relay: String) {
        let known = stage.answers["send --list"]?.lines ?? []
        stage.answers["send --list"] = (
            known + [ChatStage.queued(number, relay: relay + "#sha256=x")], 0
        )
        stage.print("send", ChatStage.result(number, "queued", relay: relay))
        stage.wait()
    }

    @Test func theRelayOfAContactIsNamed() {
        var stage = stage()
        queue(&stage, relay: other)
        #expect(header(stage).hasSuffix(" bob's relay not reached  1 waiting"), "\(stage.screen)")
        #expect(
            stage.screen.contains("cannot reach \(other); what waits is sent when it answers"),
            "\(stage.screen)")
        // In the list too.
        stage.press(.escape)
        #expect(header(stage).contains("bob's relay not reached"))
        // The mail of others comes, so their signals count.
        stage.print("recv", ChatStage.signal("presence", "online", from: carol))
        #expect(header(stage).contains("online: carol"))
    }

    @Test func theOwnRelayIsNamed() {
        var stage = stage()
        stage.say("recv", "recv: note: cannot reach \(own): connection refused; trying again")
        #expect(header(stage).hasSuffix(" your relay not reached  1 waiting"))
        // A message to another relay changes nothing.
        stage.print("send", ChatStage.result(2, "stored", relay: other))
        #expect(header(stage).contains("your relay not reached"), "\(stage.screen)")
        stage.print("send", ChatStage.result(3, "stored", relay: own))
        #expect(header(stage).contains("reconnecting"))
        stage.say("recv", "recv: note: reconnected to \(own)")
        #expect(!header(stage).contains("relay") && !header(stage).contains("reconn"))
    }

    @Test func aRelayThatAnswersEndsNoOtherTrouble() {
        var stage = stage()
        queue(&stage, relay: other)
        stage.print("send", ChatStage.result(3, "stored", relay: own))
        #expect(header(stage).contains("bob's relay not reached"))
        stage.say("recv", "recv: note: reconnected to \(own)")
        #expect(header(stage).contains("bob's relay not reached"))
        stage.answers["send --list"] = ([], 1)
        stage.print("send", ChatStage.result(2, "stored", relay: other))
        #expect(!header(stage).contains("reached"))
    }

    @Test func severalRelaysAreCounted() {
        var stage = stage()
        queue(&stage, relay: other)
        queue(&stage, 3, relay: "tcp://third.example:3")
        stage.press(.escape)
        #expect(header(stage).contains("2 relays not reached"))
        // What another program gives up is no trouble.
        stage.answers["send --list"] = ([], 1)
        stage.print("send", ChatStage.result(4, "stored", relay: own))
        stage.wait()
        #expect(!header(stage).contains("reached"), "\(stage.screen)")
    }

    /// The relay of a person who is no contact has its address.
    @Test func aRelayOfOthersHasItsAddress() {
        for columns in [40, 80] {
            var stage = stage(columns: columns)
            let stranger = "05" + String(repeating: "ee", count: 32)
            stage.answers["send --list"] = (
                [ChatStage.queued(9, relay: other, to: stranger)], 0
            )
            stage.print("send", ChatStage.result(3, "queued", relay: other))
            stage.wait()
            let words = columns == 40 ? "other.exampl… gone" : "other.example:2 not reached"
            #expect(header(stage).contains(words), "\(stage.screen)")
        }
    }

    @Test func aRelayThatIsFullIsReached() {
        var stage = stage()
        stage.answers["send --list"] = ([ChatStage.queued(2, relay: other)], 0)
        stage.print("send", ChatStage.result(2, "deferred", "mailbox full", relay: other))
        stage.wait()
        #expect(header(stage).contains("bob's relay takes nothing now"), "\(stage.screen)")
        #expect(stage.screen.contains("mailbox full"))
    }

    @Test func aLongNameLeavesRoom() {
        var stage = stage(columns: 40)
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, "Bartholomäus von und zu Musterhausen")], 0
        )
        stage.store(#"{"v":1,"type":"changes","lists":["contacts"]}"#)
        queue(&stage, relay: other)
        #expect(header(stage).hasSuffix("Barth…'s relay gone  1 waiting"), "\(stage.screen)")
    }
}
