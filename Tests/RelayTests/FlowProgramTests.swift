import Foundation
import Glibc
import Sotto
import SottoWire
import TestSupport
import Testing

/// Message Flow's wire between the built programs, and with an independent client and server.
@Suite struct FlowProgramTests {
    let they: Correspondence

    init() throws {
        they = try Correspondence()
    }

    private var relay: String { they.relay.address }

    /// Makes Alice and Bob contacts with a session as Message Flow has it. Bob's prekeys are at the relay.
    private func meet() throws {
        try they.expect("alice", "contact add bob.card 2>/dev/null")
        try they.expect("bob", "contact add alice.card 2>/dev/null; keygen prekeys | send -q")
        try they.expect("alice", "recv -q --stateless --bundle bob.card > bundle")
        try they.expect("alice", seal("first", "--classic --bundle bundle") + " > first")
        try they.expect("bob", "bridge open flow -q --text first")
    }

    /// Returns the command that writes a record of Message Flow.
    private func seal(_ text: String, _ more: String = "", to: String = "bob") -> String {
        "echo \(text) | bridge seal flow -q --to \(to).card \(more)"
    }

    /// Opens a mailbox. Returns the token that the document calls the access token.
    private func token(of identity: Identity) throws -> String {
        guard case .session(_, let token?, _) = RawClient(relay).login(identity) else {
            throw Peers.Failure(description: "no session")
        }
        return token
    }

    /// Runs the independent program. Returns the lines that it prints.
    @discardableResult
    private func python(_ arguments: String...) throws -> [String] {
        let run = try Peers.run("message_flow.py", arguments)
        try #require(run.status == 0, "\(arguments): \(run.stderr)")
        return run.lines
    }

    private func object(_ line: String) throws -> JSONObject {
        try JSON.object(parsing: Array(line.utf8))
    }

    /// Stores envelopes for Bob that have the form. Returns their ids.
    private func store(_ count: Int) throws -> [String] {
        let client = RawClient(relay)
        return try (0..<count).map { _ in
            let envelope = try FlowSample.envelope(from: they.alice.id, to: they.bob.id)
            #expect(client.ask(.send(envelope)) == .stored)
            return envelope.id
        }
    }

    private func ids(ofPushes lines: [String]) throws -> [String?] {
        try lines.map { try object($0)["message"]?.object?["id"]?.string }
    }

    // MARK: The own programs

    /// `recv` prints what arrives, and `bridge open` takes it, whatever the scheme of the address is.
    @Test(arguments: ["tcp", "ws", "http"]) func messagesGoBothWays(_ scheme: String) throws {
        try meet()
        let wire = "--protocol message-flow --relay \(scheme)://\(relay)"
        let sent = try they.expect(
            "alice", "{ \(seal("one")); \(seal("two")); } | send -q --json \(wire)")
        let sentIDs = sent.map(Sample.id)
        #expect(sent.count == 2 && sent.allSatisfy { $0.contains(#""status":"stored""#) })
        // Bob was away meanwhile.
        let texts = try they.expect(
            "bob", "recv -q \(wire) | tee pushes | bridge open flow -q --text")
        #expect(texts == ["one", "two"])
        let pushes = they.scratch.lines("pushes")
        #expect(try ids(ofPushes: pushes) == sentIDs)
        for push in pushes {
            #expect(push.hasPrefix(#"{"type":"new_message","message":{"id":""#), "\(push)")
        }
        // Nothing is left on the relay, and nothing in the inbox.
        #expect(they.shell("bob", "recv -q").status == 1)
        #expect(they.shell("bob", "recv -q --again").lines.isEmpty)
        try they.expect("bob", seal("back", to: "alice") + " | send -q \(wire)")
        #expect(
            try they.expect("alice", "recv -q \(wire) | bridge open flow -q --text") == ["back"])
    }

    /// A command gets each push, and the relay deletes it when the command succeeds.
    @Test(arguments: ["ws", "http"]) func aCommandGetsEachPush(_ scheme: String) throws {
        let ids = try store(3)
        let wire = "--protocol message-flow --relay \(scheme)://\(relay)"
        let first = they.shell("bob", "recv -q \(wire) --exec 'cat >> failed; false'")
        #expect(first.status == 75, "\(they.errors)")
        #expect(try self.ids(ofPushes: they.scratch.lines("failed")) == ids)
        try they.expect("bob", "recv -q \(wire) --exec 'cat >> got'")
        #expect(try self.ids(ofPushes: they.scratch.lines("got")) == ids)
        #expect(they.shell("bob", "recv -q").status == 1)
    }

    /// More than one answer to a poll, and more than the window of pushes.
    @Test(arguments: ["ws", "http"], ["", "--stateless"])
    func aFullMailboxIsReceived(_ scheme: String, _ option: String) throws {
        let ids = try store(300)
        let wire = "--protocol message-flow --relay \(scheme)://\(relay) \(option)"
        let some = try they.expect("bob", "recv -q \(wire) --max 7")
        let rest = try they.expect("bob", "recv -q \(wire)")
        #expect(some.count == 7)
        #expect(try Set(self.ids(ofPushes: some + rest)) == Set(ids))
        #expect(they.shell("bob", "recv -q \(wire)").status == 1)
    }

    /// Envelopes that the form cannot carry are not lost, and hide nothing.
    @Test(arguments: ["ws", "http"]) func whatHasNoFormWaits(_ scheme: String) throws {
        let client = RawClient(relay)
        for _ in 0..<300 {
            #expect(client.ask(.send(Sample.envelope(to: they.bob.id))) == .stored)
        }
        let ids = try store(2)
        let wire = "--protocol message-flow --relay \(scheme)://\(relay)"
        #expect(try self.ids(ofPushes: they.expect("bob", "recv -q \(wire)")) == ids)
        #expect(try they.expect("bob", "recv -q").count == 300)
    }

    /// An acknowledgement does not name its mailbox, so one for another mailbox than the first needs more.
    @Test(arguments: ["ws", "http"]) func mailToAnAddressIsDeletedThere(_ scheme: String) throws {
        try they.expect("bob", "contact add --name alice alice.card 2>/dev/null")
        try they.expect("bob", "contact address alice > for-alice.card")
        let line = try they.expect(
            "alice", "echo x | encrypt -q --to for-alice.card --stateless")
        let to = try #require(try object(line[0])["to"]?.string.flatMap { KeyID($0) })
        #expect(to != they.bob.id)
        let envelope = try FlowSample.envelope(from: they.alice.id, to: to)
        #expect(RawClient(relay).ask(.send(envelope)) == .stored)
        let ids = try store(2) + [envelope.id]
        let wire = "--protocol message-flow --relay \(scheme)://\(relay)"
        #expect(try Set(self.ids(ofPushes: they.expect("bob", "recv -q \(wire)"))) == Set(ids))
        #expect(they.shell("bob", "recv -q").status == 1)
    }

    /// `send` takes the records in each protocol, and other records in this one.
    @Test func everyRecordIsSentInEachProtocol() throws {
        try meet()
        let other = "echo sealed | encrypt -q --suite sealed --to bob.card"
        for (number, wire) in ["", "--protocol message-flow --relay http://\(relay)"].enumerated() {
            let sent = try they.expect(
                "alice", "{ \(seal("flow\(number)")); \(other); } | send -q --json \(wire)")
            #expect(sent.filter { $0.contains(#""status":"stored""#) }.count == 2, "\(sent)")
        }
        #expect(try they.expect("bob", "recv -q").count == 4)
        let named = they.shell("alice", seal("x", "--user-id alice") + " | send -q")
        #expect(named.status == 65 && they.errors.contains("ids of their keys"), "\(they.errors)")
    }

    @Test func theProtocolIsForMail() {
        for (line, status) in [
            ("recv -q --protocol message-flow --card bob.card", Int32(64)),
            ("recv -q --protocol http", 64), ("send -q --protocol message-flow --list", 64),
            ("recv -q --protocol sotto", 1), ("recv -q --protocol message-flow", 1),
            ("recv -q --protocol message-flow --poll-every 5", 64),
        ] {
            #expect(they.shell("bob", line).status == status, "\(line): \(they.errors)")
        }
    }

    // MARK: An independent client

    /// `bridge open` takes the answer to a poll as it is, and the relay takes its acknowledgements as they are.
    @Test(.needs(.pythonPackages), arguments: [("", "delivered"), ("--read", "read")])
    func anIndependentClientPolls(_ option: String, _ status: String) throws {
        try meet()
        try they.expect("alice", "{ \(seal("one")); \(seal("two")); } > sent; send -q < sent")
        let token = try token(of: they.bob)
        let answer = try python("poll", relay, token)
        #expect(answer.count == 1)
        let sent = they.scratch.lines("sent").map {
            String($0.dropFirst(#"{"type":"new_message","message":"#.count).dropLast())
        }
        #expect(answer == [#"{"success":true,"messages":["# + sent.joined(separator: ",") + "]}"])
        they.scratch.write("answer", Array(answer[0].utf8))
        let texts = try they.expect(
            "bob", "bridge open flow -q --text --ack acks \(option) answer")
        #expect(texts == ["one", "two"])
        let acks = they.scratch.lines("acks")
        let wanted = try they.scratch.lines("sent").map {
            let id = try object($0)["message"]?.object?["id"]?.string ?? ""
            return #"{"messageId":"\#(id)","status":"\#(status)"}"#
        }
        #expect(acks == wanted)
        // Without an acknowledgement the messages are still there.
        #expect(try python("poll", relay, token) == answer)
        let success = #"200 {"success":true}"#
        #expect(try python("ack", relay, token, they.scratch("acks")) == [success, success])
        #expect(try python("poll", relay, token) == [#"{"success":true,"messages":[]}"#])
        // An acknowledgement may be repeated.
        #expect(try python("ack", relay, token, they.scratch("acks")) == [success, success])
    }

    /// Messages that cannot be decrypted are acknowledged as failed, and become dead letters.
    @Test(.needs(.pythonPackages)) func failedMessagesBecomeDeadLetters() throws {
        let ids = try store(1)
        let token = try token(of: they.bob)
        they.scratch.write(
            "acks", Array(#"{"messageId":"\#(ids[0])","status":"failed"}"#.utf8))
        for failures in 0..<WireLimits.failures {
            #expect(try python("poll", relay, token)[0].contains(ids[0]), "\(failures)")
            try python("ack", relay, token, they.scratch("acks"))
        }
        #expect(try python("poll", relay, token) == [#"{"success":true,"messages":[]}"#])
        #expect(try they.expect("bob", "recv -q --dead").map(Sample.id) == ids)
    }

    /// A client that dies between a push and its acknowledgement gets the message again.
    @Test(.needs(.pythonPackages)) func anIndependentClientIsPushedTo() throws {
        let ids = try store(3)
        let token = try token(of: they.bob)
        for _ in 0..<2 {
            let run = try Peers.run(
                "message_flow.py", ["socket", relay, token, "3", "crash"])
            #expect(run.status != 0)
            #expect(try self.ids(ofPushes: run.lines) == [ids[0]])
        }
        // A message to itself comes back at once, in the same form.
        let own = try FlowSample.envelope(from: they.bob.id, to: they.bob.id)
        let push = FlowWire.push(try #require(FlowWire.message(of: own.bytes)))
        they.scratch.write("own", push)
        let lines = try python("socket", relay, token, "4", "read", they.scratch("own"))
        #expect(lines.contains("stored \(own.id)"))
        let pushes = lines.filter { !$0.hasPrefix("stored") }
        #expect(try self.ids(ofPushes: pushes) == ids + [own.id])
        #expect(pushes.last == String(decoding: push.dropLast(), as: UTF8.self))
        try python("empty", relay, token)
    }

    @Test(.needs(.pythonPackages)) func anIndependentClientSends() throws {
        try meet()
        try they.expect("alice", "{ \(seal("one")); \(seal("two")); } > sent")
        let success = #"200 {"success":true}"#
        #expect(try python("send", relay, they.scratch("sent")) == [success, success])
        // The same bytes again are no other message.
        #expect(try python("send", relay, they.scratch("sent")) == [success, success])
        #expect(
            try they.expect(
                "bob", "recv -q --protocol message-flow | bridge open flow -q --text")
                == ["one", "two"])
    }

    @Test(.needs(.pythonPackages)) func aWrongTokenOpensNothing() throws {
        _ = try store(1)
        try python("refused", relay)
        #expect(they.shell("bob", "recv -q").lines.count == 1)
    }

    @Test(.needs(.pythonPackages)) func hostileRecordsEndNothing() throws {
        let ids = try store(1)
        let token = try token(of: they.bob)
        let run = try Peers.run("message_flow.py", ["hostile", relay, token])
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try python("poll", relay, token)[0].contains(ids[0]))
        they.stop()
    }

    // MARK: An independent server

    /// Runs a command with an independent server that has the messages of a file. Returns what the command asked for.
    private func serving(_ kind: String, _ command: String) throws -> [String] {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Peers/message_flow.py").path
        return try they.expect(
            "bob",
            "\(Peer.pythonPackages.path) -I \(script) serve messages \(kind) sh -c '\(command)'")
    }

    /// `recv` and `send` write the document's bytes.
    @Test(.needs(.pythonPackages), arguments: ["http", "ws"])
    func anIndependentServerIsAskedInTheDocumentsForm(_ kind: String) throws {
        let ids = [Envelope.newID(), Envelope.newID()]
        let messages = ids.map { FlowSample.message($0, from: they.alice.id, to: they.bob.id) }
        they.scratch.write("messages", Array(messages.joined(separator: "\n").utf8))
        // The timer of a slow machine must not cause another poll.
        let every = kind == "http" ? "--poll-every 600" : ""
        let asked = try serving(
            kind, "recv -q --protocol message-flow \(every) --relay \"$RELAY\" > got")
        let pushes = messages.map { #"{"type":"new_message","message":\#($0)}"# }
        #expect(they.scratch.lines("got") == pushes)
        let base = "/message-flow"
        if kind == "http" {
            let acks = ids.map { #"ack {"messageId":"\#($0)","status":"delivered"}"# }
            #expect(
                asked == [
                    "GET \(base)/api/messages/poll", "POST \(base)/api/messages/ack", acks[0],
                    "POST \(base)/api/messages/ack", acks[1], "GET \(base)/api/messages/poll",
                ])
        } else {
            let acks = ids.map { #"ack {"type":"ack","messageId":"\#($0)","status":"delivered"}"# }
            #expect(asked == ["path \(base)"] + acks)
        }
        they.scratch.write("out", Array((pushes[0] + "\n").utf8))
        let sent = try serving(
            kind, "send -q --protocol message-flow --relay \"$RELAY\" < out >/dev/null")
        #expect(
            sent
                == (kind == "http"
                    ? ["POST \(base)/api/messages", #"message {"message":\#(messages[0])}"#]
                    : ["path \(base)", "message \(pushes[0])"]))
    }

    /// A message that cannot be read fails nothing but itself, and is not acknowledged.
    @Test(.needs(.pythonPackages), arguments: ["http", "ws"])
    func aBadMessageOfAServerIsPassedOver(_ kind: String) throws {
        let id = Envelope.newID()
        let good = FlowSample.message(id, from: they.alice.id, to: they.bob.id)
        let bad = good.replacing(#""from":""#, with: #""from":"x"#)
        they.scratch.write("messages", Array([bad, good].joined(separator: "\n").utf8))
        let asked = try serving(
            kind, "recv -q --protocol message-flow --relay \"$RELAY\" > got")
        #expect(try ids(ofPushes: they.scratch.lines("got")) == [id])
        #expect(asked.filter { $0.hasPrefix("ack") }.count == 1)
    }
}
