public import Sotto
import Synchronization

/// Who may have a mailbox at a relay: everybody, or those who are members.
public struct AdmissionPlan: Sendable {
    /// Whether those may who redeemed an invitation or were admitted.
    public var isByInvitation = false
    /// Those who may because a list has them; `nil` without a list.
    public var list: Set<SessionID>?

    /// Everybody may.
    public init() {}

    /// Whether everybody may.
    public var isOpen: Bool { !isByInvitation && list == nil }
}

/// Who may have a mailbox at a running relay.
final class Admission: Sendable {
    let isOpen: Bool
    let isByInvitation: Bool
    private let list: Mutex<Set<SessionID>>

    init(_ plan: AdmissionPlan) {
        isOpen = plan.isOpen
        isByInvitation = plan.isByInvitation
        list = Mutex(plan.list ?? [])
    }

    /// Those on the list.
    var listed: Set<SessionID> {
        get { list.withLock { $0 } }
        set { list.withLock { $0 = newValue } }
    }

    /// Whether an id may have a mailbox, with what the store knows of it.
    func admits(_ id: SessionID, _ account: Account?) -> Bool {
        isOpen || list.withLock { $0.contains(id) }
            || isByInvitation && account?.isMember == true
    }
}
