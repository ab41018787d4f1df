public import Sotto
import SottoDatabase

/// Early envelopes: messages of a session that arrived before more than ``Session/maximumSkip`` earlier messages were
/// opened, or before a message with the `kem` of their chain.
///
/// They may be authentic: the earlier messages are late, or the reading program's policy refused them. So they stay in
/// the inbox and are tried again when the session has reached the skip limit before them. Forged ones cannot be
/// distinguished without costly key derivation and wait too; limits bound their number. They never displace other
/// envelopes.
extension StateTransaction {
    /// Days for which an early envelope waits: as long as a relay keeps mail.
    public static let earlyDays: Int64 = 30
    /// The maximum number of early envelopes that wait. Above it, the oldest are deleted.
    static let earlyCount: Int64 = 1_000

    /// Marks an envelope of the inbox as early. `envelope` is its printed bytes; `sender` and `position` are its
    /// claims, which may be forged. Returns `false` if it is not in the inbox, or a command handles it.
    public func markEarly(
        id: String, envelope: [UInt8], from sender: KeyID, position: ChainPosition
    ) throws(StateError) -> Bool {
        try connection.run(
            """
            UPDATE inbox SET chain = ?, place = ?, claimed = NULL
            WHERE id = ? AND envelope = ? AND state IN (1, 5)
            """, chain(of: sender, position), position.number, id, envelope)
        return connection.changes > 0
    }

    /// Returns the early envelopes of the chains of the sessions that this transaction changed, up to the skip limit, in
    /// their order: at most `limit`, and none of `tried`.
    public func reachable(
        limit: Int, except tried: Set<String>
    ) throws(StateError) -> [(id: String, envelope: [UInt8])] {
        var found: [(id: String, envelope: [UInt8])] = []
        for (peer, slots) in sessions {
            for slot in slots where slot.isChanged {
                for next in slot.session.next where found.count < limit {
                    found += try early(
                        of: peer, upTo: next, limit: limit - found.count, except: tried)
                }
            }
        }
        return found
    }

    private func early(
        of peer: KeyID, upTo next: ChainPosition, limit: Int, except tried: Set<String>
    ) throws(StateError) -> [(id: String, envelope: [UInt8])] {
        let select = try connection.statement(
            """
            SELECT id, envelope FROM inbox
            WHERE chain = ? AND place <= ? AND envelope IS NOT NULL AND state IN (1, 5)
            ORDER BY place, number
            """, chain(of: peer, next), Int64(next.number) + Int64(Session.maximumSkip))
        defer { select.reset() }
        var found: [(id: String, envelope: [UInt8])] = []
        while found.count < limit, try select.step() {
            let id = select.text(0)
            if !tried.contains(id) { found.append((id, select.bytes(1))) }
        }
        return found
    }

    /// Deletes the early envelopes that waited too long, and the oldest if too many wait. Returns how many were
    /// deleted.
    func forgetEarly(at time: Timestamp) throws(StateError) -> Int {
        guard try connection.integer("SELECT count(*) FROM inbox WHERE chain IS NOT NULL") > 0
        else { return 0 }
        try connection.run(
            """
            \(IdentityStore.ending)
            WHERE chain IS NOT NULL AND (arrived < ?1 OR number <= (
                SELECT number FROM inbox WHERE chain IS NOT NULL
                ORDER BY number DESC LIMIT 1 OFFSET ?2))
            """, (try settledTime(at: time).seconds / Self.day - Self.earlyDays) * Self.day,
            Self.earlyCount)
        return connection.changes
    }

    /// Returns the keyed hash of a sender's chain.
    func chain(of sender: KeyID, _ position: ChainPosition) -> [UInt8] {
        store.mark(chain: sender.publicKey + position.key)
    }
}

extension IdentityStore {
    /// Returns whether an early envelope waits.
    public func hasEarly() throws(StateError) -> Bool {
        try use { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM inbox WHERE chain IS NOT NULL") > 0
        }
    }
}
