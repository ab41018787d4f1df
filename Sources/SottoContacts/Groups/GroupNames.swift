import Sotto
package import SottoState
import SottoTool

extension AddressBook {
    /// The shortest beginning of a group's id that names it, in characters.
    private static let idPrefix = 8

    /// Returns the group that a name, an id or the beginning of an id means, or `nil`. `hasPriority` tells that the text names
    /// no person.
    ///
    /// Throws a failure with status 64 if several groups match, or if a contact has the name too.
    package func group(named text: String, hasPriority: Bool = false) throws -> StoredGroup? {
        guard let store = try store() else { return nil }
        let wanted = text.lowercased()
        let group: StoredGroup? = try store.preview { transaction in
            let headers = try transaction.groupHeaders()
            // An id means one group, whatever the names of other groups are.
            let id = GroupID(wanted)
            let found = headers.filter { header in
                if let id { return header.id == id }
                return header.name.lowercased() == wanted
                    || wanted.utf8.count >= Self.idPrefix
                        && header.id.description.hasPrefix(wanted)
            }.map(\.id)
            var groups = try found.compactMap { try transaction.group($0) }
            // An invitation does not take the name of a joined group. A group that continues another one does.
            let continued = Set(groups.filter { $0.standing == .member }.compactMap(\.continued))
            let joined = groups.filter { $0.standing == .member && !continued.contains($0.id) }
            let isNamed = groups.allSatisfy { $0.name.lowercased() == wanted }
            if joined.count == 1, isNamed { groups = joined }
            guard groups.count < 2 else {
                throw Failure(
                    .usage, "\(text) is the name of several groups",
                    hint: "use the beginning of an id: sotto group list")
            }
            return groups.first
        }
        guard let group else { return nil }
        guard !hasPriority, let contact = try lookUpName(text) else { return group }
        // An invitation does not take the name of a contact.
        guard group.standing == .member else { return nil }
        throw Failure(
            .usage, "\(text) is both a group and a contact",
            hint: "use an id: \(group.id.short) or \(contact.short)")
    }

    /// Returns the id of the contact with exactly this name, or `nil`.
    private func lookUpName(_ text: String) throws -> SessionID? {
        guard case .found(let contact) = try store()?.resolve(text) ?? .unknown,
            contact.name.lowercased() == text.lowercased()
        else { return nil }
        return contact.id
    }

    /// Returns the group that an argument names. Throws a failure with status 66 if none does.
    package func requiredGroup(_ text: String) throws -> StoredGroup {
        guard let group = try group(named: text, hasPriority: true) else {
            throw Failure(
                .noInput, "\(text) is not a group", hint: "list the groups: sotto group list")
        }
        return group
    }
}
