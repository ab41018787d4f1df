/// Words as a shell splits them: quotation marks keep spaces, and a backslash keeps the next character.
struct ShellWords: Sendable {
    private(set) var rest: String

    init(_ text: String) { rest = text }

    /// Removes the first word and returns it.
    mutating func next() -> String? {
        var characters = Array(rest)[...]
        characters = characters.drop { $0.isWhitespace }
        guard !characters.isEmpty else { return nil }
        var (word, quote) = ("", Character?.none)
        while let character = characters.popFirst() {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if character == "\\", let next = characters.popFirst() {
                word.append(next)
            } else if character.isWhitespace {
                break
            } else {
                word.append(character)
            }
        }
        rest = String(characters)
        return word
    }
}
