import Dispatch
import Sotto
import SottoState
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

extension RawClient {
    /// Logs in under the relay's first name, with a login that `make` creates from the nonce and the name.
    fileprivate func login(_ make: ([UInt8], String) throws -> Login) throws -> Response? {
        guard case .challenge(let nonce, let names) = ask(.challenge) else { return nil }
        return ask(.login(try make(nonce, names[0])))
    }

    fileprivate func login(_ identity: Identity, _ code: InvitationCode?) throws -> Response? {
        try login { Login(key: identity.signingKey, nonce: $0, relay: $1, invitation: code) }
    }
}

/// Which ids may have a mailbox.
@Suite struct AdmissionTests {
    let alice = Sample.identity()
    let bob = Sample.identity()
    let notAdmitted = Response.error(Refusal(.notAdmitted))

    func closed(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws -> RunningRelay {
        try RunningRelay {
            $0.admission.isByInvitation = true
            $0.failedLoginPause = 0
            change(&$0)
        }
    }

    func store(_ running: RunningRelay) -> StoreLocation {
        StoreLocation(running.scratch("relay.db"))
    }

    @Test func aCodeMakesOneMember() throws {
        let running = try closed()
        let codes = try Membership.invite(2, days: 1, in: store(running))
        #expect(try running.client().login(alice, nil) == notAdmitted)
        #expect(try running.client().login(alice, InvitationCode()) == notAdmitted)
        #expect(try running.client().login(alice, codes[0])?.isSession == true)
        // The code is used up for every other id; its owner no longer needs it.
        #expect(try running.client().login(bob, codes[0]) == notAdmitted)
        #expect(try running.client().login(alice, nil)?.isSession == true)
        #expect(try running.client().login(alice, codes[1])?.isSession == true)
        #expect(try running.client().login(bob, codes[1])?.isSession == true)
    }

    @Test func aCodeIsProvenForOneLogin() throws {
        let running = try closed()
        let code = try Membership.invite(1, days: 1, in: store(running))[0]
        // An attacker uses the proof of one login in another one.
        var proof: InvitationProof?
        let seen = try running.client().login { nonce, _ in
            let login = Login(
                key: alice.signingKey, nonce: nonce, relay: "other:1", invitation: code)
            proof = login.invitation
            return login
        }
        #expect(seen == .error(Refusal(.loginFailed)))
        let stolen = try running.client().login {
            let own = Login(key: bob.signingKey, nonce: $0, relay: $1)
            return Login(
                id: own.id, nonce: own.nonce, relay: own.relay, proof: own.proof,
                invitation: proof)
        }
        #expect(stolen == notAdmitted)
        #expect(try running.client().login(alice, code)?.isSession == true)
    }

    @Test func requestsAfterALoginWaitForIt() throws {
        let running = try closed()
        try Membership.set([alice.id], isMember: true, in: store(running))
        let client = running.client()
        guard case .challenge(let nonce, let names) = client.ask(.challenge) else {
            Issue.record("no challenge")
            return
        }
        let login = Login(key: alice.signingKey, nonce: nonce, relay: names[0])
        client.send(
            Request.login(login).line(requestID: "1") + Request.subscribe().line(requestID: "2")
                + Request.ping.line(requestID: "3"))
        let answers = (0..<4).compactMap { _ in client.response() }
        #expect(answers.contains { $0.isSession } && answers.contains(.subscribed))
    }

    @Test func membersAreAdmittedAndRemovedWhileItRuns() throws {
        let running = try closed()
        let client = running.client()
        #expect(try client.login(alice, nil) == notAdmitted)
        try Membership.set([alice.id], isMember: true, in: store(running))
        guard case .session(_, let token?, _) = try client.login(alice, nil) else {
            Issue.record("no session")
            return
        }
        #expect(running.client().ask(.resume(token: token))?.isSession == true)
        try Membership.set([alice.id], isMember: false, in: store(running))
        #expect(running.client().ask(.resume(token: token)) == notAdmitted)
        #expect(try running.client().login(alice, nil) == notAdmitted)
    }

    @Test func aRemovedMemberCannotUseAnOldCode() throws {
        let running = try closed()
        let codes = try Membership.invite(2, days: 9, in: store(running))
        let client = running.client()
        #expect(try client.login(alice, codes[0])?.isSession == true)
        // The client may repeat the code, because it may have lost the answer.
        #expect(try running.client().login(alice, codes[0])?.isSession == true)
        try Membership.set([alice.id], isMember: false, in: store(running))
        #expect(try running.client().login(alice, codes[0]) == notAdmitted)
        // Her connection admits no further ids either, and not her again.
        #expect(try client.login(alice, nil) == notAdmitted)
        #expect(try client.login(bob, nil) == notAdmitted)
        #expect(try running.client().login(alice, codes[1])?.isSession == true)
    }

    @Test func anAddressIsRemovedWithItsMember() throws {
        let running = try closed()
        let address = Sample.identity()
        try Membership.set([alice.id], isMember: true, in: store(running))
        let client = running.client()
        #expect(try client.login(alice, nil)?.isSession == true)
        guard case .session(_, let token?, _) = try client.login(address, nil) else {
            Issue.record("no session")
            return
        }
        #expect(running.client().ask(.resume(token: token))?.isSession == true)
        try Membership.set([alice.id], isMember: false, in: store(running))
        #expect(running.client().ask(.resume(token: token)) == notAdmitted)
    }

    @Test func aCodeIsRedeemedOnAMembersConnection() throws {
        let running = try closed()
        let code = try Membership.invite(1, days: 1, in: store(running))[0]
        try Membership.set([alice.id], isMember: true, in: store(running))
        let client = running.client()
        #expect(try client.login(alice, nil)?.isSession == true)
        #expect(try client.login(bob, code)?.isSession == true)
        #expect(try running.client().login(bob, nil)?.isSession == true)
    }

    @Test func aListIsReplacedWhileItRuns() throws {
        let running = try RunningRelay {
            $0.admission.list = [alice.id]
            $0.failedLoginPause = 0
        }
        #expect(try running.client().login(alice, nil)?.isSession == true)
        #expect(try running.client().login(bob, nil) == notAdmitted)
        // With only a list, the list decides, whether or not the id was admitted.
        try Membership.set([bob.id], isMember: true, in: store(running))
        #expect(try running.client().login(bob, nil) == notAdmitted)
        running.relay.replaceMembers([bob.id])
        #expect(try running.client().login(alice, nil) == notAdmitted)
        #expect(try running.client().login(bob, nil)?.isSession == true)
    }

    @Test func anAddressIsAdmittedThroughItsOwner() throws {
        let running = try closed()
        let address = Sample.identity()
        try Membership.set([alice.id], isMember: true, in: store(running))
        #expect(try running.client().login(address, nil) == notAdmitted)
        let client = running.client()
        #expect(try client.login(alice, nil)?.isSession == true)
        guard case .session(_, let token?, _) = try client.login(address, nil) else {
            Issue.record("no session")
            return
        }
        #expect(client.ask(.subscribe(of: address.id)) == .subscribed)
        // The token opens the address again, and admits no other id.
        let other = running.client()
        #expect(other.ask(.resume(token: token))?.isSession == true)
        #expect(try other.login(Sample.identity(), nil) == notAdmitted)
    }

    @Test func nonMembersPublishNothing() throws {
        let running = try closed()
        let preKeys = Sample.preKeys(of: alice, oneTime: 1..<3)
        let card = try OwnersRecord(
            try #require(alice.card(issued: .now()).record))
        let client = running.client()
        #expect(client.publish(preKeys) == notAdmitted)
        #expect(client.ask(.record(card)) == notAdmitted)
        // Mail is stored for any id, so it does not reveal the members.
        #expect(client.ask(.send(Sample.envelope(to: alice.id))) == .stored)
        try Membership.set([alice.id], isMember: true, in: store(running))
        #expect(client.publish(preKeys) == .stored)
        #expect(client.ask(.record(card)) == .stored)
        #expect(client.ask(.lookup(alice.id)) == .card(card.bytes))
    }

    @Test func mailFromBeforeTheRelayClosedIsKept() throws {
        let scratch = TemporaryDirectory()
        let path = scratch("relay.db")
        let open = try StoreLocation(path).open(Retention())
        _ = try open.commit([.store(Sample.envelope(to: alice.id))], at: RelayClock().minute)
        try open.close()
        let running = try closed { $0.store = path }
        try Membership.set([alice.id], isMember: true, in: StoreLocation(path))
        let client = running.client()
        #expect(try client.login(alice, nil)?.isSession == true)
        guard case .messages(let messages, _) = client.ask(.fetch(max: 9, after: 0, dead: false))
        else {
            Issue.record("no messages")
            return
        }
        #expect(messages.count == 1)
    }
}

/// The RSA login of Kecalek's clients.
@Suite struct RSALoginTests {
    let alice = Sample.identity()
    static let key = RSALoginKey(size: .bits2048)
    static let otherKey = RSALoginKey(size: .bits2048)
    let refused = Response.error(Refusal(.loginFailed))

    static let now = Timestamp.now().seconds - 100

    func record(_ key: RSALoginKey?, at seconds: Int64) throws -> Request {
        .record(
            try OwnersRecord(
                LoginKeyRecord(
                    key?.publicKey, of: alice, issued: Timestamp(seconds: Self.now + seconds)
                ).record))
    }

    @Test func theRegisteredRSAKeyLogsIn() throws {
        let running = try RunningRelay { $0.failedLoginPause = 0 }
        func login(_ key: RSALoginKey, relay: String? = nil) throws -> Response? {
            try running.client().login {
                try Login(rsaKey: key, id: alice.id, nonce: $0, relay: relay ?? $1)
            }
        }
        #expect(try login(Self.key) == refused)
        let client = running.client()
        #expect(client.ask(try record(Self.key, at: 10)) == .stored)
        #expect(try login(Self.key)?.isSession == true)
        #expect(try login(Self.otherKey) == refused)
        #expect(try login(Self.key, relay: "other.example:7667") == refused)
        // An older record, and one of the same second, do not restore a revoked key.
        #expect(client.ask(try record(nil, at: 11)) == .stored)
        #expect(client.ask(try record(Self.key, at: 10)) == .stored)
        #expect(client.ask(try record(Self.key, at: 11)) == .stored)
        #expect(try login(Self.key) == refused)
        #expect(client.ask(try record(Self.otherKey, at: 12)) == .stored)
        #expect(try login(Self.otherKey)?.isSession == true)
        #expect(try login(Self.key) == refused)
    }

    @Test func anRSAAnswerIsForOneNonce() throws {
        let running = try RunningRelay { $0.failedLoginPause = 0 }
        let client = running.client()
        #expect(client.ask(try record(Self.key, at: 10)) == .stored)
        var login: Login?
        let response = try client.login {
            let made = try Login(rsaKey: Self.key, id: alice.id, nonce: $0, relay: $1)
            login = made
            return made
        }
        #expect(response?.isSession == true)
        #expect(try client.login { _, _ in try #require(login) } == refused)
        // The same answer, with a current nonce.
        let forged = try client.login { nonce, relay in
            Login(
                id: alice.id, nonce: nonce, relay: relay, proof: .rsa(login?.signature ?? []))
        }
        #expect(forged == refused)
    }

    @Test func anOwnerWhoLogsInIsNotForgotten() throws {
        let scratch = TemporaryDirectory()
        let path = scratch("relay.db")
        let store = try StoreLocation(path).open(Retention())
        let now = RelayClock().minute
        _ = try store.commit(
            [.update(alice.id, .loginKey([], issued: 1))], at: now - 3 * 24 * 60)
        try store.close()
        let running = try RunningRelay { $0.store = path }
        #expect(running.client().login(alice)?.isSession == true)
        let other = try StoreLocation(path).open(Retention(), isExclusive: false)
        var minute: Int64 = 0
        for _ in 0..<10_000 where minute < now {
            minute = try other.account(of: alice.id)?.minute ?? 0
        }
        #expect(minute >= now)
    }

    @Test func anRSALoginNeedsAdmissionToo() throws {
        let running = try RunningRelay {
            $0.admission.list = [alice.id]
            $0.failedLoginPause = 0
        }
        #expect(running.client().ask(try record(Self.key, at: 10)) == .stored)
        func login() throws -> Response? {
            try running.client().login {
                try Login(rsaKey: Self.key, id: alice.id, nonce: $0, relay: $1)
            }
        }
        #expect(try login()?.isSession == true)
        running.relay.replaceMembers([])
        #expect(try login() == .error(Refusal(.notAdmitted)))
    }
}

/// Cards that owners publish in a relay's directory.
@Suite struct DirectoryTests {
    let alice = Sample.identity()

    func card(_ issued: Timestamp?, relay: String = "tcp://a:1") throws -> JSONObject {
        try #require(alice.card(relay: relay, issued: issued).record)
    }

    @Test func theLatestCardIsHandedOut() throws {
        let running = try RunningRelay()
        let client = running.client()
        #expect(client.ask(.lookup(alice.id)) == .error(Refusal(.noCard)))
        let now = Timestamp.now().seconds
        let old = try OwnersRecord(card(Timestamp(seconds: now - 11)))
        let new = try OwnersRecord(card(Timestamp(seconds: now - 10), relay: "tcp://b:1"))
        for record in [old, new, old] { #expect(client.ask(.record(record)) == .stored) }
        #expect(client.ask(.lookup(alice.id)) == .card(new.bytes))
    }

    @Test func invalidCardsAreRefused() throws {
        let running = try RunningRelay()
        let client = running.client()
        func send(_ record: JSONObject) -> Response? {
            client.send(Request.recordLine(record.serialized(), requestID: "1"))
            return client.response()
        }
        #expect(send(try card(nil)) == .error(Refusal(.badFields)))
        let tomorrow = Timestamp(seconds: Timestamp.now().seconds + 2 * 86_400)
        #expect(send(try card(tomorrow)) == .error(Refusal(.badFields)))
        // A later card of the owner may already have expired.
        let lastYear = Timestamp(seconds: Timestamp.now().seconds - 367 * 86_400)
        #expect(send(try card(lastYear)) == .error(Refusal(.badFields)))
        var forged = try card(.now())
        forged["name"] = .string("mallory")
        #expect(send(forged) == .error(Refusal(.badSignature)))
        var secret = try card(.now())
        secret["address"] = .string(Sample.identity().id.description)
        SignedRecord.sign(&secret, with: alice.signingKey)
        #expect(send(secret) == .error(Refusal(.badFields)))
        var long = try card(.now())
        long["name"] = .string(String(repeating: "a", count: WireLimits.cardBytes))
        SignedRecord.sign(&long, with: alice.signingKey)
        #expect(send(long) == .rejected(Refusal(.tooLarge)))
        #expect(client.ask(.lookup(alice.id)) == .error(Refusal(.noCard)))
    }

    @Test func lookupsAreLimited() throws {
        let running = try RunningRelay()
        let client = running.client()
        let answers = (0...WireLimits.claimsInAMinute).map { _ in client.ask(.lookup(alice.id)) }
        #expect(answers.last == .error(Refusal(.busy)))
        #expect(answers.dropLast().allSatisfy { $0 == .error(Refusal(.noCard)) })
    }
}

/// The limits that keep one client from using a relay up.
@Suite struct AbuseTests {
    @Test func failedLoginsDoubleTheWait() {
        let lockout = Lockout()
        let id = Sample.identity().id
        let network: [UInt8] = [192, 0, 2, 1]
        var now = 1_000.0
        for wait in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            #expect(!lockout.holds(id, from: network, at: now))
            lockout.noteFailure(of: id, from: network, at: now)
            #expect(lockout.holds(id, from: network, at: now + wait - 0.1))
            now += wait
        }
        // Other ids do not wait, and other networks do not either.
        lockout.noteFailure(of: id, from: network, at: now)
        #expect(!lockout.holds(Sample.identity().id, from: network, at: now))
        #expect(!lockout.holds(id, from: [192, 0, 2, 2], at: now))
        // The count expires, and a success deletes it.
        now += 2 * Lockout.longest + 1
        lockout.noteFailure(of: id, from: network, at: now)
        #expect(!lockout.holds(id, from: network, at: now + 1))
        lockout.noteFailure(of: id, from: network, at: now + 1)
        lockout.noteSuccess(of: id, from: network)
        #expect(!lockout.holds(id, from: network, at: now + 1))
    }

    @Test func theLockoutTableIsBounded() {
        let lockout = Lockout()
        let network: [UInt8] = [192, 0, 2, 1]
        let first = KeyID(publicKey: [UInt8](repeating: 0, count: 32))
        for number in 0..<100_000 {
            var key = [UInt8](repeating: 0, count: 32)
            for place in 0..<4 { key[place] = UInt8(truncatingIfNeeded: number >> (8 * place)) }
            lockout.noteFailure(of: KeyID(publicKey: key), from: network, at: 1)
        }
        // An attacker cannot push out another id's entry.
        #expect(lockout.holds(first, from: network, at: 1.5))
    }

    @Test func aBurstIsFollowedByTheRate() {
        var bucket = TokenBucket(rate: 10, capacity: 5, at: 0)
        #expect((0..<6).map { _ in bucket.take(at: 0) } == [true, true, true, true, true, false])
        #expect([0.1, 0.11, 0.2].map { bucket.take(at: $0) } == [true, false, true])
    }

    @Test func aMailboxIsLimitedToItsRate() throws {
        let running = try RunningRelay { $0.mailboxRate = 5 }
        let client = running.client()
        let (alice, bob) = (Sample.identity().id, Sample.identity().id)
        // Duplicates store nothing, and do not count.
        let first = Sample.envelope(to: alice)
        let repeats = (0..<9).map { _ in client.ask(.send(first)) }
        #expect(repeats == [.stored] + [Response?](repeating: .duplicate, count: 8))
        let answers = (0..<5).map { _ in client.ask(.send(Sample.envelope(to: alice))) }
        #expect(
            answers == [Response?](repeating: .stored, count: 4) + [.deferred(Refusal(.tooMany))])
        #expect(client.ask(.send(Sample.envelope(to: bob))) == .stored)
    }

    @Test func otherMailboxesDoNotLiftARateLimit() {
        let rates = MailboxRates(perMinute: 2)
        let bob = Sample.identity().id
        #expect((0..<3).map { _ in rates.admits(bob, at: 1) } == [true, true, false])
        for number in 0..<70_000 {
            var key = [UInt8](repeating: 0, count: 32)
            for place in 0..<4 { key[place] = UInt8(truncatingIfNeeded: number >> (8 * place)) }
            _ = rates.admits(KeyID(publicKey: key), at: 1)
        }
        #expect(!rates.admits(bob, at: 1))
        #expect(rates.admits(bob, at: 40))
    }

    @Test func aClientThatReadsNothingCostsLittleMemory() throws {
        let scratch = TemporaryDirectory()
        let relay = try #require(RelayProcess(scratch))
        let bob = Sample.identity()
        let client = RawClient(relay.address)
        let text = String(repeating: "A", count: 60_000)
        for _ in 0..<10 {
            #expect(client.ask(.send(Sample.envelope(to: bob.id, text: text))) == .stored)
        }
        func resident() -> Int {
            let pages = String(
                decoding: TemporaryDirectory.contents("/proc/\(relay.command.process)/statm"),
                as: UTF8.self
            ).split(separator: " ")
            return (Int(pages[1]) ?? 0) * 4_096
        }
        let before = resident()
        let greedy = (0..<10).map { _ in RawClient(relay.address) }
        for one in greedy {
            #expect(one.login(bob)?.isSession == true)
            one.send(
                (0..<256).flatMap {
                    Request.fetch(max: 100, after: 0, dead: false).line(requestID: "\($0)")
                })
        }
        // Other clients can log in meanwhile, after the earlier requests.
        for _ in 0..<20 {
            #expect(RawClient(relay.address).login(Sample.identity())?.isSession == true)
        }
        #expect(resident() - before < 120 << 20)
        #expect(relay.end() == 0)
    }

    @Test func tooManyRequestsAreDelayedAndAnswered() throws {
        let running = try RunningRelay { $0.connectionRate = 100 }
        let client = running.client()
        client.send((0..<130).flatMap { Request.ping.line(requestID: "\($0)") })
        for _ in 0..<130 { #expect(client.response() == .pong) }
    }

    @Test func newIDsNeedAProofOfWorkInASurge() throws {
        let running = try RunningRelay { ($0.surge, $0.surgeBits) = (2, 8) }
        let client = running.client()
        let known = Sample.identity()
        func publish(_ owner: Identity, _ number: UInt32) -> Response? {
            client.publish(Sample.preKeys(of: owner, signed: number, oneTime: number..<number + 1))
        }
        #expect(publish(known, 1) == .stored)
        #expect(publish(Sample.identity(), 1) == .stored)
        // A known owner needs no proof of work.
        let new = Sample.identity()
        #expect(publish(known, 2) == .stored)
        #expect(publish(new, 1) == .error(Refusal(.workRequired)))
        guard case .puzzle(let nonce, let bits) = client.ask(.puzzle) else {
            Issue.record("no puzzle")
            return
        }
        #expect(bits == 9)
        let counter = try ProofOfWork.solve(nonce, bits: bits)
        let other = running.client()
        #expect(
            other.ask(.solution(nonce: nonce, counter: counter))
                == .error(Refusal(.workRequired)))
        #expect(client.ask(.solution(nonce: nonce, counter: counter)) == .accepted)
        #expect(
            client.ask(.solution(nonce: nonce, counter: counter))
                == .error(Refusal(.workRequired)))
        #expect(publish(new, 1) == .stored)
        #expect(publish(Sample.identity(), 1) == .error(Refusal(.workRequired)))
    }

    @Test func theDifficultyGrowsWithTheSurge() {
        let surge = NewIDLimit(limit: 10, bits: 20)
        let bits = (0..<100).map { _ in surge.note(at: 100) }
        #expect(bits[..<10].allSatisfy { $0 == nil })
        #expect(bits[10] == 20 && bits[20] == 21 && bits[40] == 22 && bits[99] == 23)
        // The minute after is in the surge too, and the one after that is not.
        #expect(surge.note(at: 165) != nil)
        #expect(surge.note(at: 230) == nil)
        let never = NewIDLimit(limit: 0, bits: 20)
        #expect((0..<1_000).allSatisfy { _ in never.note(at: 1) == nil })
    }
}
