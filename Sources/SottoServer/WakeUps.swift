import NIOCore
import Sotto
import SottoState
import Synchronization

/// How people are told that mail waits, when nobody reads their mailbox.
public struct WakePlan: Sendable {
    /// What is done.
    public enum Way: Sendable {
        /// A program is run, with these arguments.
        case command([String])
        /// A request is posted.
        case post(WakeAddress)
    }

    /// The ways, each of which is gone.
    public var ways: [Way]
    /// The fewest seconds between two wake-ups of one mailbox.
    public var every: Double
    /// Seconds after which a wake-up that is under way is given up.
    public var timeout = 30.0

    /// Wake-ups by these ways, so many seconds apart.
    public init(ways: [Way], every: Double) {
        self.ways = ways
        self.every = every
    }
}

/// One mailbox to tell of, and of how many messages.
struct WakeUp: Sendable {
    let mailbox: SessionID
    let count: Int
}

/// Tells of new mail in mailboxes that have no consumer.
///
/// It learns of mail after the commit, and never makes the store wait. Only mailboxes of known ids are told of: on a relay
/// for members anonymous senders can write to any id. The first message is told of at once; what comes within the next
/// seconds is told of when they are over, unless the mailbox has been subscribed to by then. A mailbox waits at most once,
/// with a number that grows, and a known one is never left out. Nothing is told but the mailbox and the number.
final class WakeUps: Sendable {
    /// The most wake-ups under way at once.
    static let underWayLimit = 8
    /// The most unknown ids that wait on a relay that is open to all; others are left out, and counted as failed.
    static let unknownLimit = 1_000

    /// The standing of an id at a relay.
    enum Standing {
        /// It may be told of.
        case known
        /// It may be told of after the known ones, if few wait: on an open relay any id may have a mailbox.
        case unknown
        /// Its owner cannot have a mailbox.
        case foreign
    }

    /// Finds out what is known of ids, and calls back with it, from any thread.
    typealias Lookup =
        @Sendable ([SessionID], @escaping @Sendable ([SessionID: Standing]) -> Void)
        -> Void

    private struct State {
        /// The messages since the last wake-up of each mailbox that waits for one or had one a short while ago.
        var mailboxes: [SessionID: Int] = [:]
        var known = Line()
        var unknown = Line()
        var underWay = 0
        var isStopped = false

        /// Takes the next mailbox that still has something to tell.
        mutating func next() -> WakeUp? {
            while let mailbox = known.next() ?? unknown.next() {
                let count = mailboxes[mailbox] ?? 0
                if count > 0 {
                    mailboxes[mailbox] = 0
                    return WakeUp(mailbox: mailbox, count: count)
                }
                // Its owner came for it meanwhile.
                mailboxes[mailbox] = nil
            }
            return nil
        }
    }

    /// Mailboxes in the order in which they came.
    private struct Line {
        private var mailboxes: [SessionID] = []
        private var start = 0

        var count: Int { mailboxes.count - start }

        mutating func add(_ mailbox: SessionID) { mailboxes.append(mailbox) }

        mutating func next() -> SessionID? {
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

    /// Wake-ups as planned, for the ids that `lookup` knows.
    init(
        _ plan: WakePlan, loop: any EventLoop, counters: Counters, lookup: @escaping Lookup
    ) {
        every = .nanoseconds(Int64(plan.every * 1e9))
        self.loop = loop
        self.counters = counters
        self.lookup = lookup
        let timeout = TimeAmount.nanoseconds(Int64(plan.timeout * 1e9))
        targets = plan.ways.map { way in
            switch way {
            case .command(let words): WakeCommand(words, timeout: timeout, loop: loop)
            case .post(let address): WakePost(address, timeout: timeout, loop: loop)
            }
        }
    }

    /// Takes note of mail that is on disk, in mailboxes without a consumer.
    func note(_ arrived: [SessionID: Int]) {
        guard !arrived.isEmpty else { return }
        let new = state.withLock { state -> [SessionID] in
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

    /// Puts those mailboxes in line that may be told of.
    private func admit(_ mailboxes: [SessionID], _ standings: [SessionID: Standing]) {
        let left = state.withLock { state -> Int in
            var left = 0
            for mailbox in mailboxes {
                switch standings[mailbox] ?? .foreign {
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

    /// Takes note that the owner takes what is in a mailbox.
    func forget(_ mailbox: SessionID) {
        state.withLock { state in
            if state.mailboxes[mailbox] != nil { state.mailboxes[mailbox] = 0 }
        }
    }

    /// Sends no more, and ends what is under way.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            (state.known, state.unknown) = (Line(), Line())
        }
        for target in targets { target.stop() }
    }

    /// Sends wake-ups until ``underWayLimit`` are running.
    private func sendNext() {
        while true {
            let next = state.withLock { state -> WakeUp? in
                guard !state.isStopped, state.underWay < Self.underWayLimit,
                    let next = state.next()
                else { return nil }
                state.underWay += 1
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
            self.state.withLock { $0.underWay -= 1 }
            // Not from here: a long line of wake-ups that fail at once would be as deep a stack.
            self.loop.execute { self.sendNext() }
        }
        loop.scheduleTask(in: every) { self.lookAgain(wakeUp.mailbox) }
    }

    /// The pause of a mailbox is over. What came meanwhile is told of next.
    private func lookAgain(_ mailbox: SessionID) {
        let isDue = state.withLock { state -> Bool in
            guard !state.isStopped, let count = state.mailboxes[mailbox] else { return false }
            if count == 0 { state.mailboxes[mailbox] = nil }
            return count > 0
        }
        if isDue { lookup([mailbox]) { self.admit([mailbox], $0) } }
    }
}

/// One way to wake somebody.
protocol WakeTarget: Sendable {
    /// Does it; the future says whether it worked, in ``WakePlan/timeout`` seconds at most.
    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool>

    /// Ends what is under way.
    func stop()
}
