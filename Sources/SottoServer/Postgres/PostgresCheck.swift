import SottoDatabase

/// Checks a database at the start of a relay: the schema must have this version, and every server behind PL/Proxy must
/// keep committed data. Each connection checks its own server.
struct PostgresCheck {
    let session: PostgresSession
    let location: PostgresLocation

    /// Installs or upgrades the schema. Throws ``StoreError/serverUnsafe(server:setting:value:needed:)`` or
    /// ``StoreError/newerVersion(name:)``.
    func run() throws(StoreError) {
        try install()
        // Behind PL/Proxy this returns the settings of every partition.
        try session.use { connection throws(PostgresFailure) in
            try connection.check("SELECT * FROM sotto.settings()")
        }
    }

    private func install() throws(StoreError) {
        let name = location.name
        let version = try session.use { connection throws(PostgresFailure) in
            let known = try Self.version(connection)
            // With PL/Proxy's functions, this database has no tables.
            guard known < PostgresSchema.scripts.count, try !Self.isProxy(connection) else {
                return known
            }
            try connection.script("BEGIN; SELECT pg_advisory_xact_lock(\(PostgresSchema.lock))")
            do throws(PostgresFailure) {
                // Another relay may have upgraded the schema meanwhile.
                var version = try Self.version(connection)
                while version < PostgresSchema.scripts.count {
                    try connection.script(PostgresSchema.scripts[version])
                    version += 1
                    try connection.script(
                        """
                        DELETE FROM sotto.version; INSERT INTO sotto.version VALUES (\(version))
                        """)
                }
                try connection.script("COMMIT")
                return version
            } catch {
                if case .refused = error { try connection.script("ROLLBACK") }
                throw error
            }
        }
        guard version <= PostgresSchema.scripts.count else { throw .newerVersion(name: name) }
        guard version == PostgresSchema.scripts.count else {
            throw .serverRefused(
                server: name, state: "", reason: "a partition has an older schema")
        }
    }

    /// Returns the version of the schema, 0 without one. Of several partitions it is the lowest, or one that is too
    /// new.
    private static func version(_ connection: PostgresConnection) throws(PostgresFailure) -> Int {
        let function = try connection.rows(
            PostgresQuery("SELECT to_regprocedure('sotto.version()') IS NOT NULL"))
        guard function.integer(0, 0) != 0 else { return 0 }
        let rows = try connection.rows(PostgresQuery("SELECT * FROM sotto.version()"))
        let all = (0..<rows.count).map { Int(rows.integer($0, 0)) }
        if let newest = all.max(), newest > PostgresSchema.scripts.count { return newest }
        return all.min() ?? 0
    }

    private static func isProxy(_ connection: PostgresConnection) throws(PostgresFailure) -> Bool {
        let rows = try connection.rows(
            PostgresQuery(
                """
                SELECT EXISTS (
                    SELECT FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
                    WHERE pg_proc.oid = to_regprocedure('sotto.version()') AND lanname = 'plproxy'
                )
                """))
        return rows.integer(0, 0) != 0
    }
}
