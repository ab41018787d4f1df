import Sotto
import SottoWire

/// The mailboxes that are open on a connection, and their subscriptions.
struct OpenMailboxes {
    private var first: KeyID?
    private var subscriptions: [KeyID: Subscription?] = [:]

    /// Opens a mailbox. Returns false at the limit.
    mutating func open(_ mailbox: KeyID) -> Bool {
        if subscriptions[mailbox] != nil { return true }
        guard subscriptions.count < WireLimits.openMailboxes else { return false }
        first = first ?? mailbox
        subscriptions[mailbox] = .some(nil)
        return true
    }

    /// Returns the named mailbox, or the first one without a name, or `nil` if it is not open.
    func find(_ mailbox: KeyID?) -> KeyID? {
        guard let mailbox else { return first }
        return subscriptions[mailbox] == nil ? nil : mailbox
    }

    /// The mailboxes with a subscription.
    var subscribed: [KeyID] { subscriptions.compactMap { $0.value == nil ? nil : $0.key } }

    /// The subscription of a mailbox, or `nil`.
    subscript(mailbox: KeyID) -> Subscription? {
        get { subscriptions[mailbox] ?? nil }
        set { if subscriptions[mailbox] != nil { subscriptions[mailbox] = .some(newValue) } }
    }
}
