import CSQLite

/// The connection of a ``DurableDatabase`` during ``DurableDatabase/use(_:)``, whose errors are `Failure`s.
package struct Connection<Failure: DatabaseFailure> {
    let database: DurableDatabase

    // The generic functions are inlinable: a parameter pack that is not specialized costs more than a short statement.

    /// Returns the statement of `sql`, prepared once for each database, with its parameters. The caller resets it.
    @inlinable
    package func statement<each Value: DatabaseValue>(
        _ sql: String, _ values: repeat each Value
    ) throws(Failure) -> PreparedStatement<Failure> {
        let statement = try prepared(sql)
        statement.bind(repeat each values)
        return statement
    }

    @usableFromInline
    func prepared(_ sql: String) throws(Failure) -> PreparedStatement<Failure> {
        do throws(DatabaseError) {
            return PreparedStatement(handle: try database.statement(sql), path: database.path)
        } catch {
            throw Failure(error)
        }
    }

    /// Runs one statement to its end and ignores its rows. `values` are its parameters.
    @inlinable
    package func run<each Value: DatabaseValue>(
        _ sql: String, _ values: repeat each Value
    ) throws(Failure) {
        let statement = try statement(sql, repeat each values)
        defer { statement.reset() }
        while try statement.step() {}
    }

    /// Returns `read` of the statement's first row, or `nil` if it has no row.
    @inlinable
    package func first<Row, each Value: DatabaseValue>(
        _ sql: String, _ values: repeat each Value,
        read: (PreparedStatement<Failure>) throws(Failure) -> Row
    ) throws(Failure) -> Row? {
        let statement = try statement(sql, repeat each values)
        defer { statement.reset() }
        return try statement.step() ? try read(statement) : nil
    }

    /// Returns `read` of each row of the statement.
    @inlinable
    package func rows<Row, each Value: DatabaseValue>(
        _ sql: String, _ values: repeat each Value,
        read: (PreparedStatement<Failure>) throws(Failure) -> Row
    ) throws(Failure) -> [Row] {
        let statement = try statement(sql, repeat each values)
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { rows.append(try read(statement)) }
        return rows
    }

    /// Returns whether the statement has a row.
    @inlinable
    package func exists<each Value: DatabaseValue>(
        _ sql: String, _ values: repeat each Value
    ) throws(Failure) -> Bool {
        let statement = try statement(sql, repeat each values)
        defer { statement.reset() }
        return try statement.step()
    }

    /// Returns the integer in the first column of the statement's first row, or 0 if it has no row.
    @inlinable
    package func integer<each Value: DatabaseValue>(
        _ sql: String, _ values: repeat each Value
    ) throws(Failure) -> Int64 {
        try first(sql, repeat each values) { $0.integer(0) } ?? 0
    }

    /// Runs several statements, separated by semicolons.
    package func script(_ sql: String) throws(Failure) {
        let code = sqlite3_exec(database.handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw Failure(DatabaseError(sqlite: code, database.path))
        }
    }

    /// The number of rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes(database.handle)) }

    /// The number of rows that all statements of the connection changed.
    package var allChanges: Int64 { sqlite3_total_changes64(database.handle) }

    /// The row id of the last inserted row.
    package var lastRow: Int64 { sqlite3_last_insert_rowid(database.handle) }

    /// Runs `body` in a transaction, which is rolled back if it throws. `convert` makes the error of the transaction's
    /// own statements.
    func transaction<T, E: Error>(
        _ body: () throws(E) -> T, _ convert: (Failure) -> E
    ) throws(E) -> T {
        do throws(Failure) { try run("BEGIN IMMEDIATE") } catch { throw convert(error) }
        do throws(E) {
            let value = try body()
            do throws(Failure) { try run("COMMIT") } catch { throw convert(error) }
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    func rollBack() {
        // A failed COMMIT may have ended the transaction already.
        if sqlite3_get_autocommit(database.handle) == 0 { try? run("ROLLBACK") }
    }
}
