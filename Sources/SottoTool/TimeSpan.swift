/// A whole number of seconds on the command line: digits and one of the units `s`, `m`, `h`, `d` and `w`, such as `8h`.
package enum TimeSpan {
    private static let units: [(letter: Character, seconds: Int64)] = [
        ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1),
    ]

    /// Returns the seconds of a text of at most 10 characters, or `nil` if they are not in `range`.
    package static func seconds(_ text: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let letter = text.last, let unit = units.first(where: { $0.letter == letter }),
            text.utf8.count <= 10, text.utf8.dropLast().allSatisfy({ 0x30...0x39 ~= $0 }),
            let count = Int64(text.dropLast()), range.contains(count * unit.seconds)
        else { return nil }
        return count * unit.seconds
    }

    /// Returns the text with the largest unit that gives a whole number.
    package static func text(_ seconds: Int64) -> String {
        let unit = units.first { seconds % $0.seconds == 0 }
        return unit.map { "\(seconds / $0.seconds)\($0.letter)" } ?? "\(seconds)s"
    }
}
