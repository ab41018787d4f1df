import NIOCore
import Sotto
import Synchronization

/// Who consumes which mailbox: one connection each, the newest.
final class Hub: Sendable {
    private let consumers = Mutex<[SessionID: ClientConnection]>([:])

    /// Makes a connection the mailbox's consumer; returns the one that it replaces.
    func subscribe(_ connection: ClientConnection, to mailbox: SessionID) -> ClientConnection? {
        consumers.withLock { $0.updateValue(connection, forKey: mailbox) }
    }

    /// Ends a connection's consumption, unless another one has taken over.
    func unsubscribe(_ connection: ClientConnection, from mailbox: SessionID) {
        consumers.withLock { consumers in
            if consumers[mailbox] === connection { consumers[mailbox] = nil }
        }
    }

    /// The mailboxes that are consumed.
    var mailboxes: [SessionID] { consumers.withLock { Array($0.keys) } }

    /// Wakes the consumers of mailboxes that got something.
    func wake(_ mailboxes: Set<SessionID>) {
        for consumer in consumers(of: mailboxes) {
            consumer.loop.execute { consumer.wake() }
        }
    }

    /// The consumers of some mailboxes.
    func consumers(of mailboxes: some Sequence<SessionID>) -> [ClientConnection] {
        consumers.withLock { consumers in
            consumers.isEmpty ? [] : mailboxes.compactMap { consumers[$0] }
        }
    }
}
