public import Arguments
import Sotto
public import SottoState

/// The options for printing opened messages again.
struct AgainOptions: ArgumentGroup {
    @Flag(
        "--again",
        help: "Print messages again that were opened before, from the state; read no input.")
    var again = false

    @Option(
        "--since", value: "when",
        help:
            "With --again: only messages after this number, or opened since this time, such as 2026-11-22T09:00:00Z."
    )
    var since: IdentityStore.Since?

    func validate() throws {
        guard again || since == nil else { throw UsageError("--since requires --again") }
    }
}

extension IdentityStore.Since: ExpressibleByArgument {
    /// Parses a number or an RFC 3339 time in UTC.
    public init?(argument: String) {
        if argument.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(argument) {
            self = .number(number)
        } else if let time = Timestamp(argument) {
            self = .time(time)
        } else {
            return nil
        }
    }
}
