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
final class PostgresArrivals: Sendable {
    private struct State {
        var pending: Set<SessionID> = []
        var isRunning = false
        var isStopped = false
    }

    private typealias Handler = @Sendable (Set<SessionID>) -> Void

    private static let channel = "sotto_arrival"
    /// Milliseconds for which arrivals are collected.
    private static let delay = 3.0
    /// Seconds between two polls.
    private static let interval = 3.0
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
    /// mailboxes that got envelopes.
    func start(
        _ mailboxes: @escaping @Sendable () -> [SessionID],
        _ onArrival: @escaping @Sendable (Set<SessionID>) -> Void
    ) {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning && !state.isStopped
        }
        guard isFirst else { return }
        handler.withLock { $0 = onArrival }
        DispatchQueue(label: "relay.arrivals").async { [self] in
            run(mailboxes, onArrival)
            ended.signal()
        }
    }

    /// Notifies other relays of arrivals in mailboxes; with `alsoHere` also this relay's subscribers.
    func announce(_ mailboxes: Set<SessionID>, alsoHere: Bool) {
        guard !mailboxes.isEmpty else { return }
        let isNew = state.withLock { state in
            guard state.isRunning else { return false }
            defer { state.pending.formUnion(mailboxes) }
            return state.pending.isEmpty
        }
        if isNew { wakeUp() }
        if alsoHere { handler.withLock { $0 }?(mailboxes) }
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
        _ mailboxes: @Sendable () -> [SessionID], _ onArrival: (Set<SessionID>) -> Void
    ) {
        var pause = 0.1
        while !isStopped {
            do throws(PostgresFailure) {
                let connection = try PostgresConnection(location)
                try connection.script("LISTEN \(Self.channel)")
                pause = 0.1
                try serve(connection, mailboxes, onArrival)
            } catch {
                // Commits do not need this connection. The writer reports a server that is away.
                wait(nil, pause)
                pause = min(pause * 2, 5)
            }
        }
    }

    private func serve(
        _ connection: PostgresConnection, _ mailboxes: () -> [SessionID],
        _ onArrival: (Set<SessionID>) -> Void
    ) throws(PostgresFailure) {
        var heads: [SessionID: Int64] = [:]
        var nextPoll = 0.0
        while true {
            let received = Self.ids(try connection.notifications())
            if !received.isEmpty { onArrival(received) }
            if Monotonic.seconds() >= nextPoll {
                let now = try readHeads(connection, mailboxes())
                let changed = now.filter { heads[$0.key] != $0.value }
                heads = now
                if !changed.isEmpty { onArrival(Set(changed.keys)) }
                nextPoll = Monotonic.seconds() + Self.interval
            }
            try sendPending(connection)
            if isStopped { return }
            wait(connection.socket, nextPoll - Monotonic.seconds())
            if state.withLock({ !$0.pending.isEmpty && !$0.isStopped }) {
                usleep(UInt32(Self.delay * 1000))
            }
        }
    }

    /// Returns the next sequence number of each mailbox.
    private func readHeads(_ connection: PostgresConnection, _ mailboxes: [SessionID])
        throws(PostgresFailure) -> [SessionID: Int64]
    {
        guard !mailboxes.isEmpty else { return [:] }
        var query = PostgresQuery("SELECT * FROM sotto.heads($1)")
        query.add(mailboxes.map(\.publicKey))
        let rows = try connection.rows(query)
        let byKey = Dictionary(mailboxes.map { ($0.publicKey, $0) }) { first, _ in first }
        var heads: [SessionID: Int64] = [:]
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
            var query = PostgresQuery("SELECT pg_notify($1, $2)")
            query.add(Self.channel)
            query.add(some.map(\.description).joined(separator: " "))
            _ = try connection.rows(query)
        }
    }

    private static func ids(_ texts: [String]) -> Set<SessionID> {
        Set(texts.flatMap { $0.split(separator: " ") }.compactMap { SessionID(String($0)) })
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
