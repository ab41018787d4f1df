import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// The keys whose numbers are shown or checked.
struct ComparedKeys {
    /// The keys that are shown.
    enum Own {
        case identity
        /// Cards and names of contacts.
        case cards([String])
        case raw(Fingerprint)
    }

    /// The key of the other person.
    enum Other {
        /// A card or the name of a contact.
        case card(String)
        case raw(Fingerprint)
    }

    let own: Own
    /// The key for a safety number; `nil` for the number of one key.
    let other: Other?
    let style: Fingerprint.Style
    let identity: IdentityChoice

    /// The maximum time to wait for another process that uses the state, in seconds.
    private static let lockTimeout = 10.0

    /// Whether a card is read. Otherwise no identity is used.
    var usesCards: Bool {
        if case .card = other { return true }
        if case .raw = own { return false }
        return true
    }

    /// Reads the cards. Returns the key of the other person, and the keys to show, each with the argument that named it.
    func load() throws -> (theirs: Fingerprint?, mine: [(name: String, key: Fingerprint)]) {
        let book = AddressBook({ try identity.load() }, lockTimeout: Self.lockTimeout)
        if usesCards { book.openWithoutPrompt(identity) }
        // The other card is read first: a card file needs no address book, even next to the own identity.
        let theirs = try theirs(book)
        return (theirs, try mine(book))
    }

    private func mine(_ book: AddressBook) throws -> [(name: String, key: Fingerprint)] {
        switch own {
        case .raw(let key): [(key.userID, key)]
        case .identity: [("", try of(book.identity().id))]
        case .cards(let cards): try cards.map { ($0, try of(id(of: $0, book))) }
        }
    }

    private func theirs(_ book: AddressBook) throws -> Fingerprint? {
        switch other {
        case nil: nil
        case .raw(let key)?: key
        case .card(let card)?: try of(id(of: card, book))
        }
    }

    /// Returns the id that an argument names. An id itself needs neither an address book nor an identity.
    private func id(of argument: String, _ book: AddressBook) throws -> KeyID {
        try KeyID(RecipientArgument.pasted(argument)) ?? book.find(argument, for: .reading).id
    }

    private func of(_ id: KeyID) throws -> Fingerprint {
        guard let fingerprint = Fingerprint(id, style: style) else {
            throw Failure(.malformed, "the id's key is not a valid point on the curve")
        }
        return fingerprint
    }
}
