import Glibc
package import Sotto

extension Timestamp {
    /// The day and the minute in the local time zone, and the short name of the zone.
    package var local: (day: String, minute: String, zone: String) {
        var seconds = time_t(self.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        func padded(_ value: Int32, _ count: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
        }
        let (month, day) = (padded(parts.tm_mon + 1, 2), padded(parts.tm_mday, 2))
        return (
            "\(padded(parts.tm_year + 1900, 4))-\(month)-\(day)",
            "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2))",
            parts.tm_zone.map { String(cString: $0) } ?? ""
        )
    }
}
