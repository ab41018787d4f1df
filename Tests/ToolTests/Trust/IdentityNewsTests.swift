import Sotto
import SottoContacts
import SottoState
import TestSupport
import Testing

/// The rules by which a state takes successions and revocations.
@Suite struct IdentityNewsTests {
    let scratch = TemporaryDirectory()
    let store: IdentityStore
    let owner = IdentityNewsTests.person("owner")
    let a = IdentityNewsTests.person("bob")
    let b = IdentityNewsTests.person("bob")
    let c = IdentityNewsTests.person("bob")

    init() throws {
        store = try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: owner, lockTimeout: 5)
        try add(a, "bob")
    }

    private static func person(_ name: String) -> Identity {
        Identity(mnemonic: Mnemonic(randomWordCount: 12), name: name)
    }

    private func add(_ person: Identity, _ name: String) throws {
        try store.transaction {
            try $0.save(
                Contact(
                    name: name, id: person.id, card: person.card(issued: .now()), trust: .verified))
        }
    }

    @discardableResult
    private func take(
        _ old: Identity, _ new: Identity, later: Int64 = 0
    ) throws -> NewsOutcome {
        let issued = Timestamp(seconds: Timestamp.now().seconds + later)
        return try store.transaction {
            try $0.take(.succession(Succession(of: old, by: new, issued: issued)))
        }
    }

    @discardableResult
    private func revoke(_ person: Identity, isGiven: Bool = false) throws -> NewsOutcome {
        try store.transaction {
            try $0.take(
                .revocation(Revocation(of: person, issued: Timestamp(seconds: 1_000))),
                isGiven: isGiven)
        }
    }

    /// Accepts the offered key, as `contact accept-key` does.
    private func accept(_ id: KeyID) throws {
        try store.transaction { transaction in
            let old = try #require(try transaction.contact(id: id))
            let card = try #require(old.changed)
            var new = Contact(name: old.name, id: card.id, card: card)
            new.former = id
            try transaction.save(new, formerID: id)
        }
    }

    private func contact(_ person: Identity) throws -> Contact {
        try #require(try store.contact(id: person.id))
    }

    @Test func aSuccessionIsOfferedAndChangesNothingByItself() throws {
        guard case .offered(let contact, let succession) = try take(a, b) else {
            Issue.record("not offered")
            return
        }
        #expect(contact.id == a.id && contact.trust == .verified)
        #expect(contact.changed?.id == b.id && succession.next == b.id)
        #expect(try store.contact(id: b.id) == nil)
    }

    /// A repetition, also with another time, is no fork.
    @Test func aReplayedSuccessionChangesNothing() throws {
        try take(a, b)
        guard case .offered = try take(a, b, later: 86_400) else {
            Issue.record("not offered")
            return
        }
        try accept(a.id)
        guard case .known = try take(a, b, later: -86_400) else {
            Issue.record("not known")
            return
        }
        #expect(try contact(b).doubt == nil && contact(b).trust == .trusted)
        // A rejected key is not offered again by others.
        try add(c, "carol")
        let d = Self.person("carol")
        try take(c, d)
        try store.transaction { transaction in
            var carol = try #require(try transaction.contact(id: c.id))
            carol.changed = nil
            try transaction.save(carol)
        }
        guard case .known = try take(c, d) else {
            Issue.record("not known")
            return
        }
        #expect(try contact(c).changed == nil)
    }

    /// Before the decision neither counts; the time of the statement decides nothing.
    @Test(arguments: [-86_400, 0, 86_400]) func ofTwoSuccessionsNoneIsTaken(
        _ later: Int64
    ) throws {
        try take(a, b)
        guard case .forked(let contact?) = try take(a, c, later: later) else {
            Issue.record("no fork")
            return
        }
        #expect(contact.id == a.id)
        let news = try store.preview { try $0.news(of: a.id) }
        #expect(news.isForked && news.succession == nil)
        guard case .forked = try take(a, b) else {
            Issue.record("the first counts again")
            return
        }
        // A third one is not stored.
        guard case .forked = try take(a, Self.person("bob")) else {
            Issue.record("no fork")
            return
        }
        #expect(try store.preview { try $0.news(of: a.id) }.successions.count == 2)
    }

    @Test func aSecondSuccessionAfterTheDecisionVoidsIt() throws {
        try take(a, b)
        try accept(a.id)
        guard case .forked(let holder?) = try take(a, c) else {
            Issue.record("no fork")
            return
        }
        #expect(holder.id == b.id && holder.doubt == .fork && holder.trust == .unverified)
        let book = AddressBook({ owner }, lockTimeout: 5)
        #expect(throws: Failure.self) {
            try book.check(Correspondent(id: b.id, card: holder.card, contact: holder), nil)
        }
    }

    /// A key that was compared does not depend on the old one.
    @Test func aComparedKeyOutlivesForkAndRevocation() throws {
        try take(a, b)
        try accept(a.id)
        try store.transaction { transaction in
            var bob = try #require(try transaction.contact(id: b.id))
            (bob.trust, bob.former) = (.verified, nil)
            try transaction.save(bob)
        }
        try take(a, c)
        try revoke(a)
        #expect(try contact(b).trust == .verified && contact(b).doubt == nil)
    }

    @Test func aLoopIsRefused() throws {
        try take(a, b)
        try accept(a.id)
        guard case .refused(_, .loop) = try take(b, a) else {
            Issue.record("a, b, a")
            return
        }
        try take(b, c)
        try accept(b.id)
        guard case .refused(_, .loop) = try take(c, a) else {
            Issue.record("a, b, c, a")
            return
        }
        guard case .refused(_, .loop) = try take(c, owner) else {
            Issue.record("the reader's own id")
            return
        }
        #expect(try contact(c).changed == nil)
    }

    /// One step after the other, each with its decision.
    @Test func aChainOfSuccessionsIsFollowedStepByStep() throws {
        guard case .unknown = try take(b, c) else {
            Issue.record("an unknown id")
            return
        }
        #expect(try store.preview { try $0.news(of: b.id) } == KnownNews.none)
        try take(a, b)
        try accept(a.id)
        guard case .offered(let contact, _) = try take(b, c) else {
            Issue.record("not offered")
            return
        }
        #expect(contact.id == b.id)
    }

    @Test func aRevocationWinsOverEverySuccession() throws {
        try take(a, b)
        guard case .revoked(a.id, let contacts) = try revoke(a) else {
            Issue.record("not revoked")
            return
        }
        #expect(contacts.map(\.id) == [a.id])
        #expect(try contact(a).doubt == .revoked && contact(a).trust == .unverified)
        #expect(try store.preview { try $0.news(of: a.id) }.succession == nil)
        guard case .refused(_, .revoked) = try take(a, c) else {
            Issue.record("taken after the revocation")
            return
        }
        guard case .known = try revoke(a) else {
            Issue.record("not known")
            return
        }
    }

    @Test func aRevocationVoidsASuccessionThatWasTakenLongAgo() throws {
        try take(a, b)
        try accept(a.id)
        guard case .revoked(_, let contacts) = try revoke(a) else {
            Issue.record("not revoked")
            return
        }
        #expect(contacts.map(\.id) == [b.id])
        #expect(try contact(b).doubt == .void && contact(b).trust == .unverified)
    }

    @Test func aRevokedSuccessorIsRefused() throws {
        try revoke(b, isGiven: true)
        guard case .refused(_, .successorRevoked) = try take(a, b) else {
            Issue.record("taken")
            return
        }
        #expect(try contact(a).changed == nil)
        // After the offer.
        try take(a, c)
        try revoke(c)
        let isRevoked = try store.preview { try $0.isRevoked(c.id) }
        #expect(isRevoked)
    }

    /// For ever: also after the contact was removed.
    @Test func aRevokedIDIsNeverAContactAgain() throws {
        try revoke(a)
        try store.transaction { try $0.remove(id: a.id) }
        #expect(throws: ContactError.revoked(a.id)) { try add(a, "bob") }
        #expect(throws: ContactError.revoked(a.id)) {
            try store.transaction {
                _ = try $0.introduce(a.card(issued: .now()), as: "bob", accounts: OpaqueAccounts())
            }
        }
        // It can still be blocked.
        try store.transaction { transaction in
            var blocked = Contact(name: "", id: a.id, card: nil)
            blocked.isBlocked = true
            try transaction.save(blocked)
        }
    }

    /// Records about unknown ids take no space, unless the user gave them.
    @Test func recordsAboutUnknownIDsAreNotStored() throws {
        let stranger = Self.person("stranger")
        guard case .unknown = try revoke(stranger), case .unknown = try take(stranger, b) else {
            Issue.record("stored")
            return
        }
        #expect(try !store.preview { try $0.isRevoked(stranger.id) })
        try revoke(stranger, isGiven: true)
        #expect(try store.preview { try $0.isRevoked(stranger.id) })
    }

    @Test func theOwnerLearnsOfRecordsOfTheOwnKey() throws {
        guard case .own(.succession) = try take(owner, b) else {
            Issue.record("not own")
            return
        }
        guard case .own(.revocation) = try revoke(owner) else {
            Issue.record("not own")
            return
        }
    }

    @Test func theHistoryHasTheEvents() throws {
        let message = try Sealed.open(
            Sealed.seal(body: Message.textBody("hi"), from: a, to: owner.card(), time: .now()),
            with: owner)
        try store.transaction {
            _ = try $0.recordOpened(id: message.id, digest: [1], message)
        }
        try take(a, b)
        try revoke(a)
        let events = try (1...3).compactMap { number in
            try store.historyEntry(number: number)?.record["body"]?.object?["event"]?.string
        }
        #expect(events == ["keys_updated", "revoked"])
    }
}
