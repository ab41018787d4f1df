import SottoDatabase

/// Waits for changes of a state by any process.
public final class StateWatch {
    private let store: IdentityStore
    private let file: DatabaseWatch

    fileprivate init(_ store: IdentityStore) {
        self.store = store
        file = DatabaseWatch(path: store.database.path)
    }

    /// Returns after the next transaction of another process, or after some seconds without one, at most `seconds`, and erases the
    /// messages whose lifetime has ended. A change since the last call, or since the watch began, counts.
    public func wait(atMost seconds: Double = IdentityStore.expiryInterval) throws(StateError) {
        if file.wait(timeout: min(seconds, IdentityStore.expiryInterval)) {
            // The file is written before the transaction is committed. This transaction gets the lock of writers after that one.
            do throws(StateError) {
                try store.database.transaction { (_: StateConnection) throws(StateError) in }
            } catch .database(.locked) {
                // The transaction takes long. It writes again at its end.
            }
        }
        try store.expire()
    }
}

extension IdentityStore {
    /// Watches the state from now on.
    public func watch() -> StateWatch { StateWatch(self) }
}
