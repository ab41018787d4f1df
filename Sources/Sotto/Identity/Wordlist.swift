import CWordlists
import Synchronization

/// One of the ten official BIP 39 word lists.
public enum Wordlist: String, Sendable, CaseIterable {
    case english, japanese, korean, spanish
    case chineseSimplified = "chinese-simplified"
    case chineseTraditional = "chinese-traditional"
    case french, italian, czech, portuguese

    private var list: wordlist {
        switch self {
        case .english: wordlist_english
        case .japanese: wordlist_japanese
        case .korean: wordlist_korean
        case .spanish: wordlist_spanish
        case .chineseSimplified: wordlist_chinese_simplified
        case .chineseTraditional: wordlist_chinese_traditional
        case .french: wordlist_french
        case .italian: wordlist_italian
        case .czech: wordlist_czech
        case .portuguese: wordlist_portuguese
        }
    }

    /// The letters of the words.
    var script: WordRun.Script {
        switch self {
        case .english, .spanish, .french, .italian, .czech, .portuguese: .latin
        case .japanese: .kana
        case .korean: .hangul
        case .chineseSimplified, .chineseTraditional: .ideographs
        }
    }

    /// The 2048 words, in NFKD.
    public var words: [Substring] {
        let bytes = UnsafeRawBufferPointer(start: list.text, count: list.size)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    /// The position of each word in the list, by its ``TypedWords/key(_:)``. It is computed once for each list that is used.
    var places: [String: Int] {
        Self.places.withLock { places in
            if let known = places[self] { return known }
            let made = Dictionary(
                uniqueKeysWithValues: words.enumerated().map { (TypedWords.key($1), $0) })
            places[self] = made
            return made
        }
    }

    private static let places = Mutex<[Wordlist: [String: Int]]>([:])

    /// Returns `count` random words with a separator between them, a space by default: 11 bits for each word.
    public func randomPhrase(
        wordCount count: Int, separator: UInt8 = UInt8(ascii: " ")
    ) -> SecretBytes {
        let random = SecretBytes(randomCount: 2 * count)
        return random.withBytes { random in
            let places = (0..<count).lazy.map { position -> Int in
                let (high, low) = (random[2 * position], random[2 * position + 1])
                return Int(high & 7) << 8 | Int(low)
            }
            return phrase(of: places, separator: separator)
        }
    }

    /// Returns the words at one or more places of the list, with a separator between them. The places are read twice: a lazy
    /// collection leaves no array of them.
    func phrase(of places: some Collection<Int>, separator: UInt8) -> SecretBytes {
        let list = words
        let count = places.reduce(places.count - 1) { $0 + list[$1].utf8.count }
        var text = secretArray(count: count) { out in
            for place in places {
                if !out.isEmpty { out.append(separator) }
                out += list[place].utf8
            }
        }
        defer { wipe(&text) }
        return SecretBytes(copying: text)
    }

    /// The separator of the words when a sentence is displayed: U+3000 for Japanese (BIP 39), a space for the other
    /// lists.
    public var separator: String { self == .japanese ? "\u{3000}" : " " }
}
