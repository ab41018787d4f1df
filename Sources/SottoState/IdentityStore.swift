import Glibc
public import Sotto
import SottoDatabase
import Synchronization

/// The state of one identity on this machine, in the file `ID.db`: its inbox, contacts, sessions, prekeys and history.
///
/// Secrets, plaintext and the identities of peers are encrypted under keys of the identity. Any number of processes may
/// use the file at once.
public final class IdentityStore: Sendable {
    let database: DurableDatabase
    let key: SecretBytes
    let lookupKey: SecretBytes
    /// The directory of the file.
    let directory: StateDirectory
    /// When messages were last erased whose lifetime had ended, by the monotonic clock in seconds.
    let expiryCheck = Mutex(-Double.infinity)
    /// The identity that owns the state.
    public let owner: Identity

    /// Opens or creates the identity's file in `directory`. This and every other call waits at most `lockTimeout`
    /// seconds for other processes that write.
    public init(directory: StateDirectory, identity: Identity, lockTimeout: Double)
        throws(StateError)
    {
        owner = identity
        self.directory = directory
        key = identity.derivedKey(info: "state/v1")
        lookupKey = identity.derivedKey(info: "state/lookup/v1")
        do throws(DatabaseError) {
            database = try DurableDatabase(
                path: directory.file(identity.id.description + ".db"),
                version: Self.schemaVersion, lockTimeout: lockTimeout, erases: true)
        } catch {
            throw .database(error)
        }
        try database.migrate(Self.migrations) { number, connection throws(StateError) in
            if number == Self.historyVersion { try moveOpened(connection) }
        }
        try expire()
    }

    /// Opens the state like ``init(directory:identity:lockTimeout:)``, but returns `nil` and creates nothing if the
    /// file does not exist.
    public static func existing(
        in directory: StateDirectory, identity: Identity, lockTimeout: Double
    ) throws(StateError) -> IdentityStore? {
        let path = directory.file(identity.id.description + ".db")
        guard access(path, F_OK) == 0 else { return nil }
        return try IdentityStore(
            directory: directory, identity: identity, lockTimeout: lockTimeout)
    }

    /// The schema, by version. A later version adds a script; a released script never changes.
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
        """,
        """
        DROP TABLE opened;
        CREATE TABLE opened (
            number INTEGER PRIMARY KEY, mark INTEGER NOT NULL UNIQUE, digest BLOB NOT NULL,
            record BLOB NOT NULL
        );
        ALTER TABLE inbox ADD COLUMN state INTEGER NOT NULL DEFAULT 0;
        UPDATE inbox SET state = CASE WHEN failures >= 5 THEN 4 ELSE 3 END WHERE envelope IS NULL;
        DROP INDEX inbox_waiting;
        CREATE INDEX inbox_kept ON inbox(state, number) WHERE envelope IS NOT NULL;
        CREATE TABLE contact (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL UNIQUE, name BLOB UNIQUE,
            sealed BLOB NOT NULL
        );
        CREATE TABLE session (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL, tag BLOB NOT NULL UNIQUE,
            used INTEGER NOT NULL, sealed BLOB NOT NULL
        );
        CREATE INDEX session_peer ON session(peer, used);
        CREATE TABLE begun (
            tag BLOB PRIMARY KEY, prekey INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE prekey (
            kind INTEGER NOT NULL, id INTEGER NOT NULL, made INTEGER NOT NULL,
            replaced INTEGER, sealed BLOB NOT NULL, PRIMARY KEY (kind, id)
        ) WITHOUT ROWID;
        CREATE TABLE number (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE bundle (
            peer BLOB PRIMARY KEY, claim TEXT NOT NULL, sealed BLOB
        ) WITHOUT ROWID;
        CREATE TABLE spent (mark INTEGER PRIMARY KEY);
        CREATE TABLE request (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL, id TEXT NOT NULL UNIQUE,
            seen INTEGER NOT NULL, sealed BLOB NOT NULL, envelope BLOB NOT NULL
        );
        CREATE INDEX request_peer ON request(peer);
        """,
        """
        ALTER TABLE request ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX request_aside ON request(aside, seen);
        ALTER TABLE session ADD COLUMN began INTEGER;
        CREATE TRIGGER session_began AFTER INSERT ON session BEGIN
            UPDATE session SET began = CAST(strftime('%s', 'now') AS INTEGER)
            WHERE number = NEW.number;
        END;
        """,
        """
        ALTER TABLE opened ADD COLUMN time INTEGER;
        ALTER TABLE inbox ADD COLUMN chain BLOB;
        ALTER TABLE inbox ADD COLUMN place INTEGER;
        CREATE INDEX inbox_early ON inbox(chain, place) WHERE chain IS NOT NULL;
        ALTER TABLE prekey ADD COLUMN relay BLOB;
        CREATE TABLE awaited (
            id TEXT PRIMARY KEY, signed INTEGER NOT NULL, post_quantum INTEGER, one_time INTEGER
        ) WITHOUT ROWID;
        """,
        """
        CREATE TABLE skipped (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL, chain BLOB NOT NULL,
            place INTEGER NOT NULL, day INTEGER NOT NULL, sealed BLOB NOT NULL,
            UNIQUE (chain, place)
        );
        CREATE INDEX skipped_peer ON skipped(peer, number);
        CREATE INDEX skipped_day ON skipped(day);
        """,
        historySchema,
        """
        CREATE TABLE reader (
            mark BLOB PRIMARY KEY, acknowledged INTEGER NOT NULL, sealed BLOB NOT NULL
        ) WITHOUT ROWID;
        ALTER TABLE message ADD COLUMN expires INTEGER;
        CREATE INDEX message_expires ON message(expires) WHERE expires IS NOT NULL;
        CREATE TABLE retention (
            conversation INTEGER PRIMARY KEY, seconds INTEGER, kept INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE waiting (
            target INTEGER NOT NULL, message INTEGER NOT NULL, conversation INTEGER NOT NULL,
            PRIMARY KEY (target, message)
        ) WITHOUT ROWID;
        CREATE INDEX waiting_message ON waiting(message);
        CREATE INDEX waiting_conversation ON waiting(conversation, message);
        CREATE TABLE imported (
            message INTEGER PRIMARY KEY, unread INTEGER NOT NULL, former INTEGER NOT NULL
        );
        """,
        """
        CREATE TABLE group_log (
            number INTEGER PRIMARY KEY, mark BLOB NOT NULL UNIQUE, sealed BLOB NOT NULL
        );
        CREATE TABLE group_change (
            number INTEGER PRIMARY KEY, team INTEGER NOT NULL, mark BLOB NOT NULL UNIQUE,
            aside INTEGER NOT NULL, place INTEGER NOT NULL, time INTEGER NOT NULL,
            sealed BLOB NOT NULL
        );
        CREATE INDEX group_change_place ON group_change(team, aside, place);
        CREATE TABLE group_member (
            team INTEGER NOT NULL, mark BLOB NOT NULL, holds INTEGER NOT NULL,
            told INTEGER NOT NULL, sealed BLOB NOT NULL, PRIMARY KEY (team, mark)
        ) WITHOUT ROWID;
        CREATE TABLE own_chain (
            team INTEGER PRIMARY KEY, serial INTEGER NOT NULL, made INTEGER NOT NULL,
            sealed BLOB NOT NULL
        );
        CREATE TABLE group_chain (
            number INTEGER PRIMARY KEY, team INTEGER NOT NULL, device BLOB NOT NULL,
            tag BLOB NOT NULL UNIQUE, sealed BLOB NOT NULL
        );
        CREATE INDEX group_chain_device ON group_chain(team, device, number);
        CREATE TABLE held (
            number INTEGER PRIMARY KEY, mark INTEGER NOT NULL UNIQUE, source BLOB NOT NULL,
            time INTEGER NOT NULL, sealed BLOB NOT NULL
        );
        CREATE INDEX held_source ON held(source, number);
        """,
        "CREATE TABLE group_room (team INTEGER PRIMARY KEY, sealed BLOB NOT NULL)",
        """
        CREATE TABLE group_file (
            number INTEGER PRIMARY KEY, team INTEGER NOT NULL, mark BLOB NOT NULL UNIQUE,
            device BLOB NOT NULL, stage INTEGER NOT NULL, time INTEGER NOT NULL,
            sealed BLOB NOT NULL
        );
        CREATE INDEX group_file_team ON group_file(team, device);
        """,
        """
        CREATE TABLE dropped (
            target INTEGER NOT NULL, author INTEGER NOT NULL, count INTEGER NOT NULL,
            PRIMARY KEY (target, author)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE copy (
            message INTEGER NOT NULL, copy INTEGER NOT NULL, stored INTEGER NOT NULL,
            day INTEGER NOT NULL, PRIMARY KEY (message, copy)
        ) WITHOUT ROWID
        """,
    ]

    /// The version of the schema.
    package static var schemaVersion: Int { migrations.count }
}
