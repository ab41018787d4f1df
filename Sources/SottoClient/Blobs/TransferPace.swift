/// The time that a transfer may take: a total, and a least rate. A transfer that falls below the rate in one period ends,
/// however often it progresses a little.
public struct TransferPace: Sendable {
    /// Seconds of a period.
    let period: Double
    /// The bytes that must arrive in each period.
    let leastBytes: Int64
    /// Seconds of the whole transfer.
    let total: Double

    /// Creates a pace from seconds and from bytes a second.
    public init(period: Double, leastRate: Double, total: Double = .infinity) {
        (self.period, self.total) = (period, total)
        leastBytes = Int64(period * leastRate)
    }

    /// A transfer that the user asked for: any time, at 1 KiB a second.
    public static let asked = TransferPace(period: 30, leastRate: 1_024)
    /// A transfer in parallel with the reading of `recv --follow`: ten minutes, at 4 KiB a second.
    public static let parallel = TransferPace(period: 15, leastRate: 4_096, total: 600)
    /// The envelopes of a mailbox without `--follow`: a day, at 1 KiB a second.
    static let mailbox = TransferPace(period: 300, leastRate: 1_024, total: 86_400)
    /// An upload: any time, at 1 KiB a second.
    static let upload = TransferPace(period: 60, leastRate: 1_024)
    /// A transfer after the last envelope of `recv`: 20 seconds, at 16 KiB a second.
    public static let last = TransferPace(period: 5, leastRate: 16_384, total: 20)
}

/// The deadline of a transfer, which moves while the transfer keeps its pace.
struct TransferDeadline {
    private let pace: TransferPace
    private let end: Double
    private var counted: Int64 = 0
    /// The time by which the transfer must end or move on.
    private(set) var at: Double

    /// Begins a transfer at the time `now` in seconds.
    init(_ pace: TransferPace, at now: Double) {
        self.pace = pace
        end = now + pace.total
        at = min(end, now + pace.period)
    }

    /// Notes that `count` bytes have arrived since the beginning.
    mutating func arrived(_ count: Int64, at now: Double) {
        guard count - counted >= pace.leastBytes else { return }
        counted = count
        at = min(end, now + pace.period)
    }
}
