import CSQLite

/// A prepared statement, whose errors are `Failure`s. Columns are numbered from 0.
package struct PreparedStatement<Failure: DatabaseFailure> {
    @usableFromInline let handle: OpaquePointer
    let path: String

    /// Sets the parameters, from the first on. Text and bytes are copied.
    @inlinable
    package func bind<each Value: DatabaseValue>(_ values: repeat each Value) {
        var index: Int32 = 1
        for value in repeat each values {
            value.bind(to: handle, index)
            index += 1
        }
    }

    /// Sets the parameters, from the first on, to a list whose length is not fixed.
    package func bind(list values: [some DatabaseValue]) {
        for (place, value) in values.enumerated() { value.bind(to: handle, Int32(place + 1)) }
    }

    /// Goes to the next row. Returns whether the statement has one.
    package func step() throws(Failure) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let code = sqlite3_extended_errcode(sqlite3_db_handle(handle))
            sqlite3_reset(handle)
            throw Failure(DatabaseError(sqlite: code, path))
        }
    }

    /// Makes the statement ready to be bound and stepped again.
    package func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Returns an integer column of the row, or 0 for NULL.
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// Returns whether a column of the row is NULL.
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// Returns the bytes of a BLOB or text column of the row.
    package func bytes(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(sqlite3_column_bytes(handle, column))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Calls `body` with the bytes of a BLOB or text column of the row, without copying them.
    package func withBytes<T, E: Error>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) throws(E) -> T
    ) throws(E) -> T {
        let start = sqlite3_column_blob(handle, column)
        let count = start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns the text of a column of the row.
    package func text(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }
}
