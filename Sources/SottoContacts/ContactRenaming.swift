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
        return ["\(shown) is now called \(name)"] + (try groupNotes(of: contact))
    }

    /// Returns notes about the groups whose names are now those of a contact, or the beginning of one.
    package func groupNotes(of contact: Contact) throws -> [String] {
        guard let store = try store() else { return [] }
        return try store.preview { transaction in
            let names = try transaction.groupNames()
            return try transaction.groupHeaders().compactMap { header in
                guard let name = names[header.id], name != header.name,
                    NameRule.isBeginning(header.name, of: contact.name)
                else { return nil }
                return "the group \(header.name) is called \(name) from now on"
            }
        }
    }
}
