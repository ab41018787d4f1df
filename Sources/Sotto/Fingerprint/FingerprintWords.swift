/// Fingerprint digits as words, which are easier to read aloud and to remember.
///
/// Each 30 digits are a number below 10^30, which is less than 2^100. It is written as ten digits to the base 2048, the
/// most significant first, and each digit is a word of the English BIP 39 list. 20 words have the same strength as 60
/// digits.
///
/// Ten or twenty words are never a valid mnemonic, which has 12, 15, 18, 21 or 24 words.
extension Fingerprint {
    /// The number of words for 30 digits.
    public static let wordCount = 10

    private static let digitCount = 30
    private static let base: UInt128 = 2048
    private static let end: UInt128 = {
        (0..<digitCount).reduce(1) { power, _ in power * 10 }
    }()

    /// Returns the words of a fingerprint's 30 digits or a safety number's 60.
    public static func words(of digits: String) -> [String] {
        let list = Wordlist.english.words
        return groups(of: Array(digits.utf8), digitCount).flatMap { group in
            var value = group.reduce(UInt128(0)) { $0 * 10 + UInt128($1 - UInt8(ascii: "0")) }
            var words: [String] = []
            for _ in 0..<wordCount {
                words.append(String(list[Int(value % base)]))
                value /= base
            }
            return words.reversed()
        }
    }

    /// Returns the position, from 0, of the first lower-case word that is not in the list, or `nil`.
    public static func unknownWord(in words: [String]) -> Int? {
        let places = Wordlist.english.places
        return words.firstIndex { places[$0] == nil }
    }

    /// Returns the digits of lower-case words. Returns `nil` for an unknown word, for a number of words that is not a
    /// multiple of ten, and for ten words whose number is 10^30 or more.
    public static func digits(of words: [String]) -> String? {
        guard !words.isEmpty, words.count.isMultiple(of: wordCount) else { return nil }
        var digits = ""
        for group in groups(of: words, wordCount) {
            var value: UInt128 = 0
            for word in group {
                guard let place = Wordlist.english.places[word] else { return nil }
                value = value * base + UInt128(place)
            }
            guard value < end else { return nil }
            let text = String(value)
            digits += String(repeating: "0", count: digitCount - text.count) + text
        }
        return digits
    }

    private static func groups<Element>(of all: [Element], _ size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: all.count, by: size).map { all[$0..<min($0 + size, all.count)] }
    }
}
