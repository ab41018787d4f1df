import SottoDatabase

/// The schema `sotto` in a PostgreSQL database, and its interface: functions, each keyed by a mailbox or an owner of
/// prekeys, with arrays for batches.
///
/// | function | purpose |
/// |---|---|
/// | `store` | appends envelopes to their mailboxes |
/// | `ack`, `fail` | delete envelopes, or count a failure |
/// | `fetch` | returns the oldest envelopes of a mailbox |
/// | `heads` | returns the next sequence numbers of mailboxes, which show arrivals |
/// | `publish`, `claim`, `prekeys` | publish, claim and count prekeys |
/// | `account`, `update_account`, `adopt` | read and change accounts; clear stranger flags |
/// | `cards` | returns the cards with an account |
/// | `room`, `publish_room`, `sweep_rooms` | read, store and delete the records of rooms |
/// | `meeting`, `open_meeting`, `put_meeting`, `sweep_meetings` | read, make, use and delete the places of meetings |
/// | `directory_use` | returns the space of accounts, rooms, prekeys and registrations for wake-ups |
/// | `invite`, `invitation`, `invitation_count`, `redeem`, `revoke` | create, read, count, redeem and delete invitations |
/// | `wakes`, `register_wake`, `unregister_wake`, `sweep_wakes` | read, store and delete registrations for wake-ups |
/// | `instance`, `note_instance`, `sweep_instances` | read, store and delete the instances of logins |
/// | `members`, `invitations` | list the members and the invitations |
/// | `sweep`, `sweep_ended`, `sweep_accounts`, `sweep_mailboxes` | delete expired rows and empty mailboxes |
/// | `put_blob`, `blob`, `blob_pieces`, `blobs`, `drop_blob` | store, read and delete blobs |
/// | `blob_use`, `sweep_blobs` | sum up blobs, and delete expired ones |
/// | `known` | returns the ids that have an account or prekeys |
/// | `clock`, `remember`, `confirm` | read and write the clock state |
/// | `lock` | locks mailboxes in a fixed order, first in a transaction of several calls, against deadlocks |
/// | `meet` | does the same if not every id may have a mailbox |
/// | `settings`, `schema_version` | return what a relay checks at its start |
/// | `partition` | returns the number by which PL/Proxy distributes mailboxes |
///
/// Every change to a mailbox locks its row. This keeps its counts right, and makes its sequence numbers visible in
/// order, however many relays write. The tables are those of ``SQLiteStore``, except that each mailbox has its own
/// sequence.
enum PostgresSchema {
    /// The scripts, by version: `sotto.sql`, split at the lines that begin version 2 and later ones.
    static let scripts: [String] = {
        var scripts = [""]
        let text = String(decoding: PackageResources.sotto_sql, as: UTF8.self)
        for line in text.split(separator: "\n") {
            if line.hasPrefix("-- Version ") { scripts.append("") }
            scripts[scripts.count - 1] += line + "\n"
        }
        return scripts
    }()

    /// Returns the number in `sotto.schema_version` after these scripts, of which the first names it itself.
    static func number(of scripts: some Collection<String>) -> Int64 {
        SchemaVersion.number(of: scripts.map(text))
    }

    /// Returns a script without its own number.
    static func text(_ script: String) -> String {
        script.split(separator: "\n")
            .filter { !$0.hasPrefix("    INSERT INTO sotto.schema_version SELECT ") }
            .joined(separator: "\n")
    }

    /// The advisory lock of an upgrade's transaction.
    static let lock = 7_667_000_001
}
