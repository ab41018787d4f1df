package import Sotto
import SottoDatabase

/// A group in which a move of the owner to another relay would separate the owner from members who are no contacts.
package struct SeparatedGroup {
    /// The name for people.
    package let name: String
    /// Whether the owner may list the relays in the group.
    package let mayList: Bool
    /// The relays that the group would have to list, those that it lists now first.
    package let relays: [String]
}

extension StateTransaction {
    /// Returns the groups with members who would get nothing from the owner, or could send nothing, after a move from the relay
    /// `former` to `relay`: the group does not list the relay of the one or of the other. Call it in a preview.
    package func groupsSeparated(
        by relay: String, from former: String
    ) throws(StateError) -> [SeparatedGroup] {
        var separated: [SeparatedGroup] = []
        for header in try groupHeaders() {
            guard case .group(let group) = try readGroup(header), group.rank > .nobody else {
                continue
            }
            let policy = group.state.policy
            var missing: [String] = []
            for member in group.members where member.id != owner.id {
                guard try readableContact(id: member.id)?.card == nil,
                    let theirs = try note(of: member.id, in: group).card?.relay,
                    policy.relays(and: former).address(of: theirs) != nil
                else { continue }
                for (address, own) in [(theirs, relay), (relay, theirs)]
                where policy.relays(and: own).address(of: address) == nil
                    && !missing.contains(address)
                { missing.append(address) }
            }
            guard !missing.isEmpty else { continue }
            separated.append(
                SeparatedGroup(
                    name: try shownName(of: group.id), mayList: group.rank >= .admin,
                    relays: policy.relays + missing))
        }
        return separated
    }
}
