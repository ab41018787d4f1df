import Glibc
import NIOCore
import SottoState

/// Puts load on a relay or its peer, and prints what came of it.
///
/// | call | prints |
/// |---|---|
/// | `relay-load sync DIRECTORY SECONDS` | rate and times of a write of 4 KB with fdatasync |
/// | `relay-load closed URL CONNECTIONS IN-FLIGHT SECONDS` | rate and times: a send for each answer |
/// | `relay-load open URL CONNECTIONS RATE SECONDS` | rate and times: sends by the clock |
/// | `relay-load idle URL CONNECTIONS PID` | kB resident in the process before and after, kB for each connection |
///
/// Rate and times are five numbers: a second's count, and the median, the 99th and 99.9th percentile and the longest
/// time in milliseconds. A URL is a relay's, with the pin of its key over TLS, or `mqtt://HOST:PORT`.
@main
struct RelayLoad {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        switch (words.first, numbers.count) {
        case ("sync", 1):
            print(try Calibration.run(directory: words[1], seconds: Double(numbers[0])))
        case ("closed", 3):
            let pool = try Pool(Target(words[1]), count: numbers[0])
            print(try ClosedLoop(inFlight: numbers[1], seconds: numbers[2]).run(pool))
        case ("open", 3):
            let pool = try Pool(Target(words[1]), count: numbers[0])
            print(try OpenLoop(rate: numbers[1], seconds: numbers[2]).run(pool))
        case ("idle", 2):
            let before = try Memory.resident(of: numbers[1])
            let pool = try Pool(Target(words[1]), count: numbers[0])
            let after = try Memory.resident(of: numbers[1])
            let each = Double(after - before) / Double(pool.connections.count)
            print("\(before)\t\(after)\t\((each * 10).rounded() / 10)")
        default:
            print("usage: relay-load sync|closed|open|idle ...")
            exit(64)
        }
    }
}

/// Why there is no figure.
enum LoadError: Error {
    /// Not an address that load can be put on.
    case address(String)
    /// The other side said what a benchmark does not expect.
    case unexpected(String)
    /// A file could not be used.
    case file(String)
}
