import Glibc

/// How much of each fault there is.
enum Scale: String {
    /// Some seconds for each row.
    case small
    /// The counts that the goals are for.
    case full

    /// One of two values.
    func pick<T>(small: T, full: T) -> T { self == .small ? small : full }
}

/// One fault, and what shall come of it.
struct Row: Sendable {
    /// What `--row` calls it.
    let name: String
    /// What is broken.
    let fault: String
    /// What must hold.
    let goal: String
    /// Breaks it.
    let run: @Sendable (Scale) -> Outcome

    /// The first lines of a table of rows in Markdown.
    static let head = "| row | fault | times | seen | goal | |\n|---|---|---|---|---|---|"

    /// Its line in the table.
    func line(_ outcome: Outcome) -> String {
        let columns = [
            name, fault, "\(outcome.times)", outcome.seen, goal, outcome.verdict.rawValue,
        ]
        return "| " + columns.joined(separator: " | ") + " |"
    }
}

/// What came of a fault.
struct Outcome {
    enum Verdict: String {
        case ok
        /// The counts are right, and a time or the memory is over its goal.
        case over
        case missed = "MISSED"
        case skipped
    }

    /// How many times it happened.
    let times: Int
    /// The figures.
    let seen: String
    let verdict: Verdict

    init(_ times: Int, _ seen: String, _ verdict: Verdict) {
        (self.times, self.seen, self.verdict) = (times, seen, verdict)
    }

    /// An outcome that depends on the counts, and on whether times and memory are within the goal.
    init(_ times: Int, _ seen: String, isGood: Bool, isWithin: Bool = true) {
        self.init(times, seen, !isGood ? .missed : isWithin ? .ok : .over)
    }

    /// The same where times and memory count as much as everything else.
    var strict: Outcome { verdict == .over ? Outcome(times, seen, .missed) : self }

    /// The programs did not even do what the fault needs.
    static func broken(_ why: String, after times: Int = 0) -> Outcome {
        Outcome(times, why, .missed)
    }

    /// It cannot be tried here.
    static func skipped(_ why: String) -> Outcome { Outcome(0, why, .skipped) }
}

/// A number with so many digits after the point.
func text(_ number: Double, digits: Int = 1) -> String {
    guard number.isFinite else { return "endless" }
    var unit = 1
    for _ in 0..<digits { unit *= 10 }
    let scaled = Int((number * Double(unit)).rounded())
    let fraction = String(scaled % unit + unit).dropFirst()
    return digits == 0 ? "\(scaled)" : "\(scaled / unit).\(fraction)"
}

/// Lets up to so many milliseconds pass, to do something at a moment that nothing else determines.
func anyMoment(upTo milliseconds: Double, _ generator: inout some RandomNumberGenerator) {
    usleep(UInt32(Double.random(in: 0...milliseconds, using: &generator) * 1000))
}
