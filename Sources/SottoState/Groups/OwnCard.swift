import Sotto
import Synchronization

/// The owner's card in a group: members who are no contacts learn from it that the owner's relay or name has changed.
///
/// The join has the hash of the card with which the owner entered, and that card went with it. So the state keeps a mark only of
/// members who got a card from the owner, and a member gets the present card once, with the next changes or message.
struct OwnCard: Sendable {
    /// The mark of the present card.
    let present: [UInt8]
    /// The mark of the card that a member has without a note.
    let first: [UInt8]

    /// The length of a mark.
    static let markBytes = 8
    /// The mark of no card.
    static let none = [UInt8](repeating: 0, count: markBytes)

    /// Whether a member lacks the present card.
    func isLacking(_ note: GroupMemberNote?) -> Bool { note?.ownCard ?? first != present }

    /// Returns the mark of a card: the beginning of the hash that a join has.
    static func mark(of card: Card) -> [UInt8] {
        guard let record = card.record else { return none }
        return Array(sha256(JSON.object(record).canonical()).prefix(markBytes))
    }
}

extension OwnCard {
    /// Reads the marks of a group. The creator's card is in no change, so that members whom others invited get it once if it has
    /// a relay.
    init(in group: StoredGroup, store: IdentityStore) {
        present = store.ownCardMark()
        let last = group.log.changes.last { $0.by == group.owner && $0.act.isEntry }
        switch last?.act {
        case .join(let entry)?, .doorJoin(let entry, _, _)?:
            first = Array(entry.card.prefix(Self.markBytes))
        default: first = store.owner.relay == nil ? present : Self.none
        }
    }
}

extension IdentityStore {
    /// Returns the mark of the owner's card without a date.
    func ownCardMark() -> [UInt8] {
        knownCardMark.withLock { known in
            if let known { return known }
            let mark = OwnCard.mark(of: owner.card())
            known = mark
            return mark
        }
    }
}

extension GroupBody {
    /// Whether the body brings the present card of its sender: as a card, or in the file of an invitation.
    func bringsCard(of sender: Identity) -> Bool {
        let isInvitation = changes.contains { $0["act"]?.string == "create" }
        return isInvitation && file != nil
            || cards.contains { record in
                record["id"]?.string == sender.id.description
                    && record["relay"]?.string == sender.relay
                    && (record["name"]?.string ?? "") == sender.name
            }
    }
}
