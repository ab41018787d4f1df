public import Sotto
import SottoDatabase

/// Bundles that `recv` claims in advance, one for each contact without a session. The next message to the contact
/// begins a session with its bundle.
extension StateTransaction {
    /// Days for which a bundle can begin a session. The owner keeps the secret of its signed prekey for at least this
    /// long after the claim, and the message must arrive within that time too.
    public static let bundleDays: Int64 = 7
    /// Seconds between two attempts to claim a bundle of one contact.
    public static let bundlePause: Int64 = 86_400

    /// A contact, or a member of a group, of whom a bundle is needed.
    public struct BundleWish: Sendable, Equatable {
        /// The owner of the bundle.
        public let owner: KeyID
        /// The relay on the owner's signed card.
        public let relay: String
    }

    /// Returns the stored bundle of a peer if it was claimed within ``bundleDays``, or `nil` if it is older or the time
    /// of its claim is unknown.
    public func freshBundle(
        of peer: KeyID, at time: Timestamp = .now()
    ) throws(StateError) -> PreKeyBundle? {
        guard try isFresh(note(.bundleKept, mark: store.mark(peer)), at: time) else { return nil }
        return try bundle(of: peer)
    }

    private func isFresh(_ kept: Int64?, at time: Timestamp) -> Bool {
        guard let kept else { return false }
        // A claim time in the future comes from a wrong clock, so the age of the bundle is unknown.
        return (0...Self.bundleDays * Self.day).contains(time.seconds - kept)
    }

    /// Returns the contacts and the members of groups that need a bundle now: they have a signed card that names a relay,
    /// no session, no fresh bundle, and no attempt within the last ``bundlePause``. Blocked contacts and contacts with an
    /// unconfirmed key change are left out, and members with a relay of which neither the owner nor the policy of the
    /// group knows.
    public func bundleWishes(at time: Timestamp = .now()) throws(StateError) -> [BundleWish] {
        let peers = try connection.rows("SELECT DISTINCT peer FROM session WHERE retired = 0") {
            $0.bytes(0)
        }
        let hasSession = Set(peers)
        var wishes: [BundleWish] = []
        func isNeeded(_ mark: [UInt8]) throws(StateError) -> Bool {
            guard !hasSession.contains(mark), try !isFresh(note(.bundleKept, mark: mark), at: time)
            else { return false }
            let tried = try note(.bundleTried, mark: mark)
            // An attempt in the future, from a clock that was ahead, does not count.
            return tried.map { !(0..<Self.bundlePause).contains(time.seconds - $0) } ?? true
        }
        let contacts = try store.contacts(connection)
        for contact in contacts {
            guard !contact.isBlocked, contact.changed == nil,
                contact.id != owner.id, contact.suite ?? .ratchet == .ratchet,
                let card = contact.card, card.record != nil, let relay = card.relay,
                try isNeeded(store.mark(contact.id))
            else { continue }
            wishes.append(BundleWish(owner: contact.id, relay: relay))
        }
        let owners = contacts.filter { !$0.isBlocked && $0.changed == nil && $0.suite != .sealed }
        for card in try deviceCards(of: owners.map(\.id)) {
            guard let relay = card.relay, try isNeeded(store.mark(card.id)) else { continue }
            wishes.append(BundleWish(owner: card.id, relay: relay))
        }
        var known = Set(contacts.map(\.id))
        for (group, cards) in try memberCards(where: isNeeded) {
            let needed = cards.compactMap { card in
                known.contains(card.id) ? nil : card.relay.map { (card.id, $0) }
            }
            guard !needed.isEmpty, let group = try readableGroup(group) else { continue }
            let relays = group.state.policy.relays(and: owner.relay)
            for (id, relay) in needed
            where group.standing == .member && group.state.ranks[id] != nil {
                guard let relay = relays.address(of: relay) else { continue }
                known.insert(id)
                wishes.append(BundleWish(owner: id, relay: relay))
            }
        }
        return wishes
    }

    /// Returns the cards of the owner's other devices and of those on the lists of some people.
    private func deviceCards(of people: [KeyID]) throws(StateError) -> [Card] {
        var cards = try otherDevices().map(\.card)
        for person in people where person != owner.id {
            cards += try devices(of: person)?.devices.map(\.card) ?? []
        }
        return cards
    }

    /// Records that a bundle of a peer is requested, and returns the claim's id.
    public func beginClaim(
        for peer: KeyID, at time: Timestamp = .now()
    ) throws(StateError) -> String {
        try setNote(.bundleTried, mark: store.mark(peer), to: time.seconds)
        return try claim(for: peer)
    }

}
