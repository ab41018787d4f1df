import Foundation
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Lifetimes of messages, and how long messages are kept, with times that the tests give.
@Suite struct ExpiryTests {
    let scratch = TemporaryDirectory()
    let me = Sample.identity()
    let bob = Sample.identity()
    let start: Int64 = 1_795_000_000
    var with: Conversation { .peer(bob.id) }

    func store() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: me, lockTimeout: 5)
    }

    func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: start + seconds) }

    func body(_ text: String, after seconds: Int64?, from start: String = "read") -> JSONObject {
        var body = Message.textBody(text)
        body["expires"] = seconds.map {
            .object(["after": .integer($0), "from": .string(start)])
        }
        return body
    }

    func message(
        _ body: JSONObject, from: KeyID, to: KeyID, id: String, written: Int64 = 0
    ) -> Message {
        Message(
            id: id, from: from, to: to, time: at(written), suite: .ratchet, authenticated: true,
            trust: .trusted, body: body)
    }

    @discardableResult
    func receive(
        _ body: JSONObject, _ store: IdentityStore, id: String = Envelope.newID(),
        written: Int64 = 0, at time: Int64
    ) throws -> Int64 {
        try store.transaction { transaction in
            try transaction.recordOpened(
                id: id, digest: sha256(Array(id.utf8)),
                message(body, from: bob.id, to: me.id, id: id, written: written),
                at: at(time))
        }
    }

    @discardableResult
    func send(
        _ body: JSONObject, _ store: IdentityStore, id: String = Envelope.newID(), at time: Int64
    ) throws -> Int64 {
        try store.transaction { transaction in
            try transaction.recordSent(
                message(body, from: me.id, to: bob.id, id: id, written: time),
                at: at(time))
        }
    }

    func states(_ store: IdentityStore) throws -> [HistoryEntry.State] {
        try store.database.use { (connection: StateConnection) throws(StateError) in
            try store.entries(
                "WHERE kind = 0 ORDER BY number", connection: connection, isErasing: true)
        }.map(\.state)
    }

    @Test func aSentMessageEndsAfterSending() throws {
        let store = try store()
        try send(body("a", after: 60), store, at: 0)
        try send(body("b", after: nil), store, at: 0)
        try store.expire(at: at(59))
        #expect(try states(store) == [.new, .new])
        try store.expire(at: at(60))
        #expect(try states(store) == [.expired, .new])
    }

    @Test func aReceivedMessageEndsAfterReading() throws {
        let store = try store()
        let number = try receive(body("a", after: 60), store, at: 0)
        try store.expire(at: at(1_000_000))
        #expect(try states(store) == [.new])
        try store.transaction { _ = try $0.markRead(with, upTo: number, at: at(2_000_000)) }
        try store.expire(at: at(2_000_059))
        #expect(try states(store) == [.new])
        try store.expire(at: at(2_000_060))
        #expect(try states(store) == [.expired])
        #expect(try store.conversations()[0].unread == 0)
    }

    /// A claimed time in the future does not make the lifetime longer, and one in the past makes it shorter.
    @Test func aLifetimeFromSendingBeginsAtTheEarlierTime() throws {
        let store = try store()
        try receive(body("late", after: 60, from: "sent"), store, written: -40, at: 0)
        try receive(body("future", after: 60, from: "sent"), store, written: 1_000, at: 0)
        try store.expire(at: at(20))
        #expect(try states(store) == [.expired, .new])
        try store.expire(at: at(60))
        #expect(try states(store) == [.expired, .expired])
        // A message that has already ended leaves only its place.
        try receive(body("over", after: 60, from: "sent"), store, written: -61, at: 0)
        #expect(try states(store).last == .expired)
        #expect(try store.conversations()[0].unread == 0)
    }

    /// C9: an expired message does not come back by its envelope or by an edit.
    @Test func c9AnExpiredMessageDoesNotComeBack() throws {
        let store = try store()
        let id = Envelope.newID()
        try receive(body("secret", after: 60, from: "sent"), store, id: id, at: 0)
        try store.expire(at: at(60))
        let repeated = try store.transaction {
            try $0.opened(id: id, digest: sha256(Array(id.utf8)))
        }
        #expect(repeated == .deleted)
        let edit: JSONObject = [
            "type": .string("edit"), "body": .object(Message.textBody("secret again")),
            "target": .object(["id": .string(id), "from": .string(bob.id.description)]),
        ]
        let number = try receive(edit, store, at: 61)
        #expect(try store.historyEntry(number: number)?.isGone == true)
        var found = 0
        try store.search("secret", in: nil) { _ in
            found += 1
            return true
        }
        #expect(found == 0)
    }

    /// An edit is erased with its message.
    @Test func earlierVersionsEndWithTheMessage() throws {
        let store = try store()
        let id = Envelope.newID()
        try receive(body("first", after: 60, from: "sent"), store, id: id, at: 0)
        let edit: JSONObject = [
            "type": .string("edit"), "body": .object(Message.textBody("second")),
            "target": .object(["id": .string(id), "from": .string(bob.id.description)]),
        ]
        let number = try receive(edit, store, at: 1)
        #expect(try store.historyEntry(number: number)?.isGone == false)
        try store.expire(at: at(60))
        #expect(try store.historyEntry(number: number)?.isGone == true)
    }

    /// A message whose lifetime has ended is not shown, even if it could not be erased yet.
    @Test func anEndedMessageIsNotShownBeforeItIsErased() throws {
        let store = try store()
        let past = Timestamp.now().seconds - start - 100
        let number = try send(body("secret", after: 60), store, at: past)
        try send(body("present", after: nil), store, at: past)
        let entry = try #require(try store.historyEntry(number: number))
        #expect(entry.isGone && entry.record == JSONObject([]) && entry.id == nil)
        #expect(try store.history(conversation: with, limit: 9).map(\.isGone) == [true, false])
    }

    /// The bytes of an erased row are neither in the file nor in the log.
    @Test(arguments: [true, false]) func erasedContentIsOverwritten(_ isExpired: Bool) throws {
        let path = scratch("\(me.id).db")
        func sealed(_ store: IdentityStore) throws -> [[UInt8]] {
            try store.database.use { (connection: StateConnection) throws(StateError) in
                try connection.rows("SELECT sealed FROM message WHERE sealed IS NOT NULL") {
                    $0.bytes(0)
                }
            }
        }
        func files() throws -> Data {
            let log = FileManager.default.contents(atPath: path + "-wal") ?? Data()
            return try Data(contentsOf: URL(fileURLWithPath: path)) + log
        }
        let store = try store()
        // Each long text has its own pages; short ones share pages.
        for length in [10, 200, 5_000, 60_000] {
            let text = String(repeating: "x", count: length)
            try send(body(text, after: isExpired ? 60 : nil), store, at: 0)
        }
        try send(body("stays", after: nil), store, at: 0)
        let rows = try sealed(store)
        let before = try files()
        // A row is in pieces where it goes over several pages.
        let pieces = rows.map { Data($0[24..<56]) }
        #expect(pieces.allSatisfy { before.range(of: $0) != nil })
        if isExpired {
            try store.expire(at: at(60))
        } else {
            let entries = try store.history(conversation: with, limit: 9).dropLast()
            try store.transaction { transaction in
                for entry in entries { try transaction.delete(entry) }
            }
            try store.compact()
        }
        let after = try files()
        #expect(pieces.dropLast().allSatisfy { after.range(of: $0) == nil })
        let last = try #require(pieces.last)
        #expect(after.range(of: last) != nil)
        #expect(try sealed(store).count == 1)
    }

    @Test func manyEndedMessagesAreErasedAndTheFileShrinks() throws {
        let store = try store()
        try store.transaction { transaction in
            for number in 0..<3_000 {
                let id = Envelope.newID()
                let text = String(repeating: "\(number) ", count: 500)
                try transaction.recordSent(
                    message(body(text, after: 60), from: me.id, to: bob.id, id: id),
                    at: at(0))
            }
        }
        func size() throws -> Int64 {
            try store.database.use { (connection: StateConnection) throws(StateError) in
                try connection.integer("PRAGMA page_count")
            }
        }
        let before = try size()
        try store.expire(at: at(60))
        #expect(try states(store).allSatisfy { $0 == .expired })
        #expect(try size() < before / 4)
        // It is rebuilt once.
        let erased = try store.database.use { (connection: StateConnection) throws(StateError) in
            try connection.integer("SELECT value FROM number WHERE name = 'erased'")
        }
        #expect(erased == 0)
    }

    // MARK: Timers

    @Test func c4AnOldTimerReplacesNoNewerOne() throws {
        let store = try store()
        func timer(_ seconds: Int64) -> JSONObject {
            ["type": .string("timer"), "seconds": .integer(seconds)]
        }
        func present() throws -> Int64 { try store.transaction { try $0.timer(for: bob.id) } }
        #expect(try present() == 0)
        try receive(timer(60), store, written: 0, at: 10)
        #expect(try present() == 60)
        try send(timer(30), store, at: 20)
        #expect(try present() == 30)
        // An older one that arrives later changes nothing.
        try receive(timer(900), store, written: 15, at: 30)
        #expect(try present() == 30)
        // One from the future does not hold for ever.
        try receive(timer(5), store, written: 1_000_000, at: 40)
        try send(timer(0), store, at: 50)
        #expect(try present() == 0)
        #expect(try store.conversations()[0].settings.timer == 0)
    }

    // MARK: Retention

    @Test func oldMessagesAreErasedByAnEarlierDaysClock() throws {
        let store = try store()
        let day: Int64 = 86_400
        try send(body("old", after: nil), store, at: -100 * day)
        try send(body("young", after: nil), store, at: -2 * day)
        try store.transaction { try $0.keep(nil, seconds: 30 * day) }
        // On the first day nothing is erased, whatever the clock says.
        try store.expire(at: at(0))
        #expect(try states(store) == [.new, .new])
        try store.expire(at: at(day))
        #expect(try states(store) == [.expired, .new])
        // A clock that is ahead for a day erases nothing.
        try store.expire(at: at(365 * day))
        try store.expire(at: at(2 * day))
        #expect(try states(store) == [.expired, .new])
        try store.expire(at: at(40 * day))
        try store.expire(at: at(41 * day))
        #expect(try states(store) == [.expired, .expired])
    }

    @Test func aConversationCanHaveARetentionOfItsOwn() throws {
        let store = try store()
        let day: Int64 = 86_400
        try send(body("old", after: nil), store, at: -100 * day)
        try store.transaction { transaction in
            try transaction.keep(nil, seconds: 30 * day)
            try transaction.keep(with, seconds: nil)
        }
        for days in 0..<3 { try store.expire(at: at(Int64(days) * day)) }
        #expect(try states(store) == [.new])
        #expect(
            try store.retentions() == [
                .init(conversation: nil, seconds: 30 * day),
                .init(conversation: with, seconds: nil),
            ])
        // A shorter one also applies to messages that were passed over.
        try store.transaction { try $0.keep(with, seconds: 50 * day) }
        try store.expire(at: at(4 * day))
        #expect(try states(store) == [.expired])
    }
}
