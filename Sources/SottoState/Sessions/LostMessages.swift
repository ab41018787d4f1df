package import Sotto
import SottoDatabase

/// Messages of a session that were encrypted and never sent. Nobody opens a message that is more than ``Session/maximumSkip`` places
/// ahead, so that the session ends for sending before.
extension StateTransaction {
    /// The number of messages in succession that reached no outbox, after which a session sends no more. The other places are for messages
    /// that the history does not have.
    private static let mostLost = Session.maximumSkip * 3 / 4

    /// Returns whether a person could soon open no message of a session: the last ones reached no outbox, because the pipe to `send` was
    /// broken or forgotten.
    package func hasLostMessages(to person: KeyID) throws(StateError) -> Bool {
        guard try allSlots(person).contains(where: { $0.isLong(Self.mostLost) }),
            let row = try store.conversationRow(.peer(person), connection)
        else { return false }
        let last = try store.entries(
            """
            WHERE conversation = ? AND sent = 1 AND kind <= ? AND sealed IS NOT NULL
            ORDER BY number DESC LIMIT ?
            """, row.number, HistoryEntry.Kind.pin.rawValue, Self.mostLost, connection: connection)
        guard last.count == Self.mostLost, last.allSatisfy({ $0.state == .new }),
            let first = last.last?.received
        else { return false }
        let reached = Set(
            try Outbox.arrivals(in: store.directory, since: first.seconds).map(\.id))
        return !last.contains { $0.id.map { reached.contains($0) } ?? false }
    }

    /// Ends the sessions of which ``hasLostMessages(to:)`` is true, for sending: those with the person and with the person's devices.
    package func endLostSessions(with person: KeyID) throws(StateError) {
        guard try hasLostMessages(to: person) else { return }
        for device in [person] + (try devices(of: person)?.devices.map(\.id) ?? [])
        where try allSlots(device).contains(where: { $0.isLong(Self.mostLost) }) {
            try retireSessions(with: device)
        }
    }
}

extension SessionSlot {
    /// Whether it sends, and has sent so many messages since the peer's last answer.
    fileprivate func isLong(_ count: Int) -> Bool { !isRetired && session.sentCount >= count }
}
