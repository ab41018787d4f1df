import SottoState
import SottoWire

/// The uploads of a delivery, as a value: which blobs are being uploaded, and when failed ones are tried again.
struct UploadQueue {
    /// The blobs that are being uploaded, at most ``mostRunning``.
    private var running: [Int64: Outbox.Item] = [:]
    /// Whether an upload failed and others that run with it have not ended yet.
    private var isFailing = false
    private var backoff = Backoff()
    private var attemptAt = 0.0
    /// Whether the outbox may have a blob for the relay that is not among the running ones.
    private var mayWait: Bool
    /// Whether the files of blobs are known at all.
    private let hasFiles: Bool
    /// The error that ended the uploads of this run, or `nil`.
    private(set) var error: ClientError?
    /// The time of the last progress of a blob.
    var lastProgress: Double?

    /// The most blobs at once.
    private static let mostRunning = 32
    /// Seconds after the last progress of a blob during which a lost connection is tried again.
    private static let patience = 30.0

    init(hasFiles: Bool) { (self.hasFiles, mayWait) = (hasFiles, hasFiles) }

    var isRunning: Bool { !running.isEmpty }

    /// Whether the outbox must be asked for blobs.
    var isUnknown: Bool { mayWait && error == nil }

    /// Notes that the outbox may have more blobs.
    mutating func noteMore() { mayWait = hasFiles }

    /// Whether a blob progressed a short time ago, so that the connection is tried again although the input ended.
    func isProgressing(_ now: Double) -> Bool {
        lastProgress.map { now - $0 < Self.patience } ?? false
    }

    /// The time of the next attempt; `nil` if it is due, while one is running, and without a blob that waits.
    func nextAttempt(_ now: Double) -> Double? {
        mayWait && !isRunning && attemptAt > now && error == nil ? attemptAt : nil
    }

    /// The number of blobs to read from the outbox in order to find `count` new ones. It is 0 if none can wait.
    func limit(for count: Int, deferred: Int) -> Int {
        isUnknown ? deferred + running.count + count : 0
    }

    /// Notes the first blobs of the outbox. Returns whether one of them waits.
    mutating func isWaiting(
        _ blobs: [(number: Int64, item: Outbox.Item)], except isDeferred: (Int64) -> Bool
    ) -> Bool {
        !new(blobs, isDeferred).isEmpty
    }

    private mutating func new(
        _ blobs: [(number: Int64, item: Outbox.Item)], _ isDeferred: (Int64) -> Bool
    ) -> [(number: Int64, item: Outbox.Item)] {
        guard isUnknown else { return [] }
        let next = blobs.filter { running[$0.number] == nil && !isDeferred($0.number) }
        mayWait = !next.isEmpty
        // A blob that was given twice is uploaded once: the second time the relay has it.
        var busy = Set(running.values.map(\.id))
        return next.filter { busy.insert($0.item.id).inserted }
    }

    /// The number of blobs that can be started now. It is 0 if enough are running, or the last one failed just before.
    func room(_ now: Double) -> Int {
        isFailing || running.count > Self.mostRunning / 2 || attemptAt > now || !isUnknown
            ? 0 : Self.mostRunning - running.count
    }

    /// Starts the first blobs of the outbox that are new, and returns them.
    mutating func start(
        _ blobs: [(number: Int64, item: Outbox.Item)], except isDeferred: (Int64) -> Bool
    ) -> [(number: Int64, item: Outbox.Item)] {
        let some = new(blobs, isDeferred).prefix(Self.mostRunning - running.count)
        for (number, item) in some { running[number] = item }
        return Array(some)
    }

    /// Ends an upload, and returns its item. With `isLast`, a failed attempt is the last if nothing progressed for some time, or
    /// the relay is too slow.
    mutating func end(
        _ number: Int64, _ ending: BlobUploader.Ending, isLast: Bool, at now: Double
    ) -> Outbox.Item? {
        guard let item = running.removeValue(forKey: number) else { return nil }
        mayWait = hasFiles
        switch ending {
        case .failed(let error, let hasProgressed):
            guard !isFailing else { break }
            isFailing = true
            if hasProgressed { backoff.reset() }
            attemptAt = now + backoff.next()
            var isSlow: Bool { if case .tooSlow = error { true } else { false } }
            if isLast, isSlow || !isProgressing(now) { self.error = error }
        case .stored, .rejected: backoff.reset()
        case .deferred: break
        }
        return item
    }

    /// Notes that all uploads that ran with a failed one have ended. Returns whether the next ones may be tried.
    mutating func endFailure() -> Bool {
        guard isFailing, running.isEmpty else { return false }
        isFailing = false
        return true
    }
}
