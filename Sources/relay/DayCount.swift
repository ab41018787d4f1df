import Arguments
import SottoTool

/// A number of days on the command line: a duration such as `30d`, `4w` or `48h`.
struct DayCount: ExpressibleByArgument {
    let days: Int64

    private static let day: Int64 = 86_400
    private static let most: Int64 = 1_000_000

    init(days: Int64) { self.days = days }

    init?(argument: String) {
        let range = Self.day...Self.most * Self.day
        guard let seconds = TimeSpan.seconds(argument, in: range),
            seconds % Self.day == 0
        else { return nil }
        days = seconds / Self.day
    }

    static var argumentForm: String {
        "a whole number of days with its unit, such as 30d, 4w or 48h, at most \(most)d"
    }

    var argument: String { "\(days)d" }
}
