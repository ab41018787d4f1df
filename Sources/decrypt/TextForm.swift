public import Arguments
import Sotto
public import SottoState

/// The options for the form of texts, and for messages that were opened before.
struct TextForm: ArgumentGroup {
    @Flag("--again", help: "Print again what was opened before, from the state; reads no input.")
    var again = false

    @Option(
        "--since", value: "when",
        help:
            "With --again: only messages after this number, or opened since this time, as 2026-11-22T09:00:00Z."
    )
    var since: IdentityStore.Since?

    @Flag(
        "--time",
        help:
            "With --text: time, name and text, with tabs between them; further lines after two tabs."
    )
    var time = false

    @Flag(
        "-0", "--null", help: "With --text: end each text with a zero byte, not with a line feed.")
    var null = false

    /// Whether texts can be told apart by their form.
    var isMarked: Bool { time || null }

    func validate() throws {
        guard again || since == nil else { throw UsageError("--since requires --again") }
    }
}

extension IdentityStore.Since: ExpressibleByArgument {
    /// Reads a number or an RFC 3339 time in UTC.
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
