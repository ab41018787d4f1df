import Glibc
import Sotto
import SottoState
import SottoTool

/// `group-bench members IDENTITY STATE COUNT`: makes the group `team` of the identity with COUNT other members, a session with
/// each, as `group`, `decrypt` and `encrypt` make them.
///
/// `group-bench log IDENTITY STATE CHANGES`: makes the group `log` with a log of CHANGES changes.
///
/// `group-bench groups IDENTITY STATE COUNT`: makes the groups `team1` to `teamCOUNT`, which the identity owns.
///
/// `group-bench hostile IDENTITY STATE CHANGES`: prints the time of folding each ``HostileLog`` with CHANGES changes, as objects.
///
/// `group-bench fold IDENTITY STATE GROUP`: prints the times of reading, verifying and folding the log of a group, as an object.
@main
struct GroupBench {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5 else { exit(64) }
        guard case .sotto(let identity) = try IdentityFile.read(arguments[2], passphrase: nil)
        else { exit(65) }
        let store = try IdentityStore(
            directory: StateDirectory(path: arguments[3]), identity: identity, lockTimeout: 10)
        switch (arguments[1], Int(arguments[4])) {
        case ("members", let count?) where count > 0: try Members(store, identity).make(count)
        case ("groups", let count?) where count > 0: try makeGroups(count, store)
        case ("log", let count?) where count > 0: try LongLog(store).make(count)
        case ("hostile", let count?) where count > 0: printHostileTimes(count)
        case ("fold", _): try FoldTimes(store).print(arguments[4])
        default: exit(64)
        }
    }
}

/// Prints a JSON object on a line.
func show(_ members: [(String, JSON?)]) {
    print(String(decoding: JSON.object(JSONObject(members)).serialized(), as: UTF8.self))
}

/// Returns the seconds that `body` takes.
func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start) / .seconds(1)
}

/// Returns the median of the seconds of 11 runs.
func median(_ body: () throws -> Void) rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<11 { times.append(try seconds(body)) }
    return times.sorted()[5]
}
