public import SottoBytes

extension Failure {
    /// Creates the failure that an error record of an earlier program describes; `nil` for any other record. That program has printed it,
    /// if the record comes through a pipe.
    public init?(errorRecord record: JSONObject) {
        guard record["type"]?.string == "error" else { return nil }
        let status = record["status"]?.integer.flatMap { Int32(exactly: $0) }
        self.init(
            status.flatMap { ExitStatus(rawValue: $0) }.flatMap {
                [.done, .closedPipe].contains($0) ? nil : $0
            }
                ?? .malformed,
            record["message"]?.string ?? "an earlier program failed")
        isTold = Terminal.isPipe(0)
    }
}

/// The results of independent lines: a line that fails is printed as an error record, the others are processed, and the
/// exit status reports the failures.
public struct LineOutcome {
    private var good = 0
    private var doubtful = 0
    private var failures: [Failure] = []
    private let announcer: String?
    /// The numbers of failures in a batch that were reported, and that were not.
    private var announced = 0
    private var passedOver = 0
    private var lastHint: String?
    /// The maximum number of failures in a batch that are reported individually.
    private static let batchLimit = 10

    /// Creates an outcome without lines. With `announcer`, a tool's name, each failure is reported on standard error
    /// when it happens and not at the end, because a pipe that follows a mailbox has no end.
    public init(announcer: String? = nil) { self.announcer = announcer }

    /// Whether no line was counted.
    public var isEmpty: Bool { good == 0 && failures.isEmpty }

    /// Whether a line succeeded.
    public var hasSucceeded: Bool { good + doubtful > 0 }

    /// Counts a line that succeeded.
    public mutating func succeeded() { good += 1 }

    /// Counts a line that was printed and has a failure to report nevertheless.
    public mutating func doubted(_ failure: Failure, line: Int) {
        doubtful += 1
        _ = failed(failure, line: line)
    }

    /// Counts a line that failed. Returns its error record. `claimedFrom` is the id of the sender whom the line names and
    /// does not prove.
    public mutating func failed(
        _ failure: Failure, line: Int, id: String? = nil, claimedFrom: String? = nil
    ) -> JSONObject {
        // A failure of no line has the number 0.
        var numbered = Failure(
            failure.status, (line > 0 ? "line \(line): " : "") + failure.message,
            hint: failure.hint)
        numbered.isTold = failure.isTold
        failures.append(numbered)
        announce()
        return JSONObject([
            ("v", .integer(1)), ("type", .string("error")), ("line", .integer(Int64(line))),
            ("id", id.map { .string($0) }), ("claimedFrom", claimedFrom.map { .string($0) }),
            ("status", .integer(Int64(failure.status.rawValue))),
            ("message", .string(failure.message)),
        ])
    }

    /// The failure to exit with: `nil` if all lines succeeded; the failure of a line if it was the only line or all
    /// failures have the same status; else status 15.
    public var failure: Failure? {
        guard let last = failures.last else { return nil }
        let isUniform = good == 0 && failures.allSatisfy { $0.status == last.status }
        let status = isUniform ? last.status : .partial
        // The failures were reported before.
        guard announcer == nil, !last.isTold else { return Failure(status, "") }
        return Failure(status, last.message, hint: last.hint)
    }

    private mutating func announce() {
        guard let announcer, let failure = failures.last, !failure.isTold else { return }
        guard announced < Self.batchLimit else {
            passedOver += 1
            return
        }
        announced += 1
        Terminal.say("\(announcer): error: \(failure.message)")
        if let hint = failure.hint, hint != lastHint {
            Terminal.say("\(announcer): hint: \(hint)")
            lastHint = hint
        }
    }

    /// Ends a batch of lines that were read together, and reports the number of failures that were not reported.
    public mutating func endBatch() {
        if let announcer, passedOver > 0 {
            Terminal.say("\(announcer): error: … and \(passedOver) more")
        }
        (announced, passedOver) = (0, 0)
    }

    /// Reports the failures and throws ``failure`` if it is not `nil`.
    public func end(tool: String) throws(Failure) {
        guard let failure else { return }
        guard announcer == nil else { throw failure }
        let earlier = failures.dropLast().filter { !$0.isTold }
        for failure in earlier.prefix(9) { Terminal.say("\(tool): error: \(failure.message)") }
        if earlier.count > 9 { Terminal.say("\(tool): error: … and \(earlier.count - 9) more") }
        throw failure
    }
}
