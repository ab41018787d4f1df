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
}
