public import Sotto
public import SottoState

/// The rules for the accounts of people in other messengers. An address book keeps accounts as opaque members of cards and
/// contacts; only these rules interpret them.
public protocol ContactAccounts: Sendable {
    /// Verifies the proof of each account on a card. Throws an error for an account without a valid proof.
    func verify(_ card: Card) throws

    /// Returns whether the accounts on a card are the confirmed ones of a contact. An account that only one of them has is not
    /// compared.
    func agree(_ card: Card, with contact: Contact) -> Bool

    /// Throws a failure with status 12 if an account of a contact belongs to another contact with different keys. `former` is
    /// the id of the contact that is replaced.
    func check(
        _ contact: Contact, replacing former: KeyID?, in transaction: StateTransaction) throws

    /// Returns the person whom the text of an account names, or `nil` for any other text.
    func find(_ argument: String, in book: AddressBook) throws -> Correspondent?
}

/// Accounts that nothing verifies and nothing uses.
public struct OpaqueAccounts: ContactAccounts {
    /// Creates the rules.
    public init() {}

    /// Accepts any account.
    public func verify(_ card: Card) {}

    /// Returns true.
    public func agree(_ card: Card, with contact: Contact) -> Bool { true }

    /// Accepts any account.
    public func check(
        _ contact: Contact, replacing former: KeyID?, in transaction: StateTransaction
    ) {}

    /// Returns `nil`.
    public func find(_ argument: String, in book: AddressBook) -> Correspondent? { nil }
}
