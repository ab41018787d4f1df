public import Sotto

/// A signed card of a contact with another relay than the stored card, which it replaced. What waits in the outbox for the
/// contact can go to the new relay.
public struct LaterCard: Sendable {
    /// The mailboxes to which mail for the contact went by the stored card. The address on the new card is not among them:
    /// it could be another person's.
    public let mailboxes: Set<KeyID>
    /// The relay on the card.
    public let relay: String

    /// Compares a card with the stored one of the same contact. Returns `nil` unless it is signed, has a date that is not
    /// before the stored one's, and names another relay.
    init?(_ card: Card?, after old: Card?) {
        guard let card, card.record != nil, let issued = card.issued, let relay = card.relay,
            relay != old?.relay, old?.id ?? card.id == card.id,
            issued.seconds >= old?.issued?.seconds ?? .min
        else { return nil }
        mailboxes = Set([card.id, old?.address].compactMap(\.self))
        self.relay = relay
    }
}
