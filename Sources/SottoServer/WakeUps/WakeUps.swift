import NIOCore
import Sotto
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

    /// Creates a plan with these methods; `every` is the interval in seconds.
    public init(methods: [Method], every: Double) {
        self.methods = methods
        self.every = every
    }
}

/// A mailbox to announce, and the number of its new messages.
struct WakeUp: Sendable {
    let mailbox: KeyID
    let count: Int
}

/// Announces new mail in mailboxes without a subscriber.
///
/// It gets mail after the commit, and never delays the store. Only mailboxes of known ids are announced on a relay for
/// members, where anonymous senders can write to any id. The first message is announced at once. Messages within the
/// next seconds are announced when these are over, unless the mailbox was subscribed to meanwhile. A mailbox waits at
/// most once, with a count that grows, and a known one is never dropped. An announcement has only the mailbox and the
/// count.
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

    /// Looks up the eligibilities of ids, and calls back from any thread.
    typealias Lookup =
        @Sendable ([KeyID], @escaping @Sendable ([KeyID: Eligibility]) -> Void)
        -> Void

    private struct State {
        /// The messages since the last wake-up of each mailbox that waits for one or had one a short time ago.
        var mailboxes: [KeyID: Int] = [:]
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
                    return WakeUp(mailbox: mailbox, count: count)
                }
                // The owner has fetched them meanwhile.
                mailboxes[mailbox] = nil
            }
            return nil
        }
    }

    /// A queue of mailboxes.
    private struct Queue {
        private var mailboxes: [KeyID] = []
        private var start = 0

        var count: Int { mailboxes.count - start }

        mutating func add(_ mailbox: KeyID) { mailboxes.append(mailbox) }

        mutating func next() -> KeyID? {
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
    private let loop: any EventLoop
    private let counters: Counters
    private let targets: [any WakeTarget]
    private let lookup: Lookup
    private let state = Mutex(State())

    /// Starts wake-ups as planned, for the ids that `lookup` allows.
    init(
        _ plan: WakePlan, loop: any EventLoop, counters: Counters, lookup: @escaping Lookup
    ) {
        every = .nanoseconds(Int64(plan.every * 1e9))
        self.loop = loop
        self.counters = counters
        self.lookup = lookup
        let timeout = TimeAmount.nanoseconds(Int64(plan.timeout * 1e9))
        targets = plan.methods.map { method in
            switch method {
            case .command(let words): WakeCommand(words, timeout: timeout, loop: loop)
            case .post(let address): WakePost(address, timeout: timeout, loop: loop)
            }
        }
    }

    /// Notes stored mail in mailboxes without a subscriber.
    func note(_ arrived: [KeyID: Int]) {
        guard !arrived.isEmpty else { return }
        let new = state.withLock { state -> [KeyID] in
            guard !state.isStopped else { return [] }
            return arrived.compactMap { mailbox, count in
                let earlier = state.mailboxes[mailbox]
                state.mailboxes[mailbox] = (earlier ?? 0) + count
                return earlier == nil ? mailbox : nil
            }
        }
        guard !new.isEmpty else { return }
        lookup(new) { self.admit(new, $0) }
    }

    /// Queues the mailboxes that may be announced.
    private func admit(_ mailboxes: [KeyID], _ eligibilities: [KeyID: Eligibility]) {
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
                case .foreign: state.mailboxes[mailbox] = nil
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
            if state.mailboxes[mailbox] != nil { state.mailboxes[mailbox] = 0 }
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
        EventLoopFuture.andAllComplete(results, on: loop).whenComplete { _ in
            self.state.withLock { $0.running -= 1 }
            // Not called directly: many wake-ups that fail at once would make a deep stack.
            self.loop.execute { self.sendNext() }
        }
        loop.scheduleTask(in: every) { self.endInterval(wakeUp.mailbox) }
    }

    /// Ends the interval of a mailbox, and announces messages that came meanwhile.
    private func endInterval(_ mailbox: KeyID) {
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
