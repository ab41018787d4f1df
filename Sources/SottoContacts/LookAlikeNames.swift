package import Sotto
package import SottoState

/// The names that are known here, to find the one for which another name could be mistaken: those of the contacts, the groups
/// and the owner, and `me`.
///
/// A name is marked when it is shown, and never refused for its look. A search compares hashes, so that a long list stays linear.
package struct LookAlikeNames {
    /// The holder of a known name.
    package enum Holder: Sendable, Equatable {
        /// The owner of the identity.
        case owner
        case contact(KeyID, name: String)
        /// A group, with its local name.
        case group(name: String)

        /// The name in a record: `me` for the owner. No contact and no group can have this name.
        package var name: String {
            switch self {
            case .owner: "me"
            case .contact(_, let name), .group(let name): name
            }
        }

        /// The holder in words, with the verb: `looks like your contact bob`.
        package var likeness: String {
            switch self {
            case .owner: "looks like your own name"
            case .contact(_, let name): "looks like your contact \(name)"
            case .group(let name): "looks like your group \(name)"
            }
        }
    }

    private let owner: KeyID
    private var holders: [[UInt8]: [Holder]] = [:]

    /// Collects the names. `contacts` are all contacts, and `groups` the local names of all groups.
    package init(owner: Identity, contacts: [Contact], groups: [GroupID: String]) {
        self.owner = owner.id
        for name in [owner.name, Holder.owner.name] { add(.owner, name) }
        for contact in contacts { add(.contact(contact.id, name: contact.name), contact.name) }
        for name in groups.values.sorted() { add(.group(name: name), name) }
    }

    private mutating func add(_ holder: Holder, _ name: String) {
        for form in NameRule.lookAlikeForms(of: name) { holders[form, default: []].append(holder) }
    }

    /// Returns the holder of a known name that `name`, which a person has or claims, looks like or is; `nil` if no other person and
    /// no group has such a name. The owner comes before contacts, and contacts before groups.
    package func holder(like name: String, of person: KeyID) -> Holder? {
        let found = NameRule.lookAlikeForms(of: name).compactMap { form in
            // Each contact is in the list once, so the search ends early.
            holders[form]?.first { holder in
                switch holder {
                case .owner: person != owner
                case .contact(let id, _): person != id
                case .group: true
                }
            }
        }
        return found.min { $0.order < $1.order }
    }
}

extension LookAlikeNames.Holder {
    /// The place in the order of the search. Names make it the same for each run.
    fileprivate var order: (Int, String) {
        switch self {
        case .owner: (0, "")
        case .contact(_, let name): (1, name)
        case .group(let name): (2, name)
        }
    }
}

extension StateTransaction {
    /// Returns the names that are known here.
    package func lookAlikeNames() throws(StateError) -> LookAlikeNames {
        try lookAlikeNames(beside: allContacts())
    }

    /// Returns the names that are known here. `contacts` are all contacts.
    package func lookAlikeNames(beside contacts: [Contact]) throws(StateError) -> LookAlikeNames {
        LookAlikeNames(
            owner: owner, contacts: contacts, groups: try groupNames(beside: contacts))
    }
}
