/// The delay before the next connection attempt: a random part of 1 s, 2 s, 4 s … 30 s, so that many clients do not
/// reconnect at once.
struct Backoff {
    private var attempts = 0

    /// Returns the seconds to wait after another failure.
    mutating func next() -> Double {
        let longest = min(30, Double(1 << min(attempts, 5)))
        attempts += 1
        return Double.random(in: 0...longest)
    }

    /// Restarts the sequence after a success.
    mutating func reset() { attempts = 0 }
}
