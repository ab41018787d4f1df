/// Reads the parts of a time of RFC 3339 or ISO 8601 one after the other. Each method takes a part from the beginning of the
/// rest, or returns `false`.
package struct TimeForm {
    /// The forms of an offset.
    package enum Offset {
        /// `Z`, or hours and minutes with a colon (RFC 3339).
        case colon
        /// Accepts `+0100` and `+01` too (ISO 8601).
        case any
    }

    private var rest: ArraySlice<UInt8>
    private var days: Int64 = 0
    private var secondOfDay: Int64 = 0
    /// Whether the second 60 was taken.
    package private(set) var isLeapSecond = false
    private var offset: Int64?

    package init(_ text: some StringProtocol) { rest = Array(text.utf8)[...] }

    /// Whether all of the text was taken.
    package var isAtEnd: Bool { rest.isEmpty }

    /// The seconds since 1970-01-01T00:00:00Z, or `nil` without an offset and for a leap second at another time than
    /// 23:59:60Z. A leap second is the same as the second after it.
    package var seconds: Int64? {
        guard let offset else { return nil }
        let seconds = local - offset
        return isLeapSecond && seconds % 86_400 != 0 ? nil : seconds
    }

    /// The seconds since the beginning of 1970 in the time's own zone.
    package var local: Int64 { days * 86_400 + secondOfDay }

    /// Takes `YYYY-MM-DD`, a day that exists.
    package mutating func takeDay() -> Bool {
        guard let year = number(4), takeMark("-"), let month = number(2), takeMark("-"),
            let day = number(2), 1...12 ~= month
        else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard 1...lengths[Int(month) - 1] ~= day else { return false }
        // The days before the year: each leap day counts from the first of January after it.
        let before = year + 400 - 1
        let leapDays = before / 4 - before / 100 + before / 400
        days =
            365 * (year - 1970) + leapDays - 574 + lengths[..<(Int(month) - 1)].reduce(0, +) + day
            - 1
        return true
    }

    /// Takes `HH:MM`.
    package mutating func takeMinutes() -> Bool {
        guard let hour = number(2), takeMark(":"), let minute = number(2), hour < 24, minute < 60
        else { return false }
        secondOfDay = hour * 3_600 + minute * 60
        return true
    }

    /// Takes `:SS`; the second 60 is a leap second.
    package mutating func takeSeconds() -> Bool {
        guard takeMark(":"), let second = number(2), second <= 60 else { return false }
        secondOfDay += second
        isLeapSecond = second == 60
        return true
    }

    /// Takes one of the `marks` and the digits of a fraction of a second; also takes nothing.
    package mutating func takeFraction(_ marks: Unicode.Scalar...) -> Bool {
        guard let first = rest.first, marks.contains(Unicode.Scalar(first)) else { return true }
        let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
        rest = rest[digits.endIndex...]
        return !digits.isEmpty
    }

    /// Takes `Z` or an offset from UTC.
    package mutating func takeOffset(_ form: Offset) -> Bool {
        if takeMark("Z", "z") {
            offset = 0
            return true
        }
        let isWest = rest.first == UInt8(ascii: "-")
        guard takeMark("+", "-"), let hours = number(2), hours < 24 else { return false }
        var minutes: Int64 = 0
        if takeMark(":") || form == .any && !rest.isEmpty {
            guard let taken = number(2), taken < 60 else { return false }
            minutes = taken
        } else if form == .colon {
            return false
        }
        offset = (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
        return true
    }

    /// Takes one of the characters.
    package mutating func takeMark(_ marks: Unicode.Scalar...) -> Bool {
        guard let first = rest.first, marks.contains(Unicode.Scalar(first)) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func number(_ count: Int) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
}
