/// The progress of the upload of a blob over several attempts. A relay that ends each attempt after a piece is slow too.
///
/// Only the time of attempts counts, so that a relay can be away for any time.
struct UploadProgress {
    /// The id of the blob.
    let id: [UInt8]
    private let pace: TransferPace
    private var deadline: TransferDeadline
    /// The most bytes that the relay has confirmed.
    private var most: Int64 = 0
    /// Seconds of the attempts before the current one.
    private var spent = 0.0
    /// When the current attempt began.
    private var start = 0.0
    /// Whether the current attempt confirmed more bytes than all before.
    private(set) var hasProgressed = false

    init(id: [UInt8], pace: TransferPace) {
        (self.id, self.pace) = (id, pace)
        deadline = TransferDeadline(pace, at: 0)
    }

    /// Begins an attempt.
    mutating func begin(at now: Double) { (start, hasProgressed) = (now, false) }

    /// Notes that the relay has confirmed bytes. Returns whether they are more than ever.
    mutating func confirm(_ have: Int64, at now: Double) -> Bool {
        guard have > most else { return false }
        (most, hasProgressed) = (have, true)
        deadline.arrived(have, at: spent + now - start)
        return true
    }

    /// Seconds until the attempts are too slow.
    func left(at now: Double) -> Double { max(0, deadline.at - (spent + now - start)) }

    /// Ends an attempt that failed. Returns whether the attempts were too slow. The time counts anew after that, and after an
    /// attempt without progress.
    mutating func fail(at now: Double) -> Bool {
        let isTooSlow = hasProgressed && left(at: now) <= 0
        if isTooSlow || !hasProgressed {
            (spent, deadline) = (0, TransferDeadline(pace, at: 0))
        } else {
            spent += now - start
        }
        start = now
        return isTooSlow
    }
}
