import Sotto
import SottoContacts
import SottoState

extension Message {
    /// The card of the sender that the message carries; `nil` without one that ``Card/carried(_:by:)`` accepts.
    var carriedCard: Card? {
        guard authenticated, let from, let card = cardOrSuccessor else { return nil }
        return Card.carried(card, by: from)
    }

    /// The card that the message carries, alone or in a succession, not verified.
    fileprivate var cardOrSuccessor: JSONObject? {
        card?["type"]?.string == Succession.type ? card?["card"]?.object : card
    }

    /// The succession that the message carries in place of a card, or `nil` if its sender is neither the old nor the new identity.
    var carriedSuccession: Succession? {
        guard authenticated, let from, let card, card["type"]?.string == Succession.type,
            let succession = try? Succession(record: card),
            [succession.former, succession.next].contains(from)
        else { return nil }
        return succession
    }
}

extension Card {
    /// Seconds by which the date of a carried card can be after the present time: clocks differ. A later date would keep out all
    /// cards until then.
    private static let clockDifference: Int64 = 86_400

    /// Verifies a card that came with a message; `nil` for one that is not the sender's own, has accounts in other
    /// messengers, a date in the future or a relay that is no address.
    fileprivate static func carried(_ record: JSONObject, by sender: KeyID) -> Card? {
        guard let read = try? Card(record: record),
            read.id == sender, read.accounts.members.isEmpty,
            read.relay == nil || read.relayAddress != nil,
            read.issued?.seconds ?? 0 <= Timestamp.now().seconds + clockDifference
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
        if let time = message.time { try noteAnswer(of: sender, sent: time) }
        try take(cardIn: message)
    }

    /// Stores the card that an authentic message of a contact carries. With the news of a lost state it is no answer.
    func take(cardIn message: Message) throws {
        guard let sender = message.from, let card = message.cardOrSuccessor,
            var contact = try contact(id: sender)
        else { return }
        try take(card, of: &contact)
    }

    /// Stores the card with a date that a person tells the members of a group, like that in a message. If the contact has an
    /// separate address, it is kept: a group gets a card without one.
    func take(cardIn body: GroupBody, of sender: KeyID) throws {
        let card = body.cards.first {
            $0["id"]?.string == sender.description && $0["issued"] != nil
        }
        guard sender != owner.id, let card,
            var contact = try contact(id: sender), contact.card?.address == nil
        else { return }
        try take(card, of: &contact)
    }

    private func take(_ record: JSONObject, of contact: inout Contact) throws {
        guard !contact.name.isEmpty, let card = Card.carried(record, by: contact.id),
            contact.hasKeys(of: card), card.supersedes(contact.card)
        else { return }
        if let list = card.devices {
            try take(devices: list)
            // A new device changed the contact.
            contact = try self.contact(id: contact.id) ?? contact
        }
        if let stored = contact.card {
            guard stored.accounts.members.isEmpty, card.relay != nil || stored.relay == nil else {
                return
            }
            // Each message has a card with a new date.
            let isSame =
                stored.record != nil && card.relay == stored.relay
                && card.address == stored.address && card.name == stored.name
                && (card.devices == nil || card.devices?.seq == stored.devices?.seq)
            if isSame { return }
        }
        guard try refusal(of: card) == nil else { return }
        contact.keep(card)
        try save(contact)
    }

    /// Keeps the card of a sender who is not a contact, so that the owner can answer: without contacts, or with `--trust any`,
    /// messages of such senders are opened at once. The first one is kept, without the message.
    func keepCard(of message: Message, id: String) throws {
        guard let sender = message.from, sender != owner.id, try contact(id: sender) == nil,
            try !hasRequest(from: sender), let card = message.carriedCard
        else { return }
        try keep(card: card, from: sender, id: id)
    }
}

extension MessageOpening {
    /// Takes the succession that a message carries, and returns a line about it if the user has to decide.
    func takeNews(
        of message: Message, _ transaction: StateTransaction
    ) throws -> OpenedLine? {
        guard let succession = message.carriedSuccession,
            succession.former != transaction.owner.id
        else { return nil }
        let outcome = try transaction.take(.succession(succession))
        if case .unknown = outcome { return nil }
        return outcome.failure.map { .failed($0, id: nil, isFinal: true) }
    }
}
