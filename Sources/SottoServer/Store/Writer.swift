import Dispatch
import NIOCore
import Sotto
import SottoDatabase
import SottoWire
import Synchronization

/// The only writer of a store. Changes that arrive during a commit form the next one: there is no timer, and a change
/// never waits for others. Replies are sent after the commit.
final class Writer: Sendable {
    /// A change, and the connection that waits for its outcome.
    struct Entry: Sendable {
        let change: Change
        let connection: ClientConnection?
        let requestID: String?
        /// The step that follows; without one the outcome is written to the client.
        var then: CommitStep?
    }

    private struct State {
        var queue: [Entry] = []
        /// The numbers of changes that were submitted, and that were taken for a commit.
        var (submitted, taken) = (0, 0)
        var isScheduled = false
        var hasFailed = false
        var isEnding = false
        var isSweeping = false
    }

    private static let batchCount = 1_000
    private static let batchBytes = 4 << 20

    private let store: any Store
    private let subscribers: SubscriberRegistry
    private let clock: RelayClock
    private let counters: Counters
    private let admission: Admission
    private let rates: MailboxRates
    private let onNotice: @Sendable (RelayNotice) -> Void
    private let onFailure: @Sendable (StoreError) -> Void
    private let queue = DispatchQueue(label: "relay.writer")
    /// The time at which the clock state was last stored.
    private let remembered = Mutex<Double?>(nil)
    private let state = Mutex(State())

    /// Creates a writer to `store` that notifies subscribers of arrivals. After `onFailure` it writes no more.
    init(
        store: any Store, subscribers: SubscriberRegistry, clock: RelayClock, counters: Counters,
        admission: Admission = Admission(AdmissionPlan()),
        rates: MailboxRates = MailboxRates(perMinute: 0),
        onNotice: @escaping @Sendable (RelayNotice) -> Void = { _ in },
        onFailure: @escaping @Sendable (StoreError) -> Void
    ) {
        self.store = store
        self.subscribers = subscribers
        self.clock = clock
        self.counters = counters
        self.admission = admission
        self.rates = rates
        self.onNotice = onNotice
        self.onFailure = onFailure
    }

    /// Adds changes to the next commit.
    func submit(_ entries: [Entry]) {
        let mustSchedule = state.withLock { state in
            state.queue += entries
            state.submitted += entries.count
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// Adds changes to the next commit for which no client waits.
    func note(_ changes: [Change]) {
        submit(changes.map { Entry(change: $0, connection: nil, requestID: nil) })
    }

    /// Calls `body` on the thread of the commits when all changes that were submitted before are on disk.
    func afterSubmitted(_ body: @escaping @Sendable () -> Void) {
        let count = state.withLock { $0.submitted }
        queue.async { self.call(body, after: count) }
    }

    /// Runs between two commits.
    private func call(_ body: @escaping @Sendable () -> Void, after count: Int) {
        if state.withLock({ $0.taken >= count || $0.hasFailed }) { return body() }
        queue.async { self.call(body, after: count) }
    }

    /// The number of changes that wait for the next commit.
    var queueLength: Int { state.withLock { $0.queue.count } }

    /// Waits until all submitted changes are on disk and their replies are sent, and sweeps no more.
    func finish() {
        state.withLock { $0.isEnding = true }
        repeat { queue.sync {} } while state.withLock { $0.isScheduled && !$0.hasFailed }
    }

    /// Deletes expired rows, a few at a time so that commits are not delayed. Does nothing while a sweep is running.
    func sweep() {
        let mayBegin = state.withLock { state in
            defer { state.isSweeping = true }
            return !state.isSweeping
        }
        if mayBegin {
            queue.async {
                self.updateClock()
                self.continueSweep()
            }
        }
    }

    /// Seconds after which the clock state is stored again.
    private static let storeClockSeconds = 600.0

    /// Reads the clock, and stores the clock state from time to time, or in any case if `isLast`.
    private func updateClock(isLast: Bool = false) {
        guard !state.withLock({ $0.hasFailed }) else { return }
        do throws(StoreError) {
            let time = clock.observe(confirmed: try store.clock()?.confirmed)
            let now = Monotonic.seconds()
            let isDue = remembered.withLock {
                $0.map { $0 + Self.storeClockSeconds <= now } ?? true
            }
            guard isDue || isLast else { return }
            try store.remember(time)
            remembered.withLock { $0 = now }
        } catch .full {
            // The next one tries again.
        } catch {
            fail(error)
        }
    }

    /// Stores the clock state at the end.
    func storeClock() { queue.sync { self.updateClock(isLast: true) } }

    private func continueSweep() {
        guard !state.withLock({ $0.hasFailed || $0.isEnding }) else { return }
        do throws(StoreError) {
            // Members on the list must not be treated as strangers.
            let isListKnown = try storeMemberList()
            let isPartial = try store.sweep(
                at: clock.expiry, second: clock.holding, latest: clock.minute,
                strangers: isListKnown)
            if isPartial {
                return queue.async { self.continueSweep() }
            }
        } catch .full {
            // The next sweep tries again.
        } catch {
            return fail(error)
        }
        state.withLock { $0.isSweeping = false }
    }

    /// Creates accounts for the members on the list, once a day. Returns false if the store has no space for them.
    private func storeMemberList() throws(StoreError) -> Bool {
        let now = Monotonic.seconds()
        guard let list = admission.listToStore(at: now) else { return true }
        let outcomes = try store.commit(list.map { .update($0, .seen) }, at: clock.minute)
        guard outcomes.allSatisfy({ $0 == .published }) else { return false }
        admission.noteStored(list, at: now)
        return true
    }

    /// Commits one batch, and schedules itself for the next one behind other work in the queue.
    private func drain() {
        guard let batch = next() else { return }
        do throws(StoreError) {
            let outcomes = try counters.commits.measure { () throws(StoreError) in
                try store.commit(batch.map(\.change), at: clock.minute)
            }
            deliver(batch, outcomes)
            queue.async { self.drain() }
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: StoreError) {
        state.withLock { $0.hasFailed = true }
        counters.commits.noteFailure()
        onFailure(error)
    }

    private func next() -> [Entry]? {
        state.withLock { state in
            guard !state.queue.isEmpty, !state.hasFailed else {
                state.isScheduled = false
                return nil
            }
            var count = 0
            var bytes = 0
            while count < min(state.queue.count, Self.batchCount), bytes < Self.batchBytes {
                bytes += state.queue[count].change.weight
                count += 1
            }
            state.taken += count
            if count == state.queue.count {
                defer { state.queue = [] }
                return state.queue
            }
            defer { state.queue.removeFirst(count) }
            return Array(state.queue[..<count])
        }
    }

    /// Sends each connection its replies, with one task for each event loop.
    private func deliver(_ batch: [Entry], _ outcomes: [Outcome]) {
        var arrived: [KeyID: Arrivals] = [:]
        var bytes = 0
        var places: [ObjectIdentifier: Int] = [:]
        var replies: [(connection: ClientConnection, replies: [ClientConnection.Reply])] = []
        for (entry, outcome) in zip(batch, outcomes) {
            if outcome == .stored, case .store(let envelope, _) = entry.change {
                arrived[envelope.to, default: Arrivals()].add(envelope)
                bytes += envelope.bytes.count
            } else if case .store(let envelope, _) = entry.change {
                rates.refund(envelope.to, at: Monotonic.seconds())
            }
            guard let connection = entry.connection else { continue }
            let reply = ClientConnection.Reply(
                requestID: entry.requestID, outcome: outcome, weight: entry.change.weight,
                then: entry.then)
            if let place = places[ObjectIdentifier(connection)] {
                replies[place].replies.append(reply)
            } else {
                places[ObjectIdentifier(connection)] = replies.count
                replies.append((connection, [reply]))
            }
        }
        if let notice = counters.commits.note(outcomes) { onNotice(notice) }
        counters.add(.deferred, outcomes.count { $0 == .diskFull || $0 == .mailboxFull })
        counters.add(.storedBytes, bytes)
        counters.add(.stored, outcomes.count { $0 == .stored })
        counters.add(.duplicates, outcomes.count { $0 == .duplicate })
        let removed = outcomes.reduce(0) { count, outcome in
            if case .acknowledged(let removed) = outcome { count + removed } else { count }
        }
        counters.add(.delivered, removed)
        let byLoop = Dictionary(grouping: replies) { ObjectIdentifier($0.connection.loop) }
        for group in byLoop.values {
            group[0].connection.loop.execute {
                for (connection, replies) in group { connection.complete(replies) }
            }
        }
        subscribers.wake(arrived)
    }
}
