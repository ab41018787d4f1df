/// The tables of the store.
///
/// | table | contents |
/// |---|---|
/// | `mailbox` | a public key, its number, and the counts of waiting envelopes and of dead letters; `stranger` is NULL, or for a mailbox whose owner is not admitted, the minute of the oldest envelope |
/// | `envelope` | a waiting envelope: `seq` is the order, `body` the envelope as it came, `until` the second from which it is not delivered any more, or NULL; a dead letter has 5 `failures` |
/// | `seen` | each envelope id that a mailbox got, and 16 bytes of the body's SHA-256, to recognize a repetition |
/// | `prekey_owner` | an id that published prekeys: the current signed prekey, the highest numbers that were stored, and the minute of the last publication |
/// | `prekey_signed` | signed prekeys, as the head of a bundle's line; superseded ones are kept as long as claims |
/// | `prekey_one_time` | unclaimed one-time prekeys |
/// | `prekey_claim` | the result of each claim, to repeat it |
/// | `account` | an id that is a member or published a record: its card, or its revocation in the place of the card and of the signed prekey, its RSA login key, the minute of the last login or fetch of the card; `member` is 1, or 2 after the removal. Each succession of an id has a row, under a hash |
/// | `card_name` | the ids of accounts in other messengers by which a card is found, as 16 bytes of their SHA-256, since a minute |
/// | `room` | the record of each room, by its door, with the key that published it |
/// | `invitation` | tags and public keys of codes; `owner` is empty until the code is redeemed, and `inviter` is the member who made the code, or empty |
/// | `wake` | where owners want the wake-ups of their mailboxes, by kind: 0 for messages, 1 for calls; `token` is empty without one, `until` the minute of the expiry |
/// | `instance` | 16 bytes by which the machine of an owner's last login is recognized at the next one, and the day of that login |
/// | `meeting` | the places of meetings, for ten minutes: step 0 has the relay's name, 1 to 4 the messages, 5 stands for the end; `until` is a second |
/// | `clock` | one row: the ``StoredClock`` |
///
/// A mailbox's row is deleted when it has no envelope, no row in `seen` and no account. No row names a sender or a
/// claimant, and no time except `until` is finer than a minute.
extension SQLiteStore {
    /// `PRAGMA application_id` of the file: "sotr".
    static let kind: Int32 = 0x736F_7472

    /// The schema, by version. A later version adds a script; the statements of a released script never change.
    static let migrations = [
        """
        CREATE TABLE mailbox (
            number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,
            messages INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
            dead INTEGER NOT NULL DEFAULT 0, dead_bytes INTEGER NOT NULL DEFAULT 0,
            stranger INTEGER
        );
        CREATE INDEX mailbox_stranger ON mailbox (stranger) WHERE stranger IS NOT NULL;
        CREATE TABLE envelope (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, mailbox INTEGER NOT NULL, minute INTEGER NOT NULL,
            failures INTEGER NOT NULL, id BLOB NOT NULL, body BLOB NOT NULL, until INTEGER
        );
        CREATE INDEX envelope_mailbox ON envelope (mailbox);
        CREATE INDEX envelope_dead ON envelope (mailbox) WHERE failures >= 5;
        CREATE INDEX envelope_until ON envelope (until) WHERE until IS NOT NULL;
        CREATE TABLE seen (
            mailbox INTEGER NOT NULL, id BLOB NOT NULL, digest BLOB NOT NULL,
            seq INTEGER NOT NULL, minute INTEGER NOT NULL, PRIMARY KEY (mailbox, id)
        ) WITHOUT ROWID;
        CREATE TABLE prekey_owner (
            number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE,
            signed INTEGER NOT NULL, signed_id INTEGER NOT NULL,
            one_time_mark INTEGER NOT NULL, minute INTEGER NOT NULL
        );
        CREATE INDEX prekey_owner_minute ON prekey_owner (minute);
        CREATE TABLE prekey_signed (
            number INTEGER PRIMARY KEY AUTOINCREMENT, head BLOB NOT NULL, superseded INTEGER
        );
        CREATE INDEX prekey_superseded ON prekey_signed (superseded)
            WHERE superseded IS NOT NULL;
        CREATE TABLE prekey_one_time (
            owner INTEGER NOT NULL, id INTEGER NOT NULL, key BLOB NOT NULL, PRIMARY KEY (owner, id)
        ) WITHOUT ROWID;
        CREATE TABLE prekey_claim (
            number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, owner INTEGER NOT NULL,
            signed INTEGER NOT NULL, one_time INTEGER, key BLOB, minute INTEGER NOT NULL
        );
        CREATE INDEX prekey_claim_minute ON prekey_claim (minute);
        CREATE TABLE account (
            key BLOB NOT NULL PRIMARY KEY, member INTEGER NOT NULL, minute INTEGER NOT NULL,
            card BLOB NOT NULL, card_issued INTEGER NOT NULL,
            login_key BLOB NOT NULL, login_key_issued INTEGER NOT NULL
        );
        CREATE INDEX account_minute ON account (minute);
        CREATE TABLE card_name (
            name BLOB NOT NULL, key BLOB NOT NULL, minute INTEGER NOT NULL, PRIMARY KEY (name, key)
        ) WITHOUT ROWID;
        CREATE INDEX card_name_key ON card_name (key);
        CREATE TABLE room (
            key BLOB NOT NULL PRIMARY KEY, publisher BLOB NOT NULL, seq INTEGER NOT NULL,
            minute INTEGER NOT NULL, body BLOB NOT NULL
        );
        CREATE INDEX room_minute ON room (minute);
        CREATE TABLE invitation (
            tag BLOB NOT NULL PRIMARY KEY, key BLOB NOT NULL, until INTEGER NOT NULL,
            owner BLOB NOT NULL, label BLOB NOT NULL, inviter BLOB NOT NULL
        );
        CREATE INDEX invitation_inviter ON invitation (inviter) WHERE inviter <> x'';
        CREATE TABLE wake (
            key BLOB NOT NULL, kind INTEGER NOT NULL, url BLOB NOT NULL, token BLOB NOT NULL,
            until INTEGER NOT NULL, PRIMARY KEY (key, kind)
        ) WITHOUT ROWID;
        CREATE INDEX wake_until ON wake (until);
        CREATE TABLE instance (
            key BLOB NOT NULL PRIMARY KEY, mark BLOB NOT NULL, day INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE INDEX instance_day ON instance (day);
        CREATE TABLE meeting (
            number INTEGER NOT NULL, step INTEGER NOT NULL, until INTEGER NOT NULL,
            body BLOB NOT NULL, PRIMARY KEY (number, step)
        ) WITHOUT ROWID;
        CREATE INDEX meeting_until ON meeting (until) WHERE step = 0;
        CREATE TABLE clock (
            one INTEGER PRIMARY KEY CHECK (one = 1), accepted INTEGER NOT NULL, held INTEGER,
            agreed INTEGER NOT NULL, confirmed INTEGER
        );
        """
    ]
}
