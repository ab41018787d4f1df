/// Escapes the characters that a terminal interprets or that are invisible.
///
/// The escaped characters are control characters except line feed and tab, line and paragraph separators, bidirectional
/// formatting, and characters without a visible form: zero-width spaces, soft hyphens, tags, interlinear annotation.
/// Two kinds are part of ordinary writing and are kept where they have a meaning:
///
/// - a joiner (U+200C, U+200D) between two emoji, between letters of a script that joins, or after a virama;
/// - one variation selector after a character that has variants.
struct TerminalEscapes {
    /// The form of an escape.
    enum Form {
        /// `\u{1b}`.
        case text
        /// `\u001b`, as in JSON.
        case json
    }

    private let form: Form
    /// A control character that is not escaped.
    private let allowed: Unicode.Scalar?
    /// The previous character, if it was not escaped.
    private var last: Unicode.Scalar?
    /// A joiner whose next character is still unknown.
    private var joiner: Unicode.Scalar?

    init(_ form: Form, besides allowed: Unicode.Scalar? = nil) {
        self.form = form
        self.allowed = allowed
    }

    /// Returns `text`, escaped, as a complete text.
    static func escaping(
        _ text: String, as form: Form, besides allowed: Unicode.Scalar? = nil
    ) -> String {
        var escapes = Self(form, besides: allowed)
        var out = escapes.escape(text)
        escapes.finish(&out)
        return out
    }

    /// Returns the next part of a text, escaped.
    mutating func escape(_ text: String) -> String {
        if joiner == nil, text.unicodeScalars.allSatisfy(Self.isPlain) {
            last = text.unicodeScalars.last ?? last
            return text
        }
        var out = ""
        out.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars { add(scalar, to: &out) }
        return out
    }

    /// Appends the next character to `out`. A joiner is appended when the character after it is known.
    private mutating func add(_ scalar: Unicode.Scalar, to out: inout String) {
        if let joiner {
            self.joiner = nil
            put(joiner, passes: Self.joins(last, joiner, scalar), to: &out)
        }
        if scalar == allowed {
            put(scalar, passes: true, to: &out)
        } else if Self.isJoiner(scalar) {
            joiner = scalar
        } else {
            put(scalar, passes: !Self.isEscaped(scalar, after: last), to: &out)
        }
    }

    /// Appends the pending joiner at the end of the text.
    mutating func finish(_ out: inout String) {
        guard let joiner else { return }
        self.joiner = nil
        put(joiner, passes: Self.joins(last, joiner, nil), to: &out)
    }

    private mutating func put(_ scalar: Unicode.Scalar, passes: Bool, to out: inout String) {
        if passes {
            out.unicodeScalars.append(scalar)
            last = scalar
        } else {
            out += escape(scalar)
            last = nil
        }
    }

    private func escape(_ scalar: Unicode.Scalar) -> String {
        switch form {
        case .text: "\\u{" + String(scalar.value, radix: 16) + "}"
        case .json:
            // A character above U+FFFF is two UTF-16 code units (RFC 8259 §7).
            String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    // MARK: Characters

    /// Whether a character is never escaped: a fast path for most texts.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20..<0x7F, 0x09, 0x0A, 0xA0..<0xAD, 0xAE..<0x34F, 0x370..<0x600, 0x2010..<0x2028,
            0x20A0..<0x20D0, 0x3001..<0x3131, 0x3190..<0xA000, 0xAC00..<0xD7A4:
            true
        default: false
        }
    }

    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\u{200C}" || scalar == "\u{200D}"
    }

    /// Returns whether a character other than a joiner is escaped.
    private static func isEscaped(_ scalar: Unicode.Scalar, after last: Unicode.Scalar?) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x20..<0x7F: return false
        case 0xFFF9...0xFFFB: return true
        case 0x180B...0x180D, 0x180F, 0xFE00...0xFE0F, 0xE0100...0xE01EF:
            return !(last.map { hasVariants($0, with: scalar) } ?? false)
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    private static func hasVariants(
        _ base: Unicode.Scalar, with selector: Unicode.Scalar
    ) -> Bool {
        switch selector.value {
        case 0xFE0E, 0xFE0F: base.properties.isEmoji
        case 0x180B...0x180F: (0x1820...0x18AF).contains(base.value)
        default: base.properties.isIdeographic
        }
    }

    /// Returns whether a joiner has a meaning between two characters.
    private static func joins(
        _ before: Unicode.Scalar?, _ joiner: Unicode.Scalar, _ after: Unicode.Scalar?
    ) -> Bool {
        guard let before else { return false }
        // A virama (Unicode combining class 9).
        if before.properties.canonicalCombiningClass.rawValue == 9 { return true }
        guard let after else { return false }
        if joiner == "\u{200D}", isEmoji(before) || before.value == 0xFE0F, isEmoji(after) {
            return true
        }
        return isOfJoiningScript(before) && isOfJoiningScript(after)
    }

    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0xFF && scalar.properties.isEmoji
    }

    /// Returns whether it is a letter or mark of Arabic, Syriac, Mongolian or a Brahmic script.
    private static func isOfJoiningScript(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0600...0x0DFF, 0x1000...0x109F, 0x1780...0x18AF, 0xFB50...0xFDFF, 0xFE70...0xFEFC,
            0x1E900...0x1E95F:
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .spacingMark: true
            default: scalar.properties.isAlphabetic
            }
        default: false
        }
    }
}
