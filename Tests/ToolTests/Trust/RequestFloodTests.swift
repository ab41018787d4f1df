import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Tests of message requests during a flood of messages from new ids.
struct RequestFloodTests {
    let home: Home
    let owner: Identity
    let store: IdentityStore

    init() throws {
        home = try Home(people: "alice", "bob", "carol")
        owner = try Identity(record: JSON.object(parsing: home.files.read("alice.key")))
        store = try IdentityStore(
            directory: StateDirectory(path: home.files("state")), identity: owner, lockTimeout: 10)
    }

    private func sender(_ number: Int) -> KeyID {
        KeyID(
            publicKey: [UInt8](repeating: 0, count: 28) + UInt32(number).bytes)
    }

    /// Sends one message from each of these senders. Returns how many were stored.
    private func flood(_ senders: Range<Int>, size: Int = 10, limit: Int64? = nil) throws -> Int {
        try store.transaction { transaction in
            if let limit { transaction.bytesAsideLimit = limit }
            return try senders.count { number in
                try transaction.request(
                    [UInt8](repeating: 1, count: size), id: Envelope.newID(),
                    from: sender(number))
            }
        }
    }

    private func listed() throws -> Set<KeyID> { Set(try store.requests().map(\.from)) }

    /// Moves the requests of these senders into the past.
    private func age(_ senders: Range<Int>, byHours hours: Int64) throws {
        let database = try DurableDatabase(
            path: home.files("state/\(owner.id).db"),
            migrations: [], lockTimeout: 10)
        try database.use { connection throws(StateError) in
            try connection.run(
                "UPDATE request SET seen = seen - ? * 3600 WHERE number <= ?", hours, senders.count)
        }
        try database.close()
    }

    @Test func aThousandNewIdsDoNotBlockAnotherSender() throws {
        #expect(try flood(0..<1_000) == 1_000)
        #expect(try flood(5_000..<5_001) == 1)
        #expect(try listed().contains(sender(5_000)))
        #expect(try listed().count == 1_000)
        // The displaced message is not lost.
        #expect(try store.requestsAside().messages == 1)
        let aside = try #require((0..<1_000).first { try !listed().contains(sender($0)) })
        #expect(try store.requestedEnvelopes(from: sender(aside)).count == 1)
        // The new sender's message can be read even if the flood continues and displaces it in the list.
        #expect(try flood(6_000..<8_000) == 2_000)
        #expect(try store.requestedEnvelopes(from: sender(5_000)).count == 1)
        #expect(try listed().count == 1_000)
    }

    @Test func aFloodDisplacesItselfAndNotThoseWhoCameBefore() throws {
        let before = 0..<400
        #expect(try flood(before) == 400)
        try age(before, byHours: 30)
        #expect(try flood(1_000..<2_500) == 1_500)
        let list = try listed()
        #expect(list.count == 1_000)
        #expect(before.allSatisfy { list.contains(sender($0)) })
        #expect(try store.requestsAside().messages == 900)
    }

    @Test func setAsideMessagesAreBoundedAndReturnWhenThereIsSpace() throws {
        #expect(try flood(0..<1_000) == 1_000)
        #expect(try flood(1_000..<1_500, size: 100, limit: 5_000) == 500)
        let aside = try store.requestsAside().messages
        #expect(aside > 0 && aside < 500)
        let dropped = try listed().prefix(200)
        try store.transaction { transaction in
            for from in dropped { _ = try transaction.forgetRequests(from: from) }
        }
        #expect(try store.requestsAside().messages == max(0, aside - 200))
        #expect(try store.requests().count == 800 + min(200, aside))
    }

    @Test func cardsWithoutMessagesAreNotSetAside() throws {
        #expect(try flood(0..<1_010, size: 0) == 1_010)
        #expect(try listed().count == 1_000)
        #expect(try store.requestsAside().messages == 0)
    }

    @Test func theListReportsSetAsideMessages() throws {
        #expect(
            try home.run("contact", ["add", "bob.card", "-i", "alice.key"]).status == 0)
        #expect(try flood(0..<1_000) == 1_000)
        let sealed = try home.output(
            "encrypt", ["--to", "alice.card", "-i", "carol.key"], stdin: Array("hello".utf8))
        #expect(
            try home.run("decrypt", ["-q", "-i", "alice.key"], stdin: .whole(sealed)).status == 0)
        let list = try home.run("contact", ["requests", "--text", "-i", "alice.key"])
        #expect(list.lines.count == 1_000)
        #expect(list.stderr.contains("1 message of 1 sender set aside"), "\(list.stderr)")
        let carol = try Card(record: JSON.object(parsing: home.files.read("carol.card"))).id
        #expect(list.text.contains(carol.description.prefix(16)))
        let present = try listed()
        let aside = try #require((0..<1_000).map { sender($0) }.first { !present.contains($0) })
        let shown = try home.run(
            "contact", ["requests", "--text", aside.description, "-i", "alice.key"])
        #expect(
            shown.stderr.contains("sotto contact requests \(aside) -i alice.key | "),
            "\(shown.stderr)")
        #expect(
            try home.run("contact", ["requests", "--drop-all", "-i", "alice.key"]).stderr
                .contains("dropped 1001 messages of 1001 senders"))
    }
}

extension UInt32 {
    fileprivate var bytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) } }
}
