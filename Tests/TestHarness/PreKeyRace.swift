import Dispatch
import Glibc
import Sotto
import SottoWire
import Synchronization

/// Concurrent claims of one owner's prekeys, at a relay that is killed repeatedly.
package struct PreKeyRace {
    /// The number of concurrent claimants.
    package let claimants: Int
    /// The number of one-time prekeys, a multiple of 100.
    package let keys: Int
    /// The number of times that the relay is killed.
    package let kills: Int

    /// Creates a race; it allows one kill for each 110 claims.
    package init(claimants: Int, keys: Int, kills: Int) {
        (self.claimants, self.keys, self.kills) = (claimants, keys, kills)
    }

    /// The result of a race.
    package struct Counts: Sendable, Equatable {
        /// The number of keys that were handed out.
        package var handedOut = 0
        /// The number of keys that two claims got, or none.
        package var wrongOwners = 0
        /// The number of repeated claims, soon or long after the first.
        package var retries = 0
        /// The number of repeated claims with another answer than the first.
        package var otherAnswers = 0
        /// Whether a claim after all of these got only the signed prekey.
        package var endsWithoutKey = false
    }

    /// Runs the race on a new relay; returns `nil` if the relay does not start.
    package func run() -> Counts? {
        let store = TemporaryDirectory()
        guard var relay = RelayProcess(store) else { return nil }
        let address = relay.address
        let bob = Sample.identity()
        let restarts = RestartCounter()
        let tickets = Mutex(0)
        let permits = DispatchSemaphore(value: 0)
        let claimed = DispatchSemaphore(value: 0)
        let claims = Mutex<[String: PreKeyBundle.PreKey]>([:])
        let counts = Mutex(Counts())
        @Sendable func noteRetry(_ isSame: Bool) {
            counts.withLock {
                $0.retries += 1
                if !isSame { $0.otherAnswers += 1 }
            }
        }

        // The relay keeps the last ten for claims with a proof of work. Each other published key gives a permit, so that
        // no claimant finds the relay without keys.
        let reserve: UInt32 = 10
        var published: UInt32 = 0
        func publish() {
            let last = min(published + 100, UInt32(keys) + reserve)
            let numbers = published + 1..<last + 1
            let publication = Sample.preKeys(of: bob, signed: 1 + published, oneTime: numbers)
            guard RawClient(address).publish(publication) == .stored else { return }
            for _ in max(published, reserve)..<last { permits.signal() }
            published = last
        }

        let group = DispatchGroup()
        for number in 0..<claimants {
            DispatchQueue(label: "claimant \(number)").async(group: group) { [keys] in
                var claimant = Claimant(owner: bob.id, address: address, restarts: restarts)
                while true {
                    let ticket = tickets.withLock { ticket in
                        ticket += 1
                        return ticket
                    }
                    guard ticket <= keys else { return }
                    permits.wait()
                    let id = Envelope.newID()
                    if ticket % 7 == 0 { claimant.askAndGo(id) }
                    let bundle = claimant.claim(id)
                    if ticket % 5 == 0 {
                        claimant.reconnect()
                        noteRetry(claimant.claim(id) == bundle)
                    }
                    claims.withLock { $0[id] = bundle?.oneTimePreKey }
                    claimed.signal()
                }
            }
        }

        func killAndRestart() -> Bool {
            relay.command.kill(SIGKILL)
            relay.command.wait()
            guard let next = RelayProcess(store, listen: address) else { return false }
            relay = next
            restarts.begin()
            return true
        }

        publish()
        publish()
        var generator = SeededGenerator(state: 4)
        let moments = Set(
            (0..<kills).map { Int.random(in: $0 * 110 + 10..<$0 * 110 + 110, using: &generator) })
        for count in 1...keys {
            claimed.wait()
            if count % 100 == 0, published < UInt32(keys) + reserve { publish() }
            if moments.contains(count), !killAndRestart() { return nil }
        }
        group.wait()

        let all = claims.withLock { $0 }
        let owned = Set(all.values.map(\.id))
        let bytes = Set(all.values.map(\.key))
        // Long after, and after a restart, every claim still gets its own key.
        guard killAndRestart() else { return nil }
        var claimant = Claimant(owner: bob.id, address: address, restarts: restarts)
        for (number, (id, key)) in all.enumerated() {
            if number % WireLimits.claimsInAMinute == 0 { claimant.reconnect() }
            noteRetry(claimant.claim(id)?.oneTimePreKey == key)
        }
        claimant.reconnect()
        let last = claimant.claim(Envelope.newID())
        let status = relay.end()
        return counts.withLock { counts in
            counts.handedOut = all.count
            counts.wrongOwners =
                owned.symmetricDifference(1...UInt32(keys)).count + keys - bytes.count
            counts.endsWithoutKey = last != nil && last?.oneTimePreKey == nil && status == 0
            return counts
        }
    }
}

/// Counts the restarts of a relay, and wakes threads that wait for the next one.
private final class RestartCounter: @unchecked Sendable {
    // Sendable: `restartNumber` is used only under `mutex`.
    private var restartNumber = 0
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
        return restartNumber
    }

    func begin() {
        pthread_mutex_lock(mutex)
        restartNumber += 1
        pthread_cond_broadcast(change)
        pthread_mutex_unlock(mutex)
    }

    func wait(after old: Int) {
        pthread_mutex_lock(mutex)
        while restartNumber == old { pthread_cond_wait(change, mutex) }
        pthread_mutex_unlock(mutex)
    }
}

/// A claimant that repeats its claim over connections and restarts of the relay until it gets an answer.
private struct Claimant {
    let owner: KeyID
    let address: String
    let restarts: RestartCounter
    private var client: RawClient?
    private var restartNumber = 0

    init(owner: KeyID, address: String, restarts: RestartCounter) {
        (self.owner, self.address, self.restarts) = (owner, address, restarts)
    }

    /// Sends a claim and closes the connection before the answer.
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
                restarts.wait(after: restartNumber)
            case .bundle(let line)?:
                return (try? JSON.object(parsing: line)).flatMap { try? PreKeyBundle(record: $0) }
            case _?: return nil
            }
        }
    }

    mutating func reconnect() { client = nil }

    private mutating func reach() {
        while client == nil {
            restartNumber = restarts.current
            client = RawClient(reaching: address)
            if client == nil { restarts.wait(after: restartNumber) }
        }
    }
}
