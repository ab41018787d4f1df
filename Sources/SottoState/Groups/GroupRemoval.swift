package import Sotto

/// Removal of members, and the end of a group.
extension StateTransaction {
    /// Returns the limits for a member who is removed: the last message of each of the member's chains that is here. For the
    /// owner, who leaves, the last message sent in each own chain.
    package func limits(
        of member: KeyID, in group: StoredGroup
    ) throws(StateError) -> [GroupChange.Limit] {
        if member == owner.id {
            let own = try ownChain(of: group)?.all ?? []
            return own.filter { $0.count > 0 }.map {
                GroupChange.Limit(device: owner.device, chain: $0.chain, iteration: $0.count - 1)
            }
        }
        var limits: [GroupChange.Limit] = []
        for seat in group.seats(of: member) {
            limits += try chains(of: seat.device, in: group).map(\.chain).filter {
                $0.iteration > 0
            }.map {
                GroupChange.Limit(
                    device: seat.device, chain: $0.id, iteration: $0.iteration - 1)
            }
        }
        return limits
    }

    /// Removes or bans members with one change, or with several if their limits need more space than one has. Each
    /// change has all limits of its targets. Of people who have not joined, the invitations are taken back. Throws
    /// ``GroupError/refused`` if a member or an invitation stays.
    package func cut(
        _ members: [KeyID], in group: StoredGroup,
        _ act: ([KeyID], [GroupChange.Limit]) -> GroupChange.Act
    ) throws -> StoredGroup {
        var group = group
        if group.log.heads.count > StoredGroup.mostHeadsOfCut,
            group.headsForRemoval(of: members) == nil
        {
            group = try write(.merge, in: group)
        }
        for part in try cuts(of: members, in: group) {
            group = try write(act(part.members, part.limits), in: group)
        }
        let isDone = members.allSatisfy { member in
            group.state.ranks[member] == nil
                && group.log.invitation(of: member, in: group.state) == nil
        }
        guard isDone else { throw GroupError.refused }
        return group
    }

    /// Deletes a group for all: closes its rules and its door, removes all other members, takes the invitations back, and leaves.
    /// Returns the group, and the former members and invited people. The caller tells them.
    ///
    /// Throws ``GroupError/refused`` if the owner of the state is not the only owner of the group.
    package func delete(
        _ group: StoredGroup
    ) throws -> (group: StoredGroup, people: [KeyID]) {
        let members = group.members.filter { $0.id != owner.id }
        guard group.rank == .owner, members.allSatisfy({ $0.rank < .owner }) else {
            throw GroupError.refused
        }
        // A person who never got the invitation hears of no group.
        let invited = try group.invitees.filter { try note(of: $0, in: group).told > 0 }
        let people = members.map(\.id) + invited
        var group = try write(.policy(group.state.policy.closed), in: group)
        if !people.isEmpty { group = try cut(people, in: group) { .remove($0, $1) } }
        group = try write(.leave(limits(of: owner.id, in: group)), in: group)
        guard group.isDeleted, group.rank == .nobody else { throw GroupError.refused }
        return (group, people)
    }

    /// The most bytes of the members and limits of one removal, and the bytes of one of them in canonical JSON.
    private static let cutBytes = GroupChange.limit - 3 << 10
    private static let memberBytes = 72
    private static let limitBytes = 200

    /// Distributes members over changes.
    private func cuts(
        of members: [KeyID], in group: StoredGroup
    ) throws(StateError) -> [(members: [KeyID], limits: [GroupChange.Limit])] {
        var parts: [(members: [KeyID], limits: [GroupChange.Limit])] = []
        for member in members {
            let limits = try limits(of: member, in: group)
            if let last = parts.last, Self.fits(last, limits.count) {
                parts[parts.count - 1].members.append(member)
                parts[parts.count - 1].limits += limits
            } else {
                parts.append(([member], limits))
            }
        }
        return parts
    }

    /// Whether a removal has space for a further member with a number of limits.
    private static func fits(
        _ part: (members: [KeyID], limits: [GroupChange.Limit]), _ limits: Int
    ) -> Bool {
        let (members, limits) = (part.members.count + 1, part.limits.count + limits)
        return max(members, limits) <= GroupChange.mostMembers
            && members * memberBytes + limits * limitBytes <= cutBytes
    }
}
