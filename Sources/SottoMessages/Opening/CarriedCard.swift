import Sotto
import SottoContacts
import SottoState

extension Message {
    /// The card of the sender that the message carries, verified; `nil` without one, and for one that is not the sender's
    /// own or has accounts in other messengers.
    var carriedCard: Card? {
        guard authenticated, let from, let card, let read = try? Card(record: card),
            read.id == from, read.accounts.members.isEmpty
        else { return nil }
        return read
    }
}

extension StateTransaction {
    /// Notes that an authentic message of a person arrived, and stores the card that it carries if the person is a contact
    /// with the same keys and the card is later than the stored one.
    ///
    /// A card without a relay replaces no card with a relay, and none replaces a card with accounts in other messengers: a
    /// message carries no accounts.
    func take(answer message: Message) throws {
        guard message.authenticated, let sender = message.from, sender != owner.id else { return }
        try noteAnswer(of: sender)
        guard message.card != nil, var contact = try contact(id: sender), !contact.name.isEmpty,
            let card = message.carriedCard, contact.hasKeys(of: card),
            card.supersedes(contact.card), try addressFailure(of: card) == nil
        else { return }
        if let stored = contact.card {
            guard stored.accounts.members.isEmpty, card.relay != nil || stored.relay == nil else {
                return
            }
            // Each message has a card with a new date.
            let isSame =
                stored.record != nil && card.relay == stored.relay
                && card.address == stored.address && card.name == stored.name
            if isSame { return }
        }
        contact.keep(card)
        try save(contact)
    }

    /// Keeps the card of a sender who is not a contact, in a request, so that the owner can answer: without contacts, or with
    /// `--trust any`, messages of such senders are opened at once. The first one is kept.
    func keepCard(
        of message: Message, _ envelope: () -> JSONObject, id: String
    ) throws {
        guard let sender = message.from, sender != owner.id, try contact(id: sender) == nil,
            let card = message.carriedCard, try !hasRequest(from: sender)
        else { return }
        _ = try request(envelope().serialized(), id: id, from: sender, card: card)
    }
}
