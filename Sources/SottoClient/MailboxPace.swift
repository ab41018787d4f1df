import SottoWire

/// The progress of a relay that has not said yet that the mailbox is empty.
///
/// Only the time of waiting for the relay counts: a slow command, or a slow reader of standard output, does not delay the relay.
struct MailboxPace {
    private let pace: TransferPace
    private var deadline: TransferDeadline
    /// Seconds of waiting since the mailbox was empty.
    private var waited = 0.0
    /// The bytes of the envelopes since the mailbox was empty.
    private var bytes: Int64 = 0
    /// The connections in a row that ended before the mailbox was empty, each with less than a window of envelopes.
    private var interruptions = 0

    /// The number of such connections that is too many.
    static let mostInterruptions = 50

    init(_ pace: TransferPace) {
        self.pace = pace
        deadline = TransferDeadline(pace, at: 0)
    }

    /// Whether the relay fell below the least rate, or ended too many connections.
    var isTooSlow: Bool { waited >= deadline.at || interruptions >= Self.mostInterruptions }

    /// Seconds of waiting after which the relay is too slow, unless envelopes arrive.
    var left: Double { max(0, deadline.at - waited) }

    /// Notes seconds of waiting for the relay.
    mutating func waited(_ seconds: Double) { waited += seconds }

    /// Notes new envelopes of this many bytes.
    mutating func received(_ count: Int64) {
        bytes += count
        deadline.arrived(bytes, at: waited)
    }

    /// Notes that the mailbox is empty.
    mutating func noteEmpty() { self = Self(pace) }

    /// Notes that a connection ended before the mailbox was empty, after `count` new envelopes.
    mutating func interrupted(after count: Int) {
        interruptions = count < WireLimits.window ? interruptions + 1 : 0
    }
}
