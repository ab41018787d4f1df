/// Text in columns for display.
package struct Table {
    private var rows: [[String]] = []

    /// Creates a table without rows.
    package init() {}

    /// Creates a table whose columns have headings if the output is a terminal. In a pipe each line is a row.
    package init(headings: [String], on output: Output) {
        if output.isTerminal { add(headings) }
    }

    /// The maximum displayed width of a name, in columns.
    package static let nameWidth = 32

    /// Adds a row. Line feeds, bidirectional formatting and other invisible characters are escaped, because a card's owner chose
    /// some of the text and must not imitate further lines or other names.
    package mutating func add(_ row: [String]) { rows.append(row.map(Self.onOneLine)) }

    private static func onOneLine(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { out, scalar in
            if scalar.isInvisible {
                out += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
    }

    /// The rows. Each column is as wide as its widest cell, and no spaces follow the last cell of a row.
    package var text: String {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? Self.width($0[column]) : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: width - Self.width(cell) + 2)
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }

    /// Returns `text`, truncated with an ellipsis if it is wider than `limit` columns.
    package static func cut(_ text: String, to limit: Int) -> String {
        guard width(text) > limit else { return text }
        var cut = ""
        var used = 1
        for character in text {
            used += width(String(character))
            if used > limit { break }
            cut.append(character)
        }
        return cut + "…"
    }

    /// Returns the width of `text` on a terminal: zero columns for combining marks, two for East Asian wide characters
    /// and emoji.
    package static func width(_ text: String) -> Int {
        // A character below the first combining mark is a single scalar.
        guard !text.unicodeScalars.allSatisfy({ $0.value < 0x300 }) else {
            return text.unicodeScalars.reduce(0) { $0 + width($1) }
        }
        return text.reduce(0) { sum, character in
            sum + (character.unicodeScalars.map(width).max() ?? 0)
        }
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if 0x20..<0x7F ~= scalar.value { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1FAFF,
            0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}

/// Returns a number and a noun, in the plural unless the number is 1.
package func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
}

/// Returns names in a sentence: all of them, or of more than three the first ones and the number of the others. `nil` for none.
package func sentence(of names: [String]) -> String? {
    let most = 3
    guard let last = names.last else { return nil }
    guard names.count > 1 else { return last }
    guard names.count <= most else {
        return names.prefix(most).joined(separator: ", ") + " and \(names.count - most) more"
    }
    return names.dropLast().joined(separator: ", ") + " and " + last
}
