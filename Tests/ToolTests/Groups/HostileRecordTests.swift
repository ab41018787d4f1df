import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Records of members and strangers that are not in their form, and rows that cannot be read.
@Suite(.timeLimit(.minutes(60))) struct HostileRecordTests {
    /// Returns a change of a person after all that the person has, with a further member, signed again.
    ///
    /// With `isEarly`, it comes after a change that does not arrive.
    private func change(
        of who: String, in circle: Circle, _ value: JSON, isEarly: Bool = false
    ) throws -> JSONObject {
        let log = try circle.must("alice", "group", ["log", "team"]).records.map {
            try GroupChange($0)
        }
        let parents = Set(log.flatMap(\.parents))
        let key = circle[who].identity.signingKey
        let id = circle[who].identity.id
        let made = try GroupChange(
            .set(.nickname("nick")), in: log[0].id, by: key,
            seq: Int64(log.count { $0.by == id }) + 1,
            parents: isEarly
                ? [GroupID(randomBytes(32))] : log.map(\.id).filter { !parents.contains($0) })
        var record = try JSON.object(parsing: made.bytes)
        record["x"] = value
        SignedRecord.sign(&record, with: key)
        return record
    }

    /// Sends changes in a body, and reads it.
    private func tell(
        _ changes: [JSONObject], by who: String, to other: String, in circle: Circle
    ) throws -> Run {
        var body = GroupBody(try circle.groupID(other))
        body.changes = changes
        try circle.tell(who, other, body)
        return try circle.read(other)
    }

    /// Row 1: a member's change with a number that the canonical form writes as another one is refused, and the group goes on.
    @Test func aMemberCannotDestroyTheGroup() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        for text in ["1e20", "1.5", "9007199254740993"] {
            let value = try JSON(parsing: Array(text.utf8))
            let record = try change(of: "bob", in: circle, value)
            #expect(try tell([record], by: "bob", to: "alice", in: circle).status == 0)
        }
        let nested = JSON.array([.array([.array([.array([.array([.array([])])])])])])
        let deep = try change(of: "bob", in: circle, nested)
        #expect(try tell([deep], by: "bob", to: "alice", in: circle).status == 0)
        #expect(!(try circle.must("alice", "group", ["log", "team"]).text.contains(#""x""#)))
        try circle.say("alice", "hello")
        #expect(try circle.texts("bob") == ["hello"])
        try circle.must("alice", "group", ["sync"])
        try circle.must("alice", "history", ["export", "--backup", "-o", "all.age"])
        // A safe integer is a member like others.
        let good = try change(of: "bob", in: circle, .integer(JSON.largestSafeInteger))
        #expect(try tell([good], by: "bob", to: "alice", in: circle).status == 0)
        #expect(try circle.must("alice", "group", ["log", "team"]).text.contains(#""x""#))
        try circle.group("alice", "leave", "--anyway", "team")
        try circle.must("alice", "group", ["forget", "team"])
    }

    /// Row 2: a waiting change that cannot be read is dropped with a note, and the mail goes on.
    @Test func aWaitingChangeThatCannotBeReadIsDropped() throws {
        let circle = try Circle("alice", "bob", "mallory")
        try circle.team("alice", "bob")
        let group = try circle.groupID("alice")
        // A stranger's change with the number does not wait.
        let hostile = try change(of: "mallory", in: circle, .number(1e20), isEarly: true)
        #expect(try tell([hostile], by: "mallory", to: "alice", in: circle).status == 0)
        let store = try circle["alice"].store()
        #expect(
            try store.preview { try $0.waitingChanges(of: #require(try $0.group(group))).count }
                == 0)
        // A good one does. Its row is damaged in two ways.
        for content in [nil, Array(#"{"x":100000000000000000000}"#.utf8)] as [[UInt8]?] {
            let waiting = try change(of: "mallory", in: circle, .bool(true), isEarly: true)
            #expect(try tell([waiting], by: "mallory", to: "alice", in: circle).status == 0)
            let mark = store.mark(change: try GroupChange(waiting).id)
            let sealed =
                content.map { store.seal($0, .groupChange(mark: mark)) }
                ?? [UInt8](repeating: 0, count: 80)
            try circle["alice"].state { connection throws(StateError) in
                try connection.run(
                    "UPDATE group_change SET sealed = ? WHERE aside = 1 AND mark = ?", sealed, mark)
                #expect(connection.changes == 1)
            }
            try circle.tell("bob", "alice", GroupBody(group))
            try circle.say("bob", "hello")
            let run = try circle.read("alice")
            #expect(run.status == 0, "\(run)")
            #expect(try run.records.contains { $0.body["text"] == .string("hello") })
            #expect(run.stderr.contains("a waiting change of a group in "), "\(run.stderr)")
            #expect(run.stderr.contains("cannot be read and is deleted"), "\(run.stderr)")
            let left = try circle["alice"].state { connection throws(StateError) in
                try connection.integer("SELECT count(*) FROM group_change WHERE aside = 1")
            }
            #expect(left == 0)
        }
    }

    /// Row 3: a wanted file of a group that cannot be read stops no other group and no mail.
    @Test func aFileOfADamagedGroupStopsNothing() throws {
        let circle = try Circle("alice", "bob")
        for name in ["first", "second"] {
            try circle.group("alice", "create", name, "bob")
            try circle.texts("bob")
            try circle.group("bob", "accept", name)
            try circle.settle()
        }
        let id = try #require(
            try circle.must("bob", "group", ["show", "first"]).records[0]["id"]?.string)
        var body = GroupBody(try #require(GroupID(id)))
        var (file, _) = try GroupFile.seal(
            [10], heads: [], key: randomBytes(32), nonce: randomBytes(16))
        file.pointer.place = .init(relay: "tcp://relay.example.org:1", id: randomBytes(32))
        body.file = file
        try circle.tell("alice", "bob", body)
        try circle.settle()
        let bob = circle["bob"]
        func wanted() throws -> Int64 {
            try bob.state { connection throws(StateError) in
                try connection.integer("SELECT count(*) FROM group_file WHERE stage = 1")
            }
        }
        #expect(try wanted() == 1)
        try bob.state { connection throws(StateError) in
            try connection.run("UPDATE group_change SET sealed = zeroblob(80) WHERE group_id = 1")
        }
        try circle.say("alice", "one", to: "second")
        #expect(try circle.texts("bob") == ["one"])
        try circle.must("bob", "encrypt", ["--group", "second"], "two")
        #expect(try bob.store().preview { try $0.wantedFiles() }.isEmpty)
        // The row of the file is damaged too: it is deleted.
        try bob.state { connection throws(StateError) in
            try connection.run("UPDATE group_file SET sealed = zeroblob(80)")
        }
        try bob.store().transaction { _ = try $0.wantedFiles() }
        #expect(try wanted() == 0)
    }

    /// Row 5: a card over its limits is refused as an argument and as a record, and a contact that cannot be read hides no other.
    @Test func aContactThatCannotBeReadHidesNoOther() throws {
        let circle = try Circle("alice", "bob", "carol")
        let key = circle["bob"].identity.signingKey
        func card(_ value: JSON) throws -> Run {
            var record = try #require(circle["bob"].identity.card().record)
            record["x"] = value
            SignedRecord.sign(&record, with: key)
            circle.home.files.write("deep.card", record.serialized())
            return try circle["carol"].run("contact", ["add", "deep.card"])
        }
        let nested = JSON.array([.array([.array([.array([.array([.array([])])])])])])
        for (value, text) in [
            (nested, "nest deeper than 6"), (.number(1e20), "is not an integer"),
            (.string(String(repeating: "x", count: 24 << 10)), "has more than 24576 bytes"),
        ] {
            let run = try card(value)
            #expect(run.status == 65 && run.stderr.contains(text), "\(run)")
        }
        #expect(try card(.array([])).status == 0)

        let alice = circle["alice"]
        let mark = try alice.store().mark(circle["bob"].identity.id)
        try alice.state { connection throws(StateError) in
            try connection.run("UPDATE contact SET sealed = zeroblob(80) WHERE peer = ?", mark)
        }
        let list = try circle.must("alice", "contact", ["list", "--text"])
        #expect(list.text.contains("carol") && !list.text.contains("bob"))
        #expect(list.stderr.contains("a contact in "), "\(list.stderr)")
        #expect(list.stderr.contains("cannot be read and is left out"), "\(list.stderr)")
        try circle.must("alice", "encrypt", ["--to", "carol"], "hello")
        // Mail of the other contact is read, and that of this one waits.
        try circle.deliver(circle.must("carol", "encrypt", ["--to", "alice"], "from carol"))
        try circle.deliver(circle.must("bob", "encrypt", ["--to", "alice"], "from bob"))
        let run = try circle.read("alice")
        #expect(
            try run.records.compactMap { $0.body["text"]?.string }.contains("from carol"), "\(run)")
        #expect(run.status != 0)
        #expect(try alice.run("contact", ["show", "bob"]).status == 74)
        // It can be removed and added again.
        try circle.must("alice", "contact", ["remove", "bob"])
        try circle.must("alice", "contact", ["add", circle["bob"].card])
        #expect(try circle.must("alice", "contact", ["list", "--text"]).text.contains("bob"))
    }
}
