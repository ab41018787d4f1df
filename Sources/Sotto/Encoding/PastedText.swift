/// Texts as people paste them.
public enum Pasted {
    /// Returns a text without what surrounds it when people paste it: white space, invisible characters,
    /// and `<…>` or quotation marks (RFC 3986, appendix C). A text in `<…>` may be broken into lines.
    public static func text(_ text: some StringProtocol) -> String {
        let text = trimmed(Substring(String(text)).unicodeScalars)
        guard text.count > 1, let first = text.first, let last = text.last else {
            return String(text)
        }
        let inner = text.dropFirst().dropLast()
        switch (first, last) {
        case ("<", ">"):
            return String(String.UnicodeScalarView(inner.filter { !$0.properties.isWhitespace }))
        case ("\"", "\""), ("'", "'"): return String(trimmed(inner))
        default: return String(text)
        }
    }

    /// Returns whether a text begins with `prefix`, which is ASCII in lower case, in any case.
    public static func hasPrefix(_ text: some StringProtocol, _ prefix: String) -> Bool {
        text.utf8.count >= prefix.utf8.count
            && zip(text.utf8, prefix.utf8).allSatisfy { typed, expected in
                (0x41...0x5A).contains(typed) ? typed | 0x20 == expected : typed == expected
            }
    }

    private static func trimmed(
        _ text: Substring.UnicodeScalarView
    ) -> Substring.UnicodeScalarView {
        func isOuter(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isWhitespace || scalar.properties.generalCategory == .format
        }
        var text = text.drop(while: isOuter)
        while let last = text.last, isOuter(last) { text.removeLast() }
        return text
    }
}
