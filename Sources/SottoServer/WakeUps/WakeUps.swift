import NIOCore
import Sotto
public import SottoWire
import Synchronization

/// The notifications of owners about mail in mailboxes without a subscriber.
public struct WakePlan: Sendable {
    /// A notification method.
    public enum Method: Sendable {
        /// Run a program with these arguments.
        case command([String])
        /// Post a request.
        case post(WakeAddress)
    }

    /// The notification methods; all of them are used.
    public var methods: [Method]
    /// The fewest seconds between two wake-ups of one mailbox.
    public var every: Double
    /// Seconds after which a running wake-up is aborted.
    public var timeout = 30.0
    /// How often a wake-up that failed is repeated, each time after ``every`` seconds.
    var retries = 0

    /// Creates a plan with these methods; `every` is the interval in seconds.
    public init(methods: [Method], every: Double) {
        self.methods = methods
        self.every = every
    }
}

/// The envelopes that arrived in a mailbox.
struct Arrivals: Sendable {
    /// The number of all of them.
    private(set) var all = 0
    /// The number of those that belong to calls, by their time to live.
    private(set) var calls = 0

    /// Adds a stored envelope.
    mutating func add(_ envelope: SottoWire.AddressedEnvelope) {
        all += 1
        if let ttl = envelope.ttl, ttl <= WireLimits.callSeconds { calls += 1 }
    }
}

/// A mailbox to announce, and the number of its new messages or calls.
struct WakeUp: Sendable {
    /// What is announced. Calls have announcements of their own if the owners choose where these go.
    struct Subject: Sendable, Hashable {
        let mailbox: KeyID
        var isCall = false
    }

    let subject: Subject
    let count: Int

    var mailbox: KeyID { subject.mailbox }
}

/// Announces new mail in mailboxes without a subscriber.
///
/// It gets mail after the commit, and never delays the store. Only mailboxes of known ids are announced on a relay for
/// members, where anonymous senders can write to any id. The first message is announced at once. Messages within the
/// next seconds are announced when these are over, unless the mailbox was subscribed to meanwhile. A mailbox waits at
/// most once, with a count that grows, and a known one is never dropped.
final class WakeUps: Sendable {
    /// The most wake-ups that run at once.
    static let runningLimit = 8
    /// The most unknown ids that wait on a relay that is open to all; further ones are dropped, and counted as failed.
    static let unknownLimit = 1_000

    /// The rule for the wake-ups of an id.
    enum Eligibility {
        /// The mailbox is announced.
        case known
        /// The mailbox is announced after the known ones, if few wait: on an open relay any id may have a mailbox.
        case unknown
        /// The mailbox is not announced, because its owner is not admitted.
        case foreign
    }

    /// Looks up the eligibilities of mailboxes, and calls back from any thread.
    typealias Lookup =
        @Sendable ([WakeUp.Subject], @escaping @Sendable ([WakeUp.Subject: Eligibility]) -> Void)
        -> Void

    private struct State {
        /// The messages since the last wake-up of each mailbox that waits for one or had one a short time ago.
        var mailboxes: [WakeUp.Subject: Int] = [:]
        /// How often the last wake-ups of a mailbox failed.
        var failures: [WakeUp.Subject: Int] = [:]
        var known = Queue()
        var unknown = Queue()
        var running = 0
        var isStopped = false

        /// Removes and returns the next mailbox that still has new messages.
        mutating func next() -> WakeUp? {
            while let mailbox = known.next() ?? unknown.next() {
                let count = mailboxes[mailbox] ?? 0
                if count > 0 {
                    mailboxes[mailbox] = 0
                    return WakeUp(subject: mailbox, count: count)
                }
                // The owner has fetched them meanwhile.
                mailboxes[mailbox] = nil
            }
            return nil
        }
    }

    /// A queue of mailboxes.
    private struct Queue {
        private var mailboxes: [WakeUp.Subject] = []
        private var start = 0

        var count: Int { mailboxes.count - start }

        mutating func add(_ mailbox: WakeUp.Subject) { mailboxes.append(mailbox) }

        mutating func next() -> WakeUp.Subject? {
            guard start < mailboxes.count else { return nil }
            defer {
                start += 1
                if start > 1_024, start * 2 > mailboxes.count {
                    mailboxes.removeFirst(start)
                    start = 0
                }
            }
            return mailboxes[start]
        }
    }

    private let every: TimeAmount
    private let retries: Int
    private let separatesCalls: Bool
    private let loop: any EventLoop
    private let counters: Counters
    private let targets: [any WakeTarget]
    private let lookup: Lookup
    private let state = Mutex(State())

    /// Starts wake-ups as planned, for the ids that `lookup` allows. With `owners` they go where the owners want them, and
    /// otherwise to the targets of the plan.
    init(
        _ plan: WakePlan, loop: any EventLoop, counters: Counters, owners: OwnersWake? = nil,
        lookup: @escaping Lookup
    ) {
        every = .nanoseconds(Int64(plan.every * 1e9))
        retries = plan.retries
        separatesCalls = owners != nil
        self.loop = loop
        self.counters = counters
        self.lookup = lookup
        let timeout = TimeAmount.nanoseconds(Int64(plan.timeout * 1e9))
        targets =
            owners.map { [$0] }
            ?? plan.methods.map { method in
                switch method {
                case .command(let words): WakeCommand(words, timeout: timeout, loop: loop)
                case .post(let address): WakePost(address, timeout: timeout, loop: loop)
                }
            }
    }

    /// Notes stored mail in mailboxes without a subscriber.
    func note(_ arrived: [KeyID: Arrivals]) {
        guard !arrived.isEmpty else { return }
        let new = state.withLock { state -> [WakeUp.Subject] in
            guard !state.isStopped else { return [] }
            var new: [WakeUp.Subject] = []
            func add(_ subject: WakeUp.Subject, _ count: Int) {
                guard count > 0 else { return }
                let earlier = state.mailboxes[subject]
                state.mailboxes[subject] = (earlier ?? 0) + count
                if earlier == nil { new.append(subject) }
            }
            for (mailbox, arrivals) in arrived {
                let calls = separatesCalls ? arrivals.calls : 0
                add(WakeUp.Subject(mailbox: mailbox), arrivals.all - calls)
                add(WakeUp.Subject(mailbox: mailbox, isCall: true), calls)
            }
            return new
        }
        guard !new.isEmpty else { return }
        lookup(new) { self.admit(new, $0) }
    }

    /// Queues the mailboxes that may be announced.
    private func admit(
        _ mailboxes: [WakeUp.Subject], _ eligibilities: [WakeUp.Subject: Eligibility]
    ) {
        let left = state.withLock { state -> Int in
            var left = 0
            for mailbox in mailboxes {
                switch eligibilities[mailbox] ?? .foreign {
                case .known: state.known.add(mailbox)
                case .unknown where state.unknown.count < Self.unknownLimit:
                    state.unknown.add(mailbox)
                case .unknown:
                    state.mailboxes[mailbox] = nil
                    left += 1
                case .foreign:
                    state.mailboxes[mailbox] = nil
                    state.failures[mailbox] = nil
                }
            }
            return left
        }
        counters.add(.failedWakeUps, left)
        sendNext()
    }

    /// Notes that the owner has subscribed to a mailbox.
    func forget(_ mailbox: KeyID) {
        state.withLock { state in
            for isCall in [false, true] {
                let subject = WakeUp.Subject(mailbox: mailbox, isCall: isCall)
                if state.mailboxes[subject] != nil { state.mailboxes[subject] = 0 }
            }
        }
    }

    /// Sends no more wake-ups, and aborts the running ones.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            (state.known, state.unknown) = (Queue(), Queue())
        }
        for target in targets { target.stop() }
    }

    /// Sends wake-ups until ``runningLimit`` are running.
    private func sendNext() {
        while true {
            let next = state.withLock { state -> WakeUp? in
                guard !state.isStopped, state.running < Self.runningLimit,
                    let next = state.next()
                else { return nil }
                state.running += 1
                return next
            }
            guard let next else { return }
            send(next)
        }
    }

    private func send(_ wakeUp: WakeUp) {
        let results = targets.map { $0.wake(wakeUp) }
        for result in results {
            result.whenComplete { result in
                let isDone = (try? result.get()) ?? false
                self.counters.add(isDone ? .wakeUps : .failedWakeUps)
            }
        }
        EventLoopFuture.whenAllComplete(results, on: loop).whenSuccess { results in
            self.state.withLock { $0.running -= 1 }
            self.noteEnd(wakeUp, isDone: results.allSatisfy { (try? $0.get()) ?? false })
            // Not called directly: many wake-ups that fail at once would make a deep stack.
            self.loop.execute { self.sendNext() }
        }
        loop.scheduleTask(in: every) { self.endInterval(wakeUp.subject) }
    }

    /// Notes the end of a wake-up. One that failed waits again, until it failed too often.
    private func noteEnd(_ wakeUp: WakeUp, isDone: Bool) {
        guard retries > 0 else { return }
        let subject = wakeUp.subject
        let needsInterval = state.withLock { state -> Bool in
            let failures = isDone ? 0 : (state.failures[subject] ?? 0) + 1
            guard !state.isStopped, 1...retries ~= failures else {
                state.failures[subject] = nil
                return false
            }
            state.failures[subject] = failures
            let earlier = state.mailboxes[subject]
            state.mailboxes[subject] = (earlier ?? 0) + wakeUp.count
            return earlier == nil
        }
        // Without an entry its interval has ended, and nothing else would announce the mailbox again.
        if needsInterval { loop.scheduleTask(in: every) { self.endInterval(subject) } }
    }

    /// Ends the interval of a mailbox, and announces messages that came meanwhile.
    private func endInterval(_ mailbox: WakeUp.Subject) {
        let isDue = state.withLock { state -> Bool in
            guard !state.isStopped, let count = state.mailboxes[mailbox] else { return false }
            if count == 0 { state.mailboxes[mailbox] = nil }
            return count > 0
        }
        if isDue { lookup([mailbox]) { self.admit([mailbox], $0) } }
    }
}

/// A notification method of a running relay.
protocol WakeTarget: Sendable {
    /// Announces a mailbox. The future tells whether it succeeded, within ``WakePlan/timeout`` seconds.
    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool>

    /// Aborts what is running.
    func stop()
}
