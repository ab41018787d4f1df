/// Numbered words in columns, to be written down. The order is down each column, as on a word card.
struct WordGrid {
    let words: [String]

    /// Returns the lines for a screen of `width` columns, or of 40 columns if the width is unknown.
    func lines(width: Int?) -> [String] {
        let digits = String(words.count).count
        let cell = digits + 1 + (words.map(\.count).max() ?? 0)
        let gap = 2
        let most = min((width ?? 40), 80)
        let columns = max(1, min(4, (most + gap) / (cell + gap)))
        let rows = (words.count + columns - 1) / columns
        return (0..<rows).map { row in
            let cells = stride(from: row, to: words.count, by: rows).map { index in
                let number = String(index + 1)
                let text =
                    String(repeating: " ", count: digits - number.count) + number + " "
                    + words[index]
                return text + String(repeating: " ", count: cell - text.count)
            }
            var line = cells.joined(separator: String(repeating: " ", count: gap))
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
