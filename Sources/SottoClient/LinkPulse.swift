import NIOCore

/// Decides when a connection is asked for a sign of life, and when it counts as lost.
///
/// A ping is sent only after a time without any input, so a busy connection costs nothing. The whole is a value without a
/// clock: the caller gives the times.
struct LinkPulse: Sendable {
    /// The next step.
    enum Step: Equatable {
        /// Do nothing until this time.
        case wait(until: NIODeadline)
        /// Send a ping, and take the next step at this time.
        case ping(until: NIODeadline)
        /// The connection is lost.
        case lost
    }

    /// The default for the time without input after which a ping is sent.
    static let quiet = TimeAmount.seconds(20)
    /// The default for the time after the ping in which anything must arrive.
    static let patience = TimeAmount.seconds(10)

    private let quiet: TimeAmount
    private let patience: TimeAmount

    private var heardAt: NIODeadline
    private var askedAt: NIODeadline?

    /// Creates the pulse of a connection that begins at `now`. With the default times a frozen connection is noticed after 30
    /// seconds.
    init(
        at now: NIODeadline, quiet: TimeAmount = quiet, patience: TimeAmount = patience
    ) {
        (self.quiet, self.patience) = (quiet, patience)
        heardAt = now
    }

    /// Notes that bytes arrived.
    mutating func heard(at now: NIODeadline) { (heardAt, askedAt) = (now, nil) }

    /// Returns the step that is due at `now`.
    mutating func step(at now: NIODeadline) -> Step {
        if let askedAt {
            return now < askedAt + patience ? .wait(until: askedAt + patience) : .lost
        }
        guard now >= heardAt + quiet else { return .wait(until: heardAt + quiet) }
        askedAt = now
        return .ping(until: now + patience)
    }
}
