import Glibc

/// A time in whole seconds, written in RFC 3339 form in UTC: `2026-11-21T09:30:00Z`.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Seconds since 1970-01-01T00:00:00Z, without leap seconds.
    public let seconds: Int64

    /// The seconds of the years 0 to 9999, which RFC 3339 can express.
    package static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Creates the time that is this number of seconds after 1970-01-01T00:00:00Z.
    public init(seconds: Int64) { self.seconds = seconds }

    /// Returns the system clock's time.
    public static func now() -> Timestamp { Timestamp(seconds: milliseconds() / 1000) }

    /// Returns the system clock's time in milliseconds since 1970-01-01T00:00:00Z.
    public static func milliseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// Reads a time of RFC 3339 (§5.6), in UTC or with an offset, such as `2026-11-21T10:30:00+01:00`, and drops a fraction
    /// of a second. Returns `nil` for any other form, or for a day that does not exist.
    public init?(_ text: String) {
        var form = TimeForm(text)
        guard form.takeDay(), form.takeMark("T", "t"), form.takeMinutes(), form.takeSeconds(),
            form.takeFraction("."), form.takeOffset(.colon), form.isAtEnd
        else { return nil }
        self.init(form)
    }

    /// Creates the time that `form` has read. Returns `nil` if it is not in ``range``.
    package init?(_ form: TimeForm) {
        guard let seconds = form.seconds, Self.range.contains(seconds) else { return nil }
        self.seconds = seconds
    }

    /// The RFC 3339 text.
    public var description: String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        // Every message has two or three times, so this formats without intermediate strings.
        var text: [UInt8] = []
        text.reserveCapacity(20)
        func append(_ value: Int32, _ end: Unicode.Scalar) {
            text.append(0x30 + UInt8(value / 10))
            text.append(0x30 + UInt8(value % 10))
            text.append(UInt8(ascii: end))
        }
        let year = parts.tm_year + 1900
        if (0...9_999).contains(year) {
            text.append(0x30 + UInt8(year / 1_000))
            text.append(0x30 + UInt8(year / 100 % 10))
            append(year % 100, "-")
        } else {
            text += "\(year)-".utf8
        }
        append(parts.tm_mon + 1, "-")
        append(parts.tm_mday, "T")
        append(parts.tm_hour, ":")
        append(parts.tm_min, ":")
        append(parts.tm_sec, "Z")
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether `a` is before `b`.
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.seconds < b.seconds }
}

extension Field {
    /// Returns the time.
    public func time() throws(Failure) -> Timestamp { try text { Timestamp($0) } }
}
