import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Tests of messages that arrive very late: after thousands of others, and of sessions that were replaced since.
struct SkippedMessageTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }

    init() throws { two = try Couple() }

    private func keys() throws -> Int64 {
        try bob.state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM skipped")
        }
    }

    private func store(of party: Party) throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: two.home.files(party.stateDirectory)),
            identity: party.identity, lockTimeout: 20)
    }

    /// Alice writes messages that are not delivered, and Bob reads the one after them.
    private func skip(_ count: Int, rounds: Int, first: Int = 0) throws -> [String] {
        var late: [String] = []
        #expect(try bob.texts(alice.write(["begins a chain"], to: bob)) == ["begins a chain"])
        for round in 0..<rounds {
            let texts = (0...count).map { "\(first + round) \($0)" }
            let sent = try alice.write(texts, to: bob)
            #expect(try bob.texts([sent[count]]) == [texts[count]])
            late += sent[..<count]
        }
        return late
    }

    @Test func nothingIsLostBehindThousandsOfSkippedMessages() throws {
        try two.begin()
        var late = try skip(250, rounds: 10)
        // The chain is replaced too.
        #expect(try alice.texts(bob.write(["answer"], to: alice)) == ["answer"])
        late += try skip(250, rounds: 2, first: 10)
        #expect(try keys() == 3_000 - Int64(Session.maximumStored))
        // The newest first.
        let read = try bob.read(late.reversed())
        #expect(read.status == 0, "\(read.stderr)")
        let texts = try read.messages.map(\.text)
        #expect(texts.count == 3_000 && Set(texts).count == 3_000)
        #expect(try keys() == 0)
        // A key opens one message, once.
        let again = try bob.read([late[0]])
        #expect(try again.status == 0 && again.messages.allSatisfy(\.isSeen))
        let other = try changing(late[0]) { $0["id"] = .string(Envelope.newID()) }
        #expect(try bob.read([other]).status == 11)
    }

    @Test func aForgedLateMessageLeavesItsKey() throws {
        try two.begin()
        let late = try skip(250, rounds: 2)
        let forged = try changing(
            payload: changing(late[0]) {
                $0["id"] = .string(Envelope.newID())
            }
        ) {
            let bytes = try #require(
                $0["ciphertext"]?.string.flatMap { Base64.standard.decode($0) })
            $0["ciphertext"] = .string(Base64.standard.encode(bytes.flipping(bit: 300)))
        }
        let before = try keys()
        #expect(try before > 0 && bob.read([forged]).status == 11)
        #expect(try keys() == before)
        #expect(try bob.texts([late[0]]) == ["0 0"])
        #expect(try keys() == before - 1)
    }

    @Test func theKeysAreDeletedAfterNoRelayKeepsTheMail() throws {
        try two.begin()
        let late = try skip(250, rounds: 2)
        let before = try keys()
        let store = try store(of: bob)
        func forget(inDays days: Int64) throws {
            try store.forgetOld(at: Timestamp(seconds: Timestamp.now().seconds + days * 86_400))
        }
        try forget(inDays: 0)
        try forget(inDays: 44)
        try forget(inDays: 45)
        #expect(try keys() == before)
        // One clock that is ahead deletes nothing; it does on the following day.
        try forget(inDays: 46)
        #expect(try keys() == before)
        try forget(inDays: 47)
        #expect(try keys() == 0)
        let refused = try bob.read([late[0]])
        #expect(refused.status == 13)
    }

    @Test func theKeysOfOnePeerAreBounded() throws {
        try two.begin()
        let sender = try store(of: alice)
        let reader = try store(of: bob)
        let keys = SuiteKeys(identity: bob.identity)
        for _ in 0..<45 {
            let sent = try sender.transaction { transaction in
                try (0...256).map { _ in
                    try transaction.seal(
                        Draft(body: ["text": .string("x")]), to: bob.identity.id)
                }
            }
            try reader.transaction { transaction in
                try transaction.keep(try transaction.open(sent[256], with: keys))
            }
        }
        let count = try self.keys()
        #expect((10_000...10_256).contains(count), "\(count)")
    }

    /// Two sessions begin at once, and many after them: messages of the first one can still be opened.
    @Test func messagesOfAReplacedSessionOpen() throws {
        let opening = try alice.write(["a", "b"], to: bob, "--bundle", bob.bundle())
        #expect(try bob.texts([opening[0]]) == ["a"])
        #expect(try alice.texts(bob.write(["answer"], to: alice)) == ["answer"])
        let answered = try alice.write(["c"], to: bob)
        for number in 0..<45 {
            let more = try alice.write(
                ["\(number)"], to: bob, "--bundle", bob.bundle(), "--new-session")
            #expect(try bob.texts(more) == ["\(number)"])
        }
        #expect(try bob.texts([opening[1]] + answered) == ["b", "c"])
        #expect(try bob.sessions().count == 46)
    }

    @Test func sessionsWithOnePeerAreBounded() throws {
        let store = try store(of: alice)
        let signed = SecretPreKey(.signed, id: 1).signed(by: bob.identity, at: .now())
        let kem = SecretPreKey(.postQuantum, id: 1).signed(by: bob.identity, at: .now())
        let bundle = try PreKeyBundle(
            identityKey: bob.identity.id.publicKey, signedPreKey: signed, pqSignedPreKey: kem,
            oneTimePreKey: nil)
        for round in 0..<3 {
            try store.transaction { transaction in
                for _ in 0..<90 { _ = try transaction.begin(with: bundle) }
            }
            #expect(try alice.sessions().count == min(200, (round + 1) * 90))
        }
    }
}
