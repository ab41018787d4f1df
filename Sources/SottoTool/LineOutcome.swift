public import Sotto

extension Failure {
    /// The failure that an error record of an earlier stage tells of; `nil` for any other record.
    public init?(errorRecord record: JSONObject) {
        guard record["type"]?.string == "error" else { return nil }
        let status = record["status"]?.integer.flatMap { Int32(exactly: $0) }
        self.init(
            status.flatMap { ExitStatus(rawValue: $0) }.flatMap {
                [.done, .closedPipe].contains($0) ? nil : $0
            }
                ?? .malformed,
            record["message"]?.string ?? "an earlier stage failed")
    }
}

/// What became of lines of which each stands for itself: one bad line is one error record, the others go on,
/// and the exit status tells.
public struct LineOutcome {
    private var good = 0
    private var doubtful = 0
    private var failures: [Failure] = []
    private let announcer: String?
    /// The failures of a batch that were announced, and those that were not.
    private var announced = 0
    private var passedOver = 0
    private var lastHint: String?
    /// The most failures of a batch that are announced one by one.
    private static let batchLimit = 10

    /// No line yet. With `announcer`, a tool's name, each failure is reported on standard error when it happens, and not
    /// at the end: a pipe that follows a mailbox has no end.
    public init(announcer: String? = nil) { self.announcer = announcer }

    /// Whether no line was met.
    public var isEmpty: Bool { good == 0 && failures.isEmpty }

    /// Whether a line went well.
    public var hasSucceeded: Bool { good + doubtful > 0 }

    /// Counts a line that went well.
    public mutating func succeeded() { good += 1 }

    /// Counts a line that was printed, and about which `failure` is to be said all the same.
    public mutating func doubted(_ failure: Failure, line: Int) {
        doubtful += 1
        _ = failed(failure, line: line)
    }

    /// Counts a line that failed, and returns the record that says so.
    public mutating func failed(_ failure: Failure, line: Int, id: String? = nil) -> JSONObject {
        failures.append(
            Failure(failure.status, "line \(line): \(failure.message)", hint: failure.hint))
        announce()
        return JSONObject([
            ("v", .integer(1)), ("type", .string("error")), ("line", .integer(Int64(line))),
            ("id", id.map { .string($0) }), ("status", .integer(Int64(failure.status.rawValue))),
            ("message", .string(failure.message)),
        ])
    }

    /// What the tool exits with: nothing where all went well; a line's own failure where it was the only one
    /// or all failed alike; else 15.
    public var failure: Failure? {
        guard let last = failures.last else { return nil }
        let isUniform = good == 0 && failures.allSatisfy { $0.status == last.status }
        let status = isUniform ? last.status : .partial
        // The failures were announced before.
        guard announcer == nil else { return Failure(status, "") }
        return Failure(status, last.message, hint: last.hint)
    }

    private mutating func announce() {
        guard let announcer, let failure = failures.last else { return }
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

    /// Ends a batch of lines that were read together: reports how many failures of it were not announced.
    public mutating func endBatch() {
        if let announcer, passedOver > 0 {
            Terminal.say("\(announcer): error: … and \(passedOver) more")
        }
        (announced, passedOver) = (0, 0)
    }

    /// Says what failed and throws ``failure``, if there is one.
    public func end(tool: String) throws(Failure) {
        guard let failure else { return }
        guard announcer == nil else { throw failure }
        for failure in failures.dropLast().prefix(9) {
            Terminal.say("\(tool): error: \(failure.message)")
        }
        if failures.count > 10 { Terminal.say("\(tool): error: … and \(failures.count - 10) more") }
        throw failure
    }
}
