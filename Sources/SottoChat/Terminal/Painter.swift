/// Writes screens to a terminal: only the rows that differ from the screen before.
///
/// Each row is written from its first column after it was erased, and the terminal does not wrap, so that a character whose width the
/// terminal sees differently displaces nothing in another row. After such a character, each span begins at a column that is given, so
/// that the columns of the list stay in their places.
package struct Painter: Sendable {
    /// Whether colours are used. Without them bold, dim and reversed text remains.
    package var hasColor: Bool
    private var shown: Screen?

    /// Creates a painter of a terminal whose content is unknown.
    package init(hasColor: Bool) { self.hasColor = hasColor }

    /// Returns the bytes that begin the use of the terminal: the alternate screen, bracketed paste, no wrapping.
    package static var beginning: [UInt8] { Array("\u{1B}[?1049h\u{1B}[?2004h\u{1B}[?7l".utf8) }

    /// Returns the bytes that end it, and show the cursor.
    package static var ending: [UInt8] {
        Array("\u{1B}[0m\u{1B}[?7h\u{1B}[?2004l\u{1B}[?25h\u{1B}[?1049l".utf8)
    }

    /// Forgets what is shown; the next screen is painted whole.
    package mutating func forget() { shown = nil }

    /// Returns the bytes that show a screen. If nothing differs, there are none.
    package mutating func paint(_ screen: Screen) -> [UInt8] {
        guard screen != shown else { return [] }
        var out = "\u{1B}[?25l"
        let isNew =
            shown.map { $0.rows.count != screen.rows.count || $0.columns != screen.columns } ?? true
        if isNew { out += "\u{1B}[0m\u{1B}[H\u{1B}[2J" }
        for (index, row) in screen.rows.enumerated() {
            let isSame = isNew ? row.isEmpty : shown?.rows[index] == row
            if isSame { continue }
            out += "\u{1B}[\(index + 1);1H\u{1B}[2K"
            var (column, isCertain) = (0, true)
            for span in row {
                if !isCertain { out += "\u{1B}[\(column + 1)G" }
                append(span, to: &out)
                let width = Cells.width(span.text)
                isCertain = isCertain && span.text.unicodeScalars.count == width
                column += width
            }
        }
        if let cursor = screen.cursor {
            out += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H\u{1B}[?25h"
        }
        shown = screen
        return Array(out.utf8)
    }

    private func append(_ span: Screen.Span, to out: inout String) {
        var codes: [String] = []
        if span.style.isBold { codes.append("1") }
        if span.style.isDim { codes.append("2") }
        if span.style.isReversed { codes.append("7") }
        if hasColor, let color = span.style.color { codes.append("3\(color.rawValue)") }
        if let halves = span.style.halves {
            codes.append("38;5;\(halves.upper)")
            if let lower = halves.lower { codes.append("48;5;\(lower)") }
        }
        guard !codes.isEmpty else {
            out += span.text
            return
        }
        out += "\u{1B}[\(codes.joined(separator: ";"))m\(span.text)\u{1B}[0m"
    }
}
