import Foundation
import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Messages that were encrypted and not sent. Nothing is stored about it: the history looks up their envelopes in the outbox.
@Suite(.timeLimit(.minutes(60))) struct UnsentTests {
    let circle: Circle
    let clock: MovedClock

    init() throws {
        clock = try MovedClock()
        circle = try Circle("alice", "bob", "carol", clock: clock)
    }

    private var alice: Party { circle["alice"] }

    private func statuses(_ who: String = "bob") throws -> [String?] {
        try alice.history(who).map { $0["status"]?.string }
    }

    private func text(_ who: String = "bob") throws -> String {
        try circle.must("alice", "history", [who, "--text"]).text
    }

    /// Encrypts texts. Returns the lines.
    private func encrypt(_ texts: [String], _ options: String...) throws -> [String] {
        let run = try alice.run(
            "encrypt", ["--to", "bob", "--jsonl"] + options, stdin: lines(texts))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.lines
    }

    /// Encrypts a text for a group.
    private func encrypt(_ text: String, toGroup group: String) throws -> [String] {
        try circle.encrypt("alice", text, ["--group", group])
    }

    // MARK: One person

    @Test func aMessageThatReachedNoOutboxIsNotSent() throws {
        let sealed = try encrypt(["lost"])
        #expect(try statuses() == ["unsent"])
        #expect(try text().contains("lost  [not sent yet]"))
        clock.set(61)
        #expect(try text().contains("lost  [not sent]") && statuses() == ["unsent"])
        #expect(try alice.history("unsent").map { $0.body["text"] } == [.string("lost")])
        clock.set(29 * 86_400)
        #expect(try text().contains("lost  [not sent]"))
        clock.set(31 * 86_400)
        #expect(try text().hasSuffix("lost\n") && statuses() == [nil])
        #expect(try alice.run("history", ["unsent"]).status == 1)
        // It is still in a pipe.
        clock.set(100)
        try alice.queue(sealed)
        #expect(try text().contains("lost  [queued]") && statuses() == ["queued"])
        #expect(try alice.run("history", ["unsent"]).status == 1)
        try alice.settle("stored")
        #expect(try statuses() == ["stored"])
    }

    /// Each line of a batch has its own way, and so has each kind of message.
    @Test func aBatchIsSentInPart() throws {
        let sealed = try encrypt(["one", "two", "three"])
        try alice.queue(Array(sealed[..<2]))
        try alice.settle("stored")
        #expect(try statuses() == ["stored", "stored", "unsent"])
        try circle.must(
            "alice", "encrypt", [],
            try circle.must("alice", "compose", ["react", "-1", "--with", "bob", "👍"]).text)
        let unsent = try alice.history("unsent", "bob").map { $0.body["type"]?.string }
        #expect(unsent == ["text", "reaction"])
        #expect(try circle.must("alice", "history", ["unsent", "--text"]).lines.count == 3)
    }

    @Test func aFileIsHandedOn() throws {
        let file = circle.home.files("envelopes")
        _ = try alice.run("encrypt", ["--to", "bob", "-o", file], stdin: Array("file".utf8))
        #expect(try statuses() == ["handedOn"] && text().contains("file  [handed on]"))
        circle.home.files.write("note", Array("redirected".utf8))
        let status = ChildProcess.run(
            "encrypt", ["--to", "bob", circle.home.files("note")],
            environment: circle.home.environment.merging(alice.environment) { $1 },
            output: circle.home.files("more"))
        #expect(status == 0)
        _ = try encrypt(["to ssh"], "--elsewhere")
        #expect(try statuses() == ["handedOn", "handedOn", "handedOn"])
        #expect(try alice.run("history", ["unsent"]).status == 1)
        #expect(try alice.history("unsent", "--all").count == 3)
        clock.set(31 * 86_400)
        #expect(try alice.run("history", ["unsent", "--all"]).status == 1)
        clock.set(0)
        // The file came back from the stick.
        let back = try circle.home.files.read("envelopes").split(separator: 0x0A)
        try alice.queue(back.map { String(decoding: $0, as: UTF8.self) })
        #expect(try statuses() == ["queued", "handedOn", "handedOn"])
        try alice.settle("rejected 403")
        #expect(try statuses() == ["failed", "handedOn", "handedOn"])
        let run = try alice.run("encrypt", ["--to", "bob", "--stateless", "--elsewhere"])
        #expect(run.status == 64 && run.stderr.contains("--elsewhere"))
    }

    /// A refused message is listed and sent again. One that was dropped is left to its sender.
    @Test func aRefusedMessageIsOfferedAgain() throws {
        try alice.queue(encrypt(["refused"]))
        try alice.settle("rejected 409 conflict")
        try alice.queue(encrypt(["dropped"]))
        try alice.settle("dropped")
        try alice.queue(encrypt(["late"]))
        try alice.settle("expired")
        #expect(try statuses() == ["failed", "failed", "failed"])
        let reasons = try alice.history("bob").map { $0["failure"]?.string }
        #expect(reasons == ["refused", "dropped", "expired"])
        clock.set(61)
        let listed = try circle.must("alice", "history", ["unsent", "--text"])
        #expect(
            listed.lines.count == 2
                && listed.text.contains("refused  [not sent: refused by the relay]"), "\(listed)")
        #expect(listed.stderr.contains("to send it: sotto history repeat bob --send"))
        #expect(try alice.history("unsent", "--all").count == 3)
        let refused = try #require(try alice.history("bob").first?["id"]?.string)
        func wait() throws -> Run {
            try alice.run("history", ["wait", refused, "--timeout", "1s"])
        }
        #expect(try wait().status == 69)
        let record = try circle.must("alice", "history", ["repeat", "bob"]).text
        let again = try circle.encrypt("alice", record, [])
        try alice.queue(again)
        #expect(try statuses() == ["queued", "failed", "failed"])
        let waited = try wait()
        #expect(waited.status == 1 && waited.stderr.contains("did not store"), "\(waited)")
        #expect(try text().contains("refused  [queued]\n"))
        let others = try alice.run("history", ["unsent"])
        #expect(
            others.status == 1 && others.stderr.contains("dropped: sotto history unsent --all"),
            "\(others.stderr)")
        try alice.settle("stored")
        #expect(try statuses() == ["stored", "failed", "failed"])
        #expect(try wait().status == 0)
        #expect(
            try circle["bob"].read(again).records.map { $0.body["text"] } == [.string("refused")])
        #expect(try text().contains("dropped  [not sent: dropped from the outbox]"))
    }

    /// Another home has another outbox, as after ssh. A receipt shows that the message arrived.
    @Test func anotherHomeSends() throws {
        try circle.must("bob", "contact", ["set", "alice", "receipts=on"])
        let sealed = try encrypt(["away"])
        try alice.queue(sealed, in: "other-home")
        #expect(try statuses() == ["unsent"])
        let receipts = circle.home.files("receipts")
        #expect(try circle["bob"].read(sealed, "--receipts", receipts).status == 0)
        let told = try circle["bob"].run("encrypt", [receipts])
        #expect(try alice.read(told.lines).status == 0)
        #expect(try statuses() == ["delivered"])
        #expect(try alice.run("history", ["unsent"]).status == 1)
    }

    /// Two identities share the outbox of a home.
    @Test func anIdentitySeesItsOwnMessages() throws {
        let home = ["SOTTO_HOME": circle.home.files(alice.stateDirectory)]
        let other = circle["carol"].environment.merging(home) { $1 }
        func carol(_ tool: String, _ arguments: [String], _ text: String = "") throws -> Run {
            try circle.home.run(
                tool, arguments, stdin: .whole(Array(text.utf8)), environment: other)
        }
        let hers = try carol("encrypt", ["--to", "bob.card"], "of carol")
        #expect(hers.status == 0)
        let own = try encrypt(["of alice"])
        try alice.queue(hers.lines)
        #expect(try statuses() == ["unsent"])
        #expect(try carol("history", []).records.map { $0["status"] } == [.string("queued")])
        try alice.queue(own)
        try alice.settle("stored")
        #expect(try statuses() == ["stored"])
        #expect(try carol("history", []).records.map { $0["status"] } == [.string("stored")])
    }

    // MARK: Faults

    /// `encrypt` ends between its commit and its output.
    @Test func aProgramThatEndsAfterItsCommitHasSentNothing() throws {
        let pipe = try Pipeline(
            [alice.command("encrypt", ["--to", "bob"])], hasReader: false)
        try pipe.feed(.whole(Array("no reader".utf8)))
        #expect(try pipe.finish()[0].wasKilled == SIGPIPE)
        #expect(try statuses() == ["unsent"])
    }

    /// A program ends between the commit of the outcomes in the state and that in the outbox: they are collected twice.
    @Test func outcomesThatAreCollectedTwiceChangeNothing() throws {
        try alice.queue(encrypt(["one"]))
        try alice.settle("stored")
        let outbox = try alice.outbox()
        let again = try outbox.outcomes().map {
            Outbox.Item(id: $0.id, to: "x", envelope: [0x41])
        }
        #expect(try again.count == 1 && statuses() == ["stored"])
        try outbox.settle(outbox.append(again, relay: "r").map { ($0, "stored") })
        #expect(try statuses() == ["stored"])
        #expect(try outbox.outcomes().isEmpty)
    }

    /// Between its two reads the history never loses a message, whatever `send` and another `history` commit meanwhile.
    @Test func aMessageIsNeverUnsentOnItsWay() throws {
        let store = try alice.store()
        try alice.queue(encrypt(["one"]))
        let outbox = try alice.outbox()
        let entry = try #require(try store.historyEntry(number: 1))
        #expect(try store.departures(of: [entry], in: outbox) == [1: .queued])
        try alice.settle("stored")
        #expect(try store.departures(of: [entry], in: outbox).isEmpty)
        try store.collectOutcomes(from: outbox)
        // The entry was read before the outcome was collected.
        #expect(try entry.state == .new && outbox.outcomes().isEmpty)
        #expect(try store.departures(of: [entry], in: outbox).isEmpty)
    }

    // MARK: Groups

    @Test func aMessageToAGroupIsNotSentUntilACopyIs() throws {
        try circle.team("alice", "bob", "carol")
        let sealed = try encrypt("all", toGroup: "team")
        #expect(try statuses("team") == ["unsent"] && text("team").contains("[not sent yet]"))
        try alice.queue(sealed.filter { $0.contains(#""suite":"group""#) })
        #expect(try statuses("team") == ["queued"])
        let outbox = try alice.outbox()
        let waiting = try alice.waiting()
        try outbox.settle([(waiting[0], "stored")])
        #expect(try statuses("team") == ["queued"])
        try outbox.settle([(waiting[1], "stored")])
        #expect(try statuses("team") == ["stored"])
        // A member got a copy in another way.
        let chains = sealed.filter { !$0.contains(#""suite":"group""#) }
        for line in try chains + encrypt("by hand", toGroup: "team") {
            try circle.deliver(line: line)
        }
        #expect(try statuses("team") == ["stored", "unsent"])
        try circle.settle()
        try circle.compose("bob", ["react", "-1", "--with", "team", "👍"])
        try circle.settle()
        #expect(try statuses("team") == ["stored", nil])
        let file = ["--group", "team", "-o", circle.home.files("copies")]
        #expect(try alice.run("encrypt", file, stdin: Array("on a stick".utf8)).status == 0)
        #expect(try statuses("team") == ["stored", nil, "handedOn"])
        // Nobody gets a message to a group without others.
        try circle.must("alice", "group", ["create", "alone"])
        #expect(try encrypt("me", toGroup: "alone").isEmpty)
        #expect(try statuses("alone") == [nil])
        let told = try circle.must("alice", "encrypt", ["--group", "alone"], "me again").stderr
        #expect(told.contains("alone has no other member yet: the message reaches no one"))
    }

    /// A message to a group that no relay took is sent to all again.
    @Test func aRefusedMessageToAGroupIsOfferedAgain() throws {
        try circle.team("alice", "bob", "carol")
        try alice.queue(encrypt("all", toGroup: "team"))
        try alice.settle("rejected 409 conflict")
        #expect(try statuses("team") == ["failed"])
        clock.set(61)
        #expect(try alice.history("unsent").map { $0.body["text"] } == [.string("all")])
        let record = try circle.must("alice", "history", ["repeat", "team"]).text
        let again = try circle.encrypt("alice", record, [])
        try alice.queue(again)
        #expect(try statuses("team") == ["queued"])
        try alice.settle("stored")
        #expect(try statuses("team") == ["stored"])
        for line in again { try circle.deliver(line: line) }
        try circle.settle()
        #expect(try circle.history("bob") == ["all"] && circle.history("carol") == ["all"])
    }

    /// A member whose copy alone was refused lacks the message, and gets it with `group sync`.
    @Test func aMemberWhoseCopyIsRefusedGetsItLater() throws {
        try circle.team("alice", "bob", "carol")
        let sealed = try encrypt("all", toGroup: "team")
        try alice.queue(sealed)
        let carol = circle["carol"].identity.id.description
        let outbox = try alice.outbox()
        for (number, item) in try outbox.waiting(relay: "tcp://127.0.0.1:1", after: 0, limit: 100) {
            try outbox.settle([(number, item.to == carol ? "rejected 409 conflict" : "stored")])
        }
        for line in sealed where !line.contains(carol) { try circle.deliver(line: line) }
        try circle.settle()
        clock.set(61)
        #expect(try statuses("team") == ["stored"])
        #expect(try lacking("alice") == ["all": [.string(carol)]])
        try circle.group("alice", "sync", "team")
        try circle.settle()
        #expect(try circle.history("bob") == ["all"] && circle.history("carol") == ["all"])
        #expect(try lacking("alice").isEmpty)
    }

    private static let relay = "tls://inner.carol.example:7"

    /// Creates the group, in which Bob and Carol are no contacts. No rule lists Carol's relay.
    private func makeTeamWithUnlistedCarol() throws {
        try circle.must("carol", "keygen", ["set", "--relay", Self.relay, "carol.key"])
        let card = try circle.must("carol", "keygen", ["public", "carol.key"])
        circle.home.files.write("carol.card", card.stdout)
        try circle.must("alice", "contact", ["add", "carol.card"])
        try circle.team("alice", "bob", "carol")
    }

    /// Encrypts input of Bob, which then waits in his outbox and reaches the mailboxes of the test.
    private func send(
        _ input: [UInt8], _ arguments: String..., status: Int32 = 0
    ) throws -> Run {
        let sealed = try circle["bob"].run("encrypt", arguments, stdin: input)
        guard sealed.status == status else { throw Unexpected(sealed) }
        try circle["bob"].queue(sealed.lines)
        try circle["bob"].settle("stored")
        try circle.deliver(sealed)
        try circle.settle()
        return sealed
    }

    /// The messages that are listed as not sent, and the members who lack them.
    private func lacking(_ who: String) throws -> [String: [JSON]] {
        let run = try circle[who].run("history", ["unsent", "--json"])
        guard run.status == 0 else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: try run.records.map {
                ($0.body["text"]?.string ?? "", $0["lacking"]?.array ?? [])
            })
    }

    /// A member whose relay the group does not list gets the messages after it is listed, with the next message, `group sync` or
    /// `history repeat`. Until then they are listed as not sent to this member.
    @Test(arguments: ["say", "sync", "repeat"])
    func aMemberWithAnUnlistedRelayGetsTheMessagesLater(_ way: String) throws {
        try makeTeamWithUnlistedCarol()
        let id = circle["carol"].identity.id
        let sent = try send(Array("hello".utf8), "--group", "team", status: 15)
        let note =
            "encrypt: note: carol \(id.description.prefix(16))… gets nothing: their relay \(Self.relay) is not listed by the group; if you trust this relay, ask an admin to list it\n"
        #expect(sent.stderr.hasSuffix(note) && !sent.stderr.contains("error"), "\(sent.stderr)")
        let quiet = try send(Array("still there".utf8), "-q", "--group", "team", status: 15)
        #expect(
            quiet.stderr == "encrypt: error: a message was not encrypted to 1 member of team\n",
            "\(quiet.stderr)")
        #expect(try circle.history("alice") == ["hello", "still there"])
        #expect(try circle.history("carol").isEmpty)
        clock.set(61)
        let bob = circle["bob"]
        let carol = [JSON.string(id.description)]
        #expect(try lacking("bob") == ["hello": carol, "still there": carol])
        let listed = try circle.must("bob", "history", ["unsent", "--text"])
        #expect(listed.text.components(separatedBy: "[not sent to carol").count == 3)
        #expect(listed.stderr.contains("to send it: sotto group sync team --send"))
        #expect(
            try circle.must("bob", "history", ["--text", "team"]).text.contains("[not sent to "))
        // The cause is not gone.
        let early = try circle.must("bob", "history", ["repeat", "team"])
        #expect(early.stdout.isEmpty && early.stderr.contains("sotto group sync team --send"))
        #expect(try lacking("bob").count == 2)
        try circle.group("alice", "policy", "team", "relays=\(Self.relay)")
        try circle.settle()
        var texts = ["hello", "still there"]
        switch way {
        case "sync":
            try circle.group("bob", "sync", "team")
        case "repeat":
            let told = try circle.must("bob", "history", ["repeat", "team"])
            #expect(told.stdout.isEmpty && told.stderr.contains("sotto group sync team --send"))
            // The envelopes are lost in the pipe, and a minute later the messages count as not sent.
            let lost = try circle.must("bob", "group", ["sync", "team"])
            #expect(try bob.run("encrypt", ["--jsonl"], stdin: lost.stdout).status == 0)
            #expect(try lacking("bob").isEmpty)
            clock.set(200)
            #expect(try lacking("bob").count == 2)
            try circle.group("bob", "sync", "team")
        default: break
        }
        if way != "say" {
            try circle.settle()
            #expect(try circle.history("carol") == texts)
            #expect(try lacking("bob").isEmpty)
        }
        texts.append("next")
        let next = try send(Array("next".utf8), "--group", "team")
        #expect(!next.stderr.contains("gets nothing"), "\(next.stderr)")
        let toCarol = try next.records.last { $0["to"] == .string(id.description) }
        #expect(toCarol?["relay"] == .string(Self.relay))
        #expect(try circle.history("carol") == texts && circle.history("alice") == texts)
        #expect(try bob.run("history", ["unsent"]).status == 1)
    }

    /// A member whose key is not trusted gets nothing, like one whose relay is not listed.
    @Test func aMemberWhoIsRefusedGetsTheMessagesLater() throws {
        try circle.team("alice", "bob", "carol")
        let refused = try alice.run(
            "encrypt", ["--group", "team", "--trust", "verified"], stdin: Array("one".utf8))
        #expect(refused.status == 15 && refused.stdout.isEmpty, "\(refused.stderr)")
        for name in ["bob", "carol"] {
            #expect(refused.stderr.contains("\(name) does not get the message"))
        }
        clock.set(61)
        #expect(try lacking("alice").mapValues(\.count) == ["one": 2])
        try circle.say("alice", "two")
        try circle.settle()
        for name in ["bob", "carol"] { #expect(try circle.history(name) == ["one", "two"]) }
        #expect(try lacking("alice").isEmpty)
    }

    /// A member who may change the rules is told the command.
    @Test func anAdminListsTheRelayOfAMember() throws {
        try makeTeamWithUnlistedCarol()
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        let sent = try send(Array("one".utf8), "--group", "team", status: 15)
        let group = try circle.groupID("bob").short
        let command = "sotto group policy \(group) 'relays=\(Self.relay)'"
        #expect(
            sent.stderr.hasSuffix(
                "; if you trust this relay, list it: \(command) | sotto encrypt | sotto send\n"),
            "\(sent.stderr)")
        try circle.group("bob", "policy", group, "relays=\(Self.relay)")
        try circle.settle()
        #expect(try send(Array("two".utf8), "--group", "team").stderr.contains("nothing") == false)
        #expect(try circle.history("carol") == ["one", "two"])
    }

    /// A group lists at most eight relays. The command for a ninth would fail.
    @Test func noCommandListsANinthRelay() throws {
        try makeTeamWithUnlistedCarol()
        let listed = (1...8).map { "tcp://relay\($0).example:7" }.joined(separator: ",")
        try circle.group("alice", "policy", "team", "relays=\(listed)")
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        let sent = try send(Array("one".utf8), "--group", "team", status: 15)
        #expect(sent.stderr.hasSuffix("; a group lists at most 8 relays\n"), "\(sent.stderr)")
    }

    @Test func theOutboxNamesNoGroup() throws {
        try circle.team("alice", "bob", "carol")
        let group = try circle.onlyGroup("alice")
        try alice.queue(encrypt("secret", toGroup: "team"))
        let id = try #require(try alice.history("team")[0]["id"]?.string)
        let rows = try alice.outbox().read("SELECT envelope FROM outbox") { $0.bytes(0) }
        #expect(rows.count == 4)
        for row in rows {
            var record = try JSON.object(parsing: row)
            record["payload"] = nil
            let row = String(decoding: record.serialized(), as: UTF8.self)
            for word in [group, "team", "alice", "bob", id, "secret"] {
                #expect(!row.contains(word), "\(word)")
            }
        }
    }
}

extension Run {
    /// The lines of messages without their numbers and times, and without the mark of messages that the test does not send.
    var messageLines: [String] {
        let lines = lines.filter { !$0.hasPrefix("--") }
        // The columns end after the minutes and a space.
        let columns = lines.first?.prefix { $0 != ":" }.count ?? 0
        return lines.map { String($0.dropFirst(columns + 4)).withoutUnsentMark }
    }
}

extension String {
    /// The line without the mark of a message that the test delivers by hand.
    var withoutUnsentMark: String {
        for mark in ["  [not sent yet]", "  [not sent]", "  [handed on]"] where hasSuffix(mark) {
            return String(dropLast(mark.count))
        }
        return self
    }
}
