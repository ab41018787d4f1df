import Glibc
package import Sotto

extension Timestamp {
    /// The day and the minute in the local time zone, and the short name of the zone.
    package var local: (day: String, minute: String, zone: String) {
        var seconds = time_t(self.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0" + String(value) : String(value) }
        let year = String(parts.tm_year + 1900)
        let zeros = String(repeating: "0", count: max(0, 4 - year.utf8.count))
        return (
            zeros + year + "-" + two(parts.tm_mon + 1) + "-" + two(parts.tm_mday),
            two(parts.tm_hour) + ":" + two(parts.tm_min),
            parts.tm_zone.map { String(cString: $0) } ?? ""
        )
    }
}
