import Foundation
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Receipts for messages of groups, with the built programs: for the author alone, off unless set, and counted for readers
/// only.
@Suite(.timeLimit(.minutes(60))) struct GroupReceiptTests {
    let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
    }

    /// Turns receipts for a contact on.
    private func allow(_ who: String, _ contact: String = "alice") throws {
        try circle.must(who, "contact", ["set", contact, "receipts=on"])
    }

    /// Opens the mail of a person. Returns the receipts that `decrypt` writes.
    @discardableResult
    private func open(_ who: String) throws -> [JSONObject] {
        let path = "receipts"
        circle.home.files.write(path, [])
        let run = try circle.read(who, nil, ["--receipts", path])
        guard run.status == 0 else { throw Unexpected(run) }
        return try circle.home.files.read(path).split(separator: 0x0A).map {
            try JSON.object(parsing: Array($0))
        }
    }

    /// The contacts among the members for whom it is on get a signal, each in a separate message.
    @Test func aTypingSignalReachesTheContactsAmongTheMembers() throws {
        func typing(_ who: String) throws -> Run {
            try circle[who].run("compose", ["typing", "team"])
        }
        #expect(try typing("alice").status == 1)
        try circle.must("alice", "contact", ["set", "bob", "typing=on"])
        let records = try typing("alice").records
        #expect(records.map { $0["to"] } == [.string(circle["bob"].identity.id.description)])
        #expect(records[0].body["type"] == .string("typing"))
        let group = try circle.must("alice", "group", ["show", "team"]).records[0]["id"]
        #expect(records[0].body["group"] == group)
        try circle.must("alice", "contact", ["block", "bob"])
        #expect(try typing("alice").status == 1)
        // A person who left cannot write to the group.
        try circle.must("carol", "contact", ["set", "alice", "typing=on"])
        #expect(try typing("carol").records.count == 1)
        try circle.must("carol", "group", ["leave", "--yes", "team"])
        #expect(try typing("carol").status == 1)
    }

    private func post(_ who: String, _ records: [JSONObject]) throws {
        try circle.post(who, records.flatMap { $0.serialized() + [10] })
        try circle.settle()
    }

    /// Marks messages as read, and sends the receipts for them.
    private func markRead(_ who: String, _ group: String = "team") throws {
        try circle.post(who, circle.must(who, "history", ["read", "-q", group]).stdout)
        try circle.settle()
    }

    /// Sends a receipt as another program could.
    private func claim(
        _ who: String, _ status: String, _ ids: [String], to: String = "alice", group: String?
    ) throws {
        let body = JSONObject([
            ("type", .string("receipt")), ("status", .string(status)),
            ("ids", .array(ids.map { .string($0) })),
            ("time", .string(Timestamp.now().description)),
            ("group", group.map { .string($0) }),
        ])
        try post(
            who,
            [
                [
                    "v": .integer(1), "type": .string("message"),
                    "to": .string(circle[to].identity.id.description), "body": .object(body),
                ]
            ])
    }

    private func last(_ who: String = "alice", _ group: String = "team") throws -> JSONObject {
        try #require(try circle[who].history(group).last)
    }

    /// The status of each reader by name.
    private func receipts(_ who: String = "alice", _ group: String = "team") throws -> [String:
        String]
    {
        let names = Dictionary(
            uniqueKeysWithValues: circle.people.map { ($1.identity.id.description, $0) })
        let all = try last(who, group)["receipts"]?.array ?? []
        return try Dictionary(
            uniqueKeysWithValues: all.map { receipt in
                let receipt = try #require(receipt.object)
                #expect(receipt["time"] != nil)
                return (
                    try #require(names[receipt["from"]?.string ?? ""]),
                    receipt["status"]?.string ?? ""
                )
            })
    }

    private func rows(_ who: String) throws -> [Int64] {
        try circle[who].state { connection throws(StateError) in
            try ["event", "waiting", "conversation"].map { table throws(StateError) in
                try connection.integer("SELECT count(*) FROM \(table)")
            }
        }
    }

    // MARK: The way of a message

    @Test func theAuthorSeesTheStatusOfEachReader() throws {
        try allow("bob")
        try allow("carol")
        try circle.say("alice", "one")
        let id = try #require(try last()["id"]?.string)
        #expect(try last()["details"]?.object?["copies"] == .integer(2))
        let group = try circle.onlyGroup("alice")
        let (told, toldByCarol) = (try open("bob"), try open("carol"))
        #expect(told.count == 1)
        #expect(told[0]["to"] == .string(circle["alice"].identity.id.description))
        #expect(told[0]["group"] == nil && told[0].body["group"] == .string(group))
        #expect(told[0].body["status"] == .string("delivered"))
        #expect(told[0].body["ids"] == .array([.string(id)]))
        try post("bob", told)
        #expect(
            try receipts() == ["bob": "delivered"] && last()["status"] == .string("handedOn"))
        try post("carol", toldByCarol)
        #expect(try receipts() == ["bob": "delivered", "carol": "delivered"])
        #expect(try last()["status"] == .string("delivered"))
        let text = { try circle.must("alice", "history", ["--text", "team"]).text }
        #expect(try text().contains("[delivered to 2 of 2]"))
        try markRead("bob")
        #expect(try receipts() == ["bob": "read", "carol": "delivered"])
        #expect(try last()["status"] == .string("delivered"))
        #expect(try text().contains("[read by 1 of 2]"))
        #expect(
            try circle.must("alice", "history", ["show", "--text", id]).text.contains("by 1 of 2"))
        try markRead("carol")
        #expect(try receipts() == ["bob": "read", "carol": "read"])
        #expect(try last()["status"] == .string("read") && text().contains("[read by 2 of 2]"))
        // The message was marked before.
        #expect(try circle.must("carol", "history", ["read", "-q", "team"]).stdout.isEmpty)
        // The events of the message have the receipts, which came from two people.
        let raw = try circle.must("alice", "history", ["show", "--raw", id]).records
        #expect(raw.filter { $0.body["type"] == .string("receipt") }.count == 4)
        // Nobody else was told.
        for who in ["bob", "carol"] {
            #expect(try receipts(who).isEmpty && last(who)["status"] == nil)
        }
    }

    @Test func aLaterReceiptNeverLowersTheStatus() throws {
        try circle.say("alice", "one")
        try circle.settle()
        let id = try #require(try last()["id"]?.string)
        let group = try circle.onlyGroup("alice")
        for who in ["bob", "carol"] { try claim(who, "read", [id], group: group) }
        #expect(try last()["status"] == .string("read"))
        for _ in 0..<3 { try claim("bob", "delivered", [id], group: group) }
        #expect(try receipts() == ["bob": "read", "carol": "read"])
        #expect(try last()["status"] == .string("read"))
    }

    /// One receipt has the messages of one author in one group.
    @Test func eachAuthorAndGroupGetsOne() throws {
        try allow("bob")
        try circle.group("alice", "create", "crew", "bob")
        try circle.texts("bob")
        try circle.group("bob", "accept", "crew")
        try circle.settle()
        try circle.say("alice", "one")
        try circle.say("alice", "two", to: "crew")
        try circle.deliver(circle.must("alice", "encrypt", ["--to", "bob"], "three"))
        try circle.say("alice", "four")
        let told = try open("bob")
        #expect(
            told.map { $0.body["ids"]?.array?.count }.sorted { $0 ?? 0 < $1 ?? 0 } == [1, 1, 2])
        #expect(Set(told.map { $0.body["group"] }).count == 3)
        try post("bob", told)
        #expect(try circle["alice"].history("bob").last?["status"] == .string("delivered"))
        #expect(try receipts("alice", "crew") == ["bob": "delivered"])
        #expect(try last("alice", "crew")["status"] == .string("delivered"))
        #expect(try last()["status"] == .string("handedOn"))
    }

    @Test func composeWritesReceiptsToo() throws {
        try circle.say("alice", "one")
        try circle.say("alice", "two")
        try circle.settle()
        let off = try circle["bob"].run("compose", ["read", "team"])
        #expect(off.status == 1 && off.stderr.contains("contact set alice receipts=on"))
        try allow("bob")
        let one = try circle.must("bob", "compose", ["read", "-1", "--with", "team"])
        #expect(try one.records[0].body["ids"]?.array?.count == 1)
        let all = try circle.must("bob", "compose", ["read", "team"])
        #expect(try all.records[0].body["ids"]?.array?.count == 2)
        try circle.post("bob", all.stdout)
        try circle.settle()
        #expect(try receipts() == ["bob": "read"])
        let own = try circle["alice"].run("compose", ["read", "-1", "--with", "team"])
        #expect(own.status == 64 && own.stderr.contains("is your own"))
    }

    // MARK: Who gets none

    /// C10: receipts are off, and only for content of a contact who is not blocked.
    @Test func c10ReceiptsOfGroupsAreOffUntilTheyAreSet() throws {
        try circle.say("alice", "one")
        #expect(try open("bob").isEmpty && open("carol").isEmpty)
        #expect(try circle.must("bob", "history", ["read", "-q", "team"]).stdout.isEmpty)
        try allow("bob")
        // Bob knows no contact Carol.
        try circle.say("carol", "two")
        #expect(try open("bob").isEmpty)
        #expect(try circle.must("bob", "history", ["read", "-q", "team"]).stdout.isEmpty)
        // Events, and a message of one's own.
        try circle.compose("alice", ["react", "-1", "👍", "--with", "team"])
        try circle.say("bob", "mine")
        #expect(try open("bob").isEmpty)
        try circle.must("bob", "contact", ["block", "alice"])
        try circle.say("alice", "three")
        #expect(try open("bob").isEmpty)
        #expect(try circle.must("bob", "history", ["read", "-q", "team"]).stdout.isEmpty)
        try circle.must("bob", "contact", ["unblock", "alice"])
        try circle.say("alice", "four")
        #expect(try open("bob").count == 1)
    }

    /// A group of 20 members has receipts, and one of 21 has none. Of the 19 readers the two contacts count, who can answer.
    @Test func largeGroupsHaveNone() throws {
        try allow("bob")
        try add(17)
        try circle.say("alice", "twenty")
        #expect(try last()["details"]?.object?["copies"] == .integer(19))
        let told = try open("bob")
        #expect(told.count == 1)
        try post("bob", told)
        #expect(
            try receipts() == ["bob": "delivered"] && last()["status"] == .string("handedOn"))
        #expect(
            try circle.must("alice", "history", ["--text", "team"]).text
                .contains("[delivered to 1 of 2]"))
        try circle.must("bob", "history", ["read", "-q", "team"])
        try add(1)
        try circle.say("alice", "one more")
        let details = try last()["details"]?.object
        #expect(details?["copies"] == .integer(20) && details?["readers"] == nil)
        #expect(try open("bob").isEmpty)
        #expect(try circle.must("bob", "history", ["read", "-q", "team"]).stdout.isEmpty)
        let compose = try circle["bob"].run("compose", ["read", "-1", "--with", "team"])
        #expect(compose.status == 1 && compose.stderr.contains("no message needs a receipt"))
        // A receipt of another program changes nothing.
        let id = try #require(try last()["id"]?.string)
        try claim("bob", "read", [id], group: circle.onlyGroup("alice"))
        #expect(try receipts().isEmpty && last()["status"] == .string("handedOn"))
    }

    /// Adds members whose programs do not run, and tells the others.
    private func add(_ count: Int) throws {
        let id = try circle.groupID("alice")
        let people = (0..<count).map { _ in Sample.identity() }
        try circle["alice"].store().transaction { state in
            let group = try #require(try state.group(id))
            _ = try state.write(.invite(people.map(\.id), .member), in: group)
            for person in people {
                let card = try #require(person.card().record)
                let joined = try #require(try state.group(id))
                let entry = GroupChange.Entry(card: sha256(JSON.object(card).canonical()))
                let change = try GroupChange(
                    .join(entry), in: id, by: person.signingKey, seq: 1,
                    parents: joined.log.heads)
                var body = GroupBody(id)
                body.changes = [try JSON.object(parsing: change.bytes)]
                body.cards = [card]
                _ = try state.take(body, from: person.id)
            }
        }
        try circle.group("alice", "sync")
        try circle.settle()
    }

    // MARK: C7

    /// C7: a receipt by who got no copy changes nothing: of a later or a former member, of a stranger, and for a message of
    /// another author or another group.
    @Test func c7AReceiptOfAPersonWhoGotNoCopyChangesNothing() throws {
        let circle = try Circle("alice", "bob", "carol", "dave", "mallory")
        try circle.team("alice", "bob", "carol")
        let tests = GroupReceiptTests(circle)
        try tests.c7(circle)
    }

    private init(_ circle: Circle) { self.circle = circle }

    private func c7(_ circle: Circle) throws {
        let group = try circle.onlyGroup("alice")
        try circle.say("alice", "one")
        try circle.settle()
        let one = try #require(try last()["id"]?.string)
        try circle.group("alice", "invite", "team", "dave")
        try circle.settle()
        try circle.group("dave", "accept", "team")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        let before = try rows("alice")
        try claim("dave", "read", [one], group: group)
        try claim("mallory", "read", [one], group: group)
        #expect(try rows("alice")[0...1] == before[0...1])
        // Names of another message, another group, and no group.
        try claim("bob", "read", [Envelope.newID()], group: group)
        try claim("bob", "read", [one], group: String(repeating: "9f", count: 32))
        #expect(try rows("alice")[0...1] == before[0...1])
        try claim("bob", "read", [one], group: nil)
        #expect(try receipts().isEmpty && last()["status"] == .string("handedOn"))
        // A receipt to the whole group is none.
        try circle.post(
            "bob",
            Array(
                """
                {"v":1,"type":"message","group":"\(group)","body":{"type":"receipt",\
                "status":"read","ids":["\(one)"],"time":"2026-11-23T09:30:00Z"}}

                """.utf8))
        try circle.settle()
        #expect(try receipts().isEmpty && last()["status"] == .string("handedOn"))
        // A former member read what was sent before the removal.
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.say("alice", "two")
        try circle.settle()
        let two = try #require(try last()["id"]?.string)
        try claim("carol", "read", [two], group: group)
        #expect(try receipts().isEmpty && last()["status"] == .string("handedOn"))
        try claim("carol", "read", [one, two], group: group)
        try claim("bob", "delivered", [one], group: group)
        let first = try circle["alice"].history("team")[0]
        #expect(first["receipts"]?.array?.count == 2 && first["status"] == .string("delivered"))
        #expect(try receipts().isEmpty && last()["status"] == .string("handedOn"))
        // Dave got a copy of the second one.
        try claim("dave", "read", [two], group: group)
        #expect(try receipts() == ["dave": "read"])
        // The message of another member.
        try circle.say("bob", "three")
        try circle.settle()
        let three = try #require(try last()["id"]?.string)
        try claim("dave", "read", [three], group: group)
        #expect(try receipts().isEmpty && last()["status"] == nil)
    }

    /// A reader who is no contact of the author tells the author too. Another receipt of that person is a request.
    @Test func aReaderNeedsNotBeAContact() throws {
        try circle.must("carol", "contact", ["add", circle["bob"].card])
        try allow("carol", "bob")
        try circle.say("bob", "one")
        try post("carol", open("carol"))
        try circle.texts("alice")
        #expect(try receipts("bob") == ["carol": "delivered"])
        // Alice is a contact, and Carol answered.
        let text = { try circle.must("bob", "history", ["--text", "team"]).text }
        #expect(try text().contains("[delivered to 1 of 2]"))
        #expect(try circle["bob"].run("contact", ["requests"]).status == 1)
        try circle.must("bob", "contact", ["block", "alice"])
        #expect(try text().contains("[delivered to 1 of 1]"))
        try circle.must("bob", "contact", ["unblock", "alice"])
        try claim(
            "carol", "read", [Envelope.newID()], to: "bob", group: circle.onlyGroup("bob"))
        #expect(try circle["bob"].run("contact", ["requests"]).stdout.isEmpty == false)
        try circle.must("bob", "contact", ["block", circle["carol"].identity.id.description])
        let id = try #require(try last("bob")["id"]?.string)
        try claim("carol", "read", [id], to: "bob", group: circle.onlyGroup("bob"))
        #expect(try receipts("bob") == ["carol": "delivered"])
    }

    /// A malformed group is status 65, and the session continues.
    @Test func aMalformedGroupIsRefused() throws {
        for group in ["team", String(repeating: "9F", count: 32)] {
            let line = """
                {"body":{"type":"receipt","status":"read","ids":["\(Envelope.newID())"],\
                "time":"2026-11-23T09:30:00Z","group":"\(group)"}}

                """
            let sealed = try circle["bob"].run(
                "encrypt", ["--to", "alice", "--jsonl"], stdin: Array(line.utf8))
            #expect(sealed.status == 65, "\(sealed.stderr)")
        }
    }

    // MARK: Backups

    @Test func aBackupHasTheReceipts() throws {
        try allow("bob")
        try circle.say("alice", "one")
        try post("bob", open("bob"))
        try claim(
            "carol", "read", [#require(try last()["id"]?.string)],
            group: circle.onlyGroup("alice"))
        let before = try last()
        #expect(before["receipts"]?.array?.count == 2 && before["status"] == .string("delivered"))
        try circle.must("alice", "history", ["export", "--backup", "-o", "backup.age"])
        try FileManager.default.removeItem(
            atPath: circle.home.files(circle["alice"].stateDirectory))
        try circle.must("alice", "history", ["import", "backup.age"])
        func imported() throws -> JSONObject {
            let all = try circle.must("alice", "history", []).records
            return try #require(all.first { $0["id"] == before["id"] })
        }
        for name in ["receipts", "status", "details", "body"] {
            #expect(try imported()[name] == before[name])
        }
        // The imported message still knows its readers. The new state has no session.
        try circle.must("bob", "contact", ["set", "alice", "--suite", "sealed"])
        let (id, group) = (before["id"]?.string ?? "", before["group"]?.string ?? "")
        try claim("bob", "read", [id], group: group)
        #expect(try imported()["status"] == .string("read"))
        #expect(try imported()["receipts"]?.array?.count == 2)
    }
}
