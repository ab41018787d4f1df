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

    /// Reads `YYYY-MM-DDTHH:MM:SSZ` and drops a fraction of a second. Returns `nil` for any other form or zone, or for
    /// a day that does not exist.
    public init?(_ text: String) {
        let characters = Array(text.utf8)
        guard characters.count >= 20, characters.last == UInt8(ascii: "Z") else { return nil }
        func number(_ range: Range<Int>) -> Int32? {
            characters[range].reduce(Optional(0)) { sum, digit in
                guard let sum, (0x30...0x39).contains(digit) else { return nil }
                return sum * 10 + Int32(digit - 0x30)
            }
        }
        for (place, separator) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")] {
            guard characters[place] == separator.utf8.first! else { return nil }
        }
        let fraction = characters[19..<(characters.count - 1)]
        guard
            fraction.isEmpty
                || fraction.first == UInt8(ascii: ".") && fraction.count > 1
                    && fraction.dropFirst().allSatisfy({ (0x30...0x39).contains($0) }),
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            hour < 24, minute < 60, second < 60
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
        seconds = Int64(timegm(&parts))
        // timegm moves the 31st of February into March, so a day that moved does not exist.
        guard parts.tm_mon == month - 1, parts.tm_mday == day else { return nil }
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
