import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// A state that was lost: its owner learns from whom mail claims to be, tells the contacts, and they send again what may be unread.
@Suite(.timeLimit(.minutes(60))) struct LostStateTests {
    let circle: Circle
    let clock: MovedClock

    init() throws {
        clock = try MovedClock()
        circle = try Circle("alice", "bob", "carol", clock: clock)
    }

    private var alice: Party { circle["alice"] }
    private var bob: Party { circle["bob"] }

    /// Alice writes to Bob in a session that he answered.
    private func beginSession() throws {
        let first = try circle.encrypt(
            "alice", "first", ["--to", "bob", "--bundle", bob.bundle(), "--elsewhere"])
        #expect(try bob.read(first).status == 0)
        let answer = try circle.encrypt("bob", "answer", ["--to", "alice", "--elsewhere"])
        #expect(try alice.read(answer).status == 0)
    }

    /// Alice writes texts to Bob that go another way than through her outbox.
    private func write(_ texts: String...) throws -> [String] {
        try texts.flatMap { try circle.encrypt("alice", $0, ["--to", "bob", "--elsewhere"]) }
    }

    private func loseState(of party: Party) throws {
        try FileManager.default.removeItem(atPath: circle.home.files(party.stateDirectory))
        try circle.must(party.name, "contact", ["add", "alice.card"])
    }

    /// Bob's envelopes that tell Alice.
    private func repair(_ arguments: String...) throws -> [String] {
        let records = try circle.must("bob", "contact", ["repair"] + arguments).text
        return try circle.encrypt("bob", records, ["--elsewhere"])
    }

    private func suite(_ envelope: String) throws -> String? {
        try JSON.object(parsing: Array(envelope.utf8))["suite"]?.string
    }

    // MARK: The claimed sender

    @Test func anEnvelopeOfALostSessionNamesTheClaimedSender() throws {
        let begun = try circle.encrypt(
            "alice", "first", ["--to", "bob", "--bundle", bob.bundle(), "--elsewhere"])
        try loseState(of: bob)
        for envelopes in [begun, try write("second")] {
            let run = try bob.read(envelopes)
            #expect(run.status == 10)
            #expect(run.stderr.contains("claims to be from alice"), "\(run.stderr)")
            #expect(run.stderr.contains("sotto contact repair --send"))
            let errors = try run.records.filter { $0["type"] == .string("error") }
            #expect(errors.map { $0["claimedFrom"] } == [.string(alice.identity.id.description)])
        }
        // Nothing was sent or made by an envelope alone.
        #expect(try bob.history("list").isEmpty)
    }

    @Test func theClaimOfAStrangerHasAnId() throws {
        try beginSession()
        let sealed = try write("second")
        try FileManager.default.removeItem(atPath: circle.home.files(bob.stateDirectory))
        try circle.must("bob", "contact", ["add", "carol.card"])
        let run = try bob.read(sealed)
        #expect(run.status == 10 && run.stderr.contains(alice.identity.id.description.prefix(16)))
    }

    @Test func whatCannotBeOpenedIsForgotten() throws {
        try beginSession()
        let sealed = try write("second")
        try loseState(of: bob)
        try bob.receive(sealed)
        #expect(try bob.read(bob.unread()).status == 10)
        let id = try #require(JSON.object(parsing: Array(sealed[0].utf8))["id"]?.string)
        #expect(try bob.run("recv", ["--forget", "bob"]).status == 64)
        #expect(try bob.run("recv", ["--forget", Envelope.newID()]).status == 1)
        #expect(try bob.run("recv", ["--forget", id]).status == 0)
        #expect(try bob.unread().isEmpty)
        #expect(try bob.run("recv", ["--forget", id]).status == 1)
    }

    // MARK: Repairs

    @Test func bothSidesLearnOfALostState() throws {
        try beginSession()
        _ = try write("one", "two")
        try loseState(of: bob)
        let sealed = try repair()
        #expect(try sealed.map(suite) == ["sealed"])
        // At most one a day, also for a named contact.
        for arguments in [["repair"], ["repair", "alice"]] {
            let again = try bob.run("contact", arguments)
            #expect(again.status == 1 && again.stdout.isEmpty)
        }
        let run = try alice.read(sealed, "--text")
        #expect(run.status == 0)
        #expect(
            run.text.contains(
                "[bob lost the messages of a machine; 3 messages of yours may be unread]"))
        #expect(run.text.contains("sotto history repeat bob --send"))
        let shown = try alice.run("history", ["bob", "--text"])
        #expect(shown.text.contains("sotto history repeat bob --send"), "\(shown.text)")
        // Nothing is sent by itself. The next message is not of the old session.
        #expect(try write("three").map(suite) == ["sealed"])
        clock.set(5)
        let begun = try circle.encrypt(
            "alice", "four", ["--to", "bob", "--bundle", bob.bundle(), "--elsewhere"])
        #expect(try begun.map(suite) == ["ratchet"])
        #expect(try bob.read(begun).messages.map(\.text) == ["four"])
        let answer = try circle.encrypt("bob", "five", ["--to", "alice", "--elsewhere"])
        #expect(try answer.map(suite) == ["ratchet"])
        #expect(try alice.read(answer).messages.map(\.text) == ["five"])
        #expect(try write("six").map(suite) == ["ratchet"])
        clock.set(90_000)
        // A session began since.
        #expect(try bob.run("contact", ["repair"]).status == 1)
    }

    @Test func mailOnItsWayIsOpenedAfterARepair() throws {
        try beginSession()
        let late = try circle.encrypt("bob", "late", ["--to", "alice", "--elsewhere"])
        try loseState(of: bob)
        #expect(try alice.read(repair()).status == 0)
        #expect(try alice.read(late).messages.map(\.text) == ["late"])
    }

    @Test func aRepairOfAStrangerIsDropped() throws {
        try circle.must("alice", "contact", ["remove", "bob"])
        let run = try alice.read(repair())
        #expect(run.status == 0 && run.stdout.isEmpty)
        #expect(try alice.run("contact", ["requests"]).stdout.isEmpty)
    }

    @Test func aFloodOfRepairsIsOneEvent() throws {
        try beginSession()
        _ = try write("one")
        let record = #"{"v":1,"type":"message","to":"alice","body":{"type":"repair"}}"#
        let flood = try (0..<20).flatMap { _ in
            try circle.encrypt("bob", record, ["--elsewhere"])
        }
        let run = try alice.read(flood)
        #expect(try run.status == 0 && run.records.count == 1)
        // A replay is seen, and is no news.
        let again = try alice.read(flood)
        #expect(again.status == 0)
        #expect(
            try again.records.allSatisfy { $0["seen"] == .bool(true) } && again.records.count == 1)
        #expect(try alice.history("bob").filter { $0.body["type"] == .string("repair") }.count == 1)
    }

    /// A second loss within a day is news, up to a bound.
    @Test func eachLossIsTold() throws {
        try beginSession()
        _ = try write("one")
        for seconds in [0, 5] {
            clock.set(seconds)
            try loseState(of: bob)
            #expect(try alice.read(repair()).records.count == 1)
            #expect(try write("of no session").map(suite) == ["sealed"])
        }
        let flood = try (0..<20).flatMap { day in
            try circle.encrypt(
                "bob",
                #"{"to":"alice","body":{"type":"repair","since":"2026-01-\#(day + 10)T00:00:00Z"}}"#,
                ["--elsewhere"])
        }
        let run = try alice.read(flood)
        #expect(run.stderr.contains("bob told of more than 8"), "\(run.stderr)")
        #expect(try run.records.filter { $0["type"] == .string("message") }.count == 6)
    }

    /// The members of the event are those of this state, not what the sender claims.
    @Test func aRepairNamesNothingOfItsSender() throws {
        try beginSession()
        let record =
            #"{"v":1,"type":"message","to":"alice","body":{"type":"repair","name":"carol","unread":900,"ids":["00000000-0000-4000-8000-000000000000"]}}"#
        let run = try alice.read(circle.encrypt("bob", record, ["--elsewhere"]))
        #expect(run.status == 0)
        let body = try #require(try run.records.first).body
        #expect(body["name"] == .string("bob") && body["unread"] == .integer(1))
        #expect(body["ids"] == nil)
    }

    @Test func anOldRepairIsNoNews() throws {
        let sealed = try repair()
        clock.set(31 * 86_400)
        let run = try alice.read(sealed)
        #expect(run.status == 0 && run.stdout.isEmpty)
    }

    // MARK: Sending again

    @Test func whatMayBeUnreadIsSentAgainAfterTheUserAgrees() throws {
        try beginSession()
        let answered = try write("answered")
        #expect(try bob.read(answered).status == 0)
        let reply = try circle.must("bob", "compose", ["reply", "-1", "--with", "alice"], "yes")
            .text
        #expect(try alice.read(circle.encrypt("bob", reply, ["--elsewhere"])).status == 0)
        _ = try write("one", "deleted", "two")
        let deletion = try circle.must("alice", "compose", ["delete", "-2", "--with", "bob"]).text
        _ = try circle.encrypt("alice", deletion, ["--elsewhere"])
        try loseState(of: bob)
        #expect(try alice.read(repair()).status == 0)
        clock.set(61)
        let refused = try alice.run("history", ["repeat", "bob"])
        #expect(refused.status == 78 && refused.stdout.isEmpty)
        #expect(refused.stderr.contains("sotto contact set bob repair=auto"), "\(refused.stderr)")
        try circle.must("alice", "contact", ["set", "bob", "repair=auto"])
        let records = try circle.must("alice", "history", ["repeat", "bob"]).text
        let opened = try bob.read(circle.encrypt("alice", records, ["--elsewhere"]))
        #expect(opened.status == 0)
        #expect(try opened.messages.map(\.text) == ["first", "one", "two"])
        clock.set(200)
        #expect(try alice.run("history", ["repeat", "bob"]).stdout.isEmpty)
        // The setting ends with the key.
        let other = try Party("bobby", in: circle.home)
        #expect(try alice.run("contact", ["add", "--name", "bob", other.card]).status == 12)
        try circle.must("alice", "contact", ["accept-key", "bob"])
        let shown = try circle.must("alice", "contact", ["show", "--json", "bob"]).records
        #expect(shown.allSatisfy { $0["repair"] == nil })
    }

    /// On a terminal the question comes each time.
    @Test func aTerminalIsAskedEachTime() throws {
        try beginSession()
        _ = try write("one")
        try loseState(of: bob)
        #expect(try alice.read(repair()).status == 0)
        clock.set(61)
        let records = circle.home.files("records")
        for (answer, status) in [("no\n", Int32(1)), ("yes\n", 0)] {
            let session = try TerminalSession(
                alice.command("history", ["repeat", "bob"]), stdout: records)
            try session.expect("Type yes to send 2 messages again: ")
            try session.type(answer)
            let run = try session.finish()
            #expect(run.status == status, "\(run.text)")
            #expect(try circle.home.files.read("records").isEmpty == (status != 0))
        }
        // What was printed and not sent is asked for again.
        let again = try TerminalSession(
            alice.command("history", ["repeat", "bob"]), stdout: records)
        try again.expect("Type yes to send 2 messages again: ")
        try again.type("no\n")
        #expect(try again.finish().status == 1)
    }

    /// A receipt shows that a message arrived.
    @Test func whatAReceiptNamesIsNotSentAgain() throws {
        try circle.must("bob", "contact", ["set", "alice", "receipts=on"])
        let sealed = try write("arrived", "lost")
        let receipts = circle.home.files("receipts")
        #expect(try bob.read([sealed[0]], "--receipts", receipts).status == 0)
        let records = String(decoding: try circle.home.files.read("receipts"), as: UTF8.self)
        #expect(try alice.read(circle.encrypt("bob", records, ["--elsewhere"])).status == 0)
        try loseState(of: bob)
        #expect(try alice.read(repair()).status == 0)
        clock.set(61)
        try circle.must("alice", "contact", ["set", "bob", "repair=auto"])
        let again = try circle.must("alice", "history", ["repeat", "bob"]).text
        #expect(again.contains("lost") && !again.contains("arrived"))
    }

    @Test func atMostTwoHundredADayAreSentAgain() throws {
        let texts = (0..<230).map { "text \($0)" }.joined(separator: "\n")
        _ = try circle.encrypt("alice", texts, ["--to", "bob", "--jsonl", "--elsewhere"])
        try circle.must("alice", "contact", ["set", "bob", "repair=auto"])
        #expect(try alice.read(repair()).status == 0)
        func again(at seconds: Int) throws -> Int {
            clock.set(seconds)
            let records = try circle.must("alice", "history", ["repeat", "bob"]).text
            guard !records.isEmpty else { return 0 }
            return try bob.read(circle.encrypt("alice", records, ["--elsewhere"])).messages.count
        }
        #expect(try again(at: 61) == 200)
        #expect(try again(at: 200) == 0)
        #expect(try again(at: 86_461) == 30)
    }

    // MARK: Every way to lose a state

    private func newState(_ party: Party, after days: Int64 = 0) throws -> NewState? {
        let now = Timestamp(seconds: Timestamp.now().seconds + days * 86_400)
        return try party.store().preview { try $0.newState(at: now) }
    }

    /// Makes the state old, which only a test can do.
    private func age(_ party: Party) throws {
        try party.ageState()
        #expect(try newState(party) == nil)
    }

    @Test func aDeletedStateIsNewForThirtyDays() throws {
        try loseState(of: bob)
        #expect(try newState(bob)?.cause == .made)
        #expect(try newState(bob, after: 29)?.cause == .made)
        #expect(try newState(bob, after: 31) == nil)
        try age(bob)
        let run = try bob.run("contact", ["repair"])
        #expect(run.status == 1 && run.stdout.isEmpty && run.stderr.contains("neither new nor"))
    }

    @Test func aCopyOfAnEarlierStateIsNoticed() throws {
        try beginSession()
        try age(bob)
        let files = FileManager.default
        let state = circle.home.files(bob.stateDirectory)
        try files.copyItem(atPath: state, toPath: state + "-copy")
        #expect(try bob.read(write("one")).status == 0)
        try files.removeItem(atPath: state)
        try files.moveItem(atPath: state + "-copy", toPath: state)
        #expect(try newState(bob)?.cause == .copied)
        #expect(try newState(bob, after: 29)?.cause == .copied)
        #expect(try newState(bob, after: 31) == nil)
        #expect(try repair().map(suite) == ["sealed"])
    }

    /// The file without the log that belongs to it is an earlier state.
    @Test func aHalfCopiedStateIsNoticed() throws {
        try beginSession()
        try age(bob)
        let files = FileManager.default
        let path = circle.home.files(bob.database)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try files.removeItem(atPath: circle.home.files(bob.stateDirectory))
        try files.createDirectory(
            atPath: circle.home.files(bob.stateDirectory), withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        #expect(
            files.createFile(atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600]))
        let cause = try newState(bob)?.cause
        // A new file can have the number of the deleted one; then the log alone is missing, and nothing shows it.
        #expect(cause == .copied || cause == nil)
    }

    /// A snapshot of a file system puts back the content of the same file. What a relay reports proves nothing; a signature of the
    /// owner that is later than the state does.
    @Test func aStateThatWasPutBackIsProvenByAnOwnSignature() throws {
        try beginSession()
        try circle.must("bob", "keygen", ["prekeys"])
        try age(bob)
        let snapshot = try StateSnapshot(of: bob)
        // The later state renews its prekeys.
        try bob.state { connection throws(StateError) in
            try connection.run("INSERT INTO number (name, value) VALUES ('prekeys wanted', 1)")
        }
        let later = try PreKeyBundle(
            record: JSON.object(parsing: circle.home.files.read(bob.bundle())))
        try snapshot.putBack(to: bob)
        let store = try bob.store()
        _ = try store.transaction {
            try $0.replenishment(
                for: "relay:1", has: 50, signedID: .max / 4 * 3, oneTimeMark: .max / 4 * 3)
        }
        #expect(try newState(bob) == nil)
        #expect(try bob.run("contact", ["repair"]).status == 1)
        #expect(try store.preview { try $0.canProve(signedID: later.signedPreKey.id) })
        #expect(try store.transaction { try $0.takeOwn(later) })
        #expect(try newState(bob)?.cause == .behind)
        #expect(try newState(bob, after: 31) == nil)
        // The prekeys are new, and so is the next session: without a bundle the message is sealed.
        let after = try store.transaction { try $0.publication(oneTime: 0) }
        #expect(after.signedPreKey.id > later.signedPreKey.id)
        let next = try circle.encrypt("bob", "next", ["--to", "alice", "--elsewhere"])
        #expect(try next.map(suite) == ["sealed"])
        #expect(try alice.read(next).messages.map(\.text) == ["next"])
        #expect(try repair().map(suite) == ["sealed"])
    }

    /// Without a proof a state that was put back does not know it: the contact refuses what repeats keys, and says so.
    @Test func aStateThatWasPutBackWithoutAProofIsNotNew() throws {
        try beginSession()
        try age(bob)
        let snapshot = try StateSnapshot(of: bob)
        let sealed = try circle.encrypt("bob", "one", ["--to", "alice", "--elsewhere"])
        #expect(try alice.read(sealed).messages.map(\.text) == ["one"])
        try snapshot.putBack(to: bob)
        #expect(try newState(bob) == nil)
        let again = try circle.encrypt("bob", "two", ["--to", "alice", "--elsewhere"])
        let run = try alice.read(again)
        #expect(run.status == 13 && run.stderr.contains("backup"), "\(run.stderr)")
        let anew = try circle.encrypt(
            "bob", "two",
            ["--to", "alice", "--elsewhere", "--new-session", "--bundle", alice.bundle()])
        #expect(try alice.read(anew).messages.map(\.text) == ["two"])
    }

    @Test func aStateFromABackupTellsTheContacts() throws {
        try beginSession()
        try circle.must("bob", "history", ["export", "--backup", "-o", "bob.age"])
        try FileManager.default.removeItem(atPath: circle.home.files(bob.stateDirectory))
        try circle.must("bob", "history", ["import", "bob.age"])
        #expect(try newState(bob)?.cause == .made)
        #expect(try repair().map(suite) == ["sealed"])
    }
}
