import Sotto
import TestHarness

/// Prints the time of folding each hostile log, in milliseconds.
func printHostileTimes(_ count: Int) {
    for log in HostileLog.allCases {
        let rules = log.rules(count)
        let time = median { _ = GroupFold(rules) }
        show([("log", .string(log.rawValue)), ("ms", .integer(Int64(time * 1000)))])
    }
}
