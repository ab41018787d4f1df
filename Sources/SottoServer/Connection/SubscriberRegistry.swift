import NIOCore
import Sotto
import Synchronization

/// The subscriber of each mailbox: one connection, the newest.
final class SubscriberRegistry: Sendable {
    private let consumers = Mutex<[KeyID: ClientConnection]>([:])
    private let wakeUps = Mutex<[WakeUps]>([])

    /// Adds wake-ups that announce mail in mailboxes without a subscriber.
    func attach(_ wakeUps: WakeUps) { self.wakeUps.withLock { $0.append(wakeUps) } }

    /// The number of mailboxes with a subscriber.
    var count: Int { consumers.withLock { $0.count } }

    /// Makes a connection the subscriber of a mailbox. Returns the connection that it replaces, or `nil`.
    func subscribe(_ connection: ClientConnection, to mailbox: KeyID) -> ClientConnection? {
        let older = consumers.withLock { $0.updateValue(connection, forKey: mailbox) }
        for wakeUps in wakeUps.withLock({ $0 }) { wakeUps.forget(mailbox) }
        return older
    }

    /// Removes a connection as subscriber, unless another one has replaced it.
    func unsubscribe(_ connection: ClientConnection, from mailbox: KeyID) {
        consumers.withLock { consumers in
            if consumers[mailbox] === connection { consumers[mailbox] = nil }
        }
    }

    /// Returns the subscriber of each mailbox, or `nil`, in the same order.
    func find(_ mailboxes: [KeyID]) -> [ClientConnection?] {
        consumers.withLock { consumers in mailboxes.map { consumers[$0] } }
    }

    /// The mailboxes with a subscriber.
    var mailboxes: [KeyID] { consumers.withLock { Array($0.keys) } }

    /// Notifies the subscribers of mailboxes to which another relay delivered.
    func wake(_ mailboxes: Set<KeyID>) {
        let present = consumers.withLock { consumers in
            mailboxes.compactMap { mailbox in consumers[mailbox].map { ($0, mailbox) } }
        }
        Self.wake(present)
    }

    /// Notifies connections, each once.
    private static func wake(_ arrived: [(ClientConnection, KeyID)]) {
        for group in Dictionary(grouping: arrived, by: { ObjectIdentifier($0.0) }).values {
            let (consumer, mailboxes) = (group[0].0, group.map(\.1))
            consumer.loop.execute { consumer.wake(mailboxes) }
        }
    }

    /// Notifies the subscribers of mailboxes that got mail. Mailboxes without a subscriber may get a wake-up.
    func wake(_ arrived: [KeyID: Arrivals]) {
        let all = wakeUps.withLock { $0 }
        let present = consumers.withLock { consumers -> [(ClientConnection, KeyID)] in
            // Under the lock: a later subscriber takes the wake-up back.
            if consumers.isEmpty {
                for wakeUps in all { wakeUps.note(arrived) }
                return []
            }
            if !all.isEmpty {
                let waiting = arrived.filter { consumers[$0.key] == nil }
                for wakeUps in all { wakeUps.note(waiting) }
            }
            return arrived.keys.compactMap { mailbox in
                consumers[mailbox].map { ($0, mailbox) }
            }
        }
        Self.wake(present)
    }
}
