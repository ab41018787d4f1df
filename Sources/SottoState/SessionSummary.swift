public import Sotto
import SottoDatabase

/// The sending session with a peer, for display.
public struct SessionSummary: Sendable, Equatable {
    /// When the session began; `nil` if an earlier version began it and did not record the time.
    public let began: Timestamp?
    /// Whether the session began with ML-KEM-1024.
    public let isPostQuantum: Bool
}

extension IdentityStore {
    /// Returns the session that messages to a peer use, or `nil` if none exists.
    public func sessionSummary(with peer: SessionID) throws(StateError) -> SessionSummary? {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(
                "SELECT began, tag, sealed FROM session WHERE peer = ? ORDER BY used DESC LIMIT 1",
                mark(peer))
            defer { select.reset() }
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
