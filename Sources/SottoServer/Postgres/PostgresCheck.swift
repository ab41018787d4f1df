import SottoDatabase

/// Checks a database at the start of a relay: the schema must have this version, and every server behind PL/Proxy must
/// keep committed data. Each connection checks its own server.
struct PostgresCheck {
    let session: PostgresSession
    let location: PostgresLocation
    /// The scripts of the schema, by version.
    var scripts = PostgresSchema.scripts

    /// Installs or upgrades the schema. Throws ``StoreError/serverUnsafe(server:setting:value:needed:)``,
    /// ``StoreError/newerVersion(name:)``, or an error of ``DatabaseError/otherFormat(path:)`` for the schema of an
    /// unreleased build.
    func run() throws(StoreError) {
        try install()
        // Behind PL/Proxy this returns the settings of every partition.
        try session.use { connection throws(PostgresFailure) in
            try connection.check("SELECT * FROM sotto.settings()")
        }
    }

    private func install() throws(StoreError) {
        let name = location.name
        let found = try session.use { connection throws(PostgresFailure) -> Int? in
            guard let known = try version(connection) else { return nil }
            // With PL/Proxy's functions, this database has no tables.
            guard known < scripts.count, try !Self.isProxy(connection) else { return known }
            try connection.script("BEGIN; SELECT pg_advisory_xact_lock(\(PostgresSchema.lock))")
            do throws(PostgresFailure) {
                // Another relay may have upgraded the schema meanwhile.
                guard var installed = try version(connection) else {
                    try connection.script("ROLLBACK")
                    return nil
                }
                while installed < scripts.count {
                    try connection.script(scripts[installed])
                    installed += 1
                    let number = PostgresSchema.number(of: scripts.prefix(installed))
                    try connection.script(
                        """
                        DELETE FROM sotto.schema_version;
                        INSERT INTO sotto.schema_version VALUES (\(number))
                        """)
                }
                try connection.script("COMMIT")
                return installed
            } catch {
                if case .refused = error { try connection.script("ROLLBACK") }
                throw error
            }
        }
        guard let version = found else { throw .database(.otherFormat(path: name)) }
        guard version <= scripts.count else { throw .newerVersion(name: name) }
        guard version == scripts.count else {
            throw .serverRefused(
                server: name, state: "", reason: "a partition has an older schema")
        }
    }

    /// Returns the version of the schema, 0 without one, or `nil` if an unreleased build made it. Of several partitions it is
    /// the lowest, or one that is too new.
    private func version(_ connection: PostgresConnection) throws(PostgresFailure) -> Int? {
        // In the first builds the function had another name.
        guard try !Self.has("version()", connection) else { return nil }
        guard try Self.has("schema_version()", connection) else { return 0 }
        let rows = try connection.rows(PostgresQuery("SELECT * FROM sotto.schema_version()"))
        let all = (0..<rows.count).map { rows.integer($0, 0) }
        let texts = scripts.map(PostgresSchema.text)
        guard !all.contains(where: { SchemaVersion($0, of: texts) == .other }) else { return nil }
        let counts = all.map { SchemaVersion.count(in: $0) }
        if let newest = counts.max(), newest > scripts.count { return newest }
        return counts.min() ?? 0
    }

    /// Whether the schema has a function.
    private static func has(
        _ function: String, _ connection: PostgresConnection
    ) throws(PostgresFailure) -> Bool {
        let rows = try connection.rows(
            PostgresQuery("SELECT to_regprocedure('sotto.\(function)') IS NOT NULL"))
        return rows.integer(0, 0) != 0
    }

    private static func isProxy(_ connection: PostgresConnection) throws(PostgresFailure) -> Bool {
        let rows = try connection.rows(
            PostgresQuery(
                """
                SELECT EXISTS (
                    SELECT FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
                    WHERE pg_proc.oid = to_regprocedure('sotto.schema_version()') AND lanname = 'plproxy'
                )
                """))
        return rows.integer(0, 0) != 0
    }
}
