public import Sotto

/// Work on an identity's state: one transaction, durable when it ends, and without a trace when it throws.
///
/// Messages are opened and sealed as values first; what is to be kept of them is kept with a call of its own, so that a
/// message that is refused changes nothing.
public final class StateTransaction {
    let store: IdentityStore
    let connection: Connection
    var sessions: [SessionID: [SessionSlot]] = [:]
    var contacts: [SessionID: Contact?] = [:]
    var hasAnyContact: Bool?
    /// The bytes of requests that are set aside, once they were counted.
    var bytesAside: Int64?
    /// The most bytes of requests that are set aside; tests lower it.
    package var bytesAsideLimit = IdentityStore.bytesAsideLimit

    init(store: IdentityStore, connection: Connection) {
        self.store = store
        self.connection = connection
    }

    /// Whose state it is.
    public var owner: Identity { store.owner }
}

extension IdentityStore {
    /// Runs `body` in one transaction. Another process that writes is waited for first.
    public func transaction<T>(_ body: (StateTransaction) throws -> T) throws -> T {
        try database.work { connection in
            let transaction = StateTransaction(store: self, connection: connection)
            let value = try body(transaction)
            try transaction.writeSessions()
            return value
        }
    }

    /// Runs `body` and keeps nothing of it.
    public func preview<T>(_ body: (StateTransaction) throws -> T) throws -> T {
        try database.view { connection in
            try body(StateTransaction(store: self, connection: connection))
        }
    }
}
