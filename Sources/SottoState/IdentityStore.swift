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
    package let directory: StateDirectory
    /// The rows that could not be read.
    let damage: DamageLog
    /// Returns the queue of the outbox for what waits in a queue for a contact whose later card names a relay, or `nil` if it
    /// stays; see ``init(directory:identity:lockTimeout:report:follow:)``.
    let follow: (@Sendable (_ relay: String, _ queue: String) -> String?)?
    /// When messages were last erased whose lifetime had ended, by the monotonic clock in seconds.
    let expiryCheck = Mutex(-Double.infinity)
    /// The mark of the owner's card, after it was computed; see ``OwnCard``.
    let knownCardMark = Mutex<[UInt8]?>(nil)
    /// The identity that owns the state.
    public let owner: Identity

    /// Opens or creates the identity's file in `directory`. This and every other call waits at most `lockTimeout`
    /// seconds for other processes that write. `report` is called with rows that cannot be read, each once.
    ///
    /// `follow` returns the address to which envelopes in the outbox follow their recipient: from the relay on a later card,
    /// and the address for which they wait, which is empty if it is not known. It returns `nil` if they stay. A state that is
    /// opened without it moves no envelope.
    public init(
        directory: StateDirectory, identity: Identity, lockTimeout: Double,
        report: @escaping @Sendable (StateDamage) -> Void = { _ in },
        follow: (@Sendable (_ relay: String, _ queue: String) -> String?)? = nil
    ) throws(StateError) {
        owner = identity
        self.follow = follow
        damage = DamageLog(path: directory.file(identity.device.description + ".db"), report)
        self.directory = directory
        key = identity.derivedKey(info: "state/v1").guarded()
        lookupKey = identity.derivedKey(info: "state/lookup/v1").guarded()
        database = try directory.database(
            identity.device.description + ".db", kind: Self.fileKind, migrations: Self.migrations,
            lockTimeout: lockTimeout)
        try noteFile()
        try expire()
        settleHeldCopiesIfPossible()
        settleForwardingIfPossible()
    }

    /// Opens the state like ``init(directory:identity:lockTimeout:report:follow:)``, but returns `nil` and creates nothing
    /// if the file does not exist.
    public static func existing(
        in directory: StateDirectory, identity: Identity, lockTimeout: Double,
        report: @escaping @Sendable (StateDamage) -> Void = { _ in },
        follow: (@Sendable (_ relay: String, _ queue: String) -> String?)? = nil
    ) throws(StateError) -> IdentityStore? {
        let path = directory.file(identity.device.description + ".db")
        guard access(path, F_OK) == 0 else { return nil }
        return try IdentityStore(
            directory: directory, identity: identity, lockTimeout: lockTimeout, report: report,
            follow: follow)
    }

    /// The schema, by version. A later version adds a script; a released script never changes.
    static let migrations = [
        """
        CREATE TABLE inbox (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, arrived INTEGER NOT NULL,
            failures INTEGER NOT NULL, envelope BLOB, state INTEGER NOT NULL DEFAULT 0,
            chain BLOB, place INTEGER, claimed BLOB, digest BLOB, known INTEGER
        );
        CREATE INDEX inbox_kept ON inbox(state, number) WHERE envelope IS NOT NULL;
        CREATE INDEX inbox_early ON inbox(chain, place) WHERE chain IS NOT NULL;
        CREATE INDEX inbox_unopened ON inbox(claimed, number) WHERE claimed IS NOT NULL;
        CREATE TABLE request (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL, id TEXT NOT NULL UNIQUE,
            seen INTEGER NOT NULL, sealed BLOB NOT NULL, envelope BLOB NOT NULL,
            aside INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX request_peer ON request(peer);
        CREATE INDEX request_aside ON request(aside, seen);
        CREATE TABLE contact (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL UNIQUE, name BLOB UNIQUE,
            sealed BLOB NOT NULL
        );
        CREATE TABLE profile (peer BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE news (peer BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE device_list (peer BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE device (
            mark BLOB PRIMARY KEY, peer BLOB NOT NULL, removed INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;
        CREATE INDEX device_peer ON device(peer);
        CREATE TABLE device_copy (
            envelope INTEGER PRIMARY KEY, message INTEGER NOT NULL, stored INTEGER,
            day INTEGER NOT NULL
        );
        CREATE INDEX device_copy_message ON device_copy(message);
        CREATE TABLE arrived_copy (
            envelope INTEGER PRIMARY KEY, message INTEGER NOT NULL, day INTEGER NOT NULL
        );
        CREATE TABLE sync_item (
            number INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL UNIQUE,
            level INTEGER NOT NULL, sealed BLOB NOT NULL
        );
        CREATE TABLE sync_value (mark BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE sync_device (
            mark BLOB PRIMARY KEY, told INTEGER NOT NULL, told_full INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE sync_sent (
            envelope INTEGER PRIMARY KEY, device BLOB NOT NULL, first INTEGER NOT NULL,
            made INTEGER NOT NULL
        );
        CREATE TABLE sync_copy (
            envelope INTEGER PRIMARY KEY, message INTEGER NOT NULL, day INTEGER NOT NULL
        );
        CREATE TABLE sync_ahead (
            mark INTEGER PRIMARY KEY, action INTEGER NOT NULL, time INTEGER NOT NULL
        );
        CREATE TABLE number (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO number (name, value) VALUES ('made', CAST(strftime('%s', 'now') AS INTEGER));

        CREATE TABLE session (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL, tag BLOB NOT NULL UNIQUE,
            used INTEGER NOT NULL, began INTEGER NOT NULL, sealed BLOB NOT NULL,
            retired INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX session_peer ON session(peer, used);
        CREATE TABLE begun (tag BLOB PRIMARY KEY, prekey INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE skipped (
            number INTEGER PRIMARY KEY, peer BLOB NOT NULL, chain BLOB NOT NULL,
            place INTEGER NOT NULL, day INTEGER NOT NULL, sealed BLOB NOT NULL,
            UNIQUE (chain, place)
        );
        CREATE INDEX skipped_peer ON skipped(peer, number);
        CREATE INDEX skipped_day ON skipped(day);
        CREATE TABLE prekey (
            kind INTEGER NOT NULL, id INTEGER NOT NULL, made INTEGER NOT NULL,
            replaced INTEGER, sealed BLOB NOT NULL, relay BLOB, PRIMARY KEY (kind, id)
        ) WITHOUT ROWID;
        CREATE TABLE awaited (
            id TEXT PRIMARY KEY, signed INTEGER NOT NULL, post_quantum INTEGER, one_time INTEGER
        ) WITHOUT ROWID;
        CREATE TABLE bundle (
            peer BLOB PRIMARY KEY, claim TEXT NOT NULL, sealed BLOB
        ) WITHOUT ROWID;
        CREATE TABLE spent (mark INTEGER PRIMARY KEY);

        CREATE TABLE conversation (
            number INTEGER PRIMARY KEY, mark BLOB NOT NULL UNIQUE,
            last INTEGER NOT NULL DEFAULT 0, time INTEGER, unread INTEGER NOT NULL DEFAULT 0,
            read INTEGER NOT NULL DEFAULT 0, sealed BLOB NOT NULL
        );
        CREATE TABLE message (
            number INTEGER PRIMARY KEY AUTOINCREMENT, mark INTEGER NOT NULL UNIQUE,
            conversation INTEGER NOT NULL, sent INTEGER NOT NULL, kind INTEGER NOT NULL,
            state INTEGER NOT NULL, place INTEGER NOT NULL, time INTEGER, arrived INTEGER,
            changed INTEGER, expires INTEGER, sealed BLOB, author BLOB, fetched INTEGER
        );
        CREATE INDEX message_conversation ON message(conversation, kind, place);
        CREATE INDEX message_place ON message(place);
        CREATE INDEX message_time ON message(time);
        CREATE INDEX message_arrived ON message(arrived) WHERE arrived IS NOT NULL;
        CREATE INDEX message_changed ON message(changed) WHERE changed IS NOT NULL;
        CREATE INDEX message_expires ON message(expires) WHERE expires IS NOT NULL;
        CREATE INDEX message_waiting ON message(number) WHERE state = -1;
        CREATE TABLE event (
            target INTEGER NOT NULL, author INTEGER NOT NULL, message INTEGER NOT NULL,
            PRIMARY KEY (target, author, message)
        ) WITHOUT ROWID;
        CREATE TABLE waiting (
            target INTEGER NOT NULL, message INTEGER NOT NULL, conversation INTEGER NOT NULL,
            PRIMARY KEY (target, message)
        ) WITHOUT ROWID;
        CREATE INDEX waiting_message ON waiting(message);
        CREATE INDEX waiting_conversation ON waiting(conversation, message);
        CREATE TABLE dropped (
            target INTEGER NOT NULL, author INTEGER NOT NULL, count INTEGER NOT NULL,
            PRIMARY KEY (target, author)
        ) WITHOUT ROWID;
        CREATE TABLE discarded (token INTEGER PRIMARY KEY);
        CREATE TABLE forwarding (
            number INTEGER PRIMARY KEY AUTOINCREMENT, peer BLOB NOT NULL
        );
        CREATE TABLE copy (
            message INTEGER NOT NULL, copy INTEGER NOT NULL, stored INTEGER NOT NULL,
            day INTEGER NOT NULL, PRIMARY KEY (message, copy)
        ) WITHOUT ROWID;
        CREATE TABLE retention (
            conversation INTEGER PRIMARY KEY, seconds INTEGER, kept INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE reader (
            mark BLOB PRIMARY KEY, acknowledged INTEGER NOT NULL, sealed BLOB NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE chat (mark BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE foreign_chain (
            number INTEGER PRIMARY KEY, source BLOB NOT NULL, chain BLOB NOT NULL,
            sealed BLOB NOT NULL, UNIQUE (source, chain)
        );
        CREATE INDEX foreign_chain_chain ON foreign_chain(chain);

        CREATE TABLE group_log (
            number INTEGER PRIMARY KEY, mark BLOB NOT NULL UNIQUE, sealed BLOB NOT NULL
        );
        CREATE TABLE group_change (
            number INTEGER PRIMARY KEY, group_id INTEGER NOT NULL, mark BLOB NOT NULL UNIQUE,
            aside INTEGER NOT NULL, place INTEGER NOT NULL, time INTEGER NOT NULL,
            sealed BLOB NOT NULL
        );
        CREATE INDEX group_change_place ON group_change(group_id, aside, place);
        CREATE TABLE group_member (
            group_id INTEGER NOT NULL, mark BLOB NOT NULL, holds INTEGER NOT NULL,
            told INTEGER NOT NULL, sealed BLOB NOT NULL, PRIMARY KEY (group_id, mark)
        ) WITHOUT ROWID;
        CREATE TABLE telling (
            group_id INTEGER NOT NULL, envelope INTEGER NOT NULL, member BLOB NOT NULL,
            made INTEGER NOT NULL, told INTEGER NOT NULL, undoes INTEGER NOT NULL,
            owed BLOB NOT NULL, PRIMARY KEY (group_id, envelope)
        ) WITHOUT ROWID;
        CREATE TABLE own_chain (
            group_id INTEGER PRIMARY KEY, serial INTEGER NOT NULL, made INTEGER NOT NULL,
            sealed BLOB NOT NULL
        );
        CREATE TABLE group_chain (
            number INTEGER PRIMARY KEY, group_id INTEGER NOT NULL, device BLOB NOT NULL,
            tag BLOB NOT NULL UNIQUE, sealed BLOB NOT NULL
        );
        CREATE INDEX group_chain_device ON group_chain(group_id, device, number);
        CREATE TABLE held (
            number INTEGER PRIMARY KEY, mark INTEGER NOT NULL UNIQUE, source BLOB NOT NULL,
            time INTEGER NOT NULL, sealed BLOB NOT NULL
        );
        CREATE INDEX held_source ON held(source, number);
        CREATE TABLE group_room (group_id INTEGER PRIMARY KEY, sealed BLOB NOT NULL);
        CREATE TABLE group_file (
            number INTEGER PRIMARY KEY, group_id INTEGER NOT NULL, mark BLOB NOT NULL UNIQUE,
            device BLOB NOT NULL, stage INTEGER NOT NULL, time INTEGER NOT NULL,
            sealed BLOB NOT NULL
        );
        CREATE INDEX group_file_group ON group_file(group_id, device);
        CREATE TABLE wake (
            number INTEGER PRIMARY KEY, mark BLOB NOT NULL UNIQUE, renewed INTEGER NOT NULL,
            mailboxes INTEGER NOT NULL, sealed BLOB NOT NULL
        );
        """
    ]

    /// The kind of the file: `SoSt` in ASCII.
    package static let fileKind: Int32 = 0x536F_5374
}
