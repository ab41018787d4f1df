import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

@Suite struct AccountStoreTests {
    let place = StoreFixture()
    let bob = Sample.identity().id
    let alice = Sample.identity().id
    let invitation = StoredInvitation(
        tag: randomBytes(16), key: randomBytes(32), until: 100)

    @Test(arguments: StoreKind.available) func anAccountKeepsTheNewestRecords(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
        #expect(try store.account(of: bob) == nil)
        let changes: [AccountUpdate] = [
            .seen, .card([1], issued: 10), .card([2], issued: 9), .loginKey([3], issued: 5),
            .loginKey([4], issued: 5), .membership(true),
        ]
        let outcomes = try store.commit(changes.map { .update(bob, $0) }, at: 7)
        #expect(outcomes == changes.map { _ in .published })
        #expect(
            try store.account(of: bob)
                == RelayAccount(isMember: true, minute: 7, card: [1], loginKey: [3]))
        let later: [AccountUpdate] = [
            .card([4], issued: 11), .card([5], issued: 11), .card([4], issued: 11),
            .loginKey([6], issued: 6),
            .loginKey([], issued: 6), .loginKey([6], issued: 6), .membership(false), .seen,
        ]
        _ = try store.commit(later.map { .update(bob, $0) }, at: 9)
        #expect(try store.account(of: bob) == RelayAccount(wasRemoved: true, minute: 9, card: [5]))
        #expect(try store.account(of: alice) == nil)
    }

    @Test(arguments: StoreKind.available) func aCardIsFoundByItsAccounts(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        let (name, other) = (CardName("WSP-1"), CardName("user-1"))
        _ = try store.commit(
            [
                .update(bob, .card([1], issued: 10, names: [name, other])),
                .update(alice, .card([2], issued: 10)),
            ], at: 1)
        #expect(try store.cards(named: name) == [[1]])
        #expect(try store.cards(named: other) == [[1]])
        #expect(try store.cards(named: CardName("WSP-2")) == [])
        // An older card changes nothing; a newer one loses what it does not name.
        _ = try store.commit([.update(bob, .card([3], issued: 9, names: []))], at: 2)
        #expect(try store.cards(named: other) == [[1]])
        _ = try store.commit([.update(bob, .card([4], issued: 11, names: [name]))], at: 3)
        #expect(try store.cards(named: name) == [[4]])
        #expect(try store.cards(named: other) == [])
        // Other changes of the account keep the names.
        _ = try store.commit([.update(bob, .membership(true)), .update(bob, .seen)], at: 4)
        #expect(try store.cards(named: name) == [[4]])
        while try store.sweep(at: RelayAccount.lifeMinutes + 4) {}
        #expect(try store.cards(named: name) == [])
    }

    /// Later claims of an id that is no key do not displace the earlier ones, and an answer has at most 8 cards.
    @Test(arguments: StoreKind.available) func aFloodOfClaimsHidesNoEarlierCard(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
        let name = CardName("user-1")
        _ = try store.commit([.update(bob, .card([1], issued: 1, names: [name]))], at: 5)
        let flood = (0..<50).map { number in
            Change.update(
                Sample.identityID(), .card([2, UInt8(number)], issued: 1, names: [name]))
        }
        _ = try store.commit(flood, at: 6)
        let found = try store.cards(named: name)
        #expect(found.count == WireLimits.cardCount && found.first == [1])
        // A renewed card keeps its place.
        _ = try store.commit([.update(bob, .card([9], issued: 2, names: [name]))], at: 7)
        #expect(try store.cards(named: name).first == [9])
    }

    @Test(arguments: StoreKind.available) func anInvitationIsRedeemedOnce(_ kind: StoreKind) throws
    {
        let store = try place.open(kind)
        #expect(try store.invitation(invitation.tag) == nil)
        #expect(try store.commit([.invite(invitation)], at: 1) == [.published])
        #expect(try store.invitation(invitation.tag) == invitation)
        let tag = invitation.tag
        #expect(
            try store.commit([.redeem(tag, by: bob), .redeem(tag, by: alice)], at: 99)
                == [.published, .noInvitation])
        #expect(try store.commit([.redeem(tag, by: bob)], at: 99) == [.published])
        #expect(try store.invitation(tag)?.owner == bob)
        #expect(
            try store.commit([.redeem(randomBytes(16), by: bob)], at: 1) == [.noInvitation])
        let late = StoredInvitation(tag: randomBytes(16), key: randomBytes(32), until: 5)
        _ = try store.commit([.invite(late)], at: 1)
        #expect(try store.commit([.redeem(late.tag, by: bob)], at: 5) == [.noInvitation])
    }

    @Test(arguments: StoreKind.available) func accountsAndInvitationsExpire(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
        _ = try store.commit(
            [
                .update(bob, .card([1], issued: 1)), .update(alice, .membership(true)),
                .update(alice, .card([2], issued: 1)), .invite(invitation),
            ], at: 1)
        while try store.sweep(at: RelayAccount.lifeMinutes) {}
        #expect(try store.account(of: bob)?.card == [1])
        while try store.sweep(at: RelayAccount.lifeMinutes + 1) {}
        #expect(try store.account(of: bob) == nil)
        #expect(try store.account(of: alice) == RelayAccount(isMember: true, minute: 1))
        #expect(try store.invitation(invitation.tag) == nil)
    }

    @Test(arguments: StoreKind.available) func membersAndInvitationsAreListed(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
        var named = StoredInvitation(tag: randomBytes(16), key: randomBytes(32), until: 100)
        named.label = "Bob"
        _ = try store.commit(
            [
                .update(alice, .membership(true)), .update(bob, .membership(true)),
                .update(Sample.identity().id, .membership(false)), .update(bob, .seen),
                .invite(invitation), .invite(named), .redeem(named.tag, by: bob),
            ], at: 7)
        let members = try store.members()
        #expect(Set(members.map { $0.id }) == [alice, bob])
        #expect(members.allSatisfy { $0.minute == 7 })
        named.owner = bob
        let listed = try store.invitations()
        #expect(listed.count == 2 && listed.contains(named) && listed.contains(invitation))
        // The label of a member is kept.
        while try store.sweep(at: 101 + StoredInvitation.keptMinutes) {}
        #expect(try store.invitations() == [named])
    }

    @Test(arguments: StoreKind.available) func aMemberMakesInvitationsWithinTheQuota(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        func made(until: Int64 = 100, label: String = "") -> StoredInvitation {
            StoredInvitation(
                tag: randomBytes(16), key: randomBytes(32), until: until, label: label,
                inviter: bob)
        }
        let (first, second) = (made(label: "Carol"), made(until: 20))
        for invitation in [first, second] {
            #expect(try store.commit([.invite(invitation, most: 100)], at: 1) == [.published])
        }
        #expect(try store.invitation(first.tag) == first)
        #expect(try store.invitationCount(of: bob, at: 1) == 2)
        #expect(try store.invitationCount(of: alice, at: 1) == 0)
        // Partitions count alone; the relay has counted all of them before.
        if kind != .partitions {
            #expect(
                try store.commit([.invite(made(), most: 2)], at: 1) == [.noMoreInvitations])
            // A repetition is the same invitation.
            #expect(try store.commit([.invite(first, most: 2)], at: 1) == [.published])
            // In one commit too.
            #expect(
                try store.commit(
                    [.invite(made(), most: 4), .invite(made(), most: 4), .invite(made(), most: 4)],
                    at: 1) == [.published, .published, .noMoreInvitations])
        }
        // One that expired unused does not count, and a used one counts for good.
        let before = try store.invitationCount(of: bob, at: 1)
        #expect(try store.invitationCount(of: bob, at: 20) == before - 1)
        _ = try store.commit([.redeem(first.tag, by: alice)], at: 2)
        while try store.sweep(at: 101 + StoredInvitation.keptMinutes) {}
        #expect(try store.invitations().map(\.tag) == [first.tag])
        #expect(try store.invitationCount(of: bob, at: 1_000_000) == 1)
    }

    @Test(arguments: StoreKind.available) func onlyAnOpenInvitationIsRevoked(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
        let used = StoredInvitation(tag: randomBytes(16), key: randomBytes(32), until: 100)
        _ = try store.commit(
            [.invite(invitation), .invite(used), .redeem(used.tag, by: bob)], at: 1)
        let tags = [invitation.tag, invitation.tag, used.tag, randomBytes(16)]
        for (tag, outcome) in zip(
            tags, [.published, .noInvitation, .noInvitation, .noInvitation] as [Outcome])
        {
            #expect(try store.commit([.revoke(tag)], at: 2) == [outcome])
        }
        #expect(try store.invitations().map(\.tag) == [used.tag])
        #expect(
            try store.commit([.redeem(invitation.tag, by: alice)], at: 2) == [.noInvitation])
    }

    @Test(arguments: StoreKind.available) func aRegistrationForWakeUpsReplacesThatOfItsKind(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        func wake(
            _ url: String, _ kind: WakeRegistration.Kind = .message, _ token: String? = nil,
            of id: KeyID, until: Int64 = 100
        ) throws -> StoredWake {
            StoredWake(
                mailbox: id,
                registration: try WakeRegistration(url: url, kind: kind, token: token),
                until: until)
        }
        let (old, new) = (
            try wake("https://a.example/1", of: bob), try wake("https://a.example/2", of: bob)
        )
        let calls = try wake("ntfy://a.example/3", .voip, "t", of: bob, until: 50)
        let other = try wake("https://a.example/4", of: alice)
        #expect(
            try store.commit(
                [
                    .registerWake(old), .registerWake(calls), .registerWake(new),
                    .registerWake(other),
                ],
                at: 1) == [.published, .published, .published, .published])
        func all(_ minute: Int64, _ ids: KeyID...) throws -> Set<String> {
            Set(
                try store.wakes(of: ids, at: minute).map {
                    "\($0.registration.url) \($0.registration.kind) \($0.registration.token ?? "-") \($0.waiting)"
                })
        }
        #expect(
            try all(49, bob) == ["https://a.example/2 message - 0", "ntfy://a.example/3 voip t 0"])
        #expect(try all(50, bob) == ["https://a.example/2 message - 0"])
        #expect(
            try all(50, alice, bob, Sample.identity().id)
                == ["https://a.example/2 message - 0", "https://a.example/4 message - 0"])
        // The number of messages that wait, without dead letters.
        let mail = [Sample.envelope(to: bob), Sample.envelope(to: bob)]
        _ = try store.commit(mail.map { .store($0) }, at: 2)
        #expect(try all(50, bob) == ["https://a.example/2 message - 2"])
        _ = try store.commit([.acknowledge(bob, ids: [mail[0].id], .delivered)], at: 2)
        #expect(try all(50, bob) == ["https://a.example/2 message - 1"])
        // They count as space of the directory, and expire.
        let space = try store.directoryUse()
        while try store.sweep(at: 50) {}
        #expect(
            try store.directoryUse()
                == space - DirectoryLimit.rowBytes - Int64(calls.bytes))
        _ = try store.commit([.registerWake(calls)], at: 2)
        _ = try store.commit([.unregisterWake(bob, .message)], at: 2)
        #expect(try all(49, bob) == ["ntfy://a.example/3 voip t 1"])
        _ = try store.commit([.unregisterWake(bob, nil), .unregisterWake(bob, nil)], at: 2)
        #expect(try all(2, bob) == [])
        #expect(try all(2, alice) == ["https://a.example/4 message - 0"])
        // One from a clock that was ahead ends as a new one does.
        let late = try wake("https://a.example/5", of: bob, until: 9_000_000)
        _ = try store.commit([.registerWake(late)], at: 2)
        while try store.sweep(at: 60) {}
        #expect(
            try store.wakes(of: [bob], at: 60).map(\.until) == [60 + StoredWake.lifeMinutes])
    }

    @Test(arguments: StoreKind.available) func mailToStrangersIsDeletedAfterAnHour(
        _ kind: StoreKind
    )
        throws
    {
        var retention = Retention()
        retention.strangerMinutes = 60
        let store = try place.open(kind, retention)
        let toStranger = Sample.envelope(to: bob)
        let toMember = Sample.envelope(to: alice)
        _ = try store.commit(
            [.update(alice, .membership(true)), .store(toStranger), .store(toMember)], at: 10)
        while try store.sweep(at: 69) {}
        func count(_ mailbox: KeyID) throws -> Int {
            try store.messages(in: mailbox, after: 0, limit: 9, dead: false, at: 71).messages.count
        }
        #expect(try count(bob) == 1)
        while try store.sweep(at: 70) {}
        #expect(try count(bob) == 0)
        #expect(try count(alice) == 1)
        // The ids of deleted strangers' mail stay known, as those of delivered mail.
        #expect(
            try store.commit([.store(toStranger), .store(toMember)], at: 71)
                == [.duplicate, .duplicate])
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 72) == [.stored])
        while try store.sweep(at: 131) {}
        #expect(try count(bob) == 1)
        while try store.sweep(at: 132) {}
        #expect(try count(bob) == 0)
    }

    @Test(arguments: StoreKind.available) func onlyStrangersMailOfAnHourIsDeleted(_ kind: StoreKind)
        throws
    {
        var retention = Retention()
        retention.strangerMinutes = 60
        let store = try place.open(kind, retention)
        for minute in [10, 30, 50] as [Int64] {
            _ = try store.commit([.store(Sample.envelope(to: bob))], at: minute)
        }
        for (minute, left) in [(69, 3), (70, 2), (89, 2), (90, 1), (110, 0)] as [(Int64, Int)] {
            while try store.sweep(at: minute) {}
            let page = try store.messages(
                in: bob, after: 0, limit: 9, dead: false, at: minute)
            #expect(page.messages.count == left, "\(minute)")
        }
    }

    @Test(arguments: StoreKind.available) func anIDWithAnAccountIsNoStranger(_ kind: StoreKind)
        throws
    {
        var retention = Retention()
        retention.strangerMinutes = 60
        let store = try place.open(kind, retention)
        // For one mailbox the mail came before the account, for the other after it.
        _ = try store.commit(
            [.store(Sample.envelope(to: bob)), .update(alice, .seen)], at: 10)
        _ = try store.commit(
            [.store(Sample.envelope(to: alice)), .update(bob, .seen)], at: 11)
        while try store.sweep(at: 1_000) {}
        for mailbox in [bob, alice] {
            let page = try store.messages(
                in: mailbox, after: 0, limit: 9, dead: false, at: 1_000)
            #expect(page.messages.count == 1)
        }
    }

    @Test(arguments: StoreKind.available) func mailFromAnOpenPeriodStays(
        _ kind: StoreKind
    ) throws {
        // The accounts on an open relay need not be of members.
        let open = try place.open(kind)
        _ = try open.commit(
            [.store(Sample.envelope(to: bob)), .update(alice, .card([1], issued: 1))], at: 10)
        try open.close()
        var retention = Retention()
        retention.strangerMinutes = 60
        let closed = try place.open(kind, retention)
        let later = Sample.identity().id
        _ = try closed.commit([.store(Sample.envelope(to: later))], at: 12)
        while try closed.sweep(at: 20) {}
        try closed.close()
        // The relay is open and closed again; mail from the time between stays too.
        let again = try place.open(kind)
        try again.clearStrangerFlags()
        _ = try again.commit([.store(Sample.envelope(to: later))], at: 30)
        try again.close()
        let last = try place.open(kind, retention)
        while try last.sweep(at: 1_000) {}
        for (mailbox, count) in [(bob, 1), (later, 2)] {
            let page = try last.messages(
                in: mailbox, after: 0, limit: 9, dead: false, at: 1_000)
            #expect(page.messages.count == count)
        }
    }

    @Test func accountsAreChangedWhileARelayRuns() throws {
        let path = place.scratch("relay.db")
        let relay = try StoreLocation(path).open(Retention())
        let other = try StoreLocation(path).open(Retention(), isExclusive: false)
        _ = try relay.commit([.store(Sample.envelope(to: bob))], at: 1)
        _ = try other.commit([.update(bob, .membership(true)), .invite(invitation)], at: 2)
        try other.close()
        #expect(try relay.account(of: bob)?.isMember == true)
        #expect(try relay.commit([.redeem(invitation.tag, by: alice)], at: 3) == [.published])
        #expect(try relay.commit([.store(Sample.envelope(to: bob))], at: 3) == [.stored])
    }
}
