import Sotto
import SottoWire

/// The mailboxes that are open on a connection, and how far each has been pushed.
struct OpenMailboxes {
    private var first: SessionID?
    private var subscriptions: [SessionID: Subscription?] = [:]

    /// Opens a mailbox; false when there are too many.
    mutating func open(_ mailbox: SessionID) -> Bool {
        if subscriptions[mailbox] != nil { return true }
        guard subscriptions.count < WireLimits.openMailboxes else { return false }
        first = first ?? mailbox
        subscriptions[mailbox] = .some(nil)
        return true
    }

    /// The mailbox that is named, or the first one; `nil` where it is not open.
    func find(_ mailbox: SessionID?) -> SessionID? {
        guard let mailbox else { return first }
        return subscriptions[mailbox] == nil ? nil : mailbox
    }

    /// Closes a mailbox.
    mutating func close(_ mailbox: SessionID) {
        subscriptions[mailbox] = nil
        if first == mailbox { first = subscriptions.keys.first }
    }

    /// The mailboxes that are pushed.
    var subscribed: [SessionID] { subscriptions.compactMap { $0.value == nil ? nil : $0.key } }

    /// How far a mailbox has been pushed; `nil` while it is not.
    subscript(mailbox: SessionID) -> Subscription? {
        get { subscriptions[mailbox] ?? nil }
        set { if subscriptions[mailbox] != nil { subscriptions[mailbox] = .some(newValue) } }
    }
}
