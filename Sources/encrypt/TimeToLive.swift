import Arguments
import Sotto
import SottoTool

/// The time after which a relay deletes a message, as it is written on the command line: a number of seconds, or a number with
/// a unit.
struct TimeToLive: ExpressibleByArgument {
    let seconds: Int64

    init?(argument: String) {
        let range = 0...Envelope.maximumTTL
        let number = Int64(argument) ?? TimeSpan.seconds(argument, in: range)
        guard let number, range.contains(number) else { return nil }
        seconds = number
    }

    static var argumentForm: String {
        "a number of seconds, or a number with s, m, h, d or w, at most 365d"
    }
}
