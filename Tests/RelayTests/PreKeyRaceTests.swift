import Dispatch
import Glibc
import RelayHarness
import Sotto
import SottoState
import SottoWire
import Synchronization
import Testing

/// Counts the lives of a relay, and wakes who waits for the next one.
private final class Lives: @unchecked Sendable {
    // Sendable: `life` is touched only under `mutex`.
    private var life = 0
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let change = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(change, nil)
    }

    deinit {
        pthread_cond_destroy(change)
        pthread_mutex_destroy(mutex)
        change.deallocate()
        mutex.deallocate()
    }

    var current: Int {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return life
    }

    func begin() {
        pthread_mutex_lock(mutex)
        life += 1
        pthread_cond_broadcast(change)
        pthread_mutex_unlock(mutex)
    }

    func wait(after old: Int) {
        pthread_mutex_lock(mutex)
        while life == old { pthread_cond_wait(change, mutex) }
        pthread_mutex_unlock(mutex)
    }
}

/// A claimant that stays until it is answered, over any number of connections and lives of the relay.
private struct Claimant {
    let owner: SessionID
    let address: String
    let lives: Lives
    private var client: RawClient?
    private var life = 0

    init(owner: SessionID, address: String, lives: Lives) {
        (self.owner, self.address, self.lives) = (owner, address, lives)
    }

    /// Asks and goes away before the answer.
    mutating func askAndGo(_ id: String) {
        reach()
        client?.send(Request.claim(owner: owner, id: id).line(requestID: "lost"))
        client = nil
    }

    mutating func claim(_ id: String) -> PreKeyBundle? {
        while true {
            reach()
            switch client?.ask(.claim(owner: owner, id: id)) {
            case nil:
                client = nil
                lives.wait(after: life)
            case .bundle(let line)?:
                return (try? JSON.object(parsing: line)).flatMap { try? PreKeyBundle(record: $0) }
            case let other?:
                Issue.record("\(other)")
                return nil
            }
        }
    }

    mutating func reconnect() { client = nil }

    private mutating func reach() {
        while client == nil {
            life = lives.current
            client = RawClient(reaching: address)
            if client == nil { lives.wait(after: life) }
        }
    }
}

@Suite struct PreKeyRaceTests {
    static let claimants = 32
    static let keys = 1_000

    /// Thirty-two claimants and a thousand keys, in a relay that is killed again and again.
    @Test func eachKeyHasOneOwnerAndARetryGetsIt() throws {
        let store = Scratch()
        var relay = try #require(RelayProcess(store))
        let address = relay.address
        let bob = Sample.identity()
        let lives = Lives()
        let tickets = Mutex(0)
        let permits = DispatchSemaphore(value: 0)
        let claimed = DispatchSemaphore(value: 0)
        let claims = Mutex<[String: PreKeyBundle.PreKey]>([:])

        // A permit for each key that is published: nobody finds the shelf empty.
        var published: UInt32 = 0
        func publish() {
            let numbers = published + 1..<published + 101
            let publication = Sample.preKeys(of: bob, signed: 1 + published, oneTime: numbers)
            #expect(RawClient(address).publish(publication) == .stored)
            published += 100
            for _ in numbers { permits.signal() }
        }

        let group = DispatchGroup()
        for number in 0..<Self.claimants {
            DispatchQueue(label: "claimant \(number)").async(group: group) {
                var claimant = Claimant(owner: bob.id, address: address, lives: lives)
                while true {
                    let ticket = tickets.withLock { ticket in
                        ticket += 1
                        return ticket
                    }
                    guard ticket <= Self.keys else { return }
                    permits.wait()
                    let id = Envelope.newID()
                    if ticket % 7 == 0 { claimant.askAndGo(id) }
                    let bundle = claimant.claim(id)
                    if ticket % 5 == 0 {
                        claimant.reconnect()
                        #expect(claimant.claim(id) == bundle)
                    }
                    claims.withLock { $0[id] = bundle?.oneTimePreKey }
                    claimed.signal()
                }
            }
        }

        func killAndRestart() throws {
            relay.command.kill(SIGKILL)
            relay.command.wait()
            relay = try #require(RelayProcess(store, listen: address))
            lives.begin()
        }

        publish()
        publish()
        var generator = SeededGenerator(state: 4)
        let kills = Set(
            (0..<8).map { Int.random(in: $0 * 110 + 10..<$0 * 110 + 110, using: &generator) })
        for count in 1...Self.keys {
            claimed.wait()
            if count % 100 == 0, published < Self.keys { publish() }
            if kills.contains(count) { try killAndRestart() }
        }
        group.wait()

        let all = claims.withLock { $0 }
        #expect(all.count == Self.keys)
        #expect(Set(all.values.map(\.id)) == Set(1...UInt32(Self.keys)))
        #expect(Set(all.values.map(\.key)).count == Self.keys)
        // Long after, and in another life, every claim still gets its own.
        try killAndRestart()
        var claimant = Claimant(owner: bob.id, address: address, lives: lives)
        for (number, (id, key)) in all.enumerated() {
            if number % WireLimits.claimsInAMinute == 0 { claimant.reconnect() }
            #expect(claimant.claim(id)?.oneTimePreKey == key)
        }
        claimant.reconnect()
        let last = claimant.claim(Envelope.newID())
        #expect(last != nil && last?.oneTimePreKey == nil)
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }
}
