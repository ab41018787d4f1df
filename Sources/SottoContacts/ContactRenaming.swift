package import Sotto
package import SottoState
import SottoTool

extension AddressBook {
    /// Gives a contact another name, which ``ContactName/checked(_:)`` has returned. Returns notes about what is called
    /// differently now. Throws ``ContactError/nameTaken(_:)``, and a failure with status 66 if `id` is no contact; `text` are the
    /// words that named it.
    package func rename(_ id: KeyID, named text: String, to name: String) throws -> [String] {
        let (former, contact) = try writableStore().transaction { transaction in
            // Another process may have removed the contact meanwhile.
            guard var contact = try transaction.contact(id: id) else {
                throw Failure.noContact(text)
            }
            let former = contact.name
            contact.name = name
            try transaction.save(contact)
            return (former, contact)
        }
        let shown = former.isEmpty ? "the contact" : former
        return ["\(shown) is now called \(name)"] + (try nameNotes(of: contact))
    }

    /// Returns notes about the new name of a contact: the known name that it looks like, and the groups whose names are now that of
    /// the contact, or the beginning of it.
    package func nameNotes(of contact: Contact) throws -> [String] {
        guard let store = try store() else { return [] }
        return try store.preview { transaction in
            let contacts = try transaction.allContacts()
            let names = try transaction.groupNames(beside: contacts)
            let known = LookAlikeNames(
                owner: transaction.owner, contacts: contacts, groups: names)
            let alike = known.holder(like: contact.name, of: contact.id).map { holder in
                "the name \"\(contact.name)\" \(holder.likeness)"
            }
            let renamed = try transaction.groupHeaders().compactMap { header -> String? in
                guard let name = names[header.id], name != header.name,
                    NameRule.isBeginning(header.name, of: contact.name)
                else { return nil }
                return "the group \(header.name) is called \(name) from now on"
            }
            return [alike].compactMap(\.self) + renamed
        }
    }
}
