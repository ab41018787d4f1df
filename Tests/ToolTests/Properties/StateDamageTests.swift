import Foundation
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Each table of the state, each row damaged in turn in two ways: it does not decrypt, or its content is refused. Every command
/// that does not need this row works.
///
/// `make properties` damages every row; a usual run takes one of each table.
@Suite(.timeLimit(.minutes(60))) struct StateDamageTests {
    /// A row with the context of its encryption.
    private struct Row {
        let table: String
        let rowID: Int64
        let context: IdentityStore.Context
    }

    /// The tables with an encrypted column, with the condition that selects a row by a number, and its context.
    private struct Table: Sendable {
        let name: String
        let columns: String
        let context: @Sendable (PreparedStatement<StateError>) -> IdentityStore.Context
        /// The commands that need a row of it.
        let needed: Set<String>
    }

    private static let tables: [Table] = [
        Table(
            name: "contact", columns: "number", context: { _ in .contact },
            needed: ["encrypt to carol", "decrypt from carol", "contact show carol"]),
        Table(
            name: "profile", columns: "peer", context: { .profile(peer: $0.bytes(1)) }, needed: []),
        Table(name: "news", columns: "peer", context: { .news(peer: $0.bytes(1)) }, needed: []),
        Table(
            name: "conversation", columns: "number",
            context: { .conversation(number: $0.integer(1)) }, needed: []),
        Table(
            name: "message", columns: "mark, conversation",
            context: { .message(mark: $0.integer(1), conversation: $0.integer(2)) }, needed: []),
        Table(
            name: "reader", columns: "mark", context: { .reader(mark: $0.bytes(1)) },
            needed: ["history readers"]),
        Table(
            name: "request", columns: "id", context: { .request(id: $0.text(1)) },
            needed: ["contact requests"]),
        Table(
            name: "session", columns: "tag", context: { .session(tag: $0.bytes(1)) },
            needed: ["decrypt from carol"]),
        Table(
            name: "skipped", columns: "chain, place",
            context: { .skipped(chain: $0.bytes(1), place: UInt32($0.integer(2))) }, needed: []),
        Table(
            name: "prekey", columns: "kind, id",
            context: { .preKey(kind: $0.integer(1), id: $0.integer(2)) }, needed: []),
        Table(name: "bundle", columns: "peer", context: { .bundle(peer: $0.bytes(1)) }, needed: []),
        Table(
            name: "group_log", columns: "mark", context: { .group(mark: $0.bytes(1)) },
            needed: ofGroup),
        Table(
            name: "group_change", columns: "mark", context: { .groupChange(mark: $0.bytes(1)) },
            needed: ofGroup),
        Table(
            name: "group_member", columns: "group_id, mark",
            context: { .groupMember(group: $0.integer(1), mark: $0.bytes(2)) }, needed: []),
        Table(
            name: "own_chain", columns: "group_id", context: { .ownChain(group: $0.integer(1)) },
            needed: []),
        Table(
            name: "group_chain", columns: "tag", context: { .groupChain(tag: $0.bytes(1)) },
            needed: []),
        Table(
            name: "held", columns: "mark", context: { .heldMessage(mark: $0.integer(1)) },
            needed: []),
        Table(
            name: "group_room", columns: "group_id", context: { .groupRoom(group: $0.integer(1)) },
            needed: []),
        Table(
            name: "group_file", columns: "mark", context: { .groupFile(mark: $0.bytes(1)) },
            needed: []),
        Table(
            name: "chat", columns: "mark", context: { .chat(mark: $0.bytes(1)) },
            needed: ["encrypt to a chat"]),
        Table(
            name: "foreign_chain", columns: "source, chain",
            context: { .foreignChain(source: $0.bytes(1), chain: $0.bytes(2)) }, needed: []),
        Table(
            name: "device_list", columns: "peer", context: { .deviceList(peer: $0.bytes(1)) },
            needed: []),
        Table(name: "wake", columns: "mark", context: { .wake(mark: $0.bytes(1)) }, needed: []),
        Table(
            name: "sync_item", columns: "mark", context: { .syncItem(mark: $0.bytes(1)) },
            needed: []),
        Table(
            name: "sync_value", columns: "mark", context: { .syncValue(mark: $0.bytes(1)) },
            needed: []),
    ]

    /// The commands that name a group, or that tell with their status that one is left out.
    private static let ofGroup: Set<String> = [
        "group show", "encrypt to group", "group sync", "history export --backup",
    ]

    /// Content that no reader accepts.
    private static let refused = Array(#"{"x":100000000000000000000}"#.utf8)

    private let circle: Circle
    private let alice: Party

    init() throws {
        circle = try Circle("alice", "bob", "carol", "mallory")
        try circle.team("alice", "bob", "carol")
        alice = circle["alice"]
        let group = try circle.groupID("alice")
        // Messages of both directions, with key chains.
        for who in ["alice", "bob"] { try circle.say(who, "hello of \(who)") }
        try circle.settle()
        // A session, prekeys, and conversations with both.
        for who in ["bob", "carol"] {
            let bundle = try alice.bundle()
            let run = try circle[who].run(
                "encrypt", ["--to", "alice", "--bundle", bundle], stdin: Array("session".utf8))
            guard run.status == 0 else { throw Unexpected(run) }
            try circle.deliver(run)
        }
        try circle.settle()
        let store = try alice.store()
        let bundle = try PreKeyBundle(
            record: JSON.object(
                parsing: circle.home.files.read(try circle["mallory"].bundle())))
        let mallory = circle["mallory"].identity
        // Its parent does not arrive.
        let waiting = try GroupChange(
            .set(.nickname("m")), in: group, by: mallory.signingKey, seq: 1,
            parents: [GroupID(randomBytes(32))])
        let envelope = Envelope(
            id: Envelope.newID(), suite: .group, to: alice.identity.id, time: .now(),
            payload: [
                "tag": .string(hex(randomBytes(16))), "box": .base64(randomBytes(100)),
            ])
        var (file, _) = try GroupFile.seal(
            [10], heads: [], key: randomBytes(32), nonce: randomBytes(16))
        file.pointer.place = .init(relay: "tcp://relay.example.org:1", id: randomBytes(32))
        try store.transaction { transaction in
            try transaction.keep(bundle)
            try transaction.keep(DeviceList([], after: 0, by: mallory))
            try transaction.acknowledge(0, by: "reader")
            try transaction.keep(
                chat: Chat(phrase: SecretBytes(copying: "a phrase".utf8), name: "family").record)
            try transaction.keep(
                foreignChain: randomBytes(64), id: randomBytes(32), of: [1], limit: 1)
            for id in [alice.identity.id, circle["carol"].identity.id] {
                var profile = OwnerProfile(issued: .now())
                profile.name = "Carol"
                try transaction.keep(profile, of: id)
            }
            let stranger = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "stranger")
            _ = try transaction.take(
                .revocation(Revocation(of: stranger, issued: .now())), isGiven: true)
            _ = try transaction.request(
                Sample.record(to: alice.identity.id).serialized(), id: "request", from: mallory.id)
            _ = try transaction.receive([waiting], of: group, from: mallory.id)
            try transaction.hold(envelope, .chain)
            let team = try #require(try transaction.group(group))
            let count = try transaction.waitingChanges(of: team).count
            #expect(count == 1)
            try transaction.keep(RoomKeys(Sample.door(), relay: "tcp://a:1"), of: team)
            try transaction.note(
                file, from: circle["bob"].identity.id, circle["bob"].identity.id, in: team,
                beginsGroup: false, at: .now())
            try transaction.keep(
                OwnWake(
                    relay: "a:1", kind: "message", url: "https://push.example/x", token: nil))
            let chain = randomBytes(16)
            try transaction.connection.run(
                "INSERT INTO skipped (peer, chain, place, day, sealed) VALUES (?, ?, 0, ?, ?)",
                store.mark(mallory.id), chain, IdentityStore.today,
                store.seal(randomBytes(64), .skipped(chain: chain, place: 0)))
            let mark = randomBytes(16)
            try transaction.connection.run(
                "INSERT INTO sync_item (mark, level, sealed) VALUES (?, 0, ?)", mark,
                store.seal(Array("{}".utf8), .syncItem(mark: mark)))
            try transaction.connection.run(
                "INSERT INTO sync_value (mark, sealed) VALUES (?, ?)", mark,
                store.seal(Array("{}".utf8), .syncValue(mark: mark)))
        }
    }

    /// The name, the program, its arguments and its standard input.
    private func commands() throws -> [(name: String, run: (Party) throws -> Run)] {
        let mail = try circle.must("carol", "encrypt", ["--to", "alice"], "mail").stdout
        func tool(
            _ tool: String, _ arguments: String..., stdin: [UInt8] = []
        ) -> (Party) throws -> Run {
            { try $0.run(tool, arguments, stdin: stdin) }
        }
        return [
            ("contact list", tool("contact", "list")),
            ("contact requests", tool("contact", "requests")),
            ("contact show carol", tool("contact", "show", "carol")),
            (
                "encrypt to carol", tool("encrypt", "--to", "carol", stdin: Array("hello".utf8))
            ),
            ("decrypt from carol", tool("decrypt", stdin: mail)),
            ("keygen prekeys", tool("keygen", "prekeys")),
            ("group list", tool("group", "list")),
            ("group show", tool("group", "show", "team")),
            (
                "encrypt to group",
                tool("encrypt", "--group", "team", stdin: Array("hello".utf8))
            ),
            ("group sync", tool("group", "sync")),
            (
                "encrypt to a chat",
                tool("encrypt", "--chat", "family", stdin: Array("hello".utf8))
            ),
            ("history", tool("history", "--limit", "100")),
            ("history list", tool("history", "list")),
            ("history unread", tool("history", "unread")),
            ("history search", tool("history", "search", "hello")),
            ("history readers", tool("history", "readers")),
            ("history export", tool("history", "export")),
            (
                "history export --backup",
                tool("history", "export", "--backup", "-o", "backup.age")
            ),
        ]
    }

    private func rows() throws -> [Row] {
        // A new table needs a line above.
        let names = try alice.state { connection throws(StateError) in
            try connection.rows(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%sealed BLOB%'"
            ) { $0.text(0) }
        }
        #expect(Set(names) == Set(Self.tables.map(\.name)))
        return try Self.tables.flatMap { table in
            // These tables have no rowid.
            let key = [
                "prekey", "group_member", "bundle", "reader", "profile", "news", "chat",
                "device_list", "sync_value",
            ].contains(table.name)
            let rows = try alice.state { connection throws(StateError) in
                try connection.rows(
                    """
                    SELECT \(key ? "0" : "rowid"), \(table.columns)
                    FROM \(table.name) WHERE sealed IS NOT NULL
                    """
                ) { Row(table: table.name, rowID: $0.integer(0), context: table.context($0)) }
            }
            #expect(!rows.isEmpty, "\(table.name) has no row")
            return rows
        }
    }

    /// Damages a row, which must exist.
    private func damage(_ row: Row, _ sealed: [UInt8]) throws {
        let condition: String
        let values: ([UInt8], Int64)
        switch row.context {
        case .preKey(let kind, let id):
            (condition, values) = ("kind = \(kind) AND id = ?2", ([], id))
        case .groupMember(let group, let mark):
            (condition, values) = ("mark = ?1 AND group_id = ?2", (mark, group))
        case .bundle(let mark), .profile(let mark), .news(let mark), .deviceList(let mark):
            (condition, values) = ("peer = ?1", (mark, 0))
        case .chat(let mark): (condition, values) = ("mark = ?1", (mark, 0))
        case .reader(let mark), .syncValue(let mark):
            (condition, values) = ("mark = ?1", (mark, 0))
        default: (condition, values) = ("rowid = ?2", ([], row.rowID))
        }
        try alice.state { connection throws(StateError) in
            try connection.run(
                "UPDATE \(row.table) SET sealed = ?3 WHERE \(condition)", values.0, values.1, sealed
            )
            #expect(connection.changes == 1)
        }
    }

    /// Runs `body`, and puts the state back. In another file it would be one that was found copied.
    private func withCopy<T>(_ body: () throws -> T) throws -> T {
        let snapshot = try StateSnapshot(of: alice)
        defer { try? snapshot.putBack(to: alice) }
        return try body()
    }

    @Test func everythingBesideADamagedRowGoesOn() throws {
        let commands = try commands()
        var expected: [String: Int32] = [:]
        for (name, run) in commands {
            expected[name] = try withCopy { try run(alice).status }
        }
        #expect(expected.values.allSatisfy { [0, 1].contains($0) }, "\(expected)")
        let all = propertyRounds != nil
        var (damaged, runs) = (0, 0)
        try withGenerator { random in
            var rows = try rows()
            if !all {
                rows = Self.tables.compactMap { table in
                    rows.filter { $0.table == table.name }.randomElement(using: &random)
                }
            }
            for row in rows {
                let table = try #require(Self.tables.first { $0.name == row.table })
                let content =
                    row.table == "message"
                    ? [UInt8](repeating: 0, count: StoredMessage.digestLength) + Self.refused
                    : Self.refused
                // No program may use the state when it is put back.
                var ways = [
                    [UInt8](repeating: 0, count: 100),
                    try alice.store().seal(content, row.context),
                ]
                if !all { ways = [ways.randomElement(using: &random)!] }
                for sealed in ways {
                    damaged += 1
                    let chosen = all ? commands : Array(commands.shuffled(using: &random).prefix(3))
                    for (name, run) in chosen {
                        let result = try withCopy {
                            try damage(row, sealed)
                            return try run(alice)
                        }
                        runs += 1
                        let isNeeded = table.needed.contains(name)
                        #expect(
                            result.status == expected[name] || isNeeded && result.status != 70,
                            "\(row.table) \(row.rowID), \(name): \(result) \(random.comment)")
                    }
                }
            }
        }
        print("state: \(Self.tables.count) tables, \(damaged) damaged rows, \(runs) commands")
    }
}
