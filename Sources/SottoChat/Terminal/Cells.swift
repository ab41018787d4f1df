import CUTF8Proc
import SottoProgram

/// The columns that texts take on a terminal.
enum Cells {
    /// The most combining marks of a cluster that are shown.
    private static let marksLimit = 8

    /// Returns a text without control characters, other than line feeds, and without invisible characters: they are escaped, as the
    /// tools do. A tab is four spaces. Of a cluster with more than eight marks the others are left out.
    static func plain(_ text: String) -> String {
        let escaped = Terminal.escapingControls(text, besides: nil)
        let isSimple = escaped.utf8.allSatisfy { $0 < 0x7F && $0 != 0x09 }
        return isSimple ? escaped : withoutExcess(escaped)
    }

    private static func withoutExcess(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        var marks = 0
        for scalar in text.unicodeScalars {
            if scalar == "\t" {
                out.append(contentsOf: "    ".unicodeScalars)
                marks = 0
                continue
            }
            marks = scalar.value >= 0x300 && width(scalar) == 0 ? marks + 1 : 0
            if marks <= marksLimit { out.append(scalar) }
        }
        return String(out)
    }

    /// Returns the first line of a text as ``plain(_:)`` does, at most `limit` columns wide.
    static func line(_ text: String, limit: Int) -> String {
        let part = text.unicodeScalars.prefix(limit * 4 + 64)
        let plain = plain(String(String.UnicodeScalarView(part)))
        let lines = plain.split(separator: "\n", omittingEmptySubsequences: true)
        let first = lines.first.map(String.init) ?? ""
        let isCut = lines.count > 1 || part.count < text.unicodeScalars.count
        return cut(isCut ? first + "…" : first, to: limit)
    }

    /// Returns a text of one line, cut with an ellipsis if it is wider than `limit` columns.
    static func cut(_ text: String, to limit: Int) -> String {
        guard width(text) > limit else { return text }
        var (out, used) = ("", 1)
        for character in text {
            used += width(character)
            if used > limit { break }
            out.append(character)
        }
        if out.last == "…" { out.removeLast() }
        return limit > 0 ? out + "…" : ""
    }

    /// Returns the columns of a text of one line.
    static func width(_ text: some StringProtocol) -> Int {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    /// Returns the columns of a cluster: two for an emoji of any number of code points, else the sum of its code points.
    static func width(_ character: Character) -> Int {
        let scalars = character.unicodeScalars
        guard let first = scalars.first, scalars.count > 1 else {
            return scalars.first.map(width) ?? 0
        }
        let isEmoji =
            first.properties.isEmoji && first.value > 0xFF
            || scalars.contains { $0.value == 0xFE0F }
        return isEmoji ? 2 : scalars.reduce(0) { $0 + width($1) }
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        if (0x20..<0x7F).contains(scalar.value) { return 1 }
        return max(0, Int(utf8proc_charwidth(Int32(scalar.value))))
    }

    /// Breaks a text at its line feeds, and at spaces or within words where a row would be wider than `width`, or the first row than
    /// `first`. Returns at most `limit` rows, and whether there are more.
    static func wrap(_ text: String, first: Int? = nil, width: Int, limit: Int) -> (
        rows: [String], isCut: Bool
    ) {
        var wrapping = Wrapping(
            width: max(width, 2), first: first ?? max(width, 2), limit: limit + 1)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            wrapping.add(line)
            if wrapping.isFull { return (Array(wrapping.rows.prefix(limit)), true) }
        }
        return (wrapping.rows, false)
    }
}

/// The rows of a text that is being broken.
private struct Wrapping {
    let width: Int
    let first: Int
    let limit: Int
    var rows: [String] = []
    private var row: [(character: Character, width: Int)] = []
    private var used = 0
    /// The number of characters of the row up to and with its last space.
    private var space = 0

    init(width: Int, first: Int, limit: Int) {
        (self.width, self.first, self.limit) = (width, first, limit)
    }

    var isFull: Bool { rows.count >= limit }

    mutating func add(_ line: Substring) {
        for character in line {
            let columns = Cells.width(character)
            if used + columns > (rows.isEmpty ? first : width) {
                breakRow(before: character, columns)
                if isFull { return }
                if character == " ", row.isEmpty { continue }
            }
            row.append((character, columns))
            used += columns
            if character == " " { space = row.count }
        }
        end(row.count)
        (row, used, space) = ([], 0, 0)
    }

    private mutating func breakRow(before character: Character, _ columns: Int) {
        if character == " " {
            end(row.count)
            row = []
        } else if space > 0, row[space...].reduce(columns, { $0 + $1.width }) <= width {
            end(space - 1)
            row.removeFirst(space)
        } else if rows.isEmpty, first < width, used + columns <= width {
            // The word fits into the next row, which is wider.
            end(0)
        } else {
            end(row.count)
            row = []
        }
        used = row.reduce(0) { $0 + $1.width }
        space = 0
    }

    private mutating func end(_ count: Int) {
        var text = ""
        for each in row.prefix(count) { text.append(each.character) }
        rows.append(text)
    }
}
