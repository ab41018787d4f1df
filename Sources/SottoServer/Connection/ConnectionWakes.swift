import Sotto
import SottoWire

/// What members ask of the relay for themselves: wake-ups and invitations.
extension ConnectionState {
    /// Stores a registration for wake-ups. One that was stored a short time ago is not written again. On an open relay a
    /// new one counts as a new id, because any id may log in.
    mutating func register(
        _ wake: StoredWake, replacing known: StoredWake?, _ requestID: String?, at now: Double,
        to sink: some ConnectionEffects
    ) {
        if let known, known.registration == wake.registration,
            wake.until - known.until < StoredWake.restMinutes
        {
            return sink.perform(.respond(.stored, to: requestID))
        }
        let change = Change.registerWake(wake)
        if known == nil, policy.admission.isOpen {
            let bits = policy.newIDLimit.note(change.surgeWeight, at: now)
            if bits != nil || policy.directory.isTight {
                guard solvedPuzzles > 0 else { return refuse(.workRequired, requestID, to: sink) }
                solvedPuzzles -= 1
            }
        }
        let space = known.map { DirectoryLimit.rowBytes + Int64($0.bytes) } ?? 0
        guard policy.directory.admit(change.directoryBytes - space) else {
            policy.counters.add(.deferred)
            return sink.perform(.respond(Outcome.diskFull.response, to: requestID))
        }
        commit(change, requestID, to: sink)
    }

    /// Stores the invitation of a member, within the quota. The store counts again, because the member may use several
    /// connections.
    mutating func invite(
        _ invitation: StoredInvitation, by member: KeyID, _ account: RelayAccount?, _ count: Int64,
        _ requestID: String?, to sink: some ConnectionEffects
    ) {
        guard policy.admission.admits(member, account) else {
            return refuse(.notAdmitted, requestID, to: sink)
        }
        let most = policy.invitationsPerMember
        guard count < most else { return refuse(.noInvitations, requestID, to: sink) }
        commit(.invite(invitation, most: most), requestID, to: sink)
    }
}
