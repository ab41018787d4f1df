import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// The renewal of prekeys, and the time for which their secrets are kept, with a clock that the tests set.
struct PreKeyScheduleTests {
    let scratch = TemporaryDirectory()
    let bob = Sample.identity()
    let alice = Sample.identity()
    let store: IdentityStore
    let start = Timestamp(seconds: 1_800_000_000)

    init() throws {
        store = try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: bob, lockTimeout: 5)
    }

    private func day(_ days: Int, hour: Int = 0) -> Timestamp {
        Timestamp(seconds: start.seconds + Int64(days * 24 + hour) * 3_600)
    }

    @discardableResult
    private func publish(
        at time: Timestamp, oneTime: Int = StateTransaction.batch
    ) throws -> PreKeyPublication {
        try store.transaction { try $0.publication(at: time, oneTime: oneTime) }
    }

    /// Returns the numbers of the stored secrets of a kind.
    private func secrets(_ kind: SecretPreKey.Kind) throws -> [UInt32] {
        let database = try DurableDatabase(
            path: scratch("\(bob.id).db"),
            migrations: [], lockTimeout: 5)
        return try database.use { connection throws(StateError) in
            try connection.rows(
                "SELECT id FROM prekey WHERE kind = ? ORDER BY id", kind.rawValue
            ) { row throws(StateError) in UInt32(clamping: row.integer(0)) }
        }
    }

    /// Returns the pre-key message of a session that Alice starts with the first one-time prekey of a publication.
    private func opening(_ publication: PreKeyPublication) throws -> Envelope {
        var session = try PeerSession(
            by: alice, with: publication.bundle(oneTime: publication.oneTimePreKeys.first))
        return try session.seal(body: Message.textBody("hello"), from: alice, time: start)
    }

    /// Whether an envelope can be opened with the stored secrets.
    private func opens(_ envelope: Envelope) throws -> Bool {
        do {
            _ = try store.preview { try $0.open(envelope, with: SuiteKeys(identity: bob)) }
            return true
        } catch SessionError.preKeyGone {
            return false
        }
    }

    /// Does what `decrypt` does if its policy refuses an envelope.
    private func refuse(_ envelope: Envelope) throws {
        try store.transaction { transaction in
            let step = try transaction.open(envelope, with: SuiteKeys(identity: bob))
            try transaction.awaitPreKeys(of: step, id: envelope.id)
        }
    }

    @Test func signedPreKeysAreRenewedAfterSevenDaysAndKeptForFortyFiveMore() throws {
        let first = try publish(at: day(0))
        let envelope = try opening(first)
        #expect(try publish(at: day(6, hour: 23)).signedPreKey.id == first.signedPreKey.id)
        for week in 1...20 {
            let id = try publish(at: day(7 * week), oneTime: 0).signedPreKey.id
            #expect(id > first.signedPreKey.id)
            // The prekey is replaced on the seventh day; the clock of the week before decides.
            #expect(try opens(envelope) == (week <= 8), "week \(week)")
            for kind in [SecretPreKey.Kind.signed, .postQuantum] {
                #expect(try secrets(kind).count <= 9)
                #expect(try secrets(kind).last == id)
            }
        }
    }

    @Test func prekeysOfWaitingEnvelopesAreKept() throws {
        let (requested, inInbox) = (try publish(at: day(0)), try publish(at: day(1)))
        let (one, two) = (try opening(requested), try opening(inInbox))
        try refuse(one)
        try refuse(two)
        let bytes = two.record.serialized()
        _ = try store.receive([(two.id, bytes)], to: .print)
        try store.markPrinted([two.id])
        _ = try store.transaction {
            try $0.request(one.record.serialized(), id: one.id, from: alice.id)
        }
        for week in 1...30 { try publish(at: day(7 * week)) }
        #expect(try opens(one) && opens(two))
        #expect(try secrets(.signed).count <= 10)
        _ = try store.transaction { try $0.forgetRequests(from: alice.id) }
        try publish(at: day(217))
        #expect(try !opens(one))
        #expect(try opens(two))
        try store.markHandled([two.id])
        try publish(at: day(224))
        #expect(try !opens(two))
        #expect(try secrets(.signed).count <= 9)
    }

    @Test func aRelayCannotRenewOrDestroyPrekeys() throws {
        let first = try publish(at: day(0))
        let envelope = try opening(first)
        let oneTime = Set(first.oneTimePreKeys.map(\.id))
        func ask(
            _ relay: String, at time: Timestamp, signed: UInt32, has count: Int = 0
        ) throws -> PreKeyPublication? {
            try store.transaction {
                try $0.replenishment(
                    for: relay, has: count, signedID: signed, oneTimeMark: 0, at: time)
            }
        }
        var lie = first.signedPreKey.id
        var made = 0
        for hour in 0..<140 {
            lie += 1_000
            let answer = try ask("liar:1", at: day(0, hour: hour), signed: lie)
            made += answer?.oneTimePreKeys.count ?? 0
            #expect((answer?.signedPreKey ?? first.signedPreKey).id == first.signedPreKey.id)
        }
        #expect(made <= 6 * StateTransaction.dailyLimit)
        #expect(try oneTime.isSubset(of: secrets(.oneTime)) && opens(envelope))
        // The honest relay still gets the prekeys that it lacks, and its numbers are used.
        let other = try #require(
            try ask("honest:1", at: day(6), signed: first.signedPreKey.id, has: 3))
        #expect(other.oneTimePreKeys.count == StateTransaction.batch)
        #expect(try ask("honest:1", at: day(6), signed: first.signedPreKey.id, has: 30) == nil)
        // On the seventh day the number is above the claimed one, in case the claim was true.
        let renewed = try #require(try ask("liar:1", at: day(7), signed: lie, has: 30))
        #expect(renewed.signedPreKey.id > lie)
        let above = renewed.signedPreKey.id + 5_000
        #expect(try ask("liar:1", at: day(8), signed: above, has: 30) == nil)
        #expect(try opens(envelope))
    }

    /// After a wiped or a recovered state, the relay has prekeys that nobody can use.
    @Test func aNewStateReplacesThePrekeysOfALostOne() throws {
        let lost = try publish(at: day(0))
        let mark = try #require(lost.oneTimePreKeys.last?.id)
        let other = TemporaryDirectory()
        let new = try IdentityStore(
            directory: StateDirectory(path: other.path), identity: bob, lockTimeout: 5)
        func ask(signed: UInt32, mark: UInt32) throws -> PreKeyPublication? {
            try new.transaction {
                try $0.replenishment(
                    for: "relay:1", has: 50, signedID: signed, oneTimeMark: mark, at: day(0))
            }
        }
        // Nothing is published where nothing was.
        #expect(try ask(signed: 0, mark: 0) == nil)
        let publication = try #require(try ask(signed: lost.signedPreKey.id, mark: mark))
        #expect(publication.signedPreKey.id > lost.signedPreKey.id)
        #expect(publication.oneTimePreKeys.count == StateTransaction.batch)
        #expect(publication.oneTimeFrom > mark)
        #expect(try ask(signed: publication.signedPreKey.id, mark: mark + 50) == nil)
    }

    /// A stranger who uses up prekeys does not learn from new ones when the owner is online.
    @Test func newOneTimePreKeysWaitForTheirDay() throws {
        let signed = try publish(at: day(0)).signedPreKey.id
        func refill(_ relay: String, hour: Int, has count: Int) throws -> Int {
            try store.transaction {
                try $0.replenishment(
                    for: relay, has: count, signedID: signed, oneTimeMark: 0,
                    at: day(0, hour: hour))
            }?.oneTimePreKeys.count ?? 0
        }
        #expect(try refill("relay:1", hour: 1, has: 3) == StateTransaction.batch)
        for hour in 1...24 { #expect(try refill("relay:1", hour: hour, has: 0) == 0) }
        #expect(try refill("other:1", hour: 24, has: 0) == StateTransaction.batch)
        #expect(try refill("relay:1", hour: 25, has: 20) == 0)
        #expect(try refill("relay:1", hour: 30, has: 19) == StateTransaction.batch)
        #expect(try refill("relay:1", hour: 53, has: 0) == 0)
        // A clock that was ahead delays nothing.
        #expect(try refill("relay:1", hour: 29, has: 0) == StateTransaction.batch)
    }

    @Test func aClockThatWasYearsAheadDestroysNothing() throws {
        let first = try publish(at: day(0))
        let envelope = try opening(first)
        try publish(at: day(1), oneTime: 0)
        let future = try publish(at: day(3_650))
        #expect(future.signedPreKey.date?.time == day(3_650))
        #expect(try opens(envelope))
        // The clock is right again: prekeys that it dated are replaced at once, and then on schedule.
        let now = day(2)
        let next = try #require(
            try store.transaction {
                try $0.replenishment(
                    for: "relay:1", has: 50, signedID: future.signedPreKey.id, oneTimeMark: 0,
                    at: now)
            })
        #expect(next.signedPreKey.id > future.signedPreKey.id)
        #expect(next.signedPreKey.date?.time == now && next.pqSignedPreKey?.date?.time == now)
        #expect(try publish(at: day(3), oneTime: 0).signedPreKey.id == next.signedPreKey.id)
        #expect(try publish(at: day(9), oneTime: 0).signedPreKey.id > next.signedPreKey.id)
        #expect(try opens(envelope))
        for week in 2...12 { try publish(at: day(7 * week), oneTime: 0) }
        #expect(try !opens(envelope))
        #expect(try secrets(.signed).count <= 9)
    }

    @Test func aJumpingClockLeavesABoundedNumberOfSecrets() throws {
        for turn in 0..<100 { try publish(at: day(turn % 2 * 400), oneTime: 0) }
        #expect(try secrets(.signed).count <= 61)
        #expect(try secrets(.postQuantum).count <= 61)
    }

    /// Relays may hand out at most a thousand; earlier ones are kept for messages in transit.
    @Test func oneTimePreKeysAreReplacedBeforeTheyAreDeleted() throws {
        let first = try publish(at: day(0))
        let envelope = try opening(first)
        var last = first
        for _ in 0..<20 { last = try publish(at: day(1)) }
        #expect(last.oneTimeFrom > first.oneTimePreKeys[0].id)
        #expect(try opens(envelope))
        for week in 1...6 { try publish(at: day(7 * week), oneTime: 0) }
        #expect(try opens(envelope))
        for week in 7...10 { try publish(at: day(7 * week), oneTime: 0) }
        #expect(try !opens(envelope))
        #expect(try secrets(.oneTime).count <= 1_000)
    }
}
