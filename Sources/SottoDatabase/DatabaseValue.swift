import CSQLite

/// A value that a statement's parameter can have: an integer, text, bytes, or `nil` for NULL.
package protocol DatabaseValue {
    /// Sets the parameter `index`, numbered from 1, of a prepared statement. Text and bytes are copied.
    func bind(to statement: OpaquePointer, _ index: Int32)
}

extension Int64: DatabaseValue {
    package func bind(to statement: OpaquePointer, _ index: Int32) {
        sqlite3_bind_int64(statement, index, self)
    }
}

extension Int: DatabaseValue {
    package func bind(to statement: OpaquePointer, _ index: Int32) {
        sqlite3_bind_int64(statement, index, Int64(self))
    }
}

extension UInt32: DatabaseValue {
    package func bind(to statement: OpaquePointer, _ index: Int32) {
        sqlite3_bind_int64(statement, index, Int64(self))
    }
}

extension Bool: DatabaseValue {
    package func bind(to statement: OpaquePointer, _ index: Int32) {
        sqlite3_bind_int64(statement, index, self ? 1 : 0)
    }
}

extension String: DatabaseValue {
    package func bind(to statement: OpaquePointer, _ index: Int32) {
        var text = self
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                _ = sqlite3_bind_text(
                    statement, index, $0.baseAddress, Int32($0.count), transient)
            }
        }
    }
}

extension [UInt8]: DatabaseValue {
    package func bind(to statement: OpaquePointer, _ index: Int32) {
        if isEmpty {
            sqlite3_bind_zeroblob(statement, index, 0)
        } else {
            sqlite3_bind_blob(statement, index, self, Int32(count), transient)
        }
    }
}

extension Optional: DatabaseValue where Wrapped: DatabaseValue {
    package func bind(to statement: OpaquePointer, _ index: Int32) {
        if let self {
            self.bind(to: statement, index)
        } else {
            sqlite3_bind_null(statement, index)
        }
    }
}

/// SQLITE_TRANSIENT, a macro that Swift does not import: SQLite copies the bound value.
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
