public import SottoState

/// The file of a store, seen from outside a relay.
public enum StoreFile {
    /// How many versions of the tables this relay knows.
    public static var versions: Int { SQLiteStore.migrations.count }

    /// Copies a store, as it is at one moment, to a file that is empty or not there yet. A relay may be
    /// using it.
    public static func copy(_ path: String, to new: String) throws(StateError) {
        try DatabaseCopy.make(
            of: path, to: new, versions: versions, tables: ["mailbox", "envelope", "seen"])
    }
}
