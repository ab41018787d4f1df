public import Sotto

/// Bundles that `recv` claims ahead, one for each contact without a session, so that the next message to the contact begins
/// one.
extension StateTransaction {
    /// Days for which a bundle can begin a session. The owner keeps the secret of its signed prekey for at least
    /// this long after the claim, and the message has to arrive within that time too.
    public static let bundleDays: Int64 = 7
    /// Seconds between two attempts to claim a bundle of one contact.
    public static let bundlePause: Int64 = 86_400

    /// A contact that needs a bundle.
    public struct BundleWish: Sendable, Equatable {
        /// The contact.
        public let owner: SessionID
        /// The relay on the contact's signed card.
        public let relay: String
    }

    /// The bundle that is kept for a peer, if it was claimed within ``bundleDays``; `nil` for an older one, and for one of
    /// which it is not known when it was claimed.
    public func freshBundle(
        of peer: SessionID, at time: Timestamp = .now()
    ) throws(StateError) -> PreKeyBundle? {
        guard try isFresh(note(.bundleKept, mark: store.mark(peer)), at: time) else { return nil }
        return try bundle(of: peer)
    }

    private func isFresh(_ kept: Int64?, at time: Timestamp) -> Bool {
        guard let kept else { return false }
        // A claim in the future was made by a wrong clock; nothing tells how old the bundle is.
        return (0...Self.bundleDays * Self.day).contains(time.seconds - kept)
    }

    /// The contacts that need a bundle now: they have a signed card that names a relay, no session, no fresh bundle,
    /// and no attempt within the last ``bundlePause``. Blocked contacts, and those with a key in doubt, are left out.
    public func bundleWishes(at time: Timestamp = .now()) throws(StateError) -> [BundleWish] {
        let peers = try rows("SELECT DISTINCT peer FROM session") { $0.bytes(0) }
        let hasSession = Set(peers)
        var wishes: [BundleWish] = []
        for contact in try store.contacts(connection) {
            let mark = store.mark(contact.id)
            guard !contact.isBlocked, contact.changed == nil, contact.id != owner.id,
                contact.suite ?? .ratchet == .ratchet, let card = contact.card,
                card.record != nil, let relay = card.relay, !hasSession.contains(mark),
                try !isFresh(note(.bundleKept, mark: mark), at: time)
            else { continue }
            let tried = try note(.bundleTried, mark: mark)
            // After a clock that was ahead the attempt in the future does not count.
            if let tried, (0..<Self.bundlePause).contains(time.seconds - tried) { continue }
            wishes.append(BundleWish(owner: contact.id, relay: relay))
        }
        return wishes
    }

    /// Notes that a bundle of a peer is asked for, and returns the claim's id.
    public func beginClaim(
        for peer: SessionID, at time: Timestamp = .now()
    ) throws(StateError) -> String {
        try setNote(.bundleTried, mark: store.mark(peer), to: time.seconds)
        return try claim(for: peer)
    }

    private func rows<T>(
        _ sql: String, _ row: (PreparedStatement) -> T
    ) throws(StateError) -> [T] {
        let select = try connection.statement(sql)
        defer { select.reset() }
        var rows: [T] = []
        while try select.step() { rows.append(row(select)) }
        return rows
    }
}
