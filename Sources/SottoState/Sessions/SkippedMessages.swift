import Sotto
import SottoDatabase

/// Keys of skipped messages that did not fit into their session.
///
/// A killed `encrypt` leaves a gap in the chain, which looks like messages that wait at another relay. So the keys are
/// kept longer than a relay keeps mail, one row each.
extension StateTransaction {
    /// Days for which the key of a skipped message is kept.
    static let skippedDays: Int64 = 45
    /// The maximum number of such keys for one peer. Above it, the oldest are deleted.
    static let skippedPerPeer: Int64 = 10_000
    /// The maximum number of such keys in total. Above it, the oldest are deleted.
    static let skippedCount: Int64 = 200_000
    /// The number of new keys after which the limits are applied.
    private static let skippedBetweenChecks: Int64 = 256

    /// Stores keys that a session displaced.
    func keepSkipped(_ messages: [SkippedMessage]) throws(StateError) {
        guard let peer = messages.first?.peer else { return }
        for message in messages {
            var bytes = message.encoded()
            defer { wipe(&bytes) }
            let mark = chain(of: peer, message.position)
            try connection.run(
                """
                INSERT INTO skipped (peer, chain, place, day, sealed) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (chain, place) DO NOTHING
                """, store.mark(peer), mark, message.position.number, IdentityStore.today,
                store.seal(bytes, .skipped(chain: mark, place: message.position.number)))
            if connection.lastRow % Self.skippedBetweenChecks == 0 {
                try limitSkipped(of: peer)
            }
        }
    }

    /// Returns the stored key for an envelope, or `nil`.
    func skippedMessage(
        of envelope: Envelope, from peer: KeyID
    ) throws(StateError) -> SkippedMessage? {
        guard let position = (try? RatchetMessage(payload: envelope.payload))?.position else {
            return nil
        }
        let mark = chain(of: peer, position)
        let sealed = try connection.first(
            "SELECT sealed FROM skipped WHERE chain = ? AND place = ?", mark, position.number
        ) { $0.bytes(0) }
        guard let sealed else { return nil }
        let row = mark + position.number.bigEndianBytes
        let message = try store.readable(.skippedKey, row) { () throws(StateError) in
            var bytes = try store.unseal(sealed, .skipped(chain: mark, place: position.number))
            defer { wipe(&bytes) }
            guard let message = SkippedMessage(encoded: bytes, from: peer, at: position) else {
                throw StateError.unsealable(path: store.database.path)
            }
            return message
        }
        if message == nil { try forgetSkipped(from: peer, at: position) }
        return message
    }

    /// Deletes a used key.
    func forgetSkipped(from peer: KeyID, at position: ChainPosition) throws(StateError) {
        try connection.run(
            "DELETE FROM skipped WHERE chain = ? AND place = ?", chain(of: peer, position),
            position.number)
    }

    /// Deletes the keys that are older than any mail. `settled` is the time of ``settledTime(at:)``.
    func forgetOldSkipped(at settled: Timestamp) throws(StateError) {
        try connection.run(
            "DELETE FROM skipped WHERE day < ?", settled.seconds / Self.day - Self.skippedDays)
    }

    private func limitSkipped(of peer: KeyID) throws(StateError) {
        try connection.run(
            """
            DELETE FROM skipped WHERE peer = ?1 AND number <= (
                SELECT number FROM skipped WHERE peer = ?1 ORDER BY number DESC
                LIMIT 1 OFFSET ?2)
            """, store.mark(peer), Self.skippedPerPeer)
        try connection.run(
            """
            DELETE FROM skipped WHERE number <= (
                SELECT number FROM skipped ORDER BY number DESC LIMIT 1 OFFSET ?)
            """, Self.skippedCount)
    }
}
