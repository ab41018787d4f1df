public import Sotto

/// What one identity keeps on this machine, in the file `ID.db`: its inbox, and what it opened.
///
/// Plaintext in it is sealed under a key of the identity. Any number of processes may use it at once.
public final class IdentityStore {
    let database: DurableDatabase
    private let key: SecretBytes

    /// Opens or makes the identity's file in `directory`. Other processes that write are waited for,
    /// `lockTimeout` seconds at most, here and in every other call.
    public init(directory: StateDirectory, identity: Identity, lockTimeout: Double)
        throws(StateError)
    {
        key = identity.derivedKey(info: "state/v1")
        database = try DurableDatabase(
            path: directory.file(identity.id.description + ".db"), migrations: Self.migrations,
            lockTimeout: lockTimeout)
    }

    /// The schema, by version. A later version adds a script; one that was released never changes.
    private static let migrations = [
        """
        CREATE TABLE opened (
            id TEXT PRIMARY KEY, digest BLOB NOT NULL, record BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE inbox (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, day INTEGER NOT NULL,
            failures INTEGER NOT NULL, envelope BLOB
        );
        CREATE INDEX inbox_waiting ON inbox(number) WHERE envelope IS NOT NULL;
        """
    ]

    // MARK: What was opened

    /// What is known about an envelope id.
    public enum Opened: Sendable, Equatable {
        /// Nothing: it was not opened here.
        case new
        /// It was opened; `record` is what was printed.
        case same(record: [UInt8])
        /// An envelope of that id was opened, and it was another one.
        case different
    }

    /// What was printed before for an envelope id. `digest` is the SHA-256 of the envelope's canonical form.
    public func opened(id: String, digest: [UInt8]) throws(StateError) -> Opened {
        try database.use { connection throws(StateError) in
            try opened(connection, id, digest)
        }
    }

    /// Records opened envelopes in one transaction, durable when this returns.
    ///
    /// Returns, in order, ``Opened/new`` for each that was recorded now, and for each other what was there
    /// before: another process, or an earlier entry, was first, and its record stands.
    public func recordOpened(
        _ entries: [(id: String, digest: [UInt8], record: [UInt8])]
    ) throws(StateError) -> [Opened] {
        guard !entries.isEmpty else { return [] }
        return try database.transaction { connection throws(StateError) in
            var results: [Opened] = []
            for entry in entries {
                let insert = try connection.statement(
                    """
                    INSERT INTO opened (id, digest, record) VALUES (?, ?, ?)
                    ON CONFLICT (id) DO NOTHING
                    """)
                insert.bind(1, entry.id)
                insert.bind(2, entry.digest)
                insert.bind(3, seal(entry.record, for: entry.digest))
                try insert.run()
                results.append(
                    connection.changes == 1
                        ? .new : try opened(connection, entry.id, entry.digest))
            }
            return results
        }
    }

    private func opened(_ connection: Connection, _ id: String, _ digest: [UInt8])
        throws(StateError) -> Opened
    {
        let select = try connection.statement("SELECT digest, record FROM opened WHERE id = ?")
        defer { select.reset() }
        select.bind(1, id)
        guard try select.step() else { return .new }
        guard select.bytes(0) == digest else { return .different }
        return .same(record: try unseal(select.bytes(1), for: digest))
    }

    // MARK: Sealing

    // nonce (24) ‖ secretbox of digest ‖ record. The digest ties a record to its row.

    private func seal(_ record: [UInt8], for digest: [UInt8]) -> [UInt8] {
        let nonce = randomBytes(24)
        return nonce + NaClBox.seal(digest + record, nonce: nonce, key: key)
    }

    private func unseal(_ sealed: [UInt8], for digest: [UInt8]) throws(StateError) -> [UInt8] {
        guard sealed.count >= 24,
            let message = NaClBox.open(
                Array(sealed[24...]), nonce: Array(sealed[..<24]), key: key),
            message.starts(with: digest)
        else { throw .unsealable(path: database.path) }
        return Array(message[digest.count...])
    }
}
