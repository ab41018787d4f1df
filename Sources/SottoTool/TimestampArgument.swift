public import Arguments
import Glibc
public import Sotto

extension Timestamp: ExpressibleByArgument {
    /// Parses a time: an RFC 3339 time in UTC, or a local day, with or without a local time.
    ///
    /// The forms are `2026-11-25T07:20:00Z`, `2026-11-25`, which is the beginning of that day, and `2026-11-25 07:20`, also
    /// with a `T` in place of the space, and with seconds.
    public init?(argument: String) {
        if let time = Timestamp(argument) {
            self = time
        } else if let time = Self.local(argument) {
            self = time
        } else {
            return nil
        }
    }

    /// The forms of a time.
    public static var argumentForm: String {
        "a day such as 2026-11-25, a local time such as \"2026-11-25 07:20\", or a time in UTC such as 2026-11-25T07:20:00Z"
    }

    /// Returns the time of a local day or a local time, or `nil` for another form and for a day that does not exist.
    private static func local(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        let midnight = "T00:00:00"
        let missing: Substring
        switch bytes.count {
        case 10: missing = midnight[...]
        case 16: missing = midnight.suffix(3)
        case 19: missing = ""
        default: return nil
        }
        var whole = bytes + Array(missing.utf8)
        if whole[10] == UInt8(ascii: " ") { whole[10] = UInt8(ascii: "T") }
        // As a time in UTC, its fields are checked.
        guard let time = Timestamp(String(decoding: whole, as: UTF8.self) + "Z") else { return nil }
        var seconds = time_t(time.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        parts.tm_isdst = -1
        return Timestamp(seconds: Int64(mktime(&parts)))
    }
}
