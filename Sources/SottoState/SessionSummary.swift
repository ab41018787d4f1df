public import Sotto

/// The session with a peer that is used to send, as people see it.
public struct SessionSummary: Sendable, Equatable {
    /// When it began here; `nil` for one of a version that did not keep the time.
    public let began: Timestamp?
    /// Whether it began with ML-KEM-1024.
    public let isPostQuantum: Bool
}

extension IdentityStore {
    /// The session that messages to a peer go through; `nil` without one.
    public func sessionSummary(with peer: SessionID) throws(StateError) -> SessionSummary? {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(
                "SELECT began, tag, sealed FROM session WHERE peer = ? ORDER BY used DESC LIMIT 1")
            defer { select.reset() }
            select.bind(1, mark(peer))
            guard try select.step() else { return nil }
            var bytes = try unseal(select.bytes(2), .session(tag: select.bytes(1)))
            defer { wipe(&bytes) }
            guard let session = PeerSession(encoded: bytes) else {
                throw .unsealable(path: database.path)
            }
            return SessionSummary(
                began: select.isNull(0) ? nil : Timestamp(seconds: select.integer(0)),
                isPostQuantum: session.origin.isPostQuantum)
        }
    }
}
