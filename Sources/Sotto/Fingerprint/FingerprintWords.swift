/// Digits in words, which are read out and remembered more easily.
///
/// Each 30 digits are a number below 10^30, less than 2^100; it is written in ten digits to the base 2048,
/// the most significant first, and each of these is a word of the English BIP 39 list. So 20 words are as
/// much as 60 digits, no more and no less.
///
/// A mnemonic has 12 to 24 words, in threes: ten and twenty words are none.
extension Fingerprint {
    /// How many words 30 digits are.
    public static let wordCount = 10

    private static let digitCount = 30
    private static let base: UInt128 = 2048
    private static let end: UInt128 = {
        (0..<digitCount).reduce(1) { power, _ in power * 10 }
    }()

    /// The words of a fingerprint's 30 digits or a safety number's 60.
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

    /// The place, counted from 0, of the first of these words in lower case that is not in the list.
    public static func unknownWord(in words: [String]) -> Int? {
        let places = Wordlist.english.places
        return words.firstIndex { places[$0] == nil }
    }

    /// The digits of words in lower case; `nil` for an unknown word, for any number of words that is not a
    /// multiple of ten, and for ten that are the words of no digits.
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
