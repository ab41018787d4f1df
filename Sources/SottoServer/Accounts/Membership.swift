public import Sotto
public import SottoWire

/// Reads and changes the members of a relay, even while the relay runs.
public enum Membership {
    /// A member of a relay.
    public struct Member: Sendable {
        /// The id.
        public let id: KeyID
        /// The label of the invitation, or an empty text.
        public let label: String
        /// The member who made the invitation, or `nil`.
        public let inviter: KeyID?
        /// When the member was last active; it is noted at most once a day.
        public let active: Timestamp
    }

    /// An invitation that was not deleted.
    public struct Invitation: Sendable {
        /// The 16 bytes that identify the code, which cannot be computed from them.
        public let tag: [UInt8]
        /// The label of the operator or of the member who made the code, or an empty text.
        public let label: String
        /// The member who made the code, or `nil` for the operator.
        public let inviter: KeyID?
        /// When an unused code expires.
        public let expires: Timestamp
        /// The id that redeemed the code, or `nil`.
        public let owner: KeyID?
    }

    /// Returns the members that were invited or admitted, in the order of their labels and ids.
    public static func members(in location: StoreLocation) throws(StoreError) -> [Member] {
        try opened(location) { store throws(StoreError) in
            var used: [KeyID: StoredInvitation] = [:]
            for invitation in try store.invitations() {
                guard let owner = invitation.owner else { continue }
                // One of the operator counts before one of a member.
                if used[owner] == nil || invitation.inviter == nil { used[owner] = invitation }
            }
            return try store.members().map { member in
                Member(
                    id: member.id, label: used[member.id]?.label ?? "",
                    inviter: used[member.id]?.inviter,
                    active: Timestamp(seconds: member.minute * 60))
            }.sorted { ($0.label, $0.id.description) < ($1.label, $1.id.description) }
        }
    }

    /// Returns the invitations in the order in which they expire.
    public static func invitations(in location: StoreLocation) throws(StoreError) -> [Invitation] {
        try opened(location) { store throws(StoreError) in
            try store.invitations().map { invitation in
                Invitation(
                    tag: invitation.tag, label: invitation.label, inviter: invitation.inviter,
                    expires: Timestamp(seconds: invitation.until * 60), owner: invitation.owner)
            }.sorted { ($0.expires, $0.label) < ($1.expires, $1.label) }
        }
    }

    /// Stores new invitations that expire after `days` days, and returns their codes. The store keeps no codes. The label names
    /// the invited person in the lists.
    public static func invite(
        _ count: Int, days: Int64, label: String = "", in store: StoreLocation
    ) throws(StoreError) -> [InvitationCode] {
        let codes = (0..<count).map { _ in InvitationCode() }
        try change(store) { _, minute in
            codes.map {
                .invite(
                    StoredInvitation(
                        tag: $0.tag, key: $0.publicKey, until: minute + days * 24 * 60,
                        label: label))
            }
        }
        return codes
    }

    /// Whether a text may be a label: 1 to 64 bytes, without invisible characters.
    public static func isLabel(_ text: String) -> Bool { StoredInvitation.isLabel(text) }

    /// Makes ids members, or ends their membership and the open codes that they made.
    public static func set(_ ids: [KeyID], isMember: Bool, in store: StoreLocation)
        throws(StoreError)
    {
        try change(store) { store, _ throws(StoreError) in
            let revoked =
                isMember
                ? []
                : try store.invitations().filter { invitation in
                    invitation.owner == nil && invitation.inviter.map(ids.contains) == true
                }
            return ids.map { .update($0, .membership(isMember)) } + revoked.map { .revoke($0.tag) }
        }
    }

    /// Ends the open code with a tag. Returns false if there is none: it was used or has been deleted.
    public static func revoke(_ tag: [UInt8], in store: StoreLocation) throws(StoreError) -> Bool {
        try change(store) { _, _ in [.revoke(tag)] } == [.published]
    }

    @discardableResult
    private static func change(
        _ location: StoreLocation,
        _ changes: (any CopyableStore, Int64) throws(StoreError) -> [Change]
    ) throws(StoreError) -> [Outcome] {
        let minute = RelayClock().minute
        let outcomes = try opened(location) { store throws(StoreError) in
            try store.commit(changes(store, minute), at: minute)
        }
        guard !outcomes.contains(.diskFull) else { throw .full(name: location.name) }
        return outcomes
    }

    /// Opens a store, which a relay may use, for one call.
    private static func opened<T>(
        _ location: StoreLocation, _ body: (any CopyableStore) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let store = try location.open(Retention(), isExclusive: false)
        let value: T
        do throws(StoreError) {
            value = try body(store)
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
        return value
    }
}
