public import Sotto
public import SottoWire

/// Changes the members of a relay, even while the relay runs.
public enum Membership {
    /// Stores new invitations that expire after `days` days, and returns their codes. The store keeps no codes.
    public static func invite(_ count: Int, days: Int64, in store: StoreLocation)
        throws(StoreError) -> [InvitationCode]
    {
        let codes = (0..<count).map { _ in InvitationCode() }
        try change(store) { minute in
            codes.map {
                .invite(
                    StoredInvitation(tag: $0.tag, key: $0.publicKey, until: minute + days * 24 * 60)
                )
            }
        }
        return codes
    }

    /// Makes ids members, or ends their membership.
    public static func set(_ ids: [KeyID], isMember: Bool, in store: StoreLocation)
        throws(StoreError)
    {
        try change(store) { _ in ids.map { .update($0, .membership(isMember)) } }
    }

    private static func change(_ location: StoreLocation, _ changes: (Int64) -> [Change])
        throws(StoreError)
    {
        let store = try location.open(Retention(), isExclusive: false)
        let minute = RelayClock().minute
        let outcomes: [Outcome]
        do throws(StoreError) {
            outcomes = try store.commit(changes(minute), at: minute)
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
        guard !outcomes.contains(.diskFull) else { throw .full(name: location.name) }
    }
}
