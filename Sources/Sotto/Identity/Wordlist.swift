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

    /// Returns `count` random words with spaces between them: 11 bits for each word.
    public func randomPhrase(wordCount count: Int) -> SecretBytes {
        var random = randomBytes(2 * count)
        defer { wipe(&random) }
        let places = stride(from: 0, to: random.count, by: 2).map {
            Int(random[$0] & 7) << 8 | Int(random[$0 + 1])
        }
        return phrase(of: places, separator: UInt8(ascii: " "))
    }

    /// Returns the words at some places of the list, with a separator between them.
    func phrase(of places: [Int], separator: UInt8) -> SecretBytes {
        let list = words
        let chosen = places.map { list[$0] }
        let count = chosen.reduce(chosen.count - 1) { $0 + $1.utf8.count }
        var text = secretArray(count: count) { out in
            for (place, word) in chosen.enumerated() {
                if place > 0 { out.append(separator) }
                out += word.utf8
            }
        }
        defer { wipe(&text) }
        return SecretBytes(copying: text)
    }

    /// The separator of the words when a sentence is displayed: U+3000 for Japanese (BIP 39), a space for the other
    /// lists.
    public var separator: String { self == .japanese ? "\u{3000}" : " " }
}
