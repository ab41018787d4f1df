/// An estimate of a phrase's strength, from words of a known list or from its characters.
package enum PhraseStrength {
    /// The number of bits that a phrase needs if it is hashed only once.
    package static let recommended = 80.0

    /// The shortest repetition that counts as one, in characters, and its bits.
    private static let shortestRepetition = 5
    private static let bitsOfRepetition = 3.0
    /// The characters of a phrase that count. More are strong enough, or a repetition.
    private static let most = 1_000

    /// The bits of a random word of a ``Wordlist``.
    private static let bitsOfWord = 11.0

    /// Returns an estimate in bits. A phrase of words of one ``Wordlist`` counts 11 bits for each word.
    package static func bits(of phrase: String) -> Double {
        bitsOfWords(in: phrase) ?? bitsOfCharacters(in: phrase)
    }

    /// Returns the bits of a phrase of words of one list, or `nil` for any other phrase. A repeated word, and a neighbour of
    /// the previous word in the list, count 1.
    private static func bitsOfWords(in phrase: String) -> Double? {
        let words = phrase.split { $0.isWhitespace || $0 == "-" }.prefix(most)
        guard let first = words.first.map({ TypedWords.key($0) }) else { return nil }
        for list in Wordlist.allCases where list.places[first] != nil {
            let known = list.places
            let places = words.compactMap { known[TypedWords.key($0)] }
            guard places.count == words.count else { continue }
            var (seen, previous): (Set<Int>, Int?) = ([], nil)
            return places.reduce(0.0) { total, place in
                let isNeighbour = previous.map { abs($0 - place) <= 1 } ?? false
                previous = place
                let isNew = seen.insert(place).inserted
                return total + (isNew && !isNeighbour ? bitsOfWord : 1)
            }
        }
        return nil
    }

    /// Returns a low estimate in bits.
    ///
    /// A letter counts 2 bits, as in words, an ideograph 6, a digit 3, a space 0, any other character 4. A change
    /// between upper and lower case adds 1. A character that repeats or follows the previous one counts 1, as does a
    /// repeated word or number of more than one character. Five or more characters that the phrase had before, without regard
    /// to spaces and case, count 3 together, however many they are. Four common words have about 45 bits, 32 random hexadecimal
    /// digits about 85: random text is stronger than its estimate.
    private static func bitsOfCharacters(in phrase: String) -> Double {
        var (total, characters, bits): (Double, [Unicode.Scalar], [Double]) = (0, [], [])
        var seen: Set<[Unicode.Scalar]> = []
        for word in runs(of: nfc(phrase)) {
            let folded = word.map { $0.properties.lowercaseMapping.unicodeScalars.first ?? $0 }
            let isNew = seen.insert(folded).inserted || word.count == 1
            characters += folded
            bits += isNew ? self.bits(ofRun: word) : [1] + folded.dropFirst().map { _ in 0 }
        }
        var place = 0
        while place < min(characters.count, most) {
            let length = repetition(in: characters, at: place)
            guard length >= shortestRepetition else {
                total += bits[place]
                place += 1
                continue
            }
            total += min(bitsOfRepetition, bits[place..<place + length].reduce(0, +))
            place += length
        }
        return total
    }

    /// Returns the length of the longest text that begins at a place and at an earlier one.
    private static func repetition(in text: [Unicode.Scalar], at place: Int) -> Int {
        (0..<place).reduce(0) { longest, earlier in
            var length = 0
            while place + length < text.count, text[earlier + length] == text[place + length] {
                length += 1
            }
            return max(longest, length)
        }
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

    /// Returns the bits of each character of a run.
    private static func bits(ofRun run: [Unicode.Scalar]) -> [Double] {
        var bits: [Double] = []
        var previous: Unicode.Scalar?
        for scalar in run {
            bits.append(Self.bits(of: scalar, after: previous))
            previous = scalar
        }
        return bits
    }

    private static func bits(of scalar: Unicode.Scalar, after previous: Unicode.Scalar?) -> Double {
        if let previous, abs(Int(scalar.value) - Int(previous.value)) <= 1 { return 1 }
        let isOtherCase =
            previous.map { $0.properties.isUppercase != scalar.properties.isUppercase } ?? false
        let bits =
            switch kind(scalar) {
            case .letter: 2.0
            case .ideograph: 6.0
            case .digit: 3.0
            case .other: 4.0
            case .space: 0.0
            }
        return bits + (isOtherCase ? 1 : 0)
    }
}
