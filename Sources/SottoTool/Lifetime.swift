import Arguments
import Sotto

/// The lifetime of messages on the command line.
package struct Lifetime: ExpressibleByArgument, CustomStringConvertible {
    /// The lifetime in seconds; 0 is no limit.
    package let seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    package init?(argument: String) {
        if argument == "off" {
            seconds = 0
            return
        }
        let range = 1...BodyLimits.timer
        guard let seconds = TimeSpan.seconds(argument, in: range) else {
            return nil
        }
        self.seconds = seconds
    }

    package static var argumentForm: String {
        "off, or a number with s, m, h, d or w, from 1s to \(TimeSpan.text(BodyLimits.timer))"
    }

    /// The lifetime as it is written on the command line: with the largest unit that divides it.
    package var description: String {
        seconds > 0 ? TimeSpan.text(seconds) : "off"
    }
}
