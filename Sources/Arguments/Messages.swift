/// How messages and the help write an argument: `-o <file>`, `--quiet`, `<file>`.
func label(of name: String?, valueName: String?) -> String {
    [name, valueName.map { "<\($0)>" }].compactMap { $0 }.joined(separator: " ")
}

extension [String] {
    /// Of the names of an argument, the first long one, else the first.
    var preferred: String? { first { $0.utf8.starts(with: "--".utf8) } ?? first }
}

/// A word in a message, which nobody reads to its end where that is far.
func quoted(_ word: String) -> String {
    word.count > 80 ? "'\(word.prefix(60))…'" : "'\(word)'"
}

/// What is offered for a word that is none of `names`: the nearest, if it is near.
func suggestion(for word: String, among names: [String]) -> String {
    let near = names.map { ($0, distance($0, word)) }.min { $0.1 < $1.1 }
    guard let (name, distance) = near, distance <= max(1, word.count / 3) else { return "" }
    return "; did you mean '\(name)'?"
}

/// How many characters have to be changed, put in or left out to make `second` of `first` (Levenshtein).
private func distance(_ first: String, _ second: String) -> Int {
    let second = Array(second)
    var row = Array(0...second.count)
    for (index, character) in first.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in 1..<row.count {
            let changed = diagonal + (second[column - 1] == character ? 0 : 1)
            diagonal = row[column]
            row[column] = min(changed, diagonal + 1, row[column - 1] + 1)
        }
    }
    return row[second.count]
}
