import Glibc
import TestHarness

/// `relay-faults [--scale small|full] [--row NAME]... PROGRAMS_DIR`: breaks a relay in each way that it must survive,
/// and prints a line for each fault: its count, the result and the goal.
///
/// The exit status is 1 if a goal was missed. The small scale is for every run of the tests: on a busy machine, a time
/// or memory over its goal is reported but is no miss. The full scale is for a release.
@main
struct RelayFaults {
    static let rows: [Row] = [
        .relayKilled, .clientsKilled, .filesKilled, .powerCut, .slowDisk, .failedSync, .fullDisk,
        .primaryKilled, .lostReplies, .preKeyRace, .consumersThatDoNotRead, .idleConnections,
        .slowSenders, .malformed, .hostileFrames, .forgedLogins, .movedClock, .reconnection,
    ]

    static func main() {
        guard let (scale, chosen, programs) = arguments() else {
            print("usage: relay-faults [--scale small|full] [--row NAME]... PROGRAMS_DIR")
            print("rows: \(rows.map(\.name).joined(separator: " "))")
            exit(64)
        }
        setenv("SOTTO_BIN", programs, 1)
        raiseDescriptorLimit()
        print(Row.head)
        var missed = 0
        for row in chosen.isEmpty ? rows : chosen {
            let outcome = scale == .full ? row.run(scale).strict : row.run(scale)
            print(row.line(outcome))
            fflush(nil)
            if outcome.verdict == .missed { missed += 1 }
        }
        exit(missed > 0 ? 1 : 0)
    }

    /// Parses the options; returns `nil` for invalid ones.
    private static func arguments() -> (Scale, [Row], programs: String)? {
        var (scale, chosen) = (Scale.full, [Row]())
        var words = CommandLine.arguments.dropFirst()
        while let word = words.popFirst() {
            switch word {
            case "--scale":
                guard let named = words.popFirst().flatMap(Scale.init) else { return nil }
                scale = named
            case "--row":
                let name = words.popFirst()
                guard let row = rows.first(where: { $0.name == name }) else { return nil }
                chosen.append(row)
            default:
                guard words.isEmpty, let path = realpath(word, nil) else { return nil }
                defer { free(path) }
                return (scale, chosen, String(cString: path))
            }
        }
        return nil
    }

    /// Raises the limit of descriptors: some rows have thousands of connections.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
