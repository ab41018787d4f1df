/// A limit of events in each period of a fixed length.
struct RateLimit {
    private let count: Int
    private let seconds: Double
    private var left: Int
    private var until = 0.0

    /// Allows `count` events in `seconds` seconds.
    init(count: Int, seconds: Double) {
        self.count = count
        self.seconds = seconds
        left = count
    }

    /// Returns whether another event is within the limit, and counts it if so.
    mutating func admits(at now: Double) -> Bool {
        if now >= until { (left, until) = (count, now + seconds) }
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}
