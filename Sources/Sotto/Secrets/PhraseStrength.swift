/// An estimate of a phrase's strength from its characters.
package enum PhraseStrength {
    /// The number of bits that a phrase needs if it is hashed only once.
    package static let recommended = 80.0

    /// Returns a low estimate in bits.
    ///
    /// A letter counts 2 bits, as in words, an ideograph 6, a digit 3, a space 0, any other character 4. A change
    /// between upper and lower case adds 1. A character that repeats or follows the previous one counts 1, as does a
    /// repeated word or number of more than one character. Four common words have about 45 bits, 32 random hexadecimal
    /// digits about 85: random text is stronger than its estimate.
    package static func bits(of phrase: String) -> Double {
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

    /// Splits a phrase into runs of characters of one kind, without the spaces.
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
