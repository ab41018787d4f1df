package import Sotto
import SottoDatabase

/// The time of the last complete reception.
extension StateTransaction {
    /// Records that a relay has pushed all waiting mail.
    package func noteReceived(at time: Timestamp = .now()) throws(StateError) {
        try remember(Self.received, time.seconds)
    }

    /// Returns when all waiting mail was last received, or `nil` if that never happened with this state.
    package func lastReceived() throws(StateError) -> Timestamp? {
        try remembered(Self.received).map { Timestamp(seconds: $0) }
    }

    private static let received = "mail received"

    /// The least seconds between two times that a running reception stores.
    package static let receivedNoteSeconds: Int64 = 600
    /// Seconds after which a running reception looks whether it has a time to store.
    fileprivate static let receivedNoteDelay: Int64 = 30
}

extension StateDirectory {
    /// The path of the lock that a reception of mail for a device holds.
    package func receptionLock(of device: KeyID) -> String {
        file(device.description + ".recv-lock")
    }
}

extension IdentityStore {
    /// Returns whether mail was received at `time` or later: all waiting mail was, or a message was stored, or a reception runs
    /// that received all mail a short time before. A running one stores the time only once in a while.
    package func hasReceived(since time: Timestamp) throws -> Bool {
        let (last, newest) = try preview { transaction in
            (
                try transaction.lastReceived(),
                try transaction.connection.first(
                    "SELECT time FROM message WHERE sent = 0 ORDER BY number DESC LIMIT 1"
                ) { $0.integer(0) }
            )
        }
        if let newest, newest > time.seconds { return true }
        guard let last else { return false }
        if last >= time { return true }
        let age = Timestamp.now().seconds - last.seconds
        let limit = StateTransaction.receivedNoteSeconds + StateTransaction.receivedNoteDelay
        return try age <= limit && isReceptionRunning()
    }

    private func isReceptionRunning() throws(StateError) -> Bool {
        do throws(DatabaseError) {
            let lock = try FileLock(path: directory.receptionLock(of: owner.device))
            return !lock.tryLock()
        } catch {
            throw .database(error)
        }
    }
}
