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
    private let list: Mutex<Listed>

    private struct Listed {
        var ids: Set<SessionID> = []
        /// When the store got to know them; `nil` before.
        var noted: Double?
    }

    /// Seconds after which the store is told again who is on the list: it forgets who is not seen for a year.
    private static let noteSeconds = 86_400.0

    init(_ plan: AdmissionPlan) {
        isOpen = plan.isOpen
        isByInvitation = plan.isByInvitation
        list = Mutex(Listed(ids: plan.list ?? []))
    }

    /// Puts another list in place of the one there was.
    func replace(_ ids: Set<SessionID>) { list.withLock { $0 = Listed(ids: ids) } }

    /// Whether an id is on the list of members.
    func lists(_ id: SessionID) -> Bool { list.withLock { $0.ids.contains(id) } }

    /// Those on the list, if the store is to be told of them.
    func unnoted(at now: Double) -> Set<SessionID>? {
        list.withLock { list in
            let isDue = list.noted.map { $0 + Self.noteSeconds < now } ?? true
            return isDue && !list.ids.isEmpty ? list.ids : nil
        }
    }

    /// The store knows these now.
    func markNoted(_ ids: Set<SessionID>, at now: Double) {
        list.withLock { if $0.ids == ids { $0.noted = now } }
    }

    /// Whether an id may have a mailbox, with what the store knows of it.
    func admits(_ id: SessionID, _ account: Account?) -> Bool {
        isOpen || list.withLock { $0.ids.contains(id) }
            || isByInvitation && account?.isMember == true
    }
}
