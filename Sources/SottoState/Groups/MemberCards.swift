package import Sotto
import SottoDatabase

/// The cards of the members of groups, in the notes about them.
extension StateTransaction {
    /// The most people whom no change names and whose cards a group has.
    private static let mostUnnamed = 1_000

    /// Stores the cards that a person sent about people whom changes name.
    ///
    /// The card of another person is kept if it can come before its change: the owner has not entered the group yet, a member
    /// sent the card, or the person waits at the door. It is not kept if the group has ``mostUnnamed`` such cards.
    func note(
        _ cards: [Card], from sender: KeyID, in group: StoredGroup
    ) throws(StateError) {
        guard !cards.isEmpty else { return }
        for card in cards where group.log.names(card.id) {
            try note(card, from: sender, in: group)
        }
        let others = cards.filter { !group.log.names($0.id) }
        guard !others.isEmpty else { return }
        let waiting = try Set(waitingChanges(of: group).map(\.by))
        let isTrusted = group.state.ranks[sender] != nil || !group.log.hasEntered(owner.id)
        for card in others where isTrusted || waiting.contains(card.id) {
            guard try hasSpace(forUnnamedIn: group, except: waiting) else { return }
            try note(card, from: sender, in: group)
        }
    }

    /// Whether the group takes a further card of a person whom no change names. If it has the most, the cards of those who do not
    /// wait at the door are deleted.
    private func hasSpace(
        forUnnamedIn group: StoredGroup, except waiting: Set<KeyID>
    ) throws(StateError) -> Bool {
        func isFull() throws(StateError) -> Bool {
            let count = try connection.integer(
                "SELECT count(*) FROM group_member WHERE group_id = ?", group.number)
            return count >= group.log.members.count + Self.mostUnnamed
        }
        guard try isFull() else { return true }
        for id in try notes(of: group).keys
        where !group.log.names(id) && !waiting.contains(id) {
            try connection.run(
                "DELETE FROM group_member WHERE group_id = ? AND mark = ?", group.number,
                store.mark(id))
        }
        return try !isFull()
    }

    /// Stores the signed card of a member, or of an invited person. An older card does not replace a newer one, and one without a relay
    /// replaces none with a relay. Of two cards with one date, the last one that the member sent is kept: a card from another `sender`
    /// can be the former one. Copies go to the new relay only if the group lists it.
    package func note(
        _ card: Card, from sender: KeyID? = nil, in group: StoredGroup
    ) throws(StateError) {
        guard let record = card.record, card.id != owner.id else { return }
        var note = try note(of: card.id, in: group)
        if let known = note.card {
            if let before = known.issued {
                guard let date = card.issued,
                    date > before || date == before && card.id == sender
                else { return }
            }
            guard card.relay != nil || known.relay == nil else { return }
        }
        if let list = card.devices {
            switch try take(devices: list) {
            case .older, .fork: return
            case .kept, .known: break
            }
        }
        note.cardBytes = record.serialized()
        try write(note, of: group)
    }

    /// Returns the card of a person in any group, the newest one, and the policies of the groups of which the owner is or was a member;
    /// `nil` without a card.
    package func groupCard(
        of id: KeyID
    ) throws(StateError) -> (card: Card, policies: [GroupPolicy])? {
        let found = try connection.rows(
            """
            SELECT group_member.mark, holds, told, group_member.sealed, group_id, group_log.mark, group_log.sealed
            FROM group_member JOIN group_log ON group_log.number = group_id WHERE group_member.mark = ?
            """, store.mark(id)
        ) { row throws(StateError) in
            let (mark, sealed) = (row.bytes(5), row.bytes(6))
            return (
                try readableNote(row, of: row.integer(4)),
                try store.readable(.group, mark) { () throws(StateError) in
                    try store.header(sealed, mark: mark)
                }
            )
        }
        let card = found.compactMap { $0.0?.card }.max {
            ($0.issued?.seconds ?? 0) < ($1.issued?.seconds ?? 0)
        }
        guard let card else { return nil }
        var policies: [GroupPolicy] = []
        for header in found.compactMap(\.1) {
            if case .group(let group) = try readGroup(header), group.isInTouch {
                policies.append(group.state.policy)
            }
        }
        return (card, policies)
    }

    /// Returns the cards of people in all groups, also of former and of invited members, whose hashes `isWanted` chooses.
    func memberCards(
        where isWanted: ([UInt8]) throws(StateError) -> Bool
    ) throws(StateError) -> [(group: GroupID, cards: [Card])] {
        try groupHeaders().map { header throws(StateError) in
            let rows = try connection.rows(
                """
                SELECT group_member.mark, holds, told, group_member.sealed, group_id FROM group_member
                JOIN group_log ON group_id = group_log.number WHERE group_log.mark = ?
                """, store.mark(header.id)
            ) { row throws(StateError) -> GroupMemberNote? in
                try isWanted(row.bytes(0)) ? readableNote(row, of: row.integer(4)) : nil
            }
            return (header.id, rows.compactMap { $0?.card })
        }
    }
}
