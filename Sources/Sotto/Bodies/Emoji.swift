/// The emoji of reactions.
public enum Emoji {
    /// Whether the text is one emoji of at most ``BodyLimits/emoji`` bytes: a character with optional presentation
    /// selectors, skin tone or tags, a keycap, a flag, or several joined by U+200D (UTS #51 §1.4.9). Keyboards write more
    /// forms than Unicode recommends, such as a selector before or after a skin tone or after a flag.
    public static func isEmoji(_ text: String) -> Bool {
        guard text.utf8.count <= BodyLimits.emoji else { return false }
        var rest = text.unicodeScalars[...]
        guard takeElement(&rest) else { return false }
        while !rest.isEmpty {
            guard rest.removeFirst() == "\u{200D}", takeElement(&rest) else { return false }
        }
        return true
    }

    /// Whether two texts are the same emoji: they differ only in presentation selectors.
    public static func areSame(_ a: String, _ b: String) -> Bool {
        func plain(_ text: String) -> [Unicode.Scalar] {
            text.unicodeScalars.filter { $0 != "\u{FE0F}" && $0 != "\u{FE0E}" }
        }
        return plain(a) == plain(b)
    }

    /// Takes an emoji character and its modifiers. Returns `false` if the text does not begin with one.
    private static func takeElement(_ rest: inout Substring.UnicodeScalarView) -> Bool {
        guard let base = rest.popFirst() else { return false }
        if base.isASCII {
            // A digit, a number sign or an asterisk is an emoji only as a keycap.
            guard base.properties.isEmoji else { return false }
            takeSelector(&rest)
            return rest.popFirst() == "\u{20E3}"
        }
        if isRegionalIndicator(base) {
            guard let second = rest.popFirst(), isRegionalIndicator(second) else { return false }
            takeSelector(&rest)
            return true
        }
        guard isPictograph(base) else { return false }
        takeSelector(&rest)
        if let modifier = rest.first, modifier.properties.isEmojiModifier {
            rest.removeFirst()
            takeSelector(&rest)
        }
        let tags = rest.prefix { (0xE0020...0xE007E).contains($0.value) }
        if !tags.isEmpty {
            rest.removeFirst(tags.count)
            return rest.popFirst() == "\u{E007F}"
        }
        return true
    }

    /// Takes a presentation selector, if one follows.
    private static func takeSelector(_ rest: inout Substring.UnicodeScalarView) {
        if rest.first == "\u{FE0F}" || rest.first == "\u{FE0E}" { rest.removeFirst() }
    }

    private static func isRegionalIndicator(_ scalar: Unicode.Scalar) -> Bool {
        (0x1F1E6...0x1F1FF).contains(scalar.value)
    }

    /// Whether the character is an emoji, or one of the code points that Unicode reserves for later emoji: an emoji of
    /// a later version of Unicode is accepted.
    private static func isPictograph(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.properties.isEmoji { return !isRegionalIndicator(scalar) }
        guard scalar.properties.generalCategory == .unassigned else { return false }
        return (0x1F000...0x1FAFF).contains(scalar.value)
            || (0x1FC00...0x1FFFD).contains(scalar.value)
    }
}
