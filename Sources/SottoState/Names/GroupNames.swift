package import Sotto
import SottoDatabase

/// The names of groups as this state shows and accepts them.
///
/// A group's name comes from other people. If it is `me`, looks like an id, or is the beginning or the whole of the name of a
/// contact or of another group, then the group has a local name: its name with the beginning of its id. Among groups that the
/// owner is a member of, the one that had the name first keeps it. An invitation takes no name from them.
extension StateTransaction {
    /// Returns the local name of each group that has a name.
    package func groupNames() throws(StateError) -> [GroupID: String] {
        try groupNames(beside: allContacts())
    }

    /// Returns the local name of each group like ``groupNames()``. `contacts` are all contacts.
    package func groupNames(beside contacts: [Contact]) throws(StateError) -> [GroupID: String] {
        let headers = try groupHeaders()
        let ids = SortedNames(
            contacts.map { (Array($0.id.description.utf8), nil) }
                + headers.map { (Array($0.id.description.utf8), nil) })
        let people = SortedNames(
            contacts.filter { !$0.name.isEmpty }.map { (NameRule.folded($0.name), nil) })
        let groups = SortedNames(
            headers.filter { !$0.name.isEmpty }.map { (NameRule.folded($0.name), $0.id) })
        var names: [GroupID: String] = [:]
        for header in headers {
            let folded = NameRule.folded(header.name)
            guard !folded.isEmpty else { continue }
            var isTaken =
                NameRule.isReserved(folded, ids: ids)
                || !people.beginning(with: folded).isEmpty
            if !isTaken {
                isTaken = try self.isTaken(
                    folded, from: header.id, by: groups.beginning(with: folded))
            }
            names[header.id] =
                isTaken ? "\(header.name) (\(header.id.description.prefix(8)))" : header.name
        }
        return names
    }

    /// Returns the name of a group in texts for the owner: the name that the owner gave its conversation, else the local name, else
    /// the beginning of its id.
    package func shownName(of group: GroupID) throws(StateError) -> String {
        if let name = try ownName(of: group) { return name }
        return try groupNames()[group] ?? group.short
    }

    /// Returns the names of all groups like ``shownName(of:)``, except those without a name.
    package func shownGroupNames() throws(StateError) -> [GroupID: String] {
        var names = try groupNames()
        for header in try groupHeaders() {
            if let name = try ownName(of: header.id) { names[header.id] = name }
        }
        return names
    }

    private func ownName(of group: GroupID) throws(StateError) -> String? {
        try store.conversationRow(.group(group), connection)?.summary.settings.name
    }

    /// The right of a group to its name.
    private struct Claim {
        /// Whether the owner is a member.
        let isJoined: Bool
        /// When the group got this name here, in seconds since 1970, and the number of the group.
        let order: (Int64, Int64)
        let continued: GroupID?

        func isBefore(_ other: Claim) -> Bool { order < other.order }
    }

    private func claim(_ group: StoredGroup?) throws(StateError) -> Claim {
        guard let group else { return Claim(isJoined: false, order: (.max, .max), continued: nil) }
        let name = NameRule.folded(group.name)
        let place = group.log.changes.filter {
            if case .set(.name(let text)) = $0.act { NameRule.folded(text) == name } else { false }
        }.compactMap { group.places[$0.id] }.min()
        let time = try place.flatMap { place throws(StateError) in
            try connection.first(
                "SELECT time FROM group_change WHERE group_id = ? AND place = ?", group.number,
                place
            ) { $0.integer(0) }
        }
        let isJoined = group.standing == .member
        return Claim(
            isJoined: isJoined, order: (time ?? .max, group.number),
            continued: isJoined ? group.continued : nil)
    }

    /// Returns whether another group has more right to a name that begins with, or is, the name of a group.
    private func isTaken(
        _ folded: [UInt8], from id: GroupID,
        by named: ArraySlice<(folded: [UInt8], group: GroupID?)>
    ) throws(StateError) -> Bool {
        guard named.count > 1 else { return false }
        var others: [(isSame: Bool, id: GroupID, claim: Claim)] = []
        for name in named {
            guard let other = name.group, other != id else { continue }
            others.append((name.folded == folded, other, try claim(readableGroup(other))))
        }
        let own = try claim(readableGroup(id))
        // A group that continues another one has its name.
        let continued = Set((others.map(\.claim) + [own]).compactMap(\.continued))
        let isJoined = own.isJoined && !continued.contains(id)
        return others.contains { other in
            guard other.claim.isJoined, !continued.contains(other.id) else {
                // Neither of two invitations with one name has it.
                return !isJoined && other.isSame
            }
            return !isJoined || other.claim.isBefore(own)
        }
    }
}
