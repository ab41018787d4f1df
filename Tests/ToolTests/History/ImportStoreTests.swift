import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Import in the state: places, read marks, readers, and the limits of claimed authors.
@Suite struct ImportStoreTests {
    let scratch = TemporaryDirectory()
    let me = Sample.identity()
    let bob = Sample.identity()
    let carol = Sample.identity()
    let start: Int64 = 1_795_000_000
    var with: Conversation { .peer(bob.id) }

    func store(_ name: String = "state") throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: scratch(name)), identity: me, lockTimeout: 5)
    }

    func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: start + seconds) }

    func opened(
        _ body: JSONObject, from: KeyID, to: KeyID, id: String, at time: Int64
    ) -> Message {
        Message(
            id: id, from: from, to: to, time: at(time), suite: .ratchet, authenticated: true,
            trust: .trusted, body: body)
    }

    func message(
        _ body: JSONObject, from: Identity? = nil, id: String = Envelope.newID(), at time: Int64,
        place: Int64? = nil, isUnread: Bool = false, number: Int64 = 0, isClaimed: Bool = false,
        expires: Timestamp? = nil
    ) -> ImportedMessage {
        let author = from ?? bob
        let isSent = author.id == me.id
        var stored = opened(
            body, from: author.id, to: isSent ? bob.id : me.id, id: id, at: time
        ).record
        if isClaimed { stored["imported"] = .bool(true) }
        return ImportedMessage(
            record: stored, direction: isSent ? .sent : .received, state: .new, received: at(time),
            place: place.map(at), expires: expires, isUnread: isUnread, number: number,
            digest: isClaimed || isSent ? [] : Array(sha256(Array(id.utf8))[..<16]))
    }

    func text(_ text: String) -> JSONObject { Message.textBody(text) }

    @discardableResult
    func receive(
        _ words: String, _ store: IdentityStore, from: Identity? = nil,
        id: String = Envelope.newID(), at time: Int64
    ) throws -> Int64 {
        try store.transaction { transaction in
            try transaction.recordOpened(
                id: id, digest: sha256(Array(id.utf8)),
                opened(
                    text(words), from: (from ?? bob).id, to: me.id, id: id, at: time),
                at: at(time))
        }
    }

    func texts(_ store: IdentityStore, _ conversation: Conversation? = nil) throws -> [String] {
        try store.views(of: store.history(conversation: conversation, limit: 1_000)).map {
            $0.body?["text"]?.string ?? "-"
        }
    }

    @discardableResult
    func add(
        _ messages: [ImportedMessage], _ store: IdentityStore, isOwn: Bool = true,
        readers: [IdentityStore.Reader] = []
    ) throws -> [StateTransaction.Imported] {
        var imported = ImportedReaders()
        for reader in readers { imported.add(reader) }
        return try store.transaction { transaction in
            let results = try transaction.importing(isOwn: isOwn) {
                try messages.map {
                    try transaction.add($0, isOwn: isOwn, readers: &imported, at: at(1_000_000))
                }
            }
            try transaction.restore(imported)
            return results
        }
    }

    // MARK: Places

    @Test func importedMessagesGetTheirPlaces() throws {
        let store = try store()
        try receive("three", store, at: 30)
        try receive("from carol", store, from: carol, at: 35)
        try receive("five", store, at: 50)
        try add(
            [
                message(text("one"), at: 10), message(text("two"), from: me, at: 20),
                message(text("four"), at: 40), message(text("six"), at: 60),
            ], store)
        #expect(
            try texts(store) == ["one", "two", "three", "from carol", "four", "five", "six"])
        #expect(try texts(store, with) == ["one", "two", "three", "four", "five", "six"])
        // A number is the order of arrival and does not change.
        let numbers = try store.history(conversation: nil, limit: 100).map(\.number)
        #expect(numbers == [4, 5, 1, 2, 6, 3, 7])
        #expect(try store.history(after: 0, limit: 100).map(\.number) == Array(1...7))
        let before = try store.history(
            conversation: nil, before: store.place(of: .number(1)), limit: 100)
        #expect(before.map(\.number) == [4, 5])
        #expect(try store.place(of: .number(8)) == .end)
        #expect(try receive("seven", store, at: 70) == 8)
        let summary = try #require(try store.summary(of: with))
        #expect(summary.last == 8 && summary.time == at(70))
    }

    /// SQLite finds a message of a burst by its place, so places differ. Their order is that of arrival, and what was imported is
    /// before what arrived here in the same second.
    @Test func placesDifferWithinASecond() throws {
        let store = try store()
        for number in 0..<4 { try receive("here \(number)", store, at: 10) }
        try add((0..<4).map { message(text("first \($0)"), at: 10) }, store)
        try receive("later", store, at: 20)
        try add((0..<4).map { message(text("second \($0)"), from: me, at: 10) }, store)
        let expected =
            (0..<4).map { "first \($0)" } + (0..<4).map { "second \($0)" }
            + (0..<4).map { "here \($0)" } + ["later"]
        #expect(try texts(store) == expected)
        #expect(try texts(store, with) == expected)
        let places = try store.history(conversation: nil, limit: 100).map(\.place.rank)
        #expect(Set(places).count == expected.count && places == places.sorted())
    }

    /// What arrives later is after what the user saw, also if its place is before.
    @Test func messagesThatArriveAreSelectedByTheirArrival() throws {
        let store = try store()
        try receive("three", store, at: 30)
        try store.transaction { transaction in
            for (words, time) in [("one", Int64(10)), ("two", 20)] {
                let earlier = message(text(words), at: time)
                let result = try transaction.add(earlier, isOwn: true, at: at(40))
                #expect(result == .added)
            }
        }
        try receive("four", store, at: 50)
        func texts(_ entries: [HistoryEntry]) -> [String?] {
            entries.map { $0.record["body"]?.object?["text"]?.string }
        }
        #expect(try texts(store.history(after: 1, limit: 9)) == ["one", "two", "four"])
        #expect(
            try texts(store.history(since: at(35), in: with, limit: 9)) == ["one", "two", "four"])
        #expect(
            try texts(store.changed(since: at(35), in: with, limit: 9)) == ["one", "two", "four"])
        #expect(try texts(store.history(since: at(45), in: with, limit: 9)) == ["four"])
        let opened = try store.opened(since: .time(at(35)), after: 0, limit: 9)
        #expect(opened.map(\.number) == [2, 3, 4])
        let page = try texts(store.history(conversation: with, limit: 9))
        #expect(page == ["one", "two", "three", "four"])
    }

    /// An earlier message changes no other row of the history.
    @Test func anEarlierMessageChangesNoOtherRow() throws {
        let store = try store()
        try store.transaction { transaction in
            for number in 0..<300 {
                let id = Envelope.newID()
                try transaction.recordOpened(
                    id: id, digest: sha256(Array(id.utf8)),
                    opened(text("\(number)"), from: bob.id, to: me.id, id: id, at: 100),
                    at: at(100))
            }
        }
        func rows() throws -> [[Int64]] {
            try store.database.use { (connection: StateConnection) throws(StateError) in
                try connection.rows("SELECT number, mark, place FROM message ORDER BY number") {
                    [$0.integer(0), $0.integer(1), $0.integer(2)]
                }
            }
        }
        let before = try rows()
        let changes = try store.transaction { transaction in
            let total = try transaction.connection.integer("SELECT total_changes()")
            _ = try transaction.add(message(text("earlier"), at: 10), isOwn: true)
            return try transaction.connection.integer("SELECT total_changes()") - total
        }
        #expect(changes <= 3)
        #expect(try rows().dropLast() == before[...])
        #expect(try texts(store).first == "earlier")
    }

    /// The list of conversations shows the last message of each, also where nothing was imported.
    @Test func otherConversationsKeepTheirLastMessage() throws {
        let store = try store()
        try receive("from carol", store, from: carol, at: 20)
        try add([message(text("one"), at: 10), message(text("two"), at: 30)], store)
        #expect(try texts(store) == ["one", "from carol", "two"])
        let summaries = try store.conversations()
        for summary in summaries {
            let last = try #require(try store.historyEntry(number: summary.last))
            #expect(last.conversation == summary.conversation && summary.time == last.received)
        }
        #expect(summaries.count == 2)
    }

    /// A clock that was wrong does not change the order within one origin: a record has its place.
    @Test func theOrderWithinAnOriginStays() throws {
        let store = try store()
        try receive("a", store, at: 100)
        try receive("b, with a clock that was behind", store, at: 5)
        try receive("c", store, at: 120)
        try add(
            [
                message(text("1"), at: 90), message(text("2, behind"), at: 1, place: 90),
                message(text("3"), at: 110),
            ], store)
        let own = try texts(store).filter { $0.first?.isLetter == true }
        #expect(own == ["a", "b, with a clock that was behind", "c"])
        let imported = try texts(store).filter { $0.first?.isNumber == true }
        #expect(imported == ["1", "2, behind", "3"])
        #expect(try texts(store).first == "1" && texts(store).last == "c")
    }

    @Test func eventsFollowTheirMessages() throws {
        let store = try store()
        let late = Envelope.newID()
        try receive("late", store, id: late, at: 100)
        try store.transaction { transaction in
            let id = Envelope.newID()
            let body: JSONObject = [
                "type": .string("reaction"), "target": target(late, bob), "emoji": .string("👍"),
            ]
            try transaction.recordOpened(
                id: id, digest: sha256(Array(id.utf8)),
                opened(body, from: bob.id, to: me.id, id: id, at: 101), at: at(101))
        }
        let early = Envelope.newID()
        try add(
            [
                message(text("early"), id: early, at: 10),
                message(
                    [
                        "type": .string("edit"), "target": target(early, bob),
                        "body": .object(text("earlier")),
                    ],
                    at: 11),
            ], store)
        let views = try store.views(of: store.history(conversation: with, limit: 10))
        #expect(views.map { $0.body?["text"]?.string } == ["earlier", "late"])
        #expect(views[1].reactions.map(\.emoji) == ["👍"])
    }

    func target(_ id: String, _ author: Identity) -> JSON {
        .object(["id": .string(id), "from": .string(author.id.description)])
    }

    /// No read mark becomes lower, and unread messages stay unread.
    @Test func readMarksStay() throws {
        let store = try store()
        let first = try receive("read here", store, at: 50)
        try store.transaction { _ = try $0.markRead(with, upTo: first) }
        try receive("unread here", store, at: 60)
        try add(
            [
                message(text("old and unread"), at: 10, isUnread: true),
                message(text("old"), at: 20),
                message(text("new and read"), at: 70),
            ], store)
        let summary = try #require(try store.summary(of: with))
        #expect(summary.unread == 2)
        #expect(
            try store.unread(in: with).map { $0.record["body"]?.object?["text"]?.string }
                == ["unread here", "new and read"])
        // In an empty state the marks are those of the backup.
        let empty = try self.store("empty")
        try add(
            [
                message(text("a"), at: 10), message(text("b"), at: 20),
                message(text("c"), at: 30, isUnread: true),
                message(text("d"), at: 40, isUnread: true),
            ], empty)
        #expect(try empty.summary(of: with)?.unread == 2)
        #expect(try empty.summary(of: with)?.read == 2)
    }

    @Test func readersAreRestored() throws {
        let store = try store()
        try receive("new", store, at: 100)
        try store.transaction { _ = try $0.acknowledge(1, by: "here") }
        try add(
            [
                message(text("a"), at: 10, number: 7), message(text("b"), at: 20, number: 9),
                message(text("c"), at: 30, number: 12),
            ], store,
            readers: [.init(name: "bot", acknowledged: 9), .init(name: "here", acknowledged: 12)])
        let readers = try store.readers()
        #expect(
            readers == [.init(name: "bot", acknowledged: 0), .init(name: "here", acknowledged: 4)])
        // A reader that has not acknowledged all messages gets the imported ones after them.
        try receive("newer", store, at: 110)
        try add([message(text("d"), at: 40, number: 13)], store)
        #expect(try store.acknowledged(by: "here") == 4)
        // Without messages that arrived here, a reader has acknowledged what it had.
        let empty = try self.store("empty")
        try add(
            [message(text("a"), at: 10, number: 7), message(text("b"), at: 20, number: 12)], empty,
            readers: [.init(name: "bot", acknowledged: 9)])
        #expect(try empty.acknowledged(by: "bot") == 1)
    }

    /// Two processes that make a reader at once: the second one gets the beginning of the first one.
    @Test func aReaderBeginsOnce() throws {
        let store = try store()
        try receive("old", store, at: 100)
        let numbers = try [("bot", false), ("bot", true), ("late", true)].map { name, withNext in
            try store.transaction { try $0.begin(reader: name, withNext: withNext) }
        }
        #expect(numbers == [0, 0, 1])
        #expect(try store.acknowledged(by: "bot") == 0)
    }

    /// An import that ended in the middle is completed by the next one.
    @Test func anInterruptedImportIsRepeated() throws {
        let store = try store()
        try receive("late", store, at: 100)
        let all = (0..<5).map { message(text("\($0)"), at: Int64($0), isUnread: $0 > 2) }
        try store.transaction { transaction in
            for message in all[..<3] { _ = try transaction.add(message, isOwn: true) }
        }
        let results = try add(all, store)
        #expect(results.prefix(3).allSatisfy { $0 == .known })
        #expect(results.suffix(2).allSatisfy { $0 == .added })
        #expect(try texts(store) == ["0", "1", "2", "3", "4", "late"])
        // A reader has acknowledged messages of the first part too.
        let empty = try self.store("empty")
        let numbered = (0..<5).map { message(text("\($0)"), at: Int64($0), number: Int64($0) + 10) }
        try add(Array(numbered[..<3]), empty)
        try add(numbered, empty, readers: [.init(name: "bot", acknowledged: 13)])
        #expect(try empty.acknowledged(by: "bot") == 4)
    }

    // MARK: What is here

    @Test func aMessageThatIsHereStays() throws {
        let store = try store()
        let id = Envelope.newID()
        try receive("mine", store, id: id, at: 10)
        #expect(try add([message(text("mine"), id: id, at: 10)], store) == [.known])
        #expect(try add([message(text("other"), id: id, at: 10)], store) == [.different])
        #expect(try texts(store) == ["mine"])
    }

    /// C9: an import brings no deleted or expired message back, and none whose lifetime has ended.
    @Test func c9AnImportBringsNothingBack() throws {
        let store = try store()
        let deleted = Envelope.newID()
        try receive("secret", store, id: deleted, at: 10)
        let entry = try #require(try store.historyEntry(number: 1))
        try store.transaction { _ = try $0.delete(entry) }
        for isOwn in [true, false] {
            let again = message(text("secret"), id: deleted, at: 10, isClaimed: !isOwn)
            #expect(try add([again], store, isOwn: isOwn) == [.gone])
        }
        var body = text("brief")
        body["expires"] = .object(["after": .integer(60), "from": .string("sent")])
        let (brief, claimed) = (Envelope.newID(), Envelope.newID())
        #expect(try add([message(body, id: brief, at: 10)], store) == [.expired])
        let forged = message(
            body, id: claimed, at: 10, isClaimed: true, expires: at(2_000_000))
        #expect(try add([forged], store, isOwn: false) == [.expired])
        #expect(try texts(store) == ["-", "-"])
        // The expired message of the backup is a tombstone. That of another file leaves nothing.
        func opened(_ id: String) throws -> IdentityStore.Opened {
            try store.transaction { try $0.opened(id: id, digest: sha256(Array(id.utf8))) }
        }
        #expect(try opened(brief) == .deleted)
        #expect(try opened(claimed) == .new)
    }

    /// C9: a tombstone of a backup refuses the envelope of its message.
    @Test func c9ATombstoneIsRestored() throws {
        let store = try store()
        let id = Envelope.newID()
        try receive("secret", store, id: id, at: 10)
        let entry = try #require(try store.historyEntry(number: 1))
        try store.transaction { _ = try $0.delete(entry) }
        guard case .tombstone(let tombstone) = try store.backupRows(after: 0, limit: 9)[0].row
        else {
            Issue.record("no tombstone")
            return
        }
        let other = try self.store("other")
        var readers = ImportedReaders()
        let result = try other.transaction { try $0.add(tombstone, readers: &readers) }
        #expect(result == .added)
        let opened = try other.transaction {
            try $0.opened(id: id, digest: sha256(Array(id.utf8)))
        }
        #expect(opened == .deleted)
        #expect(try texts(other) == ["-"])
    }

    // MARK: Claimed authors

    /// An imported event, whose author is only claimed, changes no message that was received.
    @Test func aForgedEventChangesNothing() throws {
        let store = try store()
        let (theirs, mine) = (Envelope.newID(), Envelope.newID())
        try receive("from bob", store, id: theirs, at: 10)
        try store.transaction { transaction in
            _ = try transaction.recordSent(
                opened(text("mine"), from: me.id, to: bob.id, id: mine, at: 20),
                at: at(20))
        }
        let forged: [JSONObject] = [
            ["type": .string("delete"), "target": target(theirs, bob)],
            [
                "type": .string("edit"), "target": target(theirs, bob),
                "body": .object(text("forged")),
            ],
            ["type": .string("reaction"), "target": target(mine, me), "emoji": .string("👍")],
            ["type": .string("pin"), "target": target(mine, me)],
            [
                "type": .string("receipt"), "status": .string("read"),
                "ids": .array([.string(mine)]), "time": .string(at(30).description),
            ],
        ]
        let own: [JSONObject] = [
            ["type": .string("delete"), "target": target(mine, me)],
            ["type": .string("edit"), "target": target(mine, me), "body": .object(text("forged"))],
        ]
        try add(
            forged.map { message($0, at: 40, isClaimed: true) }
                + own.map { message($0, from: me, at: 40, isClaimed: true) }
                + [
                    message(
                        ["type": .string("timer"), "seconds": .integer(60)], at: 40, isClaimed: true
                    )
                ],
            store, isOwn: false)
        let views = try store.views(of: store.history(conversation: with, limit: 2, events: false))
        #expect(try texts(store, with).prefix(2) == ["from bob", "mine"])
        for view in views {
            #expect(view.reactions.isEmpty && view.pin == nil && view.receipts.isEmpty)
            #expect(!view.isEdited)
            #expect(view.entry.state == (view.entry.isImported ? .claimed : .new))
        }
        #expect(try store.summary(of: with)?.settings.timer == 0)
        // The imported timer counts as no unread message.
        #expect(try store.summary(of: with)?.unread == 1)
        // It does not delete a message that is still to come.
        let coming = Envelope.newID()
        try add(
            [
                message(
                    ["type": .string("delete"), "target": target(coming, bob)], at: 50,
                    isClaimed: true)
            ], store, isOwn: false)
        try receive("comes later", store, id: coming, at: 60)
        #expect(try texts(store, with).last == "comes later")
    }

    /// Among imported messages the events count.
    @Test func importedEventsChangeImportedMessages() throws {
        let store = try store()
        let (edited, deleted, late) = (Envelope.newID(), Envelope.newID(), Envelope.newID())
        func claim(_ body: JSONObject, id: String = Envelope.newID(), at time: Int64)
            -> ImportedMessage
        {
            message(body, id: id, at: time, isClaimed: true)
        }
        try add(
            [
                claim(text("before"), id: edited, at: 10),
                claim(text("secret"), id: deleted, at: 11),
                claim(
                    [
                        "type": .string("edit"), "target": target(edited, bob),
                        "body": .object(text("after")),
                    ],
                    at: 12),
                claim(["type": .string("delete"), "target": target(deleted, bob)], at: 13),
                claim(["type": .string("delete"), "target": target(late, bob)], at: 14),
                claim(text("comes later"), id: late, at: 15),
            ], store, isOwn: false)
        #expect(try texts(store) == ["after", "-", "-"])
    }

    /// A claimed message does not block the envelope with its id.
    @Test func anEnvelopeReplacesAClaim() throws {
        let store = try store()
        let id = Envelope.newID()
        try add([message(text("forged"), id: id, at: 10, isClaimed: true)], store, isOwn: false)
        let digest = sha256(Array(id.utf8))
        try store.transaction { transaction in
            #expect(try transaction.opened(id: id, digest: digest) == .new)
            try transaction.recordOpened(
                id: id, digest: digest,
                opened(text("real"), from: bob.id, to: me.id, id: id, at: 20), at: at(20))
        }
        #expect(try texts(store) == ["real"])
        let again = try store.transaction { try $0.opened(id: id, digest: digest) }
        guard case .same = again else {
            Issue.record("\(again)")
            return
        }
        let summary = try #require(try store.summary(of: with))
        #expect(summary.unread == 1 && summary.last == 2 && summary.time == at(20))
        // A message that was opened is not replaced.
        let claim = message(text("forged"), id: id, at: 10, isClaimed: true)
        #expect(try add([claim], store, isOwn: false) == [.different])
        #expect(try texts(store) == ["real"])
    }

    /// The members of a group know the ids of its next messages. Neither a claim with such an id nor what the claim leaves
    /// stops the message.
    @Test(arguments: [true, false]) func aClaimStopsNoMessageOfAGroup(_ isSent: Bool) throws {
        let store = try store()
        let author = isSent ? me : bob
        let endings: [HistoryEntry.State?] = [nil, .deleted, .expired, .new]
        for ending in endings {
            let group = GroupID(randomBytes(32))
            let id = Envelope.newID()
            func made(_ words: String) -> Message {
                var message = Message(
                    id: id, from: author.id, to: nil, time: at(20), suite: .group,
                    authenticated: true, trust: .unverified, body: text(words))
                message.group = group.description
                return message
            }
            var record = made("forged").record
            record["imported"] = .bool(true)
            // The lifetime of the last one is over, and it is not erased yet.
            let claim = ImportedMessage(
                record: record, direction: isSent ? .sent : .received, state: .new,
                received: at(10), expires: ending == .new ? at(60) : nil, isUnread: false,
                number: 0, digest: [])
            _ = try store.transaction { try $0.add(claim, isOwn: false, at: at(15)) }
            if let ending, ending != .new {
                let entry = try #require(
                    store.history(conversation: .group(group), limit: 9).first)
                #expect(try store.transaction { try $0.delete(entry, ending) })
                #expect(try add([claim], store, isOwn: false) == [.gone])
            }
            try store.transaction { transaction in
                let digest = sha256(Array(id.utf8))
                if isSent {
                    try transaction.recordSent(made("real"), at: at(20))
                } else {
                    #expect(
                        try transaction.opened(id: id, digest: digest, isOfGroup: true) == .new)
                    try transaction.recordOpened(
                        id: id, digest: digest, made("real"), at: at(20))
                }
            }
            #expect(try texts(store, .group(group)).last == "real", "\(ending as Any)")
            #expect(try add([claim], store, isOwn: false) != [.added])
        }
    }

    /// A file from elsewhere does not block the owner's backup.
    @Test func aBackupReplacesAClaim() throws {
        let store = try store()
        let (theirs, mine) = (Envelope.newID(), Envelope.newID())
        let forged = [
            message(text("forged"), id: theirs, at: 50, isClaimed: true),
            message(text("forged too"), from: me, id: mine, at: 60, isClaimed: true),
            message(
                [
                    "type": .string("reaction"), "target": target(theirs, bob),
                    "emoji": .string("👍"),
                ],
                at: 70, isClaimed: true),
        ]
        try add(forged, store, isOwn: false)
        let real = [
            message(text("real"), id: theirs, at: 10, isUnread: true),
            message(text("mine"), from: me, id: mine, at: 20),
        ]
        #expect(try add(real, store) == [.added, .added])
        #expect(try texts(store) == ["real", "mine"])
        let views = try store.views(of: store.history(conversation: with, limit: 10))
        #expect(views.allSatisfy { !$0.entry.isImported && $0.reactions.isEmpty })
        #expect(try store.summary(of: with)?.unread == 1)
        // Now the claims are other messages with known ids.
        #expect(try add(Array(forged[..<2]), store, isOwn: false) == [.different, .different])
    }
}
