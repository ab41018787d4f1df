import Foundation
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoClient
@testable import SottoServer

extension RawClient {
    /// Logs in under the relay's first name with an instance. Returns the day of another one, or `nil`.
    fileprivate func logIn(_ owner: Identity, _ instance: [UInt8]?) -> Int64? {
        guard case .challenge(let nonce, let names) = ask(.challenge),
            case .session(_, _, let other) = ask(
                .login(
                    Login(
                        key: owner.signingKey, nonce: nonce, relay: names[0], instance: instance)))
        else {
            Issue.record("no session")
            return nil
        }
        // The change of the login is on disk before the answer to this.
        #expect(ask(.send(Sample.envelope(to: owner.id))) == .stored)
        return other
    }
}

private func today() -> Int64 { Timestamp.now().seconds / 86_400 }

/// A login says with which state the owner comes, and learns whether the last one came with another.
@Suite struct InstanceTests {
    private let bob = Sample.identity()
    private let one = randomBytes(16)
    private let two = randomBytes(16)

    // MARK: The wire

    @Test func aLoginCarriesTheInstance() throws {
        let login = Login(
            key: bob.signingKey, nonce: randomBytes(32), relay: "a:1", instance: one)
        let frame = try Frame(parsing: Request.login(login).line(requestID: "x"))
        #expect(try Request(frame) == .login(login))
        #expect(frame.payload["instance"] == .base64(one))
        let answer = Response.session(nil, token: "t", other: 20_000)
        #expect(try Response(Frame(parsing: answer.line(requestID: "x"))) == answer)
    }

    @Test(arguments: [JSON.base64(randomBytes(15)), .base64([]), .string("\u{1B}[2J"), .integer(1)])
    func anotherLengthIsNoLogin(_ instance: JSON) throws {
        let login = Login(key: bob.signingKey, nonce: randomBytes(32), relay: "a:1")
        var payload = try Frame(parsing: Request.login(login).line(requestID: "x")).payload
        payload["instance"] = instance
        #expect(throws: Reason.loginFailed) {
            try Request(Frame(type: "login", requestID: "x", payload: payload))
        }
    }

    /// A relay that answers something else than a day has said nothing.
    @Test(arguments: [
        JSON.integer(-1), .integer(.max), .string("20000"), .string("\u{1B}[2J\n\r"), .bool(true),
        .array([.integer(20_000)]), .null,
    ])
    func anotherAnswerThanADayIsNone(_ other: JSON) throws {
        let frame = Frame(type: "session", requestID: "x", payload: ["otherInstance": other])
        #expect(Response(frame) == .session(nil))
    }

    // MARK: The relay

    @Test(arguments: StoreKind.available)
    func theLastInstanceIsKept(_ kind: StoreKind) throws {
        let fixture = StoreFixture()
        let location = try fixture.location(kind)
        let running = try RunningRelay { $0.store = location }
        let client = running.client()
        // Nothing is kept of an id that published nothing.
        #expect(client.logIn(bob, one) == nil && client.logIn(bob, two) == nil)
        #expect(client.publish(Sample.preKeys(of: bob, oneTime: 1..<4)) == .stored)
        let days = today()...today() + 1
        #expect(client.logIn(bob, one) == nil)
        #expect(client.logIn(bob, one) == nil)
        #expect(client.logIn(bob, two).map(days.contains) == true)
        #expect(client.logIn(bob, two) == nil)
        #expect(client.logIn(bob, one).map(days.contains) == true)
        // A login without an instance learns nothing and changes nothing.
        #expect(client.logIn(bob, nil) == nil)
        #expect(client.logIn(bob, one) == nil)
        // Nothing is known of another owner.
        let alice = Sample.identity()
        #expect(client.publish(Sample.preKeys(of: alice, oneTime: 1..<4)) == .stored)
        #expect(client.logIn(alice, two) == nil)
    }

    @Test(arguments: [0, 1, 29, 30, 31] as [Int64])
    func anInstanceIsToldForThirtyDays(_ age: Int64) throws {
        let scratch = TemporaryDirectory()
        let store = try SQLiteStore(path: scratch("relay.db"), retention: Retention())
        let publication = Sample.preKeys(of: bob, oneTime: 1..<4)
        let day = today() - age
        _ = try store.commit(
            [
                .publish(publication, head: publication.bundleHead ?? []),
                .noteInstance(StoredInstance(owner: bob.id, mark: one, day: day)),
            ], at: Timestamp.now().seconds / 60)
        try store.close()
        let running = try RunningRelay { $0.store = scratch("relay.db") }
        #expect(running.client().logIn(bob, two) == (age < 30 ? day : nil))
    }

    @Test(arguments: StoreKind.available)
    func theStoreForgetsOldInstances(_ kind: StoreKind) throws {
        let fixture = StoreFixture()
        let store = try fixture.open(kind)
        let alice = Sample.identity()
        func note(_ owner: Identity, _ mark: [UInt8], _ day: Int64) throws {
            let instance = StoredInstance(owner: owner.id, mark: mark, day: day)
            #expect(try store.commit([.noteInstance(instance)], at: 1) == [.published])
            #expect(try store.instance(of: owner.id) == instance)
        }
        #expect(try store.instance(of: bob.id) == nil)
        try note(bob, one, 100)
        try note(bob, two, 101)
        try note(alice, one, 102)
        let minutes: Int64 = 24 * 60
        while try store.sweep(at: 131 * minutes - 1) {}
        #expect(try store.instance(of: bob.id)?.mark == two)
        while try store.sweep(at: 131 * minutes) {}
        #expect(try store.instance(of: bob.id) == nil)
        #expect(try store.instance(of: alice.id)?.day == 102)
        // A day from a clock that was ahead does not stay for ever.
        try note(bob, one, 1_000_000)
        while try store.sweep(at: 110 * minutes) {}
        #expect(try store.instance(of: bob.id)?.day == 111)
        try store.close()
    }

    // MARK: The client

    /// Receives from a relay that answers each login with members. Returns the days that the user is told.
    private func told(_ payload: JSONObject, _ store: IdentityStore) throws -> [Int64] {
        let name = Mutex("")
        let relay = HostileRelay { connection in
            while let line = connection.line() {
                guard let frame = try? Frame(parsing: line), let request = try? Request(frame)
                else { return }
                let id = frame.requestID
                switch request {
                case .challenge:
                    connection.write(
                        Response.challenge(nonce: randomBytes(32), names: [name.withLock { $0 }])
                            .line(requestID: id))
                case .login(let login):
                    #expect(login.instance?.count == 16)
                    connection.write(Frame(type: "session", requestID: id, payload: payload).line)
                case .subscribe:
                    connection.write(
                        Response.subscribed.line(requestID: id) + Response.empty.line())
                default:
                    connection.write(Response.error(Refusal(.unknownType)).line(requestID: id))
                }
            }
        }
        name.withLock { $0 = relay.address }
        var reception = Reception(identity: bob, relay: try relay.url(), store: store)
        var days: [Int64] = []
        reception.notice = { if case .otherInstance(let day) = $0 { days.append(day) } }
        // Each relay has another address, and only the second login has the same name as the last one.
        for _ in 1...2 { #expect(try reception.run(.print { _ in }).error == nil) }
        return days
    }

    private func store(at path: String) throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: path), identity: bob, lockTimeout: 5)
    }

    /// A relay can say what it likes: a wrong day is not told, and another one once.
    @Test func aHostileRelayTellsOnce() throws {
        let scratch = TemporaryDirectory()
        let store = try store(at: scratch.path)
        let now = today()
        let wrong: [JSON] = [
            .integer(now - 32), .integer(now + 3), .integer(-1), .integer(0), .integer(2_932_896),
            .integer(.max), .string("\u{1B}]0;x\u{7}\n"), .bool(true),
        ]
        for day in wrong { #expect(try told(["otherInstance": day], store) == []) }
        #expect(try told([:], store) == [])
        #expect(try told(["otherInstance": .integer(now)], store) == [now])
        for day in [now, now - 1, now - 29] {
            #expect(try told(["otherInstance": .integer(day)], store) == [])
        }
        // Nothing else happened.
        #expect(try store.preview { try $0.newState()?.cause } == .made)
        let later = Timestamp(seconds: Timestamp.now().seconds + 31 * 86_400)
        #expect(
            try store.transaction { transaction in
                _ = try transaction.isNews(otherInstance: nil, at: "a:1", later)
                return try transaction.isNews(otherInstance: now + 20, at: "a:1", later)
            })
    }

    /// A relay that moved, with its store, keeps the mark of the login under its former name.
    @Test func aRelayUnderAnotherNameMeansTheStateItself() throws {
        let scratch = TemporaryDirectory()
        let store = try store(at: scratch.path)
        let now = Timestamp.now()
        func isNews(_ day: Int64?, at relay: String, after days: Int64 = 0) throws -> Bool {
            let time = Timestamp(seconds: now.seconds + days * 86_400)
            return try store.transaction { try $0.isNews(otherInstance: day, at: relay, time) }
        }
        #expect(try !isNews(nil, at: "a:1"))
        #expect(try !isNews(today(), at: "b:1"))
        // At the same name it is another instance, and so is one after the last login.
        #expect(try isNews(today(), at: "b:1"))
        #expect(try isNews(today() + 40, at: "c:1", after: 40))
        #expect(try !isNews(nil, at: "c:1", after: 80))
        #expect(try !isNews(today() + 80, at: "d:1", after: 80))
        // The first login of a state explains nothing.
        let other = try self.store(at: scratch("other"))
        let day = today()
        #expect(try other.transaction { try $0.isNews(otherInstance: day, at: "a:1") })
    }

    @Test func aStateKnowsItsMarksUnderFormerNames() throws {
        let scratch = TemporaryDirectory()
        let location = scratch("relay.db")
        let store = try store(at: scratch("state"))
        var notices: [Int64] = []
        for start in 1...3 {
            // Each start has another port.
            let running = try RunningRelay { $0.store = location }
            if start == 1 {
                let client = running.client()
                _ = client.logIn(bob, nil)
                _ = client.publish(Sample.preKeys(of: bob, oneTime: 1..<4))
            }
            var reception = Reception(
                identity: bob, relay: try RelayURL("tcp://\(running.relay.address)"), store: store)
            reception.notice = { if case .otherInstance(let day) = $0 { notices.append(day) } }
            for _ in 1...2 { #expect(try reception.run(.print { _ in }).error == nil) }
        }
        #expect(notices.isEmpty)
    }

    // MARK: The state

    @Test func theMarkIsThatOfTheStateAndItsCopyHasAnother() throws {
        let (scratch, folder) = (TemporaryDirectory(), TemporaryDirectory())
        let first = try store(at: scratch.path)
        let mark = try first.instanceMark(at: "a:1")
        #expect(mark.count == 16)
        #expect(try first.instanceMark(at: "b:1") != mark)
        #expect(try store(at: scratch.path).instanceMark(at: "a:1") == mark)
        // Another state of the same identity.
        #expect(try store(at: folder("other")).instanceMark(at: "a:1") != mark)
        // A copy of the state, and the state itself after it.
        try FileManager.default.copyItem(atPath: scratch.path, toPath: folder("copy"))
        let copy = try store(at: folder("copy"))
        #expect(try copy.instanceMark(at: "a:1") != mark)
        #expect(try copy.preview { try $0.newState()?.cause } == .copied)
        #expect(
            try store(at: folder("copy")).instanceMark(at: "a:1") == copy.instanceMark(at: "a:1"))
        #expect(try store(at: scratch.path).instanceMark(at: "a:1") == mark)
        #expect(try first.preview { try $0.newState()?.cause } == .made)
    }

    /// A new file with the number of the deleted one is known by the time at which it was made.
    @Test func aFileWithTheSameNumberIsAnother() throws {
        let scratch = TemporaryDirectory()
        let mark = try store(at: scratch.path).instanceMark(at: "a:1")
        let database = try DurableDatabase(
            path: scratch("\(bob.id).db"), migrations: [], lockTimeout: 5)
        let hasBirth = try database.transaction {
            (connection: StateConnection) throws(StateError) in
            try connection.run("UPDATE number SET value = value - 1 WHERE name = 'file made'")
            return connection.changes == 1
        }
        try database.close()
        // Some file systems do not keep the time.
        guard hasBirth else { return }
        #expect(try store(at: scratch.path).instanceMark(at: "a:1") != mark)
        #expect(try store(at: scratch.path).preview { try $0.newState()?.cause } == .copied)
    }

    // MARK: Proofs

    /// Only an own signature that is later than the state proves something; what a relay says does not.
    @Test func onlyAnOwnSignatureProvesThatAStateIsEarlier() throws {
        let (scratch, elsewhere) = (TemporaryDirectory(), TemporaryDirectory())
        let store = try store(at: scratch.path)
        let now = Timestamp.now()
        func publication(_ store: IdentityStore, _ seconds: Int64) throws -> PreKeyPublication {
            try store.transaction {
                try $0.publication(at: Timestamp(seconds: now.seconds + seconds))
            }
        }
        let own = try publication(store, 0)
        let signed = own.signedPreKey.id
        let later = try publication(self.store(at: elsewhere.path), 3_600)
        let stranger = try IdentityStore(
            directory: StateDirectory(path: elsewhere("stranger")),
            identity: Sample.identity(), lockTimeout: 5)
        // The state does not ask about numbers that it made itself.
        #expect(try store.preview { try !$0.canProve(signedID: signed) })
        #expect(try store.preview { try $0.canProve(signedID: signed + 1) })
        for bundle in [
            try own.bundle(oneTime: nil), try publication(stranger, 3_600).bundle(oneTime: nil),
            // Without a signed time, which one of the time before the state could be.
            try Sample.preKeys(of: bob, signed: signed + 1, oneTime: 1..<2).bundle(oneTime: nil),
        ] {
            #expect(try store.transaction { try !$0.takeOwn(bundle) })
        }
        #expect(try store.preview { try $0.newState()?.cause } == .made)
        let proof = try later.bundle(oneTime: nil)
        #expect(try store.transaction { try $0.takeOwn(proof) })
        #expect(try store.preview { try $0.newState()?.cause } == .behind)
        // Once: the next publication is later, and another proof changes nothing for 30 days.
        #expect(try store.transaction { try !$0.takeOwn(proof) })
        let next = try store.transaction {
            try $0.replenishment(
                for: "relay:1", has: 50, signedID: later.signedPreKey.id, oneTimeMark: 0)
        }
        #expect(try #require(next).signedPreKey.id > later.signedPreKey.id)
        let again = try publication(self.store(at: elsewhere.path), 8 * 86_400).bundle(oneTime: nil)
        #expect(try store.transaction { try !$0.takeOwn(again) })
    }

    /// A signature from the time before the state is that of a lost one.
    @Test func aSignatureFromBeforeTheStateProvesNothing() throws {
        let (scratch, elsewhere) = (TemporaryDirectory(), TemporaryDirectory())
        let hour: Int64 = 3_600
        let now = Timestamp.now().seconds
        let lost = try store(at: elsewhere.path).transaction {
            try $0.publication(at: Timestamp(seconds: now - hour))
        }
        let store = try store(at: scratch.path)
        _ = try store.transaction { try $0.publication(at: Timestamp(seconds: now - 2 * hour)) }
        let bundle = try lost.bundle(oneTime: nil)
        #expect(try store.transaction { try !$0.takeOwn(bundle) })
        #expect(try store.preview { try $0.newState()?.cause } == .made)
    }

    /// A relay that reports a later prekey and does not show it delays the reception by one request, and changes nothing.
    @Test func aReportWithoutAProofChangesNothing() throws {
        let scratch = TemporaryDirectory()
        let store = try store(at: scratch.path)
        _ = try store.transaction { try $0.publication() }
        let claims = Mutex(0)
        let name = Mutex("")
        let forged = try Sample.preKeys(of: Sample.identity(), oneTime: 1..<2)
            .bundle(oneTime: nil).record.serialized()
        @Sendable func answer() -> Response {
            claims.withLock { count in
                count += 1
                return count == 1 ? .bundle(forged) : .pong
            }
        }
        let relay = HostileRelay { connection in
            connection.answer { request, id in
                switch request {
                case .challenge:
                    [(.challenge(nonce: randomBytes(32), names: [name.withLock { $0 }]), id)]
                case .login:
                    [
                        (
                            .session(
                                PreKeyStatus(oneTime: 50, signedID: 4_000_000_000, oneTimeMark: 0)),
                            id
                        )
                    ]
                case .claim: [(answer(), id)]
                case .subscribe: [(.subscribed, id), (.empty, nil)]
                default: [(.error(Refusal(.unknownType)), id)]
                }
            }
        }
        name.withLock { $0 = relay.address }
        var reception = Reception(identity: bob, relay: try relay.url(), store: store)
        reception.publicationSeconds = 0.1
        reception.notice = {
            if case .behind = $0 { Issue.record("a relay's report counts as a proof") }
        }
        for count in 1...2 {
            #expect(try reception.run(.print { _ in }).error == nil)
            #expect(claims.withLock { $0 } == count)
        }
        #expect(try store.preview { try $0.newState()?.cause } == .made)
    }
}
