package import Sotto
import SottoDatabase

/// Invitations that the owner did not answer, and groups of which the owner is not a member.
extension StateTransaction {
    /// The most invitations of a person that are not answered, and the most groups that do not invite the owner.
    package static let mostInvitations = 20

    /// Returns the person who invited the owner, or `nil`. The invitation itself can be in a file.
    package func inviter(of group: StoredGroup) throws(StateError) -> KeyID? {
        if let inviter = group.inviter { return inviter }
        return try offerer(of: group)
    }

    /// Makes space for the group of a person. The oldest groups that do not invite the owner are deleted: a part of their
    /// invitations is missing, or they have no invitation, or it was taken back.
    ///
    /// Throws ``GroupError/tooManyInvitations`` if the person has ``mostInvitations``.
    func makeSpace(forGroupOf person: KeyID) throws {
        let headers = try groupHeaders().filter { !$0.isDeclined }
        guard headers.count >= Self.mostInvitations else { return }
        var count = 0
        var others: [StoredGroup] = []
        for header in headers {
            guard case .group(let group) = try readGroup(header),
                group.standing == .invited || group.isInvitationTakenBack
            else { continue }
            if !group.isInvitationTakenBack, let inviter = try inviter(of: group) {
                if inviter == person { count += 1 }
            } else {
                others.append(group)
            }
        }
        guard count < Self.mostInvitations else { throw GroupError.tooManyInvitations }
        for group in others.dropLast(Self.mostInvitations - 1) { try forget(group) }
    }

    /// Deletes a group of which the owner is not a member. Its messages stay in the history. A later invitation begins it anew.
    ///
    /// Throws ``GroupError/member``.
    package func forget(_ group: StoredGroup) throws {
        guard group.standing != .member else { throw GroupError.member }
        for table in [
            "group_change", "group_member", "own_chain", "group_chain", "group_room", "group_file",
            "telling",
        ] {
            try connection.run("DELETE FROM \(table) WHERE group_id = ?", group.number)
        }
        try connection.run("DELETE FROM group_log WHERE number = ?", group.number)
        groups[group.id] = nil
    }
}
