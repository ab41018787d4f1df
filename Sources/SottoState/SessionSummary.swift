public import Sotto
import SottoDatabase

/// The sending session with a peer, for display.
public struct SessionSummary: Sendable, Equatable {
    /// When the session began.
    public let began: Timestamp
    /// Whether the session began with ML-KEM-1024.
    public let isPostQuantum: Bool
}

extension IdentityStore {
    /// Returns the session that messages to a peer use, or `nil` if none exists.
    public func sessionSummary(with peer: SessionID) throws(StateError) -> SessionSummary? {
        try database.use { connection throws(StateError) in
            let sessions = try connection.rows(
                "SELECT number, used, began, tag, sealed FROM session WHERE peer = ?", mark(peer)
            ) { row throws(StateError) in
                var bytes = try unseal(row.bytes(4), .session(tag: row.bytes(3)))
                defer { wipe(&bytes) }
                guard let session = PeerSession(encoded: bytes) else {
                    throw .unsealable(path: database.path)
                }
                return (
                    PeerSession.Candidate(session, began: row.integer(0), used: row.integer(1)),
                    began: Timestamp(seconds: row.integer(2))
                )
            }
            guard let place = PeerSession.sending(among: sessions.map { $0.0 }) else { return nil }
            return SessionSummary(
                began: sessions[place].began,
                isPostQuantum: sessions[place].0.session.origin.isPostQuantum)
        }
    }
}
