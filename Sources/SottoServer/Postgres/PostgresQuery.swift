import CPostgres

/// A statement and its parameters, in PostgreSQL's binary format.
struct PostgresQuery {
    let sql: String
    private(set) var types: [UInt32] = []
    private(set) var starts: [Int] = []
    private(set) var bytes: [UInt8] = []
    /// The places of the parameters that are null.
    private(set) var nulls: Set<Int> = []

    /// Creates a statement; its parameters `$1`, `$2`, … are added in order.
    init(_ sql: String) { self.sql = sql }

    /// The lengths of the parameters, in bytes.
    var lengths: [Int32] {
        zip(starts, starts.dropFirst() + [bytes.count]).map { Int32($1 - $0) }
    }

    /// Adds a `bigint`.
    mutating func add(_ value: Int64) {
        begin(20)
        append(value)
    }

    /// Adds a `boolean`.
    mutating func add(_ value: Bool) {
        begin(16)
        bytes.append(value ? 1 : 0)
    }

    /// Adds a `bytea`.
    mutating func add(_ value: [UInt8]) {
        begin(17)
        bytes += value
    }

    /// Adds a `bytea`, or a null.
    mutating func add(optional value: [UInt8]?) {
        begin(17)
        if let value { bytes += value } else { nulls.insert(types.count - 1) }
    }

    /// Adds a `text`.
    mutating func add(_ value: String) {
        begin(25)
        bytes += value.utf8
    }

    /// Adds a `bigint[]` that may have nulls.
    mutating func add(_ values: [Int64?]) {
        begin(1016)
        header(element: 20, count: values.count)
        for value in values {
            append(Int32(value == nil ? -1 : 8))
            if let value { append(value) }
        }
    }

    /// Adds a `bytea[]` that may have nulls.
    mutating func add(_ values: [[UInt8]?]) {
        begin(1001)
        header(element: 17, count: values.count)
        for value in values {
            append(value.map { Int32($0.count) } ?? -1)
            bytes += value ?? []
        }
    }

    private mutating func begin(_ type: UInt32) {
        types.append(type)
        starts.append(bytes.count)
    }

    /// Writes the header of a one-dimensional array.
    private mutating func header(element: Int32, count: Int) {
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(1))
        append(element)
        guard count > 0 else { return }
        append(Int32(count))
        append(Int32(1))
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
    }
}

/// The rows that a statement returned, in PostgreSQL's binary format.
final class PostgresRows {
    private let result: OpaquePointer

    /// Takes ownership of a result.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// The number of rows.
    var count: Int { Int(PQntuples(result)) }

    /// Returns an integer of any size, or a boolean.
    func integer(_ row: Int, _ column: Int32) -> Int64 {
        var value: Int64 = 0
        for (place, byte) in view(row, column).enumerated() {
            value = place == 0 ? Int64(Int8(bitPattern: byte)) : value << 8 | Int64(byte)
        }
        return value
    }

    /// Whether a value is null.
    func isNull(_ row: Int, _ column: Int32) -> Bool {
        PQgetisnull(result, Int32(row), column) == 1
    }

    /// Returns a `bytea`.
    func bytes(_ row: Int, _ column: Int32) -> [UInt8] { Array(view(row, column)) }

    /// Returns a `text`.
    func text(_ row: Int, _ column: Int32) -> String {
        String(decoding: view(row, column), as: UTF8.self)
    }

    private func view(_ row: Int, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(result, Int32(row), column),
            count: Int(PQgetlength(result, Int32(row), column)))
    }
}
