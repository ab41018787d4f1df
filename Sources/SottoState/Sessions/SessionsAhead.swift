package import Sotto

/// Sessions that begin with many peers at once.
extension StateTransaction {
    /// The number of sessions that a thread computes at a time.
    private static let slice = 16

    /// Computes the sessions with those of some peers who have none and of whom a bundle is stored, on the threads of a pool.
    /// ``begin(with:)`` takes them. A session that no message begins is not stored.
    package func computeSessions(
        with peers: Set<KeyID>, on pool: ThreadPool
    ) throws(StateError) {
        var bundles: [PreKeyBundle] = []
        for peer in peers {
            guard try !hasSession(with: peer), let bundle = try freshBundle(of: peer) else {
                continue
            }
            bundles.append(bundle)
        }
        let owner = owner
        let sessions = pool.started(bundles, slice: Self.slice) { bundles in
            bundles.map { try? PeerSession(by: owner, with: $0) }
        }.results()
        for (bundle, session) in zip(bundles, sessions) {
            computedSessions[bundle.owner] = session.map { (bundle, $0) }
        }
    }

    /// Returns the session that was computed with a bundle, or computes it.
    func session(with bundle: PreKeyBundle) throws(RatchetError) -> PeerSession {
        if let computed = computedSessions.removeValue(forKey: bundle.owner),
            computed.bundle == bundle
        {
            return computed.session
        }
        return try PeerSession(by: owner, with: bundle)
    }
}
