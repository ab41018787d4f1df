/// Returns an argument as messages and the help write it: `-o <file>`, `--quiet`, `<file>`.
func label(of name: String?, valueName: String?) -> String {
    [name, valueName.map { "<\($0)>" }].compactMap { $0 }.joined(separator: " ")
}

extension [String] {
    /// The first long name of an argument, or the first name if no name is long.
    var preferred: String? { first { $0.utf8.starts(with: "--".utf8) } ?? first }
}

/// Returns a word quoted for a message; long words are truncated.
func quoted(_ word: String) -> String {
    word.count > 80 ? "'\(word.prefix(60))…'" : "'\(word)'"
}

/// Returns a suggestion for an unknown word: the nearest of `names` if it is similar, else an empty text.
package func suggestion(for word: String, among names: [String]) -> String {
    let near = names.map { ($0, distance($0, word)) }.min { $0.1 < $1.1 }
    guard let (name, distance) = near, distance <= max(1, word.count / 3) else { return "" }
    return "; did you mean '\(name)'?"
}

/// Returns the number of insertions, deletions, substitutions and swaps of neighbours between two words (optimal string
/// alignment distance).
private func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first), Array(second))
    var before: [Int] = []
    var row = Array(0...second.count)
    for index in first.indices {
        var next = [index + 1]
        for column in second.indices {
            var steps = min(
                row[column] + (first[index] == second[column] ? 0 : 1), row[column + 1] + 1,
                next[column] + 1)
            if index > 0, column > 0, first[index] == second[column - 1],
                first[index - 1] == second[column]
            {
                steps = min(steps, before[column - 1] + 1)
            }
            next.append(steps)
        }
        (before, row) = (row, next)
    }
    return row[second.count]
}
