import Arguments
import Sotto

/// The lifetime of messages on the command line.
package struct Lifetime: ExpressibleByArgument, CustomStringConvertible {
    /// The lifetime in seconds; 0 is no limit.
    package let seconds: Int64

    private static let units: [(letter: Character, seconds: Int64)] = [
        ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1),
    ]

    package init(seconds: Int64) { self.seconds = seconds }

    package init?(argument: String) {
        if argument == "off" {
            seconds = 0
            return
        }
        guard let unit = Self.units.first(where: { $0.letter == argument.last })?.seconds,
            argument.utf8.count <= 10,
            argument.utf8.dropLast().allSatisfy({ (0x30...0x39).contains($0) }),
            let count = Int64(argument.dropLast()), (1...BodyLimits.timer).contains(count * unit)
        else { return nil }
        seconds = count * unit
    }

    /// The lifetime as it is written on the command line: with the largest unit that divides it.
    package var description: String {
        guard seconds > 0, let unit = Self.units.first(where: { seconds % $0.seconds == 0 }) else {
            return "off"
        }
        return "\(seconds / unit.seconds)\(unit.letter)"
    }
}
