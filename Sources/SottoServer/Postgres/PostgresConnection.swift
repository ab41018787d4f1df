import CPostgres
import Glibc

/// A failure on a connection.
enum PostgresFailure: Error {
    /// The connection is lost, or the server asks to try again. An unanswered transaction may have been committed.
    case lost(String)
    /// The server refused a statement; `state` is its SQLSTATE. The transaction was rolled back.
    case refused(state: String, message: String)
    /// A setting of the server does not guarantee that committed data is kept.
    case unsafe(setting: String, value: String, needed: String)
}

/// One connection to a server, used by one thread at a time.
final class PostgresConnection {
    private let handle: OpaquePointer
    private let location: PostgresLocation
    private let warned = UnsafeMutablePointer<Bool>.allocate(capacity: 1)

    /// Connects.
    init(_ location: PostgresLocation) throws(PostgresFailure) {
        self.location = location
        warned.initialize(to: false)
        guard let handle = location.connect() else { throw .lost("no memory") }
        self.handle = handle
        guard PQstatus(handle) == CONNECTION_OK else {
            let message = String(cString: PQerrorMessage(handle))
            // Starting and stopping servers are recognized only by the text of the message.
            let isRefusal =
                message.contains("FATAL") && !message.contains("starting up")
                && !message.contains("shutting down") && !message.contains("recovery mode")
                && !message.contains("too many clients") && !message.contains("connection slots")
            if isRefusal { throw .refused(state: "28000", message: location.safe(message)) }
            throw .lost(location.safe(message))
        }
        PQsetNoticeReceiver(
            handle,
            { warned, result in
                guard let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))) else {
                    return
                }
                if strcmp(severity, "WARNING") == 0 {
                    warned?.assumingMemoryBound(to: Bool.self).pointee = true
                }
            }, warned)
        // A server that loses its client ends the transaction and releases its locks. The functions forbid sequential scans,
        // so a plan with one counts as costly, and the server would compile it at each commit, for 60 ms.
        try script(
            """
            SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3;
            SET idle_in_transaction_session_timeout = '30s'; SET statement_timeout = 0;
            SET client_min_messages = warning; SET bytea_output = hex; SET jit = off
            """)
        try check(
            """
            SELECT name, setting FROM pg_settings
            WHERE name IN ('server_version_num', 'fsync', 'full_page_writes', 'synchronous_commit')
            """)
    }

    /// Checks settings, in rows of a name and a value, that guarantee that committed data is kept. Every connection is
    /// checked, because after a failover it reaches another server.
    func check(_ sql: String) throws(PostgresFailure) {
        let rows = try rows(PostgresQuery(sql))
        for row in 0..<rows.count {
            let (name, value) = (rows.text(row, 0), rows.text(row, 1))
            switch name {
            case "server_version_num" where (Int(value) ?? 0) < 130_000:
                throw .unsafe(setting: "server_version", value: value, needed: "13 or newer")
            case "synchronous_commit" where ["off", "local"].contains(value),
                "fsync" where value != "on", "full_page_writes" where value != "on":
                throw .unsafe(setting: name, value: value, needed: "on")
            default: break
            }
        }
    }

    deinit {
        PQfinish(handle)
        warned.deallocate()
    }

    /// The socket to poll for notifications.
    var socket: Int32 { PQsocket(handle) }

    /// Runs statements without parameters, and ignores their rows.
    func script(_ sql: String) throws(PostgresFailure) {
        let result = PQexec(handle, sql)
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else { throw failure(result) }
    }

    func rows(_ query: PostgresQuery) throws(PostgresFailure) -> PostgresRows {
        try run([query])[0]
    }

    /// Runs statements in one transaction, in pipeline mode. The returned rows are committed, on the synchronous
    /// standbys too if the server has some.
    func transaction(_ queries: [PostgresQuery]) throws(PostgresFailure) -> [PostgresRows] {
        warned.pointee = false
        let begin = PostgresQuery("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        let rows: [PostgresRows]
        do throws(PostgresFailure) {
            rows = try run([begin] + queries + [PostgresQuery("COMMIT")])
        } catch {
            if case .refused = error { try script("ROLLBACK") }
            throw error
        }
        // A commit that stops waiting for its standby gives a warning, not an error.
        guard !warned.pointee else { throw .lost("the server warned at the commit") }
        return Array(rows.dropFirst().dropLast())
    }

    private func run(_ queries: [PostgresQuery]) throws(PostgresFailure) -> [PostgresRows] {
        guard PQenterPipelineMode(handle) == 1 else { throw failure(nil) }
        for query in queries {
            guard send(query) else { throw failure(nil) }
        }
        guard PQpipelineSync(handle) == 1 else { throw failure(nil) }
        var all: [PostgresRows] = []
        var first: PostgresFailure?
        var isEndOfQuery = false
        while true {
            guard let result = PQgetResult(handle) else {
                // After a failed write libpq has no more results, although it keeps the connection.
                if PQstatus(handle) != CONNECTION_OK || isEndOfQuery {
                    throw first ?? failure(nil)
                }
                isEndOfQuery = true
                continue
            }
            isEndOfQuery = false
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: all.append(PostgresRows(result))
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                guard PQexitPipelineMode(handle) == 1 else { throw failure(nil) }
                if let first { throw first }
                guard all.count == queries.count else { throw .lost("an answer is missing") }
                return all
            case PGRES_PIPELINE_ABORTED: PQclear(result)
            default:
                first = first ?? failure(result)
                PQclear(result)
                if PQstatus(handle) != CONNECTION_OK { throw first ?? failure(nil) }
            }
        }
    }

    private func send(_ query: PostgresQuery) -> Bool {
        query.bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                // Only nil means a null.
                let values = query.starts.enumerated().map { place, start in
                    query.nulls.contains(place)
                        ? nil : bytes.baseAddress.map { $0 + start } ?? UnsafePointer(bitPattern: 1)
                }
                return PQsendQueryParams(
                    handle, query.sql, Int32(query.types.count), query.types, values,
                    query.lengths, query.types.map { _ in 1 }, 1) == 1
            }
        }
    }

    private func failure(_ result: OpaquePointer?) -> PostgresFailure {
        let message = location.safe(
            String(cString: result.map { PQresultErrorMessage($0) } ?? PQerrorMessage(handle)))
        guard PQstatus(handle) == CONNECTION_OK, let result,
            let field = PQresultErrorField(result, Int32(UInt8(ascii: "C")))
        else { return .lost(message) }
        let state = String(cString: field)
        // Connection errors, a server that ends or has become a standby, deadlocks, and too many connections.
        let passing = ["08", "57P", "40", "25006", "53300"]
        if passing.contains(where: { state.hasPrefix($0) }) { return .lost(message) }
        return .refused(state: state, message: message)
    }

    // MARK: Notifications

    /// Returns the notifications from other connections. Throws if the connection is lost.
    func notifications() throws(PostgresFailure) -> [String] {
        guard PQconsumeInput(handle) == 1 else { throw failure(nil) }
        var texts: [String] = []
        while let note = PQnotifies(handle) {
            if note.pointee.be_pid != PQbackendPID(handle), let text = note.pointee.extra {
                texts.append(String(cString: text))
            }
            PQfreemem(note)
        }
        return texts
    }
}
