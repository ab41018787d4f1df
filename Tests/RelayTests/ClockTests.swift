import Glibc
import Sotto
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer

/// The rules for accepting a clock. Minutes are counted from any moment.
@Suite struct ClockGuardTests {
    static let day = 24.0 * 60
    static let start = 1_000_000.0

    /// A guard, its clock, and the elapsed time, in minutes.
    struct Bench {
        var clock: ClockGuard
        var wall: Double
        var now: Double

        init(_ stored: StoredClock?, wall: Double, now: Double = 5) {
            (self.wall, self.now) = (wall, now)
            clock = ClockGuard(stored, wall: wall, now: now)
        }

        /// Lets minutes pass, observing the clock each minute.
        mutating func pass(_ minutes: Int) {
            for _ in 0..<minutes {
                wall += 1
                now += 1
                clock.observe(wall: wall, now: now)
            }
        }

        var expiry: Double { clock.expiry(now) }
        var stamp: Double { clock.stamp(wall: wall, now: now) }
        var error: Double? { clock.error(wall: wall, now: now) }
        var stored: StoredClock { clock.stored(wall: wall, now: now) }
    }

    /// Times to live are measured by the elapsed time, whatever the clock does.
    @Test func theHoldingTimeDoesNotJump() {
        var bench = Bench(StoredClock(accepted: 1_000_000), wall: Self.start + 10)
        let begin = bench.clock.holding(bench.now)
        #expect(begin == Self.start + 10)
        for jump in [30.0, Self.day, -3 * Self.day] {
            bench.wall += jump
            bench.pass(7 * 60)
        }
        bench.clock.confirm(Int64(bench.wall), wall: bench.wall, now: bench.now)
        #expect(bench.clock.holding(bench.now) == begin + 21 * 60)
        // After a restart it continues from the accepted time.
        let next = Bench(bench.stored, wall: bench.wall + 1)
        #expect(next.clock.holding(next.now) == bench.wall + 1)
    }

    @Test func aNewStoreAcceptsItsFirstClock() {
        let bench = Bench(nil, wall: Self.start)
        #expect(bench.expiry == Self.start && bench.stamp == Self.start && bench.error == nil)
    }

    @Test func aShortPauseIsAccepted() {
        let bench = Bench(StoredClock(accepted: 1_000_000), wall: Self.start + 59)
        #expect(bench.expiry == Self.start + 59 && bench.error == nil)
    }

    @Test func aClockThatIsAheadWaitsForSixHours() {
        var bench = Bench(StoredClock(accepted: 1_000_000), wall: Self.start + 31 * Self.day)
        #expect(bench.expiry == Self.start)
        #expect(bench.stamp == Self.start + 31 * Self.day)
        #expect(bench.error == 31 * Self.day)
        bench.pass(359)
        #expect(bench.expiry == Self.start + 359)
        bench.pass(1)
        #expect(bench.expiry == Self.start + 31 * Self.day + 360)
        #expect(bench.error == nil && bench.stored.held == nil)
    }

    @Test func aClockThatJumpsAgainStartsOver() {
        var bench = Bench(StoredClock(accepted: 1_000_000), wall: Self.start + 31 * Self.day)
        bench.pass(300)
        bench.wall += 2 * Self.day
        bench.pass(300)
        #expect(bench.expiry == Self.start + 600)
        // The clock is corrected.
        bench.wall = Self.start + 600
        bench.pass(1)
        #expect(bench.expiry == Self.start + 601 && bench.error == nil)
    }

    @Test func agreementAddsUpOverRestarts() {
        var stored = StoredClock(accepted: 1_000_000)
        var wall = Self.start + 31 * Self.day
        // Two hours on each day.
        for day in 0..<3 {
            var bench = Bench(stored, wall: wall, now: Double(day))
            bench.pass(120)
            (stored, wall) = (bench.stored, bench.wall)
            if day < 2 { wall += 20 * 60 }
        }
        #expect(stored.held == nil && Double(stored.accepted) == wall)
    }

    @Test func anotherWrongClockStartsOver() {
        var first = Bench(StoredClock(accepted: 1_000_000), wall: Self.start + 31 * Self.day)
        first.pass(350)
        var second = Bench(first.stored, wall: Self.start + 365 * Self.day)
        second.pass(20)
        #expect(second.expiry == Self.start + 370)
    }

    @Test func aClockThatIsBehindChangesNoAges() {
        var bench = Bench(StoredClock(accepted: 1_000_000), wall: 0)
        bench.pass(10_000)
        #expect(bench.expiry == Self.start + 10_000)
        #expect(bench.stamp == bench.expiry)
        #expect(bench.error == -Self.start)
        // New rows have the right age when the clock is corrected.
        bench.wall = Self.start + 10_000
        bench.pass(1)
        #expect(bench.expiry == Self.start + 10_001 && bench.error == nil)
    }

    @Test func theOperatorDecides() {
        for wall in [Self.start + 31 * Self.day, Self.start - 400 * Self.day] {
            var bench = Bench(StoredClock(accepted: 1_000_000), wall: wall)
            // A confirmation of another time.
            bench.clock.confirm(Int64(wall) + 61, wall: wall, now: bench.now)
            #expect(bench.error != nil)
            bench.clock.confirm(Int64(wall) + 2, wall: wall, now: bench.now)
            #expect(bench.expiry == wall && bench.error == nil)
        }
    }
}

/// The clock state in a store, and the expiry of mail.
@Suite(.timeLimit(.minutes(60))) struct StoreClockTests {
    let place = StoreFixture()
    let bob = Sample.identity().id

    @Test(arguments: StoreKind.available) func theClockStateIsStored(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        #expect(try store.clock() == nil)
        let held = StoredClock(accepted: 10, held: 5_000, agreed: 7)
        try store.remember(held)
        #expect(try store.clock() == held)
        try store.confirm(5_001)
        #expect(try store.clock() == StoredClock(accepted: 5_001, confirmed: 5_001))
        try store.remember(StoredClock(accepted: 5_002))
        try store.close()
        #expect(
            try place.open(kind).clock() == StoredClock(accepted: 5_002, confirmed: 5_001))
    }

    func count(_ store: any Store, at minute: Int64) throws -> Int {
        try store.messages(in: bob, after: 0, limit: 99, dead: false, at: minute).messages.count
    }

    /// One envelope with a time in the future does not keep those behind it.
    @Test(arguments: StoreKind.available) func mailExpiresByTimeNotByPosition(_ kind: StoreKind)
        throws
    {
        let retention = Retention(minutes: 10, mailboxMessages: 9)
        let store = try place.open(kind, retention)
        let year: Int64 = 365 * 24 * 60
        _ = try store.commit([.store(Sample.envelope(to: bob))], at: 100 + year)
        _ = try store.commit((0..<8).map { _ in .store(Sample.envelope(to: bob)) }, at: 100)
        // The mailbox is full, and has space again when its mail has expired.
        #expect(
            try store.commit([.store(Sample.envelope(to: bob))], at: 101) == [.mailboxFull])
        while try store.sweep(at: 110) {}
        #expect(try count(store, at: 110) == 1)
        let more = (0..<8).map { _ in Change.store(Sample.envelope(to: bob)) }
        #expect(try store.commit(more, at: 111) == more.map { _ in .stored })
        // The envelope of the future is as old as if it had come at the first sweep.
        for _ in 0..<3 { while try store.sweep(at: 125) {} }
        #expect(try count(store, at: 0) == 0)
    }

    /// Prekeys that were claimed under a wrong clock keep no others.
    @Test func claimsExpireByTime() throws {
        let store = try place.open(.sqlite)
        let owner = Sample.identity()
        let publication = Sample.preKeys(of: owner, oneTime: 1..<5)
        _ = try store.commit(
            [.publish(publication, head: publication.bundleHead ?? [])], at: 1)
        let ids = (0..<2).map { _ in Envelope.newID() }
        _ = try store.commit([.claim(owner: owner.id, id: ids[0])], at: 9_000_000)
        let early = try store.commit([.claim(owner: owner.id, id: ids[1])], at: 1)
        while try store.sweep(at: 1 + Retention.claimMinutes) {}
        #expect(try store.commit([.claim(owner: owner.id, id: ids[1])], at: 1) != early)
    }
}

/// A relay with another clock.
@Suite(.timeLimit(.minutes(60))) struct RelayClockTests {
    static let day = 86_400.0
    let bob = Sample.identity()

    /// Starts a relay whose clock is off by `off` seconds.
    func start(_ scratch: TemporaryDirectory, off: Double) throws -> Relay {
        var configuration = RelayConfiguration(
            listen: RelayURL(host: "127.0.0.1", port: 0), store: scratch("relay.db"))
        configuration.wall = { RelayClock.system() + off }
        return try Relay.start(configuration) { Issue.record("the store failed: \($0)") }
    }

    func mail(_ relay: Relay) -> Int? {
        let client = RawClient(relay.address)
        guard client.login(bob)?.isSession == true,
            case .messages(let page, _) = client.ask(.fetch(max: 9, after: 0, dead: false))
        else { return nil }
        return page.count
    }

    @Test func oneStartWithAWrongClockDeletesNothing() throws {
        let scratch = TemporaryDirectory()
        var relay = try start(scratch, off: 0)
        #expect(RawClient(relay.address).ask(.send(Sample.envelope(to: bob.id))) == .stored)
        try relay.stop()
        relay = try start(scratch, off: 31 * Self.day)
        #expect(relay.clockError.map { ($0 + 12 * 60) / 60 / 24 } == 31)
        #expect(mail(relay) == 1)
        // Mail that comes meanwhile stays, whichever clock is right.
        #expect(RawClient(relay.address).ask(.send(Sample.envelope(to: bob.id))) == .stored)
        try relay.stop()
        relay = try start(scratch, off: 0)
        #expect(relay.clockError == nil)
        #expect(mail(relay) == 2)
        try relay.stop()
        relay = try start(scratch, off: -400 * Self.day)
        #expect(relay.clockError.map { $0 < 0 } == true)
        #expect(mail(relay) == 2)
        try relay.stop()
    }

    @Test func mailExpiresWhenTheOperatorConfirmsTheClock() throws {
        let scratch = TemporaryDirectory()
        var relay = try start(scratch, off: 0)
        #expect(RawClient(relay.address).ask(.send(Sample.envelope(to: bob.id))) == .stored)
        try relay.stop()
        let store = try StoreLocation(scratch("relay.db")).open(
            Retention(), isExclusive: false)
        try store.confirm(Int64((RelayClock.system() + 31 * Self.day) / 60))
        try store.close()
        relay = try start(scratch, off: 31 * Self.day)
        #expect(relay.clockError == nil)
        #expect(mail(relay) == 0)
        try relay.stop()
    }

    /// `relay check` reports that the clock is off, and `--accept-clock` accepts it.
    @Test func checkReportsAndAcceptsTheClock() throws {
        let scratch = TemporaryDirectory()
        let path = scratch("relay.db")
        let store = try StoreLocation(path).open(Retention())
        let now = Int64(RelayClock.system() / 60)
        // Half an hour more: the clock is read in whole seconds, so the elapsed time may be longer by a part of one.
        try store.remember(StoredClock(accepted: now - 31 * 24 * 60 - 30))
        try store.close()
        let first = try #require(RelayProcess(scratch))
        #expect(first.end() == 0)
        let hint = "relay check --store \(path) --accept-clock"
        let warning = "relay: warning: the clock is 31 days ahead of the newest time in the store"
        #expect(
            scratch.lines("relay.log").contains { $0.hasPrefix(warning) && $0.hasSuffix(hint) })
        func check(_ options: [String]) -> [String] {
            unlink(scratch("out"))
            _ = ChildProcess.run(
                "relay", ["check", "--listen", "127.0.0.1:0", "--store", path] + options,
                output: scratch("out"))
            return scratch.lines("out").filter { $0.contains(" clock: ") }
        }
        #expect(check([]).contains { $0.hasPrefix("warning clock: the clock is 31 days ahead") })
        #expect(check(["--accept-clock"]) == ["ok clock: plausible"])
        #expect(check([]) == ["ok clock: plausible"])
        unlink(scratch("relay.log"))
        let second = try #require(RelayProcess(scratch))
        #expect(second.end() == 0)
        #expect(!scratch.lines("relay.log").contains { $0.contains("warning") })
    }
}
