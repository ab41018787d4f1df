public import Sotto

/// Bundles of peers that were claimed and not used yet.
extension StateTransaction {
    /// Returns the id for a claim of a bundle of `peer`: the id of an unanswered claim, or a new one.
    public func claim(for peer: SessionID) throws(StateError) -> String {
        let insert = try connection.statement(
            """
            INSERT INTO bundle (peer, claim) VALUES (?1, ?2)
            ON CONFLICT (peer) DO UPDATE SET
                claim = CASE WHEN sealed IS NULL THEN claim ELSE excluded.claim END, sealed = NULL
            """)
        insert.bind(1, store.mark(peer))
        insert.bind(2, Envelope.newID())
        try insert.run()
        let select = try connection.statement("SELECT claim FROM bundle WHERE peer = ?")
        defer { select.reset() }
        select.bind(1, store.mark(peer))
        _ = try select.step()
        return select.text(0)
    }

    /// Stores a bundle, claimed at `time`, until it begins a session.
    public func keep(
        _ bundle: PreKeyBundle, at time: Timestamp = .now()
    ) throws(StateError) {
        let mark = store.mark(bundle.owner)
        let upsert = try connection.statement(
            """
            INSERT INTO bundle (peer, claim, sealed) VALUES (?1, ?2, ?3)
            ON CONFLICT (peer) DO UPDATE SET sealed = excluded.sealed
            """)
        upsert.bind(1, mark)
        upsert.bind(2, Envelope.newID())
        upsert.bind(3, store.seal(bundle.record.serialized(), .bundle(peer: mark)))
        try upsert.run()
        try setNote(.bundleKept, mark: mark, to: time.seconds)
    }

    /// Returns the stored bundle of a peer, or `nil` if none is stored.
    public func bundle(of peer: SessionID) throws(StateError) -> PreKeyBundle? {
        let mark = store.mark(peer)
        let select = try connection.statement("SELECT sealed FROM bundle WHERE peer = ?")
        defer { select.reset() }
        select.bind(1, mark)
        guard try select.step(), !select.isNull(0) else { return nil }
        let bytes = try store.unseal(select.bytes(0), .bundle(peer: mark))
        guard let record = try? JSON.object(parsing: bytes),
            let bundle = try? PreKeyBundle(record: record)
        else { throw .unsealable(path: store.database.path) }
        return bundle
    }

    func forgetBundle(of peer: SessionID) throws(StateError) {
        let delete = try connection.statement("DELETE FROM bundle WHERE peer = ?")
        delete.bind(1, store.mark(peer))
        try delete.run()
        try removeNote(.bundleKept, mark: store.mark(peer))
    }
}
