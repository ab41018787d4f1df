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

/// Tells of new mail where nobody takes it at once.
///
/// It learns of mail after the commit, and never makes the store wait. The first message is told of at
/// once; what comes within the next seconds is told of when they are over, unless the mailbox has been
/// subscribed to by then. Nothing is told but the mailbox and a number.
final class WakeUps: Sendable {
    /// The most wake-ups under way at once.
    static let underWayLimit = 8
    /// The most that wait for their turn; further ones are left out, and counted as failed.
    static let waitingLimit = 1_000
    private typealias Job = @Sendable () -> EventLoopFuture<Bool>

    private struct State {
        /// What came since the last wake-up of each mailbox that had one a short while ago.
        var mailboxes: [SessionID: Int] = [:]
        var waiting: [Job] = []
        var underWay = 0
        var isStopped = false
    }

    private let every: TimeAmount
    private let loop: any EventLoop
    private let counters: Counters
    private let targets: [any WakeTarget]
    private let state = Mutex(State())

    /// Wake-ups as planned.
    init(_ plan: WakePlan, loop: any EventLoop, counters: Counters) {
        every = .nanoseconds(Int64(plan.every * 1e9))
        self.loop = loop
        self.counters = counters
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
        let due = state.withLock { state -> [WakeUp] in
            guard !state.isStopped else { return [] }
            return arrived.compactMap { mailbox, count in
                if let earlier = state.mailboxes[mailbox] {
                    state.mailboxes[mailbox] = earlier + count
                    return nil
                }
                state.mailboxes[mailbox] = 0
                return WakeUp(mailbox: mailbox, count: count)
            }
        }
        for wakeUp in due { send(wakeUp) }
    }

    /// Takes note that somebody takes what is in a mailbox.
    func forget(_ mailbox: SessionID) {
        state.withLock { state in
            if state.mailboxes[mailbox] != nil { state.mailboxes[mailbox] = 0 }
        }
    }

    /// Sends no more, and ends what is under way.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.waiting = []
        }
        for target in targets { target.stop() }
    }

    private func send(_ wakeUp: WakeUp) {
        for target in targets { submit { target.wake(wakeUp) } }
        loop.scheduleTask(in: every) { self.lookAgain(wakeUp.mailbox) }
    }

    /// The pause of a mailbox is over.
    private func lookAgain(_ mailbox: SessionID) {
        let count = state.withLock { state -> Int in
            let count = state.mailboxes[mailbox] ?? 0
            if count > 0 { state.mailboxes[mailbox] = 0 } else { state.mailboxes[mailbox] = nil }
            return state.isStopped ? 0 : count
        }
        if count > 0 { send(WakeUp(mailbox: mailbox, count: count)) }
    }

    private func submit(_ job: @escaping Job) {
        let mayRun = state.withLock { state -> Bool? in
            guard !state.isStopped else { return nil }
            if state.underWay < Self.underWayLimit {
                state.underWay += 1
                return true
            }
            guard state.waiting.count < Self.waitingLimit else { return nil }
            state.waiting.append(job)
            return false
        }
        switch mayRun {
        case true?: run(job)
        case false?: break
        case nil: counters.add(.failedWakeUps)
        }
    }

    private func run(_ job: @escaping Job) {
        job().whenComplete { result in
            let isDone = (try? result.get()) ?? false
            self.counters.add(isDone ? .wakeUps : .failedWakeUps)
            let next = self.state.withLock { state -> Job? in
                guard !state.waiting.isEmpty else {
                    state.underWay -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            // Not from here: a long queue of jobs that fail at once would be as deep a stack.
            if let next { self.loop.execute { self.run(next) } }
        }
    }
}

/// One way to wake somebody.
protocol WakeTarget: Sendable {
    /// Does it; the future says whether it worked, in ``WakePlan/timeout`` seconds at most.
    func wake(_ wakeUp: WakeUp) -> EventLoopFuture<Bool>

    /// Ends what is under way.
    func stop()
}
