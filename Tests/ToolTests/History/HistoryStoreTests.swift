import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// The history in the state: both directions, found by conversation, number and id.
@Suite struct HistoryStoreTests {
    let scratch = TemporaryDirectory()
    let me = Sample.identity()
    let bob = Sample.identity()
    let carol = Sample.identity()

    func store() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: me, lockTimeout: 5)
    }

    func message(
        _ text: String, from: KeyID, to: KeyID, id: String = Envelope.newID(),
        body: JSONObject? = nil, written: Int64 = 1_795_000_000
    ) -> Message {
        Message(
            id: id, from: from, to: to, time: Timestamp(seconds: written), suite: .ratchet,
            authenticated: true, trust: .trusted, body: body ?? Message.textBody(text))
    }

    @discardableResult
    func receive(
        _ text: String, from: Identity, in transaction: StateTransaction,
        id: String = Envelope.newID(), body: JSONObject? = nil
    ) throws -> Int64 {
        try transaction.recordOpened(
            id: id, digest: sha256(Array(id.utf8)),
            message(text, from: from.id, to: me.id, id: id, body: body))
    }

    @discardableResult
    func send(
        _ text: String, to peer: Identity, in transaction: StateTransaction,
        id: String = Envelope.newID(), body: JSONObject? = nil
    ) throws -> Int64 {
        try transaction.recordSent(
            message(text, from: me.id, to: peer.id, id: id, body: body))
    }

    /// A message and its record are stored alike, whatever members it has.
    @Test func aMessageIsPackedAsItsRecord() throws {
        var generator = SystemRandomNumberGenerator()
        func maybe<Value>(_ value: @autoclosure () -> Value) -> Value? {
            Bool.random(using: &generator) ? value() : nil
        }
        let ids = [me.id, bob.id, Sample.identity().id]
        let suites: [SuiteName] = [.ratchet, .sealed, SuiteName(rawValue: "other")]
        let times = [0, 1_795_000_000, -1, Int64(UInt32.max), Int64(UInt32.max) + 1]
        var forms: Set<UInt8> = []
        for _ in 0..<2_000 {
            var members: [(String, JSON?)] = [
                ("extra", maybe(.integer(1))), ("more", maybe(.string("x"))),
            ]
            members.append(("ttl", Int.random(in: 0..<8) == 0 ? .integer(60) : nil))
            let message = Message(
                id: Int.random(in: 0..<8) == 0 ? "no uuid" : Envelope.newID(),
                from: maybe(ids.randomElement()!), to: maybe(ids.randomElement()!),
                name: maybe("Bob"), time: maybe(Timestamp(seconds: times.randomElement()!)),
                suite: suites.randomElement()!, authenticated: Bool.random(),
                trust: [.unverified, .trusted, .verified].randomElement()!,
                details: maybe(["chat": .object(["id": .string("c")])]), legacy: maybe("old"),
                body: Message.textBody("text"), members: JSONObject(members))
            let conversation = Conversation(of: message, owner: me.id)
            #expect(conversation == Conversation(of: message.record, owner: me.id))
            let packed = PackedRecord.pack(message, conversation, owner: me.id)
            #expect(packed == PackedRecord.pack(message.record, conversation, owner: me.id))
            #expect(
                PackedRecord.unpack(packed[...], conversation, owner: me.id) == message.record)
            forms.insert(packed[0])
        }
        #expect(forms == [0, 1])
    }

    func texts(_ entries: [HistoryEntry]) -> [String] {
        entries.map { $0.record["body"]?.object?["text"]?.string ?? "-" }
    }

    /// Changes the database file directly.
    func change(_ sql: String...) throws {
        let database = try DurableDatabase(
            path: scratch("\(me.id).db"),
            migrations: [], lockTimeout: 5)
        try database.transaction { connection throws(StateError) in
            for sql in sql { try connection.run(sql) }
        }
        try database.close()
    }

    // MARK: Pages

    @Test func bothDirectionsAreInTheOrderOfTheirNumbers() throws {
        let store = try store()
        try store.transaction { transaction in
            for number in 0..<30 {
                try receive("in \(number)", from: bob, in: transaction)
                try send("out \(number)", to: bob, in: transaction)
                try receive("other \(number)", from: carol, in: transaction)
            }
        }
        let with = Conversation.peer(bob.id)
        let last = try store.history(conversation: with, limit: 3)
        #expect(texts(last) == ["out 28", "in 29", "out 29"])
        #expect(last.map(\.direction) == [.sent, .received, .sent])
        let before = try store.history(conversation: with, before: last[0].place, limit: 2)
        #expect(texts(before) == ["out 27", "in 28"])
        #expect(try store.history(conversation: with, limit: 1_000).count == 60)
        #expect(texts(try store.history(conversation: nil, limit: 2)) == ["out 29", "other 29"])
        #expect(texts(try store.lastEntries(conversation: with, 2)) == ["in 29", "out 29"])
        #expect(try store.history(conversation: .unknown, limit: 9).isEmpty)
        #expect(
            last.allSatisfy { $0.peer == bob.id && $0.time == Timestamp(seconds: 1_795_000_000) })
    }

    @Test func eventsAreNotOnAPageOfMessages() throws {
        let store = try store()
        let id = Envelope.newID()
        let reaction: JSONObject = [
            "type": .string("reaction"), "emoji": .string("👍"),
            "target": .object(["id": .string(id), "from": .string(me.id.description)]),
        ]
        try store.transaction { transaction in
            try send("hello", to: bob, in: transaction, id: id)
            for _ in 0..<100 { try receive("", from: bob, in: transaction, body: reaction) }
            try send("", to: bob, in: transaction, body: reaction)
            try receive("later", from: bob, in: transaction)
        }
        let with = Conversation.peer(bob.id)
        #expect(texts(try store.history(conversation: with, limit: 9)) == ["hello", "later"])
        #expect(try store.history(conversation: with, limit: 200, events: true).count == 103)
        // A peer's events are bounded; they do not displace the owner's.
        let events = try store.events(on: id, in: with)
        #expect(events.count == Int(StateTransaction.eventsPerAuthor) + 1)
        #expect(events.filter { $0.direction == .sent }.count == 1)
        #expect(try store.events(on: id, in: .peer(carol.id)).isEmpty)
        #expect(try store.conversations().map(\.unread) == [1])
    }

    /// C15: of a flood of events on one message, the oldest are erased and counted by author.
    @Test func c15AFloodOfEventsIsErasedAndCounted() throws {
        let store = try store()
        let (limit, flood) = (Int(StateTransaction.eventsPerAuthor), 1_000)
        let id = Envelope.newID()
        let target = JSON.object(["id": .string(id), "from": .string(me.id.description)])
        func sizes() throws -> (rows: Int64, bytes: Int64) {
            try store.database.use { (connection: StateConnection) throws(StateError) in
                (
                    try connection.integer("SELECT count(*) FROM message WHERE sealed NOT NULL"),
                    try connection.integer("SELECT sum(length(sealed)) FROM message")
                )
            }
        }
        try store.transaction { try send("hello", to: bob, in: $0, id: id) }
        for number in 0..<flood {
            try store.transaction { transaction in
                for _ in 0..<2 {
                    try receive(
                        "", from: bob, in: transaction,
                        body: [
                            "type": .string("reaction"), "target": target,
                            "emoji": .string(number % 2 == 0 ? "👍" : "👎"),
                        ])
                }
            }
        }
        try store.transaction { transaction in
            try send(
                "", to: bob, in: transaction,
                body: [
                    "type": .string("reaction"), "target": target, "emoji": .string("❤️"),
                ])
        }
        let after = try sizes()
        #expect(after.rows == Int64(limit) + 2 && after.bytes < 40_000, "\(after)")
        let entry = try #require(try store.historyEntries(id: id, in: .peer(bob.id)).first)
        let view = try store.views(of: [entry])[0]
        #expect(view.reactions.map(\.emoji) == ["👎", "❤️"])
        #expect(view.dropped == [.init(from: bob.id, count: 2 * flood - limit)])
    }

    /// A receipt for several messages stays while one of them still needs it.
    @Test func c15AnEventOfSeveralTargetsStaysForTheOthers() throws {
        let store = try store()
        let ids = [Envelope.newID(), Envelope.newID()]
        func receipt(_ ids: [String]) -> JSONObject {
            [
                "type": .string("receipt"), "status": .string("delivered"),
                "ids": .array(ids.map { .string($0) }),
                "time": .string(Timestamp(seconds: 1_795_000_000).description),
            ]
        }
        let first = try store.transaction { transaction in
            for id in ids { try send("x", to: bob, in: transaction, id: id) }
            return try receive("", from: bob, in: transaction, body: receipt(ids))
        }
        try store.transaction { transaction in
            for _ in 0..<200 {
                try receive("", from: bob, in: transaction, body: receipt([ids[0]]))
            }
        }
        #expect(try store.historyEntry(number: first)?.isGone == false)
        let with = Conversation.peer(bob.id)
        #expect(try store.events(on: ids[1], in: with).map(\.number) == [first])
        #expect(try store.events(on: ids[0], in: with).allSatisfy { $0.number != first })
        try store.transaction { transaction in
            for _ in 0..<200 {
                try receive("", from: bob, in: transaction, body: receipt([ids[1]]))
            }
        }
        #expect(try store.historyEntry(number: first)?.isGone == true)
    }

    @Test func aNoteToOneselfIsThereOnce() throws {
        let store = try store()
        let id = Envelope.newID()
        try store.transaction { transaction in
            try send("milk", to: me, in: transaction, id: id)
            try receive("milk", from: me, in: transaction, id: id)
            try receive("from another machine", from: me, in: transaction)
        }
        let notes = try store.history(conversation: .peer(me.id), limit: 9)
        #expect(texts(notes) == ["milk", "from another machine"])
        // The received copy is recorded all the same: its envelope is a repeat.
        let known = try store.transaction {
            try $0.opened(id: id, digest: sha256(Array(id.utf8)))
        }
        guard case .same = known else {
            Issue.record("\(known)")
            return
        }
    }

    // MARK: Ids

    @Test func aMessageIsFoundByItsIDOrTheBeginningOfIt() throws {
        let store = try store()
        let ids = [
            "aaaaaaaa-0000-4000-8000-000000000001", "aaaabbbb-0000-4000-8000-000000000002",
            "cccccccc-0000-4000-8000-000000000003",
        ]
        try store.transaction { transaction in
            try receive("1", from: bob, in: transaction, id: ids[0])
            try send("2", to: bob, in: transaction, id: ids[1])
            try receive("3", from: carol, in: transaction, id: ids[2])
        }
        func found(_ id: String, _ conversation: Conversation? = nil) throws -> String {
            switch try store.historyEntry(id: id, in: conversation) {
            case .found(let entry): texts([entry])[0]
            case .none: "none"
            case .several: "several"
            }
        }
        #expect(try ids.map { try found($0) } == ["1", "2", "3"])
        #expect(try found("aaaaa") == "1")
        #expect(try found("AAAAB") == "2")
        #expect(try found("aaaa") == "several")
        #expect(try found("aaa") == "none")
        #expect(try found("dddd") == "none")
        #expect(try found("cccc", .peer(bob.id)) == "none")
        #expect(try found(ids[2], .peer(bob.id)) == "none")
        #expect(try found("cccc", .peer(carol.id)) == "3")
        // A peer may use the id of a message that was sent to them.
        try store.transaction { _ = try receive("4", from: bob, in: $0, id: ids[1]) }
        #expect(try found(ids[1]) == "several")
    }

    @Test func noNumberIsUsedTwice() throws {
        let numbers = try store().transaction { transaction in
            try (0..<3).map { try receive("\($0)", from: bob, in: transaction) }
        }
        try change("DELETE FROM message WHERE number >= 2")
        let next = try store().transaction { try receive("next", from: bob, in: $0) }
        #expect(numbers == [1, 2, 3] && next == 4)
    }

    // MARK: Conversations

    @Test func unreadMessagesAreCounted() throws {
        let store = try store()
        let with = Conversation.peer(bob.id)
        var numbers: [Int64] = []
        try store.transaction { transaction in
            numbers = try (0..<4).map { try receive("\($0)", from: bob, in: transaction) }
            try send("mine", to: bob, in: transaction)
            try receive("x", from: carol, in: transaction)
        }
        func unread() throws -> Int? { try store.summary(of: with)?.unread }
        #expect(try unread() == 4)
        let read = try store.transaction { try $0.markRead(with, upTo: numbers[1]) }
        #expect(try texts(read) == ["0", "1"] && unread() == 2)
        // A mark never goes back.
        #expect(try store.transaction { try $0.markRead(with, upTo: 1) }.isEmpty)
        #expect(try unread() == 2)
        try store.transaction { transaction in
            try receive("new", from: bob, in: transaction)
            #expect(try texts(transaction.markRead(with, upTo: numbers[3])) == ["2", "3"])
        }
        #expect(try unread() == 1)
    }

    /// A message that was stored after the last look at the history is not read unseen.
    @Test func aMarkEndsBeforeAMessageThatWasNotShown() throws {
        let store = try store()
        let with = Conversation.peer(bob.id)
        var numbers: [Int64] = []
        try store.transaction { transaction in
            numbers = try (0..<3).map { try receive("\($0)", from: bob, in: transaction) }
        }
        func mark(_ shown: Set<Int64>) throws -> [String] {
            try texts(store.transaction { try $0.markRead(with, upTo: .end, shown: shown) })
        }
        #expect(try mark([numbers[1], numbers[2]]) == [])
        #expect(try mark([numbers[0], numbers[2]]) == ["0"])
        #expect(try store.summary(of: with)?.unread == 2)
        #expect(try mark([numbers[1], numbers[2]]) == ["1", "2"])
        #expect(try store.summary(of: with)?.unread == 0)
    }

    @Test func favouritesAreFirstThenTheLatest() throws {
        let store = try store()
        try store.transaction { transaction in
            try receive("x", from: bob, in: transaction)
            try receive("x", from: carol, in: transaction)
            try send("x", to: me, in: transaction)
        }
        func order() throws -> [KeyID?] { try store.conversations().map(\.conversation.peer) }
        #expect(try order() == [me.id, carol.id, bob.id])
        try store.transaction {
            try $0.change(.peer(bob.id)) { settings in
                (settings.isFavourite, settings.name) = (true, "Robert")
                settings.isMuted = true
            }
        }
        #expect(try order() == [bob.id, me.id, carol.id])
        // A new message keeps the settings.
        try store.transaction { _ = try receive("y", from: bob, in: $0) }
        let settings = try #require(try store.summary(of: .peer(bob.id))?.settings)
        #expect(settings.name == "Robert" && settings.isMuted)
    }

    // MARK: Events

    func target(_ id: String, _ author: Identity) -> JSON {
        .object(["id": .string(id), "from": .string(author.id.description)])
    }

    func view(_ id: String, _ store: IdentityStore) throws -> MessageView {
        guard case .found(let entry) = try store.historyEntry(id: id) else {
            throw StateError.noHome
        }
        return try store.views(of: [entry])[0]
    }

    /// Only the author's deletion counts, before or after the message.
    @Test func c7OnlyTheAuthorDeletesAndEdits() throws {
        let store = try store()
        let (mine, theirs) = (Envelope.newID(), Envelope.newID())
        func delete(_ id: String, _ author: Identity) -> JSONObject {
            ["type": .string("delete"), "target": target(id, author)]
        }
        func edit(_ id: String, _ author: Identity, _ text: String) -> JSONObject {
            [
                "type": .string("edit"), "target": target(id, author),
                "body": .object(Message.textBody(text)),
            ]
        }
        try store.transaction { transaction in
            try send("mine", to: bob, in: transaction, id: mine)
            try receive("theirs", from: bob, in: transaction, id: theirs)
            // Another's message, under the true author's id and under the own.
            for author in [me, bob] {
                try receive("", from: bob, in: transaction, body: delete(mine, author))
                try receive("", from: bob, in: transaction, body: edit(mine, author, "forged"))
                try send("", to: bob, in: transaction, body: delete(theirs, author))
                try send("", to: bob, in: transaction, body: edit(theirs, author, "forged"))
            }
            // From another conversation.
            try receive("", from: carol, in: transaction, body: delete(theirs, bob))
        }
        #expect(try view(mine, store).body == Message.textBody("mine"))
        #expect(try view(theirs, store).body == Message.textBody("theirs"))
        try store.transaction { transaction in
            try receive("", from: bob, in: transaction, body: edit(theirs, bob, "second"))
            try receive("", from: bob, in: transaction, body: edit(theirs, bob, "third"))
        }
        #expect(
            try view(theirs, store).versions.map(\.body)
                == ["theirs", "second", "third"].map(Message.textBody))
        _ = try store.transaction { transaction in
            try receive("", from: bob, in: transaction, body: delete(theirs, bob))
        }
        // The message and all edits of it are erased, also those that did not count.
        let gone = try store.history(conversation: .peer(bob.id), limit: 99, events: true)
        #expect(gone.filter { $0.state == .deleted }.map(\.number) == [2, 6, 10, 12, 13])
        #expect(gone.filter(\.isGone).allSatisfy { $0.record == [:] })
    }

    /// The newest edit counts, also if it arrives before an older one.
    @Test func editsCountInTheOrderOfTheirTimes() throws {
        let store = try store()
        let id = Envelope.newID()
        try store.transaction { transaction in
            try receive("first", from: bob, in: transaction, id: id)
            for (text, written) in [("third", Int64(1_795_000_020)), ("second", 1_795_000_010)] {
                let edit: JSONObject = [
                    "type": .string("edit"), "target": target(id, bob),
                    "body": .object(Message.textBody(text)),
                ]
                try transaction.recordOpened(
                    id: Envelope.newID(), digest: [],
                    message("", from: bob.id, to: me.id, body: edit, written: written))
            }
        }
        #expect(
            try view(id, store).versions.map(\.body)
                == ["first", "second", "third"].map(Message.textBody))
    }

    /// A deletion that arrives first waits for its message; nothing brings a deleted message back.
    @Test func c9ADeletedMessageStaysDeleted() throws {
        let store = try store()
        let (early, late) = (Envelope.newID(), Envelope.newID())
        func deletion(_ id: String) -> JSONObject {
            ["type": .string("delete"), "target": target(id, bob)]
        }
        let now = Timestamp.now()
        try store.transaction { transaction in
            try receive("", from: bob, in: transaction, body: deletion(early))
            try receive("secret", from: bob, in: transaction, id: early)
            try transaction.recordOpened(
                id: Envelope.newID(), digest: [],
                message("", from: bob.id, to: me.id, body: deletion(late)),
                at: Timestamp(seconds: now.seconds - 61 * 86_400))
            try receive("kept", from: bob, in: transaction, id: late)
        }
        #expect(try store.historyEntry(number: 2)?.state == .deleted)
        #expect(try store.conversations().map(\.unread) == [1])
        // A deletion waits for 60 days.
        #expect(try store.historyEntry(number: 4)?.state == .new)
        let known = try store.transaction {
            try $0.opened(id: early, digest: sha256(Array(early.utf8)))
        }
        #expect(known == .deleted)
    }

    /// C15: events whose targets are not here are bounded in number and time.
    @Test func c15WaitingEventsAreBounded() throws {
        let store = try store()
        let limit = Int(StateTransaction.waitingLimit)
        let ids = (0..<(limit + 3)).map { _ in Envelope.newID() }
        func waiting() throws -> Int64 {
            try store.database.use { (connection: StateConnection) throws(StateError) in
                try connection.integer("SELECT count(*) FROM waiting")
            }
        }
        let now = Timestamp.now()
        try store.transaction { transaction in
            for id in ids {
                try receive(
                    "", from: bob, in: transaction,
                    body: ["type": .string("delete"), "target": target(id, bob)])
            }
            // Another conversation has its own limit.
            try receive(
                "", from: carol, in: transaction,
                body: ["type": .string("delete"), "target": target(ids[0], carol)])
        }
        #expect(try waiting() == Int64(limit) + 1)
        // The dropped ones are tombstones.
        #expect(
            try (1...4).map { try store.historyEntry(number: $0)?.isGone } == [
                true, true, true, false,
            ])
        try store.transaction { transaction in
            try receive("its deletion was dropped", from: bob, in: transaction, id: ids[0])
            try receive("deleted", from: bob, in: transaction, id: ids[3])
        }
        let last = try store.history(conversation: .peer(bob.id), limit: 2)
        #expect(last.map(\.isGone) == [false, true])
        #expect(try waiting() == Int64(limit))
        // The rest is dropped after 60 days, by the clock of a day before.
        try store.expire(at: Timestamp(seconds: now.seconds + 59 * 86_400))
        #expect(try waiting() == Int64(limit))
        for day in 62...63 {
            try store.expire(at: Timestamp(seconds: now.seconds + Int64(day) * 86_400))
        }
        #expect(try waiting() == 0)
        #expect(try store.historyEntry(number: 10)?.isGone == true)
    }

    @Test func reactionsAndPinsAreTheLastOfEachAuthor() throws {
        let store = try store()
        let id = Envelope.newID()
        func react(_ emoji: String) -> JSONObject {
            ["type": .string("reaction"), "emoji": .string(emoji), "target": target(id, me)]
        }
        func pin(_ type: String, until: String? = nil) -> JSONObject {
            JSONObject([
                ("type", .string(type)), ("target", target(id, me)),
                ("until", until.map { .string($0) }),
            ])
        }
        try store.transaction { transaction in
            try send("hello", to: bob, in: transaction, id: id)
            try receive("", from: bob, in: transaction, body: react("👍"))
            try send("", to: bob, in: transaction, body: react("😂"))
            try receive("", from: bob, in: transaction, body: react("❤️"))
            try receive("", from: bob, in: transaction, body: pin("pin"))
        }
        #expect(try view(id, store).reactions.map(\.emoji) == ["😂", "❤️"])
        #expect(try view(id, store).pin?.from == bob.id)
        #expect(try store.pinned(in: .peer(bob.id), limit: 9).map(\.id) == [id])
        try store.transaction { transaction in
            try receive("", from: bob, in: transaction, body: react(""))
            try send("", to: bob, in: transaction, body: pin("unpin"))
        }
        #expect(try view(id, store).reactions.map(\.from) == [me.id])
        #expect(try view(id, store).pin == nil)
        _ = try store.transaction { transaction in
            try send("", to: bob, in: transaction, body: pin("pin", until: "2026-01-01T00:00:00Z"))
        }
        #expect(try view(id, store).pin == nil)
    }

    /// A receipt counts from the recipient, and never goes back.
    @Test func c7AReceiptIsOfTheRecipient() throws {
        let store = try store()
        let id = Envelope.newID()
        func receipt(_ status: String) -> JSONObject {
            [
                "type": .string("receipt"), "status": .string(status),
                "ids": .array([.string(Envelope.newID()), .string(id)]),
                "time": .string("2026-01-01T00:00:00Z"),
            ]
        }
        func state() throws -> HistoryEntry.State? { try store.historyEntry(number: 1)?.state }
        try store.transaction { transaction in
            try send("hello", to: bob, in: transaction, id: id)
            try receive("", from: carol, in: transaction, body: receipt("read"))
            try send("", to: bob, in: transaction, body: receipt("read"))
        }
        #expect(try state() == .new && view(id, store).receipts.isEmpty)
        _ = try store.transaction { try receive("", from: bob, in: $0, body: receipt("delivered")) }
        #expect(try state() == .delivered)
        try store.transaction { transaction in
            try receive("", from: bob, in: transaction, body: receipt("read"))
            try receive("", from: bob, in: transaction, body: receipt("delivered"))
        }
        #expect(try state() == .read && view(id, store).receipts.map(\.status) == [.read])
    }

    /// C4: a receipt that is put back lowers no status.
    @Test func c4AnOldReceiptLowersNothing() throws {
        let store = try store()
        let id = Envelope.newID()
        func receipt(_ status: String) -> JSONObject {
            [
                "type": .string("receipt"), "status": .string(status),
                "ids": .array([.string(id)]), "time": .string("2026-11-23T09:30:00Z"),
            ]
        }
        try store.transaction { transaction in
            try send("hello", to: bob, in: transaction, id: id)
            for status in ["delivered", "read", "delivered"] {
                try receive("", from: bob, in: transaction, body: receipt(status))
            }
        }
        let entry = try #require(try store.historyEntry(number: 1))
        #expect(entry.state == .read)
        #expect(try store.views(of: [entry])[0].receipts.map(\.status) == [.read])
    }

    @Test func changedMessagesAreFoundByTheTimeOfTheChange() throws {
        let store = try store()
        let ids = (0..<4).map { _ in Envelope.newID() }
        try store.transaction { transaction in
            for (index, id) in ids.enumerated() {
                try transaction.recordSent(
                    message("\(index)", from: me.id, to: bob.id, id: id),
                    at: Timestamp(seconds: 1_000 + Int64(index)))
            }
            try receive(
                "", from: bob, in: transaction,
                body: [
                    "type": .string("reaction"), "emoji": .string("👍"),
                    "target": target(ids[1], me),
                ])
            let entry = try #require(try transaction.storedEntry(number: 1))
            #expect(try transaction.delete(entry, at: Timestamp(seconds: 3_000)))
            #expect(try !transaction.delete(entry))
        }
        func changed(_ seconds: Int64) throws -> [Int64] {
            try store.changed(
                since: Timestamp(seconds: seconds), in: .peer(bob.id), limit: 9
            ).map(\.number)
        }
        #expect(try changed(0) == [1, 2, 3, 4])
        #expect(try changed(1_003) == [1, 2, 4])
        #expect(try changed(2_000) == [1, 2])
        #expect(try changed(3_001) == [2])
        let since = try store.history(since: Timestamp(seconds: 1_002), in: nil, limit: 9)
        #expect(since.map(\.number) == [3, 4])
    }

    // MARK: Search

    @Test func aSearchFindsTextsInAnyCase() throws {
        let store = try store()
        let texts = [
            "Dinner at Eight", "GRÜSSE aus Köln", "she said \"no\"\nand left", "Привет, мир",
            "日本語の文",
            "type text body id",
        ]
        try store.transaction { transaction in
            for text in texts { try receive(text, from: bob, in: transaction) }
            try receive("dinner with carol", from: carol, in: transaction)
        }
        func found(_ text: String, in conversation: Conversation? = nil) throws -> [Int64] {
            var numbers: [Int64] = []
            try store.search(text, in: conversation) {
                numbers.append($0.number)
                return true
            }
            return numbers
        }
        #expect(try found("dinner") == [7, 1])
        #expect(try found("DINNER AT", in: .peer(bob.id)) == [1])
        #expect(try found("grüsse") == [2] && found("KÖLN") == [2])
        #expect(try found("\"no\"\nand") == [3])
        #expect(try found("ПРИВЕТ") == [4] && found("本語") == [5])
        // The names of members and the ids are not text.
        #expect(try found("type") == [6] && found("ratchet").isEmpty && found("05").isEmpty)
    }

    @Test func aSearchReadsAllBlocksInOrderAndStops() throws {
        let store = try store()
        try store.transaction { transaction in
            try receive("needle", from: bob, in: transaction)
            // More than a block for each thread.
            for _ in 0..<30_000 { try send("hay", to: bob, in: transaction) }
            for _ in 0..<3 { try receive("a needle", from: bob, in: transaction) }
        }
        var numbers: [Int64] = []
        try store.search("needle", in: nil) {
            numbers.append($0.number)
            return true
        }
        #expect(numbers == [30_004, 30_003, 30_002, 1])
        numbers = []
        try store.search("needle", in: nil, .before(store.place(of: .number(30_004)))) {
            numbers.append($0.number)
            return numbers.count < 2
        }
        #expect(numbers == [30_003, 30_002])
        numbers = []
        try store.search("needle", in: nil, .from(.start)) {
            numbers.append($0.number)
            return true
        }
        #expect(numbers == [1, 30_002, 30_003, 30_004])
        numbers = []
        try store.search("needle", in: nil, .from(store.place(after: .number(30_002)))) {
            numbers.append($0.number)
            return numbers.count < 1
        }
        #expect(numbers == [30_003])
        for number in [Int64(30_004), 30_005] {
            try store.search("needle", in: nil, .from(store.place(after: .number(number)))) { _ in
                Issue.record("a message after the last one")
                return true
            }
        }
    }

    // MARK: Storage

    @Test func theFileShowsNeitherTextsNorPeersNorIDs() throws {
        let id = Envelope.newID()
        try store().transaction { transaction in
            try receive("a very secret text", from: bob, in: transaction, id: id)
            try send("an even more secret text", to: carol, in: transaction)
            try transaction.change(.peer(bob.id)) { $0.name = "Rumpelstiltskin" }
        }
        for suffix in ["", "-wal"] {
            let bytes = TemporaryDirectory.contents(scratch("\(me.id).db\(suffix)"))
            let text = String(decoding: bytes, as: UTF8.self)
            for secret in ["secret text", "Rumpel", id, bob.id.description] {
                #expect(!text.contains(secret))
            }
            let digits = hex(bytes)
            #expect(!digits.contains(hex(bob.id.publicKey)))
            #expect(!digits.contains(id.filter { $0 != "-" }))
        }
    }

    @Test func rowsCannotBeExchanged() throws {
        try store().transaction { transaction in
            try receive("1", from: bob, in: transaction)
            try receive("2", from: bob, in: transaction)
            try receive("3", from: carol, in: transaction)
        }
        try change(
            """
            UPDATE message SET sealed = (SELECT sealed FROM message WHERE number = 2)
            WHERE number = 1
            """, "UPDATE message SET conversation = 1 WHERE number = 3")
        // They are damaged rows, and stop no other one.
        for number: Int64 in [1, 3] {
            let entry = try #require(try store().historyEntry(number: number))
            #expect(entry.state == .damaged && entry.record.members.isEmpty)
        }
        #expect(try store().historyEntry(number: 2)?.state == .new)
        try change("UPDATE conversation SET mark = x'00' WHERE number = 1")
        #expect(try store().conversations().map(\.conversation) == [.peer(carol.id)])
    }

    /// A record takes back each byte that it had.
    @Test func packedRecordsAreExact() throws {
        let conversation = Conversation.peer(bob.id)
        let base = message("x", from: bob.id, to: me.id).record
        var records: [JSONObject] = [
            base, [:], ["v": .integer(2)], ["type": .string("message")],
            message("x", from: carol.id, to: bob.id).record,
            message("x", from: me.id, to: me.id).record,
        ]
        let values: [JSON?] = [
            nil, .null, .bool(false), .integer(1), .string(""), .string("unverified"),
            .string("2026-11-22T10:00:00Z"), .string("2026-11-22T10:00:00.5Z"),
            .string("1969-12-31T23:59:59Z"), .string("2107-01-01T00:00:00Z"),
            .string(carol.id.description), .string(bob.id.description.uppercased()),
            .string("AAAAAAAA-0000-4000-8000-000000000001"),
            .string("00000000-0000-0000-0000-000000000000"), .object(["a": .array([.number(0.5)])]),
        ]
        for name in base.members.map(\.name) + ["name", "details", "legacy", "x-extra"] {
            for value in values {
                var changed = base
                changed[name] = value
                records.append(changed)
                // The same members, in an order that `decrypt` does not print.
                changed[name] = nil
                changed[name] = value
                records.append(changed)
            }
        }
        for record in records {
            let packed = PackedRecord.pack(record, conversation, owner: me.id)
            #expect(PackedRecord.unpack(packed[...], conversation, owner: me.id) == record)
            for end in 0..<min(packed.count, 30) {
                _ = PackedRecord.unpack(packed[..<end], conversation, owner: me.id)
            }
        }
        #expect(PackedRecord.pack(base, conversation, owner: me.id).count < 70)
    }

    @Test func aMessageTakesFewBytes() throws {
        let store = try store()
        let text = String(
            repeating: "sixty characters of text are about the usual length ", count: 2)
        let count = 2_000
        func bytes() throws -> Int64 {
            try store.database.use { (connection: StateConnection) throws(StateError) in
                try connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size")
            }
        }
        // The empty tables have a page each.
        let empty = try bytes()
        try store.transaction { transaction in
            for _ in 0..<count { try receive(String(text.prefix(60)), from: bob, in: transaction) }
        }
        let each = try Int(bytes() - empty) / count
        #expect(each <= 350, "\(each) bytes a message")
    }
}

extension StateTransaction {
    /// Returns the message with a number, or `nil`.
    func storedEntry(number: Int64) throws(StateError) -> HistoryEntry? {
        try store.entries("WHERE number = ?", number, connection: connection).first
    }
}
