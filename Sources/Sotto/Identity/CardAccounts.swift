/// The statement that an account in another messenger belongs to an id. The account's own Ed25519 key signs it, because
/// everybody can put the account of somebody else on a card.
public enum AccountStatement {
    /// Returns the bytes to sign: `"sotto/profile/v1\0" ‖ name ‖ "\0" ‖ the id's key (32 bytes) ‖` the canonical JSON of the
    /// account's object without `proof`. `name` is the name of the member in the card's `profiles`.
    public static func bytes(_ object: JSONObject, named name: String, of id: KeyID) -> [UInt8] {
        Array("sotto/profile/v1\0".utf8) + Array(name.utf8) + [0] + id.publicKey
            + JSON.object(object).canonical()
    }
}

extension Card {
    /// The most names of accounts on a card by which a directory finds it.
    public static let accountNameLimit = 4

    /// The ids of the accounts on the card, by which a directory finds it: the texts of 1 to 255 bytes in the accounts whose
    /// names end in `id`, at most ``accountNameLimit``.
    ///
    /// An id that is a public key counts only with a valid proof by that key, in the form of ``AccountStatement``: nobody
    /// else can claim it. Any other id may be claimed by everybody.
    public var accountNames: [String] {
        var names: [String] = []
        for (name, value) in accounts.members {
            guard case .object(let account) = value else { continue }
            var statement = account
            statement["proof"] = nil
            for (member, value) in account.members where member.lowercased().hasSuffix("id") {
                guard names.count < Self.accountNameLimit, let text = value.string,
                    (1...255).contains(text.utf8.count)
                else { continue }
                if let key = KeyID(text) {
                    guard
                        let proof = account["proof"]?.string.flatMap({ Base64.standard.decode($0) }
                        ),
                        verifySignature(
                            proof, of: AccountStatement.bytes(statement, named: name, of: id),
                            by: key.publicKey)
                    else { continue }
                }
                let found = Self.accountName(text)
                if !names.contains(found) { names.append(found) }
            }
        }
        return names
    }

    /// Returns the form of an account's id that is compared: an id that is a public key has one spelling.
    public static func accountName(_ text: String) -> String {
        KeyID(text)?.description ?? text
    }
}
