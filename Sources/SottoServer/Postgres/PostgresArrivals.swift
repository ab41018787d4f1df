import Dispatch
import Glibc
import Sotto
import SottoDatabase
import Synchronization

/// Notifies other relays on the same database of arrivals in mailboxes, and receives their notifications.
///
/// It has its own connection and notifies outside of the storing transaction: `NOTIFY` in there would make commits wait
/// for each other. Arrivals of a few milliseconds are sent together. A notification can be lost, for instance with the
/// connection, so every few seconds it also polls the mailboxes that have a subscriber here.
///
/// It also passes envelopes with a time to live of 0 to the other relays and receives theirs, as ``SignalPeers``
/// describes.
final class PostgresArrivals: Sendable {
    private struct State {
        var pending: Set<KeyID> = []
        /// The envelopes to pass on. It is empty until another relay is known.
        var signals: [[UInt8]] = []
        var signalBytes = 0
        var hasPeers = false
        var isRunning = false
        var isStopped = false
    }

    private typealias Handler = @Sendable (Set<KeyID>) -> Void

    private static let channel = "sotto_arrival"
    /// Milliseconds for which arrivals are collected.
    private static let delay = 3.0
    /// Seconds between two polls.
    private static let interval = 3.0
    /// The most bytes of envelopes that wait to be passed on.
    private static let signalLimit = 4 << 20
    /// The most ids in a notification: it has room for 8,000 bytes, at 66 bytes an id.
    private static let idsInOne = 100

    private let location: PostgresLocation
    private let state = Mutex(State())
    private let handler = Mutex<Handler?>(nil)
    private let ended = DispatchSemaphore(value: 0)
    /// A pipe: a byte in it wakes the thread.
    private let wake: (read: Int32, write: Int32)

    init(_ location: PostgresLocation) {
        self.location = location
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wake = (ends[0], ends[1])
    }

    deinit {
        close(wake.read)
        close(wake.write)
    }

    private func wakeUp() { _ = write(wake.write, [0], 1) }

    /// Starts the thread. `mailboxes` returns the mailboxes with a subscriber here; `onArrival` is called with
    /// mailboxes that got envelopes, and `onSignal` with envelopes that other relays passed on.
    func start(
        _ mailboxes: @escaping @Sendable () -> [KeyID],
        _ onArrival: @escaping @Sendable (Set<KeyID>) -> Void,
        _ onSignal: @escaping @Sendable ([UInt8]) -> Void
    ) {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning && !state.isStopped
        }
        guard isFirst else { return }
        handler.withLock { $0 = onArrival }
        DispatchQueue(label: "relay.arrivals").async { [self] in
            run(mailboxes, onArrival, onSignal)
            ended.signal()
        }
    }

    /// Notifies other relays of arrivals in mailboxes; with `alsoHere` also this relay's subscribers.
    func announce(_ mailboxes: Set<KeyID>, alsoHere: Bool) {
        guard !mailboxes.isEmpty else { return }
        let isNew = state.withLock { state in
            guard state.isRunning else { return false }
            defer { state.pending.formUnion(mailboxes) }
            return state.pending.isEmpty
        }
        if isNew { wakeUp() }
        if alsoHere { handler.withLock { $0 }?(mailboxes) }
    }

    /// Passes envelopes to the other relays. Drops them if too many wait, and without another relay.
    func pass(_ signals: [[UInt8]]) {
        let isNew = state.withLock { state in
            let bytes = signals.reduce(0) { $0 + $1.count }
            guard state.hasPeers, state.signalBytes + bytes <= Self.signalLimit else {
                return false
            }
            defer {
                state.signals += signals
                state.signalBytes += bytes
            }
            return state.signals.isEmpty
        }
        if isNew { wakeUp() }
    }

    /// Stops the thread after it has sent pending notifications, if it has a connection.
    func stop() {
        let wasRunning = state.withLock { state in
            defer { state.isStopped = true }
            return state.isRunning && !state.isStopped
        }
        guard wasRunning else { return }
        wakeUp()
        ended.wait()
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func run(
        _ mailboxes: @Sendable () -> [KeyID], _ onArrival: (Set<KeyID>) -> Void,
        _ onSignal: ([UInt8]) -> Void
    ) {
        var pause = 0.1
        var peers = SignalPeers()
        while !isStopped {
            do throws(PostgresFailure) {
                let connection = try PostgresConnection(location)
                try connection.script("LISTEN \(Self.channel)")
                pause = 0.1
                try serve(connection, &peers, mailboxes, onArrival, onSignal)
            } catch {
                // Commits do not need this connection. The writer reports a server that is away.
                wait(nil, pause)
                pause = min(pause * 2, 5)
            }
        }
    }

    private func serve(
        _ connection: PostgresConnection, _ peers: inout SignalPeers,
        _ mailboxes: () -> [KeyID], _ onArrival: (Set<KeyID>) -> Void,
        _ onSignal: ([UInt8]) -> Void
    ) throws(PostgresFailure) {
        var heads: [KeyID: Int64] = [:]
        var nextPoll = 0.0
        while true {
            let texts = try connection.notifications()
            var mustAnnounce = false
            for text in texts {
                switch peers.take(text, at: Monotonic.seconds()) {
                case .newPeer: mustAnnounce = true
                case .signal(let signal): onSignal(signal)
                case nil: break
                }
            }
            let received = Self.ids(texts)
            if !received.isEmpty { onArrival(received) }
            if Monotonic.seconds() >= nextPoll {
                let now = try readHeads(connection, mailboxes())
                let changed = now.filter { heads[$0.key] != $0.value }
                heads = now
                if !changed.isEmpty { onArrival(Set(changed.keys)) }
                nextPoll = Monotonic.seconds() + Self.interval
                peers.forgetOld(at: Monotonic.seconds())
                mustAnnounce = true
            }
            if mustAnnounce { try send([peers.announcement], connection) }
            try sendPending(connection)
            try sendSignals(connection, peers)
            if isStopped { return }
            wait(connection.socket, nextPoll - Monotonic.seconds())
            if state.withLock({ !($0.pending.isEmpty && $0.signals.isEmpty) && !$0.isStopped }) {
                usleep(UInt32(Self.delay * 1000))
            }
        }
    }

    /// Returns the next sequence number of each mailbox.
    private func readHeads(_ connection: PostgresConnection, _ mailboxes: [KeyID])
        throws(PostgresFailure) -> [KeyID: Int64]
    {
        guard !mailboxes.isEmpty else { return [:] }
        var query = PostgresQuery("SELECT * FROM sotto.heads($1)")
        query.add(mailboxes.map(\.publicKey))
        let rows = try connection.rows(query)
        let byKey = Dictionary(mailboxes.map { ($0.publicKey, $0) }) { first, _ in first }
        var heads: [KeyID: Int64] = [:]
        for row in 0..<rows.count {
            guard let mailbox = byKey[rows.bytes(row, 0)] else { continue }
            heads[mailbox] = rows.integer(row, 1)
        }
        return heads
    }

    private func sendPending(_ connection: PostgresConnection) throws(PostgresFailure) {
        let pending = state.withLock { state in
            defer { state.pending = [] }
            return Array(state.pending)
        }
        for start in stride(from: 0, to: pending.count, by: Self.idsInOne) {
            let some = pending[start..<min(pending.count, start + Self.idsInOne)]
            try send([some.map(\.description).joined(separator: " ")], connection)
        }
    }

    private func sendSignals(_ connection: PostgresConnection, _ peers: SignalPeers)
        throws(PostgresFailure)
    {
        let signals = state.withLock { state in
            defer { (state.signals, state.signalBytes) = ([], 0) }
            state.hasPeers = !peers.isEmpty
            return state.signals
        }
        for signal in signals { try send(peers.notifications(of: signal), connection) }
    }

    private func send(_ texts: [String], _ connection: PostgresConnection) throws(PostgresFailure) {
        for text in texts {
            var query = PostgresQuery("SELECT pg_notify($1, $2)")
            query.add(Self.channel)
            query.add(text)
            _ = try connection.rows(query)
        }
    }

    private static func ids(_ texts: [String]) -> Set<KeyID> {
        Set(texts.flatMap { $0.split(separator: " ") }.compactMap { KeyID(String($0)) })
    }

    /// Waits for a notification, a wake-up of the thread, or the timeout.
    private func wait(_ socket: Int32?, _ seconds: Double) {
        var all = [pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0)]
        if let socket { all.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0)) }
        poll(&all, nfds_t(all.count), Int32(max(0, min(seconds, 60) * 1000)))
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(wake.read, &bytes, bytes.count) > 0 {}
    }
}
