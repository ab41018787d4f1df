/// Digits that somebody typed or read out.
public enum TypedDigits {
    /// The ASCII digits of `text`, without white space, hyphens, dashes and colons between them; `nil` if there is
    /// anything else in it.
    public static func read(_ text: String) -> [UInt8]? {
        let digits = Array(text.filter { !$0.isWhitespace && !separators.contains($0) }.utf8)
        return digits.allSatisfy { (0x30...0x39).contains($0) } ? digits : nil
    }

    /// The words of `text` in lower case, with the same between them; `nil` if there are digits in it.
    public static func readWords(_ text: String) -> [String]? {
        guard !text.contains(where: \.isNumber) else { return nil }
        return text.lowercased().split { $0.isWhitespace || separators.contains($0) }
            .map(String.init)
    }

    /// What people write between groups.
    private static let separators: Set<Character> = [
        "-", ":", "\u{2010}", "\u{2011}", "\u{2012}", "\u{2013}", "\u{2014}", "\u{2212}",
    ]
}
