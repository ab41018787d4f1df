import CSQLite

/// Copies a SQLite file while other processes write to it.
package enum DatabaseCopy {
    /// Copies a consistent snapshot of the file at `path` to `new`, which is empty or does not exist yet.
    ///
    /// Other processes can write meanwhile, but the log is not checkpointed. Throws if the file has another
    /// `application_id` than `kind`, a table of `tables` is missing, or other scripts than the first of `migrations` were run,
    /// because the file then belongs to another program or version. The copy is checked and not yet synchronized.
    package static func make(
        of path: String, to new: String, kind: Int32, migrations: [String], tables: [String]
    ) throws(DatabaseError) {
        let source = try Handle(path)
        guard try source.integer("PRAGMA application_id") == kind else {
            throw .otherFormat(path: path)
        }
        switch SchemaVersion(try source.integer("PRAGMA user_version"), of: migrations) {
        case .known: break
        case .later: throw .newerVersion(path: path)
        case .other: throw .otherFormat(path: path)
        }
        for table in tables {
            let count = try source.integer(
                "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", table)
            guard count == 1 else { throw .damaged(path: path) }
        }
        _ = try source.integer("VACUUM INTO ?", new)
        guard try Handle(new).text("PRAGMA quick_check(1)") == "ok" else {
            throw .damaged(path: new)
        }
    }

    /// A connection that is closed when the value is freed.
    private final class Handle {
        private let path: String
        private let handle: OpaquePointer

        init(_ path: String) throws(DatabaseError) {
            self.path = path
            var handle: OpaquePointer?
            // Reading the log needs write access to the files.
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
            let code = sqlite3_open_v2(path, &handle, flags, nil)
            guard code == SQLITE_OK, let handle else {
                sqlite3_close(handle)
                throw DatabaseError(sqlite: code, path)
            }
            self.handle = handle
            sqlite3_extended_result_codes(handle, 1)
            sqlite3_busy_timeout(handle, 10_000)
        }

        deinit { sqlite3_close(handle) }

        func integer(_ sql: String, _ value: String? = nil) throws(DatabaseError) -> Int64 {
            try first(sql, value) { $0.integer(0) } ?? 0
        }

        func text(_ sql: String) throws(DatabaseError) -> String? {
            try first(sql, nil) { $0.text(0) }
        }

        private func first<Value>(
            _ sql: String, _ value: String?, _ read: (PreparedStatement<DatabaseError>) -> Value
        ) throws(DatabaseError) -> Value? {
            var statement: OpaquePointer?
            let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
            guard code == SQLITE_OK, let statement else { throw DatabaseError(sqlite: code, path) }
            defer { sqlite3_finalize(statement) }
            let prepared = PreparedStatement<DatabaseError>(handle: statement, path: path)
            if let value { prepared.bind(value) }
            return try prepared.step() ? read(prepared) : nil
        }
    }
}
