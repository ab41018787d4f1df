import SottoContacts
import Sotto
import SottoTool

/// Recognises repeats of envelopes with a time to live of 0 without recording them on disk: an envelope is only accepted
/// near its time, and once in a process.
struct SignalWindow {
    /// The most seconds between the time of an envelope and this machine's clock.
    static let seconds: Int64 = 60
    /// The most envelopes that are remembered. Above it the oldest are forgotten.
    private static let limit = 10_000

    private var known: Set<[UInt8]> = []
    private var order: [[UInt8]] = []

    /// Remembers an envelope. Throws a failure of ``ExitStatus/replay`` if it is not of this time, or was taken before.
    mutating func take(_ envelope: Envelope) throws(Failure) {
        try Self.check(envelope)
        guard known.insert(envelope.digest).inserted else {
            throw Failure(.replay, "the envelope was opened before, and its time to live is 0")
        }
        order.append(envelope.digest)
        guard order.count > 2 * Self.limit else { return }
        for digest in order[..<Self.limit] { known.remove(digest) }
        order.removeFirst(Self.limit)
    }

    /// Throws a failure of ``ExitStatus/replay`` if the time of an envelope is not near this machine's clock.
    static func check(_ envelope: Envelope, at now: Timestamp = .now()) throws(Failure) {
        guard abs(now.seconds - envelope.time.seconds) <= seconds else {
            throw Failure(
                .replay,
                "the time to live is 0, and the time differs from this clock by more than \(seconds) seconds"
            )
        }
    }
}
