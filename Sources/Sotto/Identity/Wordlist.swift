import Synchronization

/// One of the ten official BIP 39 word lists.
public enum Wordlist: String, Sendable, CaseIterable {
    case english, japanese, korean, spanish
    case chineseSimplified = "chinese-simplified"
    case chineseTraditional = "chinese-traditional"
    case french, italian, czech, portuguese

    private var text: StaticString {
        switch self {
        case .english: Self.englishWords
        case .japanese: Self.japaneseWords
        case .korean: Self.koreanWords
        case .spanish: Self.spanishWords
        case .chineseSimplified: Self.chineseSimplifiedWords
        case .chineseTraditional: Self.chineseTraditionalWords
        case .french: Self.frenchWords
        case .italian: Self.italianWords
        case .czech: Self.czechWords
        case .portuguese: Self.portugueseWords
        }
    }

    /// The 2048 words, in NFKD.
    public var words: [Substring] {
        text.withUTF8Buffer { String(decoding: $0, as: UTF8.self) }
            .split(whereSeparator: { $0 == " " || $0 == "\n" })
    }

    /// The position of each word in the list. It is computed once for each list that is used.
    var places: [String: Int] {
        Self.places.withLock { places in
            if let known = places[self] { return known }
            let made = Dictionary(
                uniqueKeysWithValues: words.enumerated().map { (String($1), $0) })
            places[self] = made
            return made
        }
    }

    private static let places = Mutex<[Wordlist: [String: Int]]>([:])

    /// The separator of the words when a sentence is displayed: U+3000 for Japanese (BIP 39), a space for the other
    /// lists.
    public var separator: String { self == .japanese ? "\u{3000}" : " " }
}
