public import Sotto
import Synchronization

/// Which ids may have a mailbox at a relay: all, or only members.
public struct AdmissionPlan: Sendable {
    /// Whether ids that redeemed an invitation or were admitted may have a mailbox.
    public var isByInvitation = false
    /// The ids of the operator's list, or `nil` without a list.
    public var list: Set<KeyID>?
    /// The most invitations of a member that were used or are open.
    public var invitationsPerMember: Int64 = 0

    /// Creates a plan that admits every id.
    public init() {}

    /// Whether every id may have a mailbox.
    public var isOpen: Bool { !isByInvitation && list == nil }
}

/// Decides which ids may have a mailbox at a running relay.
final class Admission: Sendable {
    let isOpen: Bool
    let isByInvitation: Bool
    private let list: Mutex<Listed>

    private struct Listed {
        var ids: Set<KeyID> = []
        /// The time at which the store got the list; `nil` before.
        var stored: Double?
    }

    /// Seconds after which the list is written to the store again: the store deletes ids without activity for a year.
    private static let noteSeconds = 86_400.0

    init(_ plan: AdmissionPlan) {
        isOpen = plan.isOpen
        isByInvitation = plan.isByInvitation
        list = Mutex(Listed(ids: plan.list ?? []))
    }

    /// Replaces the list.
    func replace(_ ids: Set<KeyID>) { list.withLock { $0 = Listed(ids: ids) } }

    /// Whether an id is on the list.
    func lists(_ id: KeyID) -> Bool { list.withLock { $0.ids.contains(id) } }

    /// Returns the list if it is time to write it to the store, or `nil`.
    func listToStore(at now: Double) -> Set<KeyID>? {
        list.withLock { list in
            let isDue = list.stored.map { $0 + Self.noteSeconds < now } ?? true
            return isDue && !list.ids.isEmpty ? list.ids : nil
        }
    }

    /// Notes that the store has these ids.
    func noteStored(_ ids: Set<KeyID>, at now: Double) {
        list.withLock { if $0.ids == ids { $0.stored = now } }
    }

    /// Whether an id may have a mailbox; `account` is the id's account in the store.
    func admits(_ id: KeyID, _ account: RelayAccount?) -> Bool {
        isOpen || list.withLock { $0.ids.contains(id) }
            || isByInvitation && account?.isMember == true
    }
}
