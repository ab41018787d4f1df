import Glibc

/// The amount of faults in each row.
enum Scale: String {
    /// Some seconds for each row.
    case small
    /// The counts for which the goals are set.
    case full

    /// Returns the value for the scale.
    func pick<T>(small: T, full: T) -> T { self == .small ? small : full }
}

/// One fault, and its goal.
struct Row: Sendable {
    /// The name for `--row`.
    let name: String
    /// The description of the fault.
    let fault: String
    /// The goal that must be reached.
    let goal: String
    /// Runs the fault and measures.
    let run: @Sendable (Scale) -> Outcome

    /// The head of the Markdown table.
    static let head = "| row | fault | times | seen | goal | |\n|---|---|---|---|---|---|"

    /// Returns the row's line in the table.
    func line(_ outcome: Outcome) -> String {
        let columns = [
            name, fault, "\(outcome.times)", outcome.seen, goal, outcome.verdict.rawValue,
        ]
        return "| " + columns.joined(separator: " | ") + " |"
    }
}

/// The result of a row.
struct Outcome {
    enum Verdict: String {
        case ok
        /// The counts are right, but a time or the memory is over its goal.
        case over
        case missed = "MISSED"
        case skipped
    }

    /// The number of faults.
    let times: Int
    /// The measured values, as text.
    let seen: String
    let verdict: Verdict

    init(_ times: Int, _ seen: String, _ verdict: Verdict) {
        (self.times, self.seen, self.verdict) = (times, seen, verdict)
    }

    /// Creates an outcome from the counts, and from whether times and memory are within the goal.
    init(_ times: Int, _ seen: String, isGood: Bool, isWithin: Bool = true) {
        self.init(times, seen, !isGood ? .missed : isWithin ? .ok : .over)
    }

    /// The same outcome, with times and memory over the goal as a miss.
    var strict: Outcome { verdict == .over ? Outcome(times, seen, .missed) : self }

    /// Creates the outcome of a row that could not cause its fault.
    static func broken(_ why: String, after times: Int = 0) -> Outcome {
        Outcome(times, why, .missed)
    }

    /// Creates the outcome of a row that cannot run on this machine.
    static func skipped(_ why: String) -> Outcome { Outcome(0, why, .skipped) }
}

/// Returns a number with `digits` digits after the point.
func text(_ number: Double, digits: Int = 1) -> String {
    guard number.isFinite else { return "infinite" }
    var unit = 1
    for _ in 0..<digits { unit *= 10 }
    let scaled = Int((number * Double(unit)).rounded())
    let fraction = String(scaled % unit + unit).dropFirst()
    return digits == 0 ? "\(scaled)" : "\(scaled / unit).\(fraction)"
}

/// Sleeps for a random time of at most `milliseconds`.
func anyMoment(upTo milliseconds: Double, _ generator: inout some RandomNumberGenerator) {
    usleep(UInt32(Double.random(in: 0...milliseconds, using: &generator) * 1000))
}
