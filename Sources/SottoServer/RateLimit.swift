/// So many events in so many seconds, counted anew when they are over.
struct RateLimit {
    private let count: Int
    private let seconds: Double
    private var left: Int
    private var until = 0.0

    /// At most `count` events in `seconds` seconds.
    init(count: Int, seconds: Double) {
        self.count = count
        self.seconds = seconds
        left = count
    }

    /// Whether another event is within the limit; if so, it is counted.
    mutating func admits(at now: Double) -> Bool {
        if now >= until { (left, until) = (count, now + seconds) }
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}
