/// Reads digits that a user typed or that were read out.
public enum TypedDigits {
    /// Returns the ASCII digits of `text`, ignoring white space, hyphens, dashes and colons. Returns `nil` if it has
    /// other characters.
    public static func read(_ text: String) -> [UInt8]? {
        let digits = Array(text.filter { !$0.isWhitespace && !separators.contains($0) }.utf8)
        return digits.allSatisfy { (0x30...0x39).contains($0) } ? digits : nil
    }

    /// Returns the words of `text` in lower case, separated by the same characters. Returns `nil` if it contains
    /// digits.
    public static func readWords(_ text: String) -> [String]? {
        guard !text.contains(where: \.isNumber) else { return nil }
        return text.lowercased().split { $0.isWhitespace || separators.contains($0) }
            .map(String.init)
    }

    /// The separators that people write between groups.
    private static let separators: Set<Character> = [
        "-", ":", "\u{2010}", "\u{2011}", "\u{2012}", "\u{2013}", "\u{2014}", "\u{2212}",
    ]
}
