/// How long to wait before connecting again: up to 1 s, 2 s, 4 s … 30 s, each time a random part of that,
/// so that many clients do not come back at once.
struct Backoff {
    private var attempts = 0

    /// The seconds to wait after another failure.
    mutating func next() -> Double {
        let longest = min(30, Double(1 << min(attempts, 5)))
        attempts += 1
        return Double.random(in: 0...longest)
    }

    /// Begins again, after a success.
    mutating func reset() { attempts = 0 }
}
