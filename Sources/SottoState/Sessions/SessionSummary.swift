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
    public func sessionSummary(with peer: KeyID) throws(StateError) -> SessionSummary? {
        try use { connection throws(StateError) in
            let rows = try connection.rows(
                "SELECT number, used, began, tag, sealed FROM session WHERE peer = ? AND retired = 0",
                mark(peer)
            ) { row throws(StateError) -> (PeerSession.Candidate, began: Timestamp)? in
                guard let session = try session(row.bytes(4), tag: row.bytes(3), of: peer) else {
                    return nil
                }
                return (
                    PeerSession.Candidate(session, began: row.integer(0), used: row.integer(1)),
                    began: Timestamp(seconds: row.integer(2))
                )
            }
            let sessions = rows.compactMap { $0 }
            guard let place = PeerSession.sending(among: sessions.map { $0.0 }) else { return nil }
            return SessionSummary(
                began: sessions[place].began,
                isPostQuantum: sessions[place].0.isPostQuantum)
        }
    }

    /// Reads a session with a peer, or returns `nil` if it cannot be read.
    func session(
        _ sealed: [UInt8], tag: [UInt8], of peer: KeyID
    ) throws(StateError) -> PeerSession? {
        try readable(.session, tag) { () throws(StateError) in
            var bytes = try unseal(sealed, .session(tag: tag))
            defer { wipe(&bytes) }
            guard let session = PeerSession(encoded: bytes), session.peer == peer else {
                throw StateError.unsealable(path: database.path)
            }
            return session
        }
    }
}
