import Sotto

/// The delay before a failed command is run again: a random time of 1 to 2 s, 2 to 4 s, 4 to 8 s … 30 to 60 s, so that
/// commands that failed together are not retried together.
struct RetryDelay {
    private var attempts = 0

    /// The maximum delay.
    static let longest = 60.0

    /// Returns the seconds to wait after another failure.
    mutating func next() -> Double {
        let most = min(Self.longest, Double(2 << min(attempts, 5)))
        attempts += 1
        return Double.random(in: most / 2...most)
    }
}

/// Envelopes whose command failed during `--follow`, each with the time of its next attempt.
struct ReceptionCommandRetries {
    /// An envelope that is tried again.
    struct Retry {
        /// Its id.
        let id: String
        /// The record on one line.
        let envelope: [UInt8]
        /// The address that received it; `nil` for the identity's own mailbox.
        let origin: KeyID?
        fileprivate var delay = RetryDelay()
        fileprivate var at = 0.0
        fileprivate var successes = 0
        fileprivate var countedFailures = 0
    }

    /// The maximum number of envelopes kept for another attempt; others wait for the next `recv`.
    static let limit = 1_000

    private var retries: [String: Retry] = [:]

    /// The number of envelopes that are tried again.
    var count: Int { retries.count }

    /// The time of the next attempt; `nil` if no envelope is tried again.
    var next: Double? { retries.values.map(\.at).min() }

    func contains(_ id: String) -> Bool { retries[id] != nil }

    /// Returns the number of counted failures of an envelope.
    func countedFailures(of id: String) -> Int { retries[id]?.countedFailures ?? 0 }

    /// Records a failure at `now` and sets the time of the next attempt, unless there are too many envelopes.
    /// `successes` is the number of envelopes that the command has handled.
    ///
    /// Returns whether the failure counts: the command has handled another envelope since the last attempt.
    mutating func noteFailure(
        _ id: String, _ envelope: [UInt8], origin: KeyID?, successes: Int, at now: Double
    ) -> Bool {
        guard
            var retry = retries[id]
                ?? (retries.count < Self.limit
                    ? Retry(id: id, envelope: envelope, origin: origin) : nil)
        else { return true }
        let counts = successes > retry.successes
        retry.successes = successes
        if counts { retry.countedFailures += 1 }
        retry.at = now + retry.delay.next()
        retries[id] = retry
        return counts
    }

    /// Returns the envelopes that are due, the longest due first.
    func due(at now: Double) -> [Retry] {
        retries.values.filter { $0.at <= now }.sorted { $0.at < $1.at }
    }

    /// Removes an envelope that was handled or abandoned.
    mutating func remove(_ id: String) { retries[id] = nil }
}
