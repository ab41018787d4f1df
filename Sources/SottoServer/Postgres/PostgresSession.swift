import Glibc
import SottoDatabase
import Synchronization

/// A connection that reconnects when it is lost, for one thread at a time.
///
/// The interrupted transaction is then run again. That is safe for all of ``PostgresStore``: repeated envelopes and
/// claims are recognized, and the second try returns the answer that was lost.
final class PostgresSession: @unchecked Sendable {
    // Sendable: `connection` is used only under `lock`.
    private let location: PostgresLocation
    private var connection: PostgresConnection?
    private let lock = Mutex(false)

    /// Seconds to keep trying while the server is away.
    static let patience = 30.0

    /// Creates a session; it connects at its first use.
    init(_ location: PostgresLocation) { self.location = location }

    /// Runs statements in one transaction, again while the connection is lost; `isRepeated` is true if it was. A full
    /// disk is thrown as ``StoreError/full(name:)``.
    func transaction(_ queries: [PostgresQuery]) throws(StoreError) -> (
        rows: [PostgresRows], isRepeated: Bool
    ) {
        var tries = 0
        let rows = try use { connection throws(PostgresFailure) in
            tries += 1
            return try connection.transaction(queries)
        }
        return (rows, tries > 1)
    }

    /// Runs a statement that only reads.
    func rows(_ query: PostgresQuery) throws(StoreError) -> PostgresRows {
        try use { connection throws(PostgresFailure) in try connection.rows(query) }
    }

    /// Runs `body` with the connection, and again with a new one after a loss, for ``patience`` seconds.
    func use<T>(
        patience: Double = PostgresSession.patience,
        _ body: (PostgresConnection) throws(PostgresFailure) -> T
    ) throws(StoreError) -> T {
        try lock.withLock { _ throws(StoreError) in
            var end: Double?
            var pause: UInt32 = 10_000
            while true {
                do throws(PostgresFailure) {
                    return try body(try current())
                } catch {
                    let deadline = end ?? (Monotonic.seconds() + patience)
                    end = deadline
                    guard case .lost = error, Monotonic.seconds() < deadline else {
                        throw stateError(error)
                    }
                    connection = nil
                    usleep(pause)
                    pause = min(pause * 2, 500_000)
                }
            }
        }
    }

    private func current() throws(PostgresFailure) -> PostgresConnection {
        if let connection { return connection }
        let new = try PostgresConnection(location)
        connection = new
        return new
    }

    /// Translates a failure to an error of the store.
    func stateError(_ failure: PostgresFailure) -> StoreError {
        switch failure {
        case .lost(let reason): .serverAway(server: location.name, reason: reason)
        case .unsafe(let setting, let value, let needed):
            .serverUnsafe(server: location.name, setting: setting, value: value, needed: needed)
        case .refused("53100", _): .full(name: location.name)
        case .refused(let state, let message):
            .serverRefused(server: location.name, state: state, reason: message)
        }
    }

    func close() { lock.withLock { _ in connection = nil } }
}
