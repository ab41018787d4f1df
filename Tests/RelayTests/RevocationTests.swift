import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoClient
@testable import SottoServer

/// Revocations and successions in a store.
@Suite struct RevocationStoreTests {
    let place = StoreFixture()
    let bob = Sample.identity()

    private func change(_ record: JSONObject) throws -> Change {
        Change(try OwnersRecord(record))
    }

    private func card(_ issued: Timestamp) throws -> Change {
        try change(#require(bob.card(issued: issued).record))
    }

    private func publication(_ signed: UInt32) -> Change {
        let publication = Sample.preKeys(of: bob, signed: signed, oneTime: 1..<20)
        return .publish(publication, head: publication.bundleHead ?? [])
    }

    private func claim(_ id: String = Envelope.newID()) -> Change {
        .claim(owner: bob.id, id: id)
    }

    /// Also for cards and prekeys that are published later, as by a thief.
    @Test(arguments: StoreKind.available) func aRevocationIsInPlaceOfCardAndBundleForEver(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        let now = Timestamp.now()
        _ = try store.commit([card(now), publication(1)], at: 1)
        let revocation = Revocation(of: bob, issued: Timestamp(seconds: 1_000))
        let line = revocation.record.serialized()
        #expect(try store.commit([change(revocation.record)], at: 2) == [.published])
        let later = Timestamp(seconds: now.seconds + 86_400)
        #expect(
            try store.commit([card(later), publication(.max), claim()], at: 3)
                == [.published, .published, .bundle(line)])
        #expect(try store.account(of: bob.id)?.card == line)
        #expect(
            try store.commit([.claims([Request.Claim(owner: bob.id, id: Envelope.newID())])], at: 4)
                == [.bundles([line])])
        // It is repeated without an effect, and expires as a card does.
        #expect(
            try store.commit([change(revocation.record), claim()], at: 5).last == .bundle(line))
        while try store.sweep(at: RelayAccount.lifeMinutes + 4) {}
        #expect(try store.account(of: bob.id)?.card == line)
        while try store.sweep(at: RelayAccount.lifeMinutes + 5) {}
        #expect(try store.account(of: bob.id) == nil)
    }

    @Test(arguments: StoreKind.available) func anIDWithoutACardCanBeRevoked(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        let line = Revocation(of: bob, issued: .now()).record
        #expect(
            try store.commit([change(line), claim()], at: 1)
                == [.published, .bundle(line.serialized())])
    }

    @Test(arguments: StoreKind.available) func aRevokedCardIsNotFoundByItsAccounts(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        let name = CardName("user-1")
        _ = try store.commit([.update(bob.id, .card([1], issued: 1, names: [name]))], at: 1)
        _ = try store.commit([change(Revocation(of: bob, issued: .now()).record)], at: 2)
        #expect(try store.cards(named: name) == [])
    }

    /// Two prove a fork, so none displaces another, whatever its time.
    @Test(arguments: StoreKind.available) func allSuccessionsOfAnIDAreKept(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        let now = Timestamp.now().seconds
        let all = (0..<3).map { number in
            Succession(
                of: bob, by: Sample.identity(), issued: Timestamp(seconds: now - Int64(number))
            ).record
        }
        for (number, record) in all.enumerated() {
            _ = try store.commit([change(record), change(record)], at: Int64(number + 1))
        }
        let name = CardName(successionsOf: bob.id)
        #expect(try store.cards(named: name) == all.map { $0.serialized() })
        // No account on a card has this name.
        #expect(name != CardName(bob.id.description))
        #expect(try store.account(of: bob.id) == nil)
    }
}

/// Revocations and successions in a relay's directory.
@Suite struct RevocationDirectoryTests {
    let bob = Sample.identity()

    @Test func aRevocationNeedsNoLoginAndNoPresentTime() throws {
        let running = try RunningRelay()
        let client = running.client()
        #expect(client.ask(.lookup(bob.id)) == .error(Refusal(.noCard)))
        let card = try #require(bob.card(issued: .now()).record)
        #expect(client.ask(.record(try OwnersRecord(card))) == .stored)
        // Made ten years ago, and kept on a sheet.
        let issued = Timestamp(seconds: Timestamp.now().seconds - 3_650 * 86_400)
        let revocation = try OwnersRecord(Revocation(of: bob, issued: issued).record)
        #expect(client.ask(.record(revocation)) == .stored)
        #expect(client.ask(.lookup(bob.id)) == .card(revocation.bytes))
        #expect(
            client.ask(.claim(owner: bob.id, id: Envelope.newID())) == .bundle(revocation.bytes))
    }

    /// A revocation for another id is not signed by that id.
    @Test func recordsWithAWrongSignatureAreRefused() throws {
        let running = try RunningRelay()
        let client = running.client()
        func send(_ record: JSONObject) -> Response? {
            client.send(Request.recordLine(record.serialized(), requestID: "1"))
            return client.response()
        }
        var revocation = Revocation(of: bob, issued: .now()).record
        revocation["id"] = .string(Sample.identity().id.description)
        #expect(send(revocation) == .error(Refusal(.badSignature)))
        var succession = Succession(of: bob, by: Sample.identity(), issued: .now()).record
        succession["accept"] = .base64(randomBytes(64))
        #expect(send(succession) == .error(Refusal(.badSignature)))
        succession["card"] = bob.card(issued: .now()).record.map { .object($0) }
        #expect(send(succession) == .error(Refusal(.badFields)))
        #expect(client.ask(.lookup(bob.id)) == .error(Refusal(.noCard)))
        #expect(client.ask(.successions(of: bob.id)) == .error(Refusal(.noCard)))
    }

    /// A surge asks for a proof of work, as for cards of new ids.
    @Test func aSurgeOfSuccessionsNeedsWork() throws {
        let running = try RunningRelay { $0.surge = 1 }
        let client = running.client()
        let responses = try (0..<6).map { _ in
            try client.ask(
                .record(
                    OwnersRecord(
                        Succession(of: bob, by: Sample.identity(), issued: .now()).record)))
        }
        #expect(responses.first == .stored)
        #expect(responses.contains(.error(Refusal(.workRequired))))
    }

    @Test func theClientReadsThem() throws {
        let running = try RunningRelay()
        let client = running.client()
        let relay = running.url
        #expect(try SuccessionLookup(bob.id).run(at: relay) == [])
        let succession = Succession(of: bob, by: Sample.identity(), issued: .now())
        #expect(client.ask(.record(try OwnersRecord(succession.record))) == .stored)
        #expect(try SuccessionLookup(bob.id).run(at: relay) == [.succession(succession)])
        let revocation = Revocation(of: bob, issued: .now())
        #expect(client.ask(.record(try OwnersRecord(revocation.record))) == .stored)
        #expect(throws: ClientError.revoked(revocation)) {
            try CardLookup(bob.id).run(at: relay)
        }
        #expect(throws: ClientError.revoked(revocation)) {
            try PreKeyClaim(owner: bob.id, id: Envelope.newID()).run(at: relay)
        }
    }
}

extension RunningRelay {
    fileprivate var url: RelayURL {
        RelayURL(host: "127.0.0.1", port: UInt16(relay.address.split(separator: ":")[1])!)
    }
}

/// The weekly questions of `recv`.
@Suite struct NewsFetchTests {
    let scratch = TemporaryDirectory()
    let store: IdentityStore
    let bob = Sample.identity()

    init() throws {
        store = try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: Sample.identity(),
            lockTimeout: 5)
    }

    /// Adds Bob as a contact of a time.
    private func add(_ relay: RelayURL, added: Timestamp) throws {
        try store.transaction { state in
            try state.save(
                Contact(
                    name: "bob", id: bob.id, card: bob.card(relay: relay.description),
                    added: added))
        }
    }

    @Test func aRevocationOfAContactIsFoundAfterAWeek() throws {
        let running = try RunningRelay()
        let revocation = Revocation(of: bob, issued: .now())
        #expect(running.client().ask(.record(try OwnersRecord(revocation.record))) == .stored)
        // A new contact is not asked about.
        try add(running.url, added: .now())
        try NewsFetch(store, authorities: nil) { _ in Issue.record("asked too early") }
            .run(within: 20)
        #expect(try store.contact(id: bob.id)?.doubt == nil)
        let week = Timestamp(seconds: Timestamp.now().seconds - IdentityStore.newsPause)
        try add(running.url, added: week)
        try NewsFetch(store, authorities: nil) { _ in }.run(within: 20)
        #expect(try store.contact(id: bob.id)?.doubt == .revoked)
        #expect(try store.preview { try $0.newsQuestions() } == [])
    }

    /// It would delay each `recv` until it answers.
    @Test func aRelayThatDoesNotAnswerIsAskedOnceADay() throws {
        let relay = HostileRelay(.silent)
        try add(try relay.url("tcp"), added: Timestamp(seconds: 1_000))
        try NewsFetch(store, authorities: nil) { _ in Issue.record("an answer") }.run(within: 1)
        let now = Timestamp.now().seconds
        func questions(_ seconds: Int64) throws -> Int {
            try store.preview { try $0.newsQuestions(at: Timestamp(seconds: now + seconds)).count }
        }
        #expect(try questions(0) == 0)
        #expect(try questions(86_410) == 1)
    }

    @Test func aSuccessionOfAContactIsOfferedAndTheNextQuestionIsAWeekLater() throws {
        let running = try RunningRelay()
        let succession = Succession(of: bob, by: Sample.identity(), issued: .now())
        #expect(running.client().ask(.record(try OwnersRecord(succession.record))) == .stored)
        let old = Timestamp(seconds: 1_000)
        try add(running.url, added: old)
        try NewsFetch(store, authorities: nil) { _ in }.run(within: 20)
        #expect(try store.contact(id: bob.id)?.changed == succession.card)
        let now = Timestamp.now().seconds
        func questions(_ seconds: Int64) throws -> Int {
            try store.preview { try $0.newsQuestions(at: Timestamp(seconds: now + seconds)).count }
        }
        #expect(try questions(0) == 0)
        #expect(try questions(8 * 86_400) == 1)
        // After a question in the future, from a clock that was ahead.
        #expect(try questions(-86_400) == 1)
    }
}
