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

    /// Nothing done yet.
    public init() {}

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
        return Failure(isUniform ? last.status : .partial, last.message, hint: last.hint)
    }

    /// Says what failed and throws ``failure``, if there is one.
    public func end(tool: String) throws(Failure) {
        guard let failure else { return }
        for failure in failures.dropLast().prefix(9) {
            Terminal.say("\(tool): error: \(failure.message)")
        }
        if failures.count > 10 { Terminal.say("\(tool): error: … and \(failures.count - 10) more") }
        throw failure
    }
}
