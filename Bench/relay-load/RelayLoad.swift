import Glibc
import NIOCore
import SottoDatabase

/// Puts load on a relay or an MQTT broker, and prints the results.
///
/// | call | prints |
/// |---|---|
/// | `relay-load sync DIRECTORY SECONDS` | rate and times of writing 4 KB with fdatasync |
/// | `relay-load closed URL CONNECTIONS IN-FLIGHT SECONDS` | rate and times of a closed loop |
/// | `relay-load signals URL CONNECTIONS IN-FLIGHT SECONDS` | the same for envelopes with a time to live of 0 |
/// | `relay-load open URL CONNECTIONS RATE SECONDS` | rate and times of an open loop |
/// | `relay-load idle URL CONNECTIONS PID` | resident kB of the process before and after, and kB for each connection |
///
/// Rate and times are five numbers: the rate per second, and the median, the 99th and 99.9th percentile and the maximum
/// of the times in milliseconds. A URL is a relay's, with its pin over TLS, or `mqtt://HOST:PORT`.
@main
struct RelayLoad {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        switch (words.first, numbers.count) {
        case ("sync", 1):
            print(try Calibration.run(directory: words[1], seconds: Double(numbers[0])))
        case ("closed", 3), ("signals", 3):
            let target = try Target(words[1], sendsSignals: words[0] == "signals")
            let pool = try Pool(target, count: numbers[0])
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
            print("usage: relay-load sync|closed|signals|open|idle ...")
            exit(64)
        }
    }
}

/// The reason why a measurement failed.
enum LoadError: Error {
    /// Not an address of a relay or broker.
    case address(String)
    /// An unexpected message.
    case unexpected(String)
    /// A file could not be used.
    case file(String)
}
