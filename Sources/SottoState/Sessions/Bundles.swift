public import Sotto
import SottoDatabase

/// Bundles of peers that were claimed and not used yet.
extension StateTransaction {
    /// Returns the id for a claim of a bundle of `peer`: the id of an unanswered claim, or a new one.
    public func claim(for peer: KeyID) throws(StateError) -> String {
        try connection.run(
            """
            INSERT INTO bundle (peer, claim) VALUES (?1, ?2)
            ON CONFLICT (peer) DO UPDATE SET
                claim = CASE WHEN sealed IS NULL THEN claim ELSE excluded.claim END, sealed = NULL
            """, store.mark(peer), Envelope.newID())
        return try connection.first(
            "SELECT claim FROM bundle WHERE peer = ?", store.mark(peer)
        ) { $0.text(0) } ?? ""
    }

    /// Returns whether a bundle has the signature over both prekeys, or no earlier bundle of its owner had it. Records
    /// that this one has it.
    ///
    /// A relay cannot remove the signature, and with it the date of the post-quantum prekey, after it was seen once.
    func admits(_ bundle: PreKeyBundle) throws(StateError) -> Bool {
        let mark = store.mark(bundle.owner)
        guard let pair = bundle.pairSignature else {
            return try note(.pairSigned, mark: mark) == nil
        }
        try setNote(.pairSigned, mark: mark, to: pair.time.seconds)
        return true
    }

    /// Stores a bundle, claimed at `time`, until it begins a session. A bundle without the signature over both prekeys is
    /// not stored if an earlier one of its owner had it. Returns whether it was stored.
    @discardableResult
    public func keep(
        _ bundle: PreKeyBundle, at time: Timestamp = .now()
    ) throws(StateError) -> Bool {
        guard try admits(bundle) else { return false }
        let mark = store.mark(bundle.owner)
        try connection.run(
            """
            INSERT INTO bundle (peer, claim, sealed) VALUES (?1, ?2, ?3)
            ON CONFLICT (peer) DO UPDATE SET sealed = excluded.sealed
            """, mark, Envelope.newID(), store.seal(bundle.record.serialized(), .bundle(peer: mark))
        )
        try setNote(.bundleKept, mark: mark, to: time.seconds)
        return true
    }

    /// Returns the stored bundle of a peer, or `nil` if none is stored.
    ///
    /// One that cannot be read is deleted: another one is claimed.
    public func bundle(of peer: KeyID) throws(StateError) -> PreKeyBundle? {
        let mark = store.mark(peer)
        let sealed = try connection.first(
            "SELECT sealed FROM bundle WHERE peer = ? AND sealed IS NOT NULL", mark
        ) { $0.bytes(0) }
        guard let sealed else { return nil }
        let bundle = try store.readable(.bundle, mark) { () throws(StateError) in
            let bytes = try store.unseal(sealed, .bundle(peer: mark))
            guard let record = try? JSON.object(parsing: bytes),
                let bundle = try? PreKeyBundle(stored: record)
            else { throw StateError.unsealable(path: store.database.path) }
            return bundle
        }
        if bundle == nil { try forgetBundle(of: peer) }
        return bundle
    }

    func forgetBundle(of peer: KeyID) throws(StateError) {
        try connection.run("DELETE FROM bundle WHERE peer = ?", store.mark(peer))
        try removeNote(.bundleKept, mark: store.mark(peer))
    }
}
