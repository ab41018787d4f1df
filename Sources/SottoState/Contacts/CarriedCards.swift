public import Sotto

/// The owner's card in messages to a peer who has not answered yet. The peer can then answer, also through another relay.
extension StateTransaction {
    /// The maximum number of messages to one peer in a day that carry the card.
    public static let carriedCardsPerDay: Int64 = 20

    /// Returns whether a message to a peer has to carry the owner's card: no authentic message of the peer arrived after a
    /// message carried the card with the present relay, address and list of devices, and fewer than ``carriedCardsPerDay`` messages
    /// of the day carry it.
    public func lacksCard(_ peer: KeyID, at time: Timestamp = .now()) throws(StateError) -> Bool {
        guard !withCard.contains(peer) else { return false }
        let delivery = try presentDelivery(to: peer, at: time)
        let isLacking = !delivery.isAnswered && delivery.count < Self.carriedCardsPerDay
        if !isLacking { withCard.insert(peer) }
        return isLacking
    }

    /// Counts a message to a peer that carries the owner's card.
    public func countCard(for peer: KeyID, at time: Timestamp = .now()) throws(StateError) {
        var delivery = try presentDelivery(to: peer, at: time)
        (delivery.time, delivery.count) = (time.seconds, delivery.count + 1)
        try setNote(.card, mark: store.mark(peer), to: delivery.number)
    }

    /// Notes that an authentic message of a peer arrived: the peer has the card that the last message carried. A message that the
    /// peer sent before that message is no answer to it: `sent` is its time. Before a message carried a card, no message is an
    /// answer: the peer can have used a card with another relay.
    public func noteAnswer(of peer: KeyID, sent: Timestamp) throws(StateError) {
        guard !answered.contains(peer), var delivery = try cardDelivery(to: peer) else { return }
        if !delivery.isAnswered {
            guard sent.seconds >= delivery.time else { return }
            delivery.isAnswered = true
            try setNote(.card, mark: store.mark(peer), to: delivery.number)
        }
        answered.insert(peer)
    }

    /// Returns the stored value for the present card and the day of `time`.
    private func presentDelivery(
        to peer: KeyID, at time: Timestamp
    ) throws(StateError) -> CardDelivery {
        let route = try ownRoute(for: peer)
        var delivery = try cardDelivery(to: peer) ?? CardDelivery(route: route)
        if delivery.route != route { delivery = CardDelivery(route: route) }
        if delivery.time / 86_400 != time.seconds / 86_400 { delivery.count = 0 }
        return delivery
    }

    /// Returns the stored value, or `nil` before a message to the peer carried a card.
    private func cardDelivery(to peer: KeyID) throws(StateError) -> CardDelivery? {
        try note(.card, mark: store.mark(peer)).map { CardDelivery(number: $0) }
    }

    /// Returns the first 21 bits of a hash of the relay, the address and the number of the list of devices on the card for a peer.
    private func ownRoute(for peer: KeyID) throws(StateError) -> Int64 {
        let address = try readableContact(id: peer)?.address
        // The contacts of an identity that was replaced get the succession, although they have its card.
        let succession = owner.succession.map { "\n" + $0.next.description } ?? ""
        var text =
            (owner.relay ?? "") + "\n" + (address.map { hex($0.salt) } ?? "") + succession
        if address == nil, let list = try devices(of: owner.id) {
            // A change of a private list changes nothing for others.
            let known = try person(ofDevice: peer)
            let isOwn = peer == owner.id || known == owner.id
            let number = isOwn ? list.seq : list.shown ?? list.seq
            if number > 0 { text += "\n\(number)" }
        }
        return Int64((UInt32(bigEndianBytes: sha256(Array(text.utf8))[..<4]) ?? 0) >> 11)
    }
}

/// What a peer has of the owner's card, as the number of a note: the route in 21 bits, the time in 36, the count in 5, and 1
/// bit for an answer.
private struct CardDelivery {
    /// A hash of the relay and the address on the card.
    var route: Int64
    /// The time of the last message that carried it, in seconds since 1970.
    var time: Int64 = 0
    /// The number of messages of the same day (UTC) that carried it.
    var count: Int64 = 0
    /// Whether an authentic message of the peer arrived that was sent at this time or later.
    var isAnswered = false

    init(route: Int64) { self.route = route }

    init(number: Int64) {
        route = number >> 42
        time = number >> 6 & Self.timeMask
        count = number >> 1 & 0x1F
        isAnswered = number & 1 == 1
    }

    private static let timeMask: Int64 = 1 << 36 - 1

    var number: Int64 {
        route << 42 | (time & Self.timeMask) << 6 | (count & 0x1F) << 1 | (isAnswered ? 1 : 0)
    }
}
