import NIOCore
import Sotto
import Synchronization

/// Who consumes which mailbox: one connection each, the newest.
final class Hub: Sendable {
    private let consumers = Mutex<[SessionID: ClientConnection]>([:])
    private let wakeUps = Mutex<WakeUps?>(nil)

    /// Tells these of mail that nobody takes at once.
    func attach(_ wakeUps: WakeUps) { self.wakeUps.withLock { $0 = wakeUps } }

    /// How many mailboxes are being consumed.
    var count: Int { consumers.withLock { $0.count } }

    /// Makes a connection the mailbox's consumer; returns the one that it replaces.
    func subscribe(_ connection: ClientConnection, to mailbox: SessionID) -> ClientConnection? {
        let older = consumers.withLock { $0.updateValue(connection, forKey: mailbox) }
        wakeUps.withLock { $0 }?.forget(mailbox)
        return older
    }

    /// Ends a connection's consumption, unless another one has taken over.
    func unsubscribe(_ connection: ClientConnection, from mailbox: SessionID) {
        consumers.withLock { consumers in
            if consumers[mailbox] === connection { consumers[mailbox] = nil }
        }
    }

    /// The mailboxes that are consumed.
    var mailboxes: [SessionID] { consumers.withLock { Array($0.keys) } }

    /// Wakes the consumers of mailboxes that got something elsewhere.
    func wake(_ mailboxes: Set<SessionID>) {
        let present = consumers.withLock { consumers in
            mailboxes.compactMap { mailbox in consumers[mailbox].map { ($0, mailbox) } }
        }
        Self.wake(present)
    }

    /// Wakes consumers, each once.
    private static func wake(_ arrived: [(ClientConnection, SessionID)]) {
        for group in Dictionary(grouping: arrived, by: { ObjectIdentifier($0.0) }).values {
            let (consumer, mailboxes) = (group[0].0, group.map(\.1))
            consumer.loop.execute { consumer.wake(mailboxes) }
        }
    }

    /// Wakes the consumers of mailboxes that got so much mail. Where there is none, somebody may have to be woken.
    func wake(_ arrived: [SessionID: Int]) {
        let wakeUps = wakeUps.withLock { $0 }
        var alone: [SessionID: Int] = [:]
        let present = consumers.withLock { consumers -> [(ClientConnection, SessionID)] in
            if consumers.isEmpty {
                alone = arrived
                return []
            }
            if wakeUps != nil { alone = arrived.filter { consumers[$0.key] == nil } }
            return arrived.keys.compactMap { mailbox in
                consumers[mailbox].map { ($0, mailbox) }
            }
        }
        Self.wake(present)
        wakeUps?.note(alone)
    }
}
