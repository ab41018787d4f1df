import Sotto
import SottoDatabase

/// Exports and imports a whole PostgreSQL store. The tables must be in this database, not behind PL/Proxy.
extension PostgresStore {
    func export(_ sink: StoreTable.Sink) throws(StoreError) {
        let connection = try connect()
        try withStoreErrors { () throws(PostgresFailure) in
            // Order by minutes as far as the order in each mailbox allows: a store with one sequence for all mailboxes
            // deletes its lowest numbers first.
            try connection.script(
                """
                BEGIN ISOLATION LEVEL REPEATABLE READ;
                CREATE TEMP TABLE numbered ON COMMIT DROP AS
                    SELECT mailbox, seq, row_number() OVER (ORDER BY reached, mailbox, seq) AS place
                    FROM (
                        SELECT mailbox, seq,
                            max(minute) OVER (PARTITION BY mailbox ORDER BY seq) AS reached
                        FROM sotto.envelope
                    ) AS envelope;
                CREATE UNIQUE INDEX ON numbered (mailbox, seq);
                ANALYZE numbered
                """)
        }
        for table in StoreTable.allCases {
            try withStoreErrors { () throws(PostgresFailure) in
                try connection.script(
                    "DECLARE copied BINARY NO SCROLL CURSOR FOR \(Self.select(table))")
            }
            while true {
                let rows = try withStoreErrors { () throws(PostgresFailure) in
                    try connection.rows(PostgresQuery("FETCH \(StoreTable.rows) FROM copied"))
                }
                guard rows.count > 0 else { break }
                try sink(table, Self.values(rows, of: table))
            }
            try withStoreErrors { () throws(PostgresFailure) in
                try connection.script("CLOSE copied")
            }
        }
        try withStoreErrors { () throws(PostgresFailure) in try connection.script("ROLLBACK") }
    }

    private static func values(_ rows: PostgresRows, of table: StoreTable) -> [[StoreValue]] {
        (0..<rows.count).map { row in
            table.columns.enumerated().map { place, column in
                let place = Int32(place)
                if rows.isNull(row, place) { return .null }
                return column.isBytes
                    ? .bytes(rows.bytes(row, place)) : .integer(rows.integer(row, place))
            }
        }
    }

    private static func select(_ table: StoreTable) -> String {
        switch table {
        case .envelope:
            """
            SELECT place, mailbox, minute, failures, id, body, until
            FROM sotto.envelope JOIN numbered USING (mailbox, seq) ORDER BY place
            """
        case .seen:
            """
            SELECT mailbox, id, digest, coalesce(place, 0), minute
            FROM sotto.seen LEFT JOIN numbered USING (mailbox, seq)
            """
        case .preKeyClaim: "SELECT \(table.list) FROM sotto.prekey_claim ORDER BY minute"
        default: "SELECT \(table.list) FROM sotto.\(table.rawValue)"
        }
    }

    func load(_ copy: (StoreTable.Sink) throws(StoreError) -> Void) throws(StoreError) {
        // A lost connection rolls the transaction back.
        let connection = try connect()
        try withStoreErrors { () throws(PostgresFailure) in try connection.script("BEGIN") }
        for table in StoreTable.allCases {
            let found = try withStoreErrors { () throws(PostgresFailure) in
                try connection.script("LOCK TABLE sotto.\(table.rawValue) IN EXCLUSIVE MODE")
                return try connection.rows(
                    PostgresQuery("SELECT EXISTS (SELECT FROM sotto.\(table.rawValue))"))
            }
            guard found.integer(0, 0) == 0 else { throw .notEmpty(name: location.name) }
        }
        try copy { table, rows throws(StoreError) in
            let types = table.columns.map { $0.isBytes ? "bytea[]" : "bigint[]" }
            let arrays = types.enumerated().map { "$\($0 + 1)::\($1)" }.joined(separator: ", ")
            var query = PostgresQuery(
                "INSERT INTO sotto.\(table.rawValue) (\(table.list)) SELECT * FROM unnest(\(arrays))"
            )
            for (place, column) in table.columns.enumerated() {
                if column.isBytes {
                    query.add(
                        rows.map { row in
                            if case .bytes(let bytes) = row[place] { bytes } else { nil }
                        })
                } else {
                    query.add(
                        rows.map { row -> Int64? in
                            if case .integer(let number) = row[place] { number } else { nil }
                        })
                }
            }
            _ = try withStoreErrors { () throws(PostgresFailure) in try connection.rows(query) }
        }
        let numbered = [StoreTable.mailbox, .preKeyOwner, .preKeySigned].map { table in
            """
            SELECT setval(pg_get_serial_sequence('sotto.\(table.rawValue)', 'number'), max(number))
            FROM sotto.\(table.rawValue);
            """
        }
        try withStoreErrors { () throws(PostgresFailure) in
            try connection.script(
                """
                UPDATE sotto.mailbox SET next = 1 + last.seq
                    FROM (SELECT mailbox, max(seq) AS seq FROM sotto.envelope GROUP BY mailbox) AS last
                    WHERE number = last.mailbox;
                \(numbered.joined(separator: "\n"))
                COMMIT; ANALYZE
                """)
        }
    }

    private func connect() throws(StoreError) -> PostgresConnection {
        let location = location
        return try withStoreErrors { () throws(PostgresFailure) in
            try PostgresConnection(location)
        }
    }

    /// Runs `body` without reconnecting.
    private func withStoreErrors<T>(_ body: () throws(PostgresFailure) -> T) throws(StoreError) -> T
    {
        do throws(PostgresFailure) {
            return try body()
        } catch {
            throw writer.stateError(error)
        }
    }
}
