/// Received text as shown on a terminal: one short line unchanged, several lines each indented and marked.
///
/// The tools' own lines begin in the first column with the tool's name and a colon. Text of several lines, or a line
/// that the terminal would wrap, must not imitate one. A single line that begins with a word and a colon is marked too.
public enum TerminalParagraph {
    /// The beginning of each marked line.
    static let mark = "  | "
    /// The width in columns below which the terminal wraps lines itself.
    private static let leastWidth = 20

    /// The maximum number of lines of one text on a terminal.
    public static let lineLimit = 100

    /// Returns `text` as ``show(_:width:)`` does, at most ``lineLimit`` lines, and whether these are all. Otherwise a last line
    /// without a mark has the number of the others.
    public static func beginning(_ text: String, width: Int?) -> (text: String, isWhole: Bool) {
        let shown = show(text, width: width)
        let lines = shown.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > lineLimit else { return (shown, true) }
        let beginning = lines.prefix(lineLimit).joined(separator: "\n")
        return (beginning + "\n[\(lines.count - lineLimit) more lines]", false)
    }

    /// Returns `text`, escaped, in lines of at most `width` columns, without a final line feed.
    ///
    /// An ASCII word that is longer than a line is not broken, so that an address can be copied. It cannot imitate a
    /// tool's line, which has spaces.
    public static func show(_ text: String, width: Int?) -> String {
        var shown: [String] = []
        for line in lines(of: text) {
            let line = TerminalEscapes.escaping(line, as: .text)
            guard let width, width >= leastWidth else {
                shown.append(line)
                continue
            }
            shown += broken(line, width - mark.count)
        }
        let isPlain = shown.count == 1 && !looksLikeALineOfATool(shown[0])
        return (isPlain ? "" : mark) + shown.joined(separator: "\n" + mark)
    }

    /// Returns the lines of `text`, escaped, for text in a pipe. A line has no line end and no control character.
    public static func escapedLines(of text: String) -> [String] {
        lines(of: text).map { TerminalEscapes.escaping($0, as: .text) }
    }

    /// Returns whether a line begins with a word and a colon, or a character that looks like a colon.
    private static func looksLikeALineOfATool(_ line: String) -> Bool {
        let word = line.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " }
        return word.unicodeScalars.contains { colons.contains($0.value) }
    }

    /// The colon and similar characters.
    private static let colons: Set<UInt32> = [
        0x3A, 0x2D0, 0x2F8, 0x589, 0x5C3, 0x703, 0x704, 0x16EC, 0x205A, 0x2236, 0xA789, 0xFE13,
        0xFE30,
        0xFE55, 0xFF1A,
    ]

    /// Splits a text at all Unicode line ends (UAX #14: CR LF, CR, LF, VT, FF, NEL, LS, PS).
    private static func lines(of text: String) -> [String] {
        let scalars = text.unicodeScalars
        var lines: [String] = []
        var start = scalars.startIndex
        while let end = scalars[start...].firstIndex(where: isLineEnd) {
            lines.append(String(scalars[start..<end]))
            start = scalars.index(after: end)
            if scalars[end] == "\r", start < scalars.endIndex, scalars[start] == "\n" {
                start = scalars.index(after: start)
            }
        }
        // A final line end does not begin another line.
        if start < scalars.endIndex || lines.isEmpty { lines.append(String(scalars[start...])) }
        return lines
    }

    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Breaks a line into parts of at most `width` columns.
    private static func broken(_ line: String, _ width: Int) -> [String] {
        var pieces: [String] = []
        var piece = ""
        var room = width
        func end() {
            pieces.append(piece)
            piece = ""
            room = width
        }
        var isFirstWord = true
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            let columns = Self.columns(word)
            if !isFirstWord {
                if room > columns, room > 0 {
                    piece += " "
                    room -= 1
                } else {
                    end()
                }
            }
            isFirstWord = false
            if columns <= room {
                piece += word
                room -= columns
            } else if word.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) {
                piece += word
                room = 0
            } else {
                for character in word {
                    let columns = Self.columns(Substring(String(character)))
                    if columns > room { end() }
                    piece.append(character)
                    room -= columns
                }
            }
        }
        pieces.append(piece)
        return pieces
    }

    /// Returns the maximum width of a text in columns: two for a character that may be wide, eight for a tab.
    private static func columns(_ text: Substring) -> Int {
        text.unicodeScalars.reduce(0) { sum, scalar in
            sum + (scalar.value == 9 ? 8 : scalar.value < 0x1100 ? 1 : 2)
        }
    }
}
