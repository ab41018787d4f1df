import CUTF8Proc

/// Recovery words as people type them, or copy them from a page.
enum TypedWords {
    private enum Part {
        case word(String)
        case number(Int)
    }

    /// The largest number that is read; a longer one has no meaning.
    private static let largestNumber = 999

    /// Returns the words of a text, each in the form of ``key(_:)``.
    ///
    /// Numbers, white space, punctuation and symbols separate words; other control characters are part of a word. Chinese characters need no separator. If each word
    /// has a number, from 0 or from 1, the words are returned in the order of their numbers, because a page in columns
    /// may be copied row by row.
    static func words(of text: String) -> [String] { words(of: parts(of: text)[...]) }

    /// Returns whether words of a text that follow each other are a sentence of a list, with its checksum. Words of the list beside them
    /// are allowed only for 24 words, because fewer have a checksum of few bits.
    static func hasSentence(_ text: String, of wordlist: Wordlist) -> Bool {
        let (parts, places) = (parts(of: text), wordlist.places)
        let words = parts.indices.filter { !isNumber(parts[$0]) }
        let runs = words.indices.split { index in
            if case .word(let word) = parts[words[index]] { places[word] == nil } else { true }
        }
        return runs.contains { run in
            if run.count < longest {
                return isSentence(of: words[run], in: parts, wordlist)
            }
            return (run.lowerBound...run.upperBound - longest).contains { first in
                isSentence(of: words[first..<first + longest], in: parts, wordlist)
            }
        }
    }

    /// The number of words of the longest sentence.
    private static let longest = 24

    /// Returns whether the words at these places are a sentence, as they stand or in the order of the numbers before or after them.
    private static func isSentence(
        of words: ArraySlice<Int>, in parts: [Part], _ wordlist: Wordlist
    ) -> Bool {
        guard Mnemonic.wordCounts.contains(words.count), let first = words.first,
            let last = words.last
        else { return false }
        var ranges = [first..<last + 1]
        if first > 0, isNumber(parts[first - 1]) { ranges.append(first - 1..<last + 1) }
        if last + 1 < parts.count, isNumber(parts[last + 1]) { ranges.append(first..<last + 2) }
        return ranges.contains { Mnemonic.isSentence(self.words(of: parts[$0]), in: wordlist) }
    }

    private static func words(of parts: ArraySlice<Part>) -> [String] {
        var (words, numbers) = ([String](), [Int]())
        // Numbers are all before or all after their words.
        var isAlternating = true
        for (place, part) in zip(parts.indices, parts) {
            let isFirst = place == parts.startIndex
            switch part {
            case .word(let word):
                words.append(word)
                isAlternating = isAlternating && (isFirst || isNumber(parts[place - 1]))
            case .number(let number):
                numbers.append(number)
                isAlternating = isAlternating && (isFirst || !isNumber(parts[place - 1]))
            }
        }
        guard isAlternating, numbers.count == words.count, let first = numbers.min(), first < 2,
            numbers.sorted() == Array(first..<first + words.count)
        else { return words }
        return zip(numbers, words).sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// Returns a word in the form in which words are compared: in NFKD, in lower case, and without the accents of Latin
    /// letters, which the French and the Spanish list declare optional.
    static func key(_ word: some StringProtocol) -> String {
        var key = String.UnicodeScalarView()
        for scalar in word.unicodeScalars { key.append(contentsOf: bases(scalar)) }
        return String(key)
    }

    private static func isNumber(_ part: Part) -> Bool {
        if case .number = part { true } else { false }
    }

    private static func parts(of text: String) -> [Part] {
        var parts: [Part] = []
        var (word, number) = (String.UnicodeScalarView(), Int?.none)
        func end() {
            if !word.isEmpty { parts.append(.word(String(word))) }
            if let number { parts.append(.number(number)) }
            (word, number) = (String.UnicodeScalarView(), nil)
        }
        for scalar in text.unicodeScalars.lazy.flatMap(bases) {
            let properties = scalar.properties
            switch properties.generalCategory {
            case _ where properties.isIdeographic:
                end()
                parts.append(.word(String(scalar)))
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter,
                .otherLetter, .nonspacingMark, .spacingMark:
                if number != nil { end() }
                word.append(scalar)
            case .decimalNumber:
                if !word.isEmpty { end() }
                let digit = properties.numericValue.map { Int($0) } ?? 0
                number = min((number ?? 0) * 10 + digit, largestNumber)
            case .format: continue
            // No keyboard types it, so it makes the word an unknown one.
            case .control where !properties.isWhitespace: word.append(scalar)
            default: end()
            }
        }
        end()
        return parts
    }

    /// Returns the decomposition of a character in lower case, without the accents of Latin letters.
    private static func bases(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        if scalar.isASCII {
            let isUpper = (0x41...0x5A).contains(scalar.value)
            return [isUpper ? Unicode.Scalar(UInt8(scalar.value) | 0x20) : scalar]
        }
        let options =
            UTF8PROC_DECOMPOSE.rawValue | UTF8PROC_COMPAT.rawValue | UTF8PROC_CASEFOLD.rawValue
        // The longest compatibility decomposition has 18 characters.
        var (codePoints, last) = ([Int32](repeating: 0, count: 32), Int32(0))
        let count = utf8proc_decompose_char(
            Int32(scalar.value), &codePoints, codePoints.count, utf8proc_option_t(options), &last)
        return codePoints.prefix(max(0, min(count, codePoints.count)))
            .compactMap { Unicode.Scalar(UInt32($0)) }
            .filter { !(0x300...0x36F).contains($0.value) }
    }
}
