import Sotto
import SottoDatabase

/// Readers of the history: programs that acknowledge the messages that they have processed, and that get the others again
/// after a crash.
extension IdentityStore {
    /// A reader.
    public struct Reader: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The number up to which it has acknowledged messages, or 0.
        public let acknowledged: Int64

        /// Creates a reader.
        public init(name: String, acknowledged: Int64) {
            self.name = name
            self.acknowledged = acknowledged
        }
    }

    /// The maximum length of a reader's name in bytes.
    public static let readerNameLimit = 64

    /// Returns the path of a reader's lock file, in the directory of the state. It does not show the name.
    public func lockPath(ofReader reader: String) -> String {
        database.path + "-reader-" + hex(mark(reader: reader)[..<8])
    }

    /// Returns the readers, by name.
    public func readers() throws(StateError) -> [Reader] {
        try use { connection throws(StateError) in
            try connection.rows("SELECT mark, acknowledged, sealed FROM reader") {
                row throws(StateError) -> Reader? in
                let (mark, sealed) = (row.bytes(0), row.bytes(2))
                let name = try readable(.reader, mark) { () throws(StateError) in
                    let name = String(
                        validating: try unseal(sealed, .reader(mark: mark)), as: UTF8.self)
                    guard let name, self.mark(reader: name) == mark else {
                        throw StateError.unsealable(path: database.path)
                    }
                    return name
                }
                return name.map { Reader(name: $0, acknowledged: row.integer(1)) }
            }.compactMap(\.self)
        }.sorted { $0.name < $1.name }
    }

    /// Returns the number up to which a reader has acknowledged messages, or `nil` for a new reader.
    public func acknowledged(by reader: String) throws(StateError) -> Int64? {
        try use { connection throws(StateError) in
            try acknowledged(by: reader, connection)
        }
    }

    fileprivate func acknowledged(
        by reader: String, _ connection: StateConnection
    ) throws(StateError) -> Int64? {
        try connection.first("SELECT acknowledged FROM reader WHERE mark = ?", mark(reader: reader))
        { $0.integer(0) }
    }
}

extension StateTransaction {
    /// Acknowledges the messages up to a number, which is at most the last one's, and makes a new reader. A smaller number
    /// than before changes nothing. Returns the number up to which all are acknowledged now.
    @discardableResult
    public func acknowledge(_ number: Int64, by reader: String) throws(StateError) -> Int64 {
        let mark = store.mark(reader: reader)
        try connection.run(
            """
            INSERT INTO reader (mark, acknowledged, sealed) VALUES (?1, ?2, ?3)
            ON CONFLICT (mark) DO UPDATE SET acknowledged = max(acknowledged, ?2)
            """, mark, number, store.seal(Array(reader.utf8), .reader(mark: mark)))
        return try store.acknowledged(by: reader, connection) ?? number
    }

    /// Makes a reader that begins with the first message, or with the next one, unless it exists. Returns the number up to which it
    /// has acknowledged messages.
    public func begin(reader: String, withNext: Bool) throws(StateError) -> Int64 {
        if let known = try store.acknowledged(by: reader, connection) { return known }
        let last = withNext ? try connection.integer("SELECT max(number) FROM message") : 0
        return try acknowledge(last, by: reader)
    }

    /// Removes a reader. Returns whether it existed.
    public func remove(reader: String) throws(StateError) -> Bool {
        try connection.run("DELETE FROM reader WHERE mark = ?", store.mark(reader: reader))
        return connection.changes > 0
    }
}
