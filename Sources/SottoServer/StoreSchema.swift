/// The tables of the store.
///
/// | table | what it is |
/// |---|---|
/// | `mailbox` | a public key, its small number, and how much waits there, dead letters apart |
/// | `envelope` | what waits: `seq` is the order, `body` the envelope as it came; with 5 `failures` a dead letter |
/// | `seen` | for each id that a mailbox ever got: 16 bytes of the body's SHA-256, to know it again |
///
/// No row says who sent, and no time is finer than a minute.
extension SQLiteStore {
    /// The schema, by version. A later version adds a script; one that was released never changes.
    static let migrations = [
        """
        CREATE TABLE mailbox (
            number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,
            messages INTEGER NOT NULL, bytes INTEGER NOT NULL
        );
        CREATE TABLE envelope (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, mailbox INTEGER NOT NULL, minute INTEGER NOT NULL,
            failures INTEGER NOT NULL, id BLOB NOT NULL, body BLOB NOT NULL
        );
        CREATE INDEX envelope_mailbox ON envelope (mailbox);
        CREATE TABLE seen (
            mailbox INTEGER NOT NULL, id BLOB NOT NULL, digest BLOB NOT NULL,
            seq INTEGER NOT NULL, minute INTEGER NOT NULL, PRIMARY KEY (mailbox, id)
        ) WITHOUT ROWID;
        """,
        """
        ALTER TABLE mailbox ADD COLUMN dead INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE mailbox ADD COLUMN dead_bytes INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX envelope_dead ON envelope (mailbox) WHERE failures >= 5;
        UPDATE mailbox SET (dead, dead_bytes) = (
            SELECT count(*), coalesce(sum(length(body)), 0) FROM envelope
            WHERE envelope.mailbox = mailbox.number AND failures >= 5
        );
        UPDATE mailbox SET messages = messages - dead, bytes = bytes - dead_bytes;
        """,
    ]
}
