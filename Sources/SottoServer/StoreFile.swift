import SottoDatabase

/// The file of a store, for programs other than the relay.
public enum StoreFile {
    /// The number of schema versions that this relay knows.
    public static var versions: Int { SQLiteStore.migrations.count }

    /// Copies a store, as of one moment, to a file that is empty or does not exist. A relay may be using the store.
    public static func copy(_ path: String, to new: String) throws(StoreError) {
        do throws(DatabaseError) {
            try DatabaseCopy.make(
                of: path, to: new, versions: versions, tables: ["mailbox", "envelope", "seen"])
        } catch {
            throw StoreError(error)
        }
    }
}
