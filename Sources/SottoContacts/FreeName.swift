public import Sotto
public import SottoState
import SottoTool

extension StateTransaction {
    /// Returns the name for the owner of a card, who becomes a new contact: the one that the user gave, or the name on the card.
    ///
    /// The owner of the card chose the name on it. It must not offer another key to a contact with this name, nor be
    /// mistaken for the name of another contact, a group or a chat. Throws a failure with status 64 for such a name and for
    /// an invalid one; `hint` says how to give a name.
    public func freeName(_ given: String?, for card: Card, hint: String) throws -> String {
        let chosen: String
        do throws(Failure) {
            chosen = try ContactName.checked(given ?? card.name)
        } catch {
            guard given == nil else { throw error }
            let what = card.name.isEmpty ? "the sender's card has no name" : error.message
            throw Failure(.usage, what, hint: hint)
        }
        if let other = try contact(named: chosen), other.id != card.id {
            guard other.changed?.id != card.id else {
                throw Failure(
                    .untrusted,
                    "the sender has the changed key of the contact \(other.name), which is not accepted",
                    hint: other.changedKeyHint)
            }
            throw Failure(
                .usage,
                "another contact has the name \(other.name); the sender is not this contact",
                hint: hint)
        }
        guard given == nil else { return chosen }
        let folded = NameRule.folded(chosen)
        let taken = try knownNames().first { known in
            known.meaning != .peer(card.id) && known.isLike(folded: folded)
        }
        if let taken {
            throw Failure(
                .usage,
                "the name \(chosen) on the sender's card could be mistaken for \(taken.shown)",
                hint: hint)
        }
        return chosen
    }
}
