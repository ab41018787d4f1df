package import Sotto

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
        /// The place of the first change that gave the group this name: a lower one was stored before.
        let place: Int64
        let continued: GroupID?

        init(_ group: StoredGroup?) {
            guard let group else {
                (isJoined, place, continued) = (false, .max, nil)
                return
            }
            let name = NameRule.folded(group.name)
            isJoined = group.standing == .member
            continued = isJoined ? group.continued : nil
            place =
                group.log.changes.filter {
                    if case .set(.name(let text)) = $0.act {
                        NameRule.folded(text) == name
                    } else {
                        false
                    }
                }.compactMap { group.places[$0.id] }.min() ?? .max
        }
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
            others.append((name.folded == folded, other, Claim(try readableGroup(other))))
        }
        let own = Claim(try readableGroup(id))
        // A group that continues another one has its name.
        let continued = Set((others.map(\.claim) + [own]).compactMap(\.continued))
        let isJoined = own.isJoined && !continued.contains(id)
        return others.contains { other in
            guard other.claim.isJoined, !continued.contains(other.id) else {
                // Neither of two invitations with one name has it.
                return !isJoined && other.isSame
            }
            return !isJoined || other.claim.place < own.place
        }
    }
}
