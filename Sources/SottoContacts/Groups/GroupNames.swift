package import Sotto
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
        let groups = try store.groups()
        var found = groups.filter { $0.name.lowercased() == wanted }
        if found.isEmpty, wanted.utf8.count >= Self.idPrefix {
            found = groups.filter { $0.id.description.hasPrefix(wanted) }
        }
        // An invitation does not take the name of a joined group.
        if found.count > 1, case let joined = found.filter({ $0.standing == .member }),
            joined.count == 1
        {
            found = joined
        }
        guard let group = found.first else { return nil }
        guard found.count == 1 else {
            throw Failure(
                .usage, "\(text) is the name of several groups",
                hint: "use the beginning of an id: sotto group list")
        }
        guard !hasPriority, let contact = try lookUpName(text) else { return group }
        throw Failure(
            .usage, "\(text) is both a group and a contact",
            hint: "use an id: \(group.id.description.prefix(16)) or \(contact.short)")
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
