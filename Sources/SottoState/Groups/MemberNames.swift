package import Sotto

/// The names that members have for people who do not have them as contacts.
extension StateTransaction {
    /// Returns the name that a member or a former member chose: the nickname, the last one before a removal, or the name on the
    /// card. It proves nothing. Returns `nil` without a name.
    package func memberName(of id: KeyID, in group: StoredGroup) throws(StateError) -> String? {
        if let nickname = group.state.nicknames[id] { return nickname }
        if let known = memberNames[group.id]?[id] { return known }
        var name = group.log.lastNickname(of: id)
        if name == nil { name = try cardName(of: id, in: group) }
        memberNames[group.id, default: [:]][id] = .some(name)
        return name
    }

    /// Returns the name on the card of a person. A card can have any text: it is no name if a nickname could not be it, or if it
    /// could rearrange the text around it.
    private func cardName(of id: KeyID, in group: StoredGroup) throws(StateError) -> String? {
        guard let name = try note(of: id, in: group).card?.name, name.isPlainLine,
            (1...GroupChange.nameBytes).contains(name.utf8.count)
        else { return nil }
        return name
    }
}

extension GroupLog {
    /// Returns the nickname that the last change of a person gave them, in the order of the log, or `nil`.
    fileprivate func lastNickname(of id: KeyID) -> String? {
        for change in changes.reversed() where change.by == id {
            switch change.act {
            case .set(.nickname(let name)): return name
            case .join(let entry), .doorJoin(let entry, _, _):
                if let name = entry.nickname { return name }
            default: break
            }
        }
        return nil
    }
}
