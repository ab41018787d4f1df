/// A text that is being typed, with a cursor between its clusters.
struct LineEditor: Sendable {
    /// The greatest length in bytes; what does not fit is not taken.
    static let limit = 128 << 10

    private(set) var characters: [Character] = []
    private(set) var cursor = 0

    init() {}

    /// The text.
    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }
    /// The text before the cursor.
    var beforeCursor: String { String(characters[..<cursor]) }

    /// Replaces the text; the cursor is at its end.
    mutating func set(_ text: String) {
        characters = Array(text)
        cursor = characters.count
    }

    /// Inserts a text at the cursor. Returns `false` if the whole would be too long.
    @discardableResult
    mutating func insert(_ text: String) -> Bool {
        let before = beforeCursor + text
        let all = before + String(characters[cursor...])
        guard all.utf8.count <= Self.limit else { return false }
        // A mark joins the cluster before it, so the clusters are counted anew.
        characters = Array(all)
        cursor = min(before.count, characters.count)
        return true
    }

    /// Replaces the last `count` clusters before the cursor.
    mutating func replace(last count: Int, with text: String) {
        characters.removeSubrange(cursor - count..<cursor)
        cursor -= count
        insert(text)
    }

    /// Takes a key of editing. Returns `false` if it is none.
    mutating func take(_ key: Key) -> Bool {
        switch key {
        case .text(let text): insert(text)
        case .lineBreak: insert("\n")
        case .backspace, .control("h"): remove(from: cursor - 1, to: cursor)
        case .delete, .control("d"): remove(from: cursor, to: cursor + 1)
        case .left, .control("b"): cursor = max(0, cursor - 1)
        case .right, .control("f"): cursor = min(characters.count, cursor + 1)
        case .wordLeft: cursor = wordStart
        case .wordRight: cursor = wordEnd
        case .home, .control("a"): cursor = lineStart
        case .end, .control("e"): cursor = lineEnd
        case .control("w"): remove(from: wordStart, to: cursor)
        case .control("u"): remove(from: lineStart, to: cursor)
        case .control("k"): remove(from: cursor, to: lineEnd)
        default: return false
        }
        return true
    }

    private mutating func remove(from start: Int, to end: Int) {
        let (start, end) = (max(0, start), min(end, characters.count))
        guard start < end else { return }
        characters.removeSubrange(start..<end)
        // The parts around the removed text can now be one cluster.
        characters = Array(String(characters))
        cursor = min(start, characters.count)
    }

    private var lineStart: Int {
        characters[..<cursor].lastIndex { $0.isNewline }.map { $0 + 1 } ?? 0
    }

    private var lineEnd: Int {
        characters[cursor...].firstIndex { $0.isNewline } ?? characters.count
    }

    private var wordStart: Int {
        var place = cursor
        while place > 0, characters[place - 1].isWhitespace { place -= 1 }
        while place > 0, !characters[place - 1].isWhitespace { place -= 1 }
        return place
    }

    private var wordEnd: Int {
        var place = cursor
        while place < characters.count, characters[place].isWhitespace { place += 1 }
        while place < characters.count, !characters[place].isWhitespace { place += 1 }
        return place
    }

    // MARK: Rows

    /// Returns the rows of the text, at most `width` columns wide, and the place before each cluster and at the end. A place can be
    /// in the column after a full row.
    private func layout(width: Int) -> (rows: [String], places: [Screen.Place]) {
        var (rows, row, used) = ([String](), "", 0)
        var places: [Screen.Place] = []
        places.reserveCapacity(characters.count + 1)
        func endRow() {
            rows.append(row)
            (row, used) = ("", 0)
        }
        for character in characters {
            let shown =
                character.isNewline ? "" : Cells.cut(Cells.plain(String(character)), to: width)
            let columns = Cells.width(shown)
            if used + columns > width { endRow() }
            places.append(Screen.Place(row: rows.count, column: used))
            if character.isNewline {
                endRow()
            } else {
                row += shown
                used += columns
            }
        }
        places.append(Screen.Place(row: rows.count, column: used))
        return (rows + [row], places)
    }

    /// Returns at most `height` rows of the text with the cursor in one of them, and its place.
    func visible(width: Int, height: Int) -> (rows: [String], cursor: Screen.Place) {
        let (rows, places) = layout(width: width)
        var place = places[cursor]
        let first = max(0, min(place.row - height / 2, rows.count - height))
        place.row -= first
        return (Array(rows[first..<min(rows.count, first + height)]), place)
    }

    /// Moves the cursor a row up or down. Returns `false` if there is no such row.
    mutating func move(rows count: Int, width: Int) -> Bool {
        let places = layout(width: width).places
        let (row, column) = (places[cursor].row + count, places[cursor].column)
        let candidates = places.indices.filter { places[$0].row == row }
        guard
            let best = candidates.min(by: {
                abs(places[$0].column - column) < abs(places[$1].column - column)
            })
        else { return false }
        cursor = best
        return true
    }
}
