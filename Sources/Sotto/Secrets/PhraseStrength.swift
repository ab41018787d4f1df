/// How hard a phrase is to guess, from its looks alone.
public enum PhraseStrength {
    /// The number of bits below which a phrase that is hashed once should not be used.
    public static let recommended = 80.0

    /// A low estimate in bits.
    ///
    /// A letter counts 2 bits, as in words, an ideograph 6, a digit 3, any other character 4, a space nothing; a change
    /// between upper and lower case 1 more. A character that repeats the one before or counts on from it is 1, and
    /// so is a word or number of more than one character that was there already. Four common words come to about
    /// 45 bits, 32 random hexadecimal digits to about 85: what is random is worth more than it looks.
    public static func bits(of phrase: String) -> Double {
        var total = 0.0
        var seen: Set<[Unicode.Scalar]> = []
        for word in runs(of: nfc(phrase)) {
            let folded = word.map { $0.properties.lowercaseMapping.unicodeScalars.first ?? $0 }
            let isNew = seen.insert(folded).inserted || word.count == 1
            total += isNew ? bits(ofRun: word) : 1
        }
        return total
    }

    private enum Kind { case letter, ideograph, digit, space, other }

    private static func kind(_ scalar: Unicode.Scalar) -> Kind {
        let properties = scalar.properties
        if properties.isIdeographic { return .ideograph }
        if properties.isAlphabetic { return .letter }
        if properties.numericType != nil { return .digit }
        return properties.isWhitespace ? .space : .other
    }

    /// Neighbours of one kind; spaces are left out.
    private static func runs(of phrase: String) -> [[Unicode.Scalar]] {
        var runs: [[Unicode.Scalar]] = []
        var last = Kind.space
        for scalar in phrase.unicodeScalars {
            let kind = kind(scalar)
            defer { last = kind }
            if kind == .space { continue }
            if kind == last { runs[runs.count - 1].append(scalar) } else { runs.append([scalar]) }
        }
        return runs
    }

    private static func bits(ofRun run: [Unicode.Scalar]) -> Double {
        var total = 0.0
        var previous: Unicode.Scalar?
        for scalar in run {
            if let previous, abs(Int(scalar.value) - Int(previous.value)) <= 1 {
                total += 1
            } else {
                switch kind(scalar) {
                case .letter: total += 2
                case .ideograph: total += 6
                case .digit: total += 3
                case .other: total += 4
                case .space: break
                }
                if let previous, previous.properties.isUppercase != scalar.properties.isUppercase {
                    total += 1
                }
            }
            previous = scalar
        }
        return total
    }
}
