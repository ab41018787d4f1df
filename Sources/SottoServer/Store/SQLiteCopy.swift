import Sotto
import SottoDatabase
import Synchronization

/// Exports and imports a whole SQLite store.
extension SQLiteStore {
    func export(_ sink: StoreTable.Sink) throws(StoreError) {
        try reader.use { connection throws(StoreError) in
            try connection.run("BEGIN")
            defer { try? connection.run("ROLLBACK") }
            for table in StoreTable.allCases {
                let select = try connection.statement(Self.select(table))
                defer { select.reset() }
                var rows: [[StoreValue]] = []
                while try select.step() {
                    rows.append(
                        table.columns.enumerated().map { place, column in
                            let place = Int32(place)
                            if select.isNull(place) { return .null }
                            return column.isBytes
                                ? .bytes(select.bytes(place)) : .integer(select.integer(place))
                        })
                    guard rows.count == StoreTable.rows else { continue }
                    try sink(table, rows)
                    rows = []
                }
                if !rows.isEmpty { try sink(table, rows) }
            }
        }
    }

    private static func select(_ table: StoreTable) -> String {
        switch table {
        case .seen:
            """
            SELECT mailbox, id, digest,
                CASE WHEN EXISTS (SELECT 1 FROM envelope WHERE envelope.seq = seen.seq)
                    THEN seq ELSE 0 END,
                minute
            FROM seen
            """
        case .envelope: "SELECT \(table.list) FROM envelope ORDER BY seq"
        case .preKeyClaim: "SELECT \(table.list) FROM prekey_claim ORDER BY number"
        default: "SELECT \(table.list) FROM \(table.rawValue)"
        }
    }

    func load(_ copy: (StoreTable.Sink) throws(StoreError) -> Void) throws(StoreError) {
        try memory.withLock { memory throws(StoreError) in
            try writer.transaction { connection throws(StoreError) in
                for table in StoreTable.allCases {
                    let count = try connection.integer("SELECT count(*) FROM \(table.rawValue)")
                    guard count == 0 else { throw .notEmpty(name: writer.path) }
                }
                try copy { table, rows throws(StoreError) in
                    let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
                    let insert = try connection.statement(
                        "INSERT INTO \(table.rawValue) (\(table.list)) VALUES (\(marks))")
                    for row in rows {
                        insert.bind(list: row)
                        _ = try insert.step()
                        insert.reset()
                    }
                }
            }
            memory = StoreMemory()
            memory.nextSequence =
                1
                + (try writer.use { connection throws(StoreError) in
                    try connection.integer(
                        "SELECT seq FROM sqlite_sequence WHERE name = 'envelope'")
                })
        }
    }
}
