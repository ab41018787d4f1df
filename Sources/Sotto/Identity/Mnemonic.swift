/// A reason to refuse a sentence as a BIP 39 mnemonic.
public enum MnemonicError: Error, Sendable, Equatable {
    /// The sentence does not have 12, 15, 18, 21 or 24 words.
    case wordCount(Int)
    /// The word at `position`, from 1, is not in the list. `suggestion` is the closest word of the list.
    case unknownWord(position: Int, suggestion: String?)
    /// All words are in the list, but the checksum is wrong: a word was exchanged or moved.
    case checksum
    /// The words are valid in several lists, which give different keys. The caller must name the list.
    case ambiguous([Wordlist])
    /// The identity has no words: it was made from a key.
    case noWords
}

/// A BIP 39 sentence, from which all keys of an identity are derived.
public final class Mnemonic: Sendable {
    /// The list of the words.
    public let wordlist: Wordlist
    private let sentence: SecretBytes  // NFKD, joined by U+0020

    /// Generates a sentence with `wordCount` (12, 15, 18, 21 or 24) words.
    public convenience init(randomWordCount wordCount: Int, wordlist: Wordlist = .english) {
        precondition(Self.wordCounts.contains(wordCount))
        let entropy = SecretBytes(randomCount: wordCount / 3 * 4)
        self.init(entropy: entropy, wordlist: wordlist)
    }

    /// The valid numbers of words.
    public static let wordCounts = [12, 15, 18, 21, 24]

    /// Creates the sentence of 16, 20, 24, 28 or 32 bytes of entropy.
    public init(entropy: borrowing SecretBytes, wordlist: Wordlist = .english) {
        precondition([16, 20, 24, 28, 32].contains(entropy.count))
        let count = entropy.count * 3 / 4
        let bits = SecretBytes(count: entropy.count + 1) { out in
            entropy.withBytes { entropy in
                out.copyMemory(from: entropy)
                out[entropy.count] = sha256(entropy)[0]
            }
        }
        self.wordlist = wordlist
        sentence = bits.withBytes { bytes in
            let places = (0..<count).lazy.map { position -> Int in
                var place = 0
                for bit in position * 11..<position * 11 + 11 {
                    place = place << 1 | Int(bytes[bit / 8] >> (7 - bit % 8) & 1)
                }
                return place
            }
            return wordlist.phrase(of: places, separator: UInt8(ascii: " "))
        }
    }

    /// Reads a sentence and verifies its checksum. Letter case, accents of Latin letters, and what separates the words do
    /// not matter; words with numbers are put in the order of the numbers.
    ///
    /// Without `wordlist` the words determine the list. A sentence that is valid in two lists is refused with the
    /// lists' names.
    public convenience init(parsing text: String, wordlist: Wordlist? = nil) throws(MnemonicError) {
        let words = TypedWords.words(of: text)
        guard Self.wordCounts.contains(words.count) else { throw .wordCount(words.count) }
        if let wordlist {
            self.init(
                entropy: try Self.entropy(of: words, in: wordlist), wordlist: wordlist)
            return
        }
        var valid: [Wordlist] = []
        // If all lists refuse the sentence, the error is that of the list that has the most of its words.
        var best: (wordlist: Wordlist, reached: Int) = (.english, -1)
        for wordlist in Wordlist.allCases {
            let places = wordlist.places
            let reached = words.count { places[$0] != nil }
            if Self.isSentence(words, in: wordlist) { valid.append(wordlist) }
            if reached > best.reached { best = (wordlist, reached) }
        }
        // The two Chinese lists share words at different positions.
        guard valid.count <= 1 else { throw .ambiguous(valid) }
        let wordlist = valid.first ?? best.wordlist
        self.init(entropy: try Self.entropy(of: words, in: wordlist), wordlist: wordlist)
    }

    /// Returns whether words, each in the form of ``TypedWords/key(_:)``, are a sentence of a list with the right checksum.
    static func isSentence(_ words: [String], in wordlist: Wordlist) -> Bool {
        let places = wordlist.places
        return wordCounts.contains(words.count) && words.allSatisfy { places[$0] != nil }
            && (try? entropy(of: words, in: wordlist)) != nil
    }

    private static func entropy(
        of words: [String], in wordlist: Wordlist
    ) throws(MnemonicError) -> SecretBytes {
        let places = wordlist.places
        var bits = [UInt8](repeating: 0, count: words.count * 11)
        defer { wipe(&bits) }
        for (position, word) in words.enumerated() {
            guard let index = places[word] else {
                throw .unknownWord(
                    position: position + 1, suggestion: nearest(to: word, in: wordlist.words))
            }
            for bit in 0..<11 { bits[position * 11 + bit] = UInt8(index >> (10 - bit) & 1) }
        }
        let count = words.count / 3 * 4
        var bytes = (0...count).map { place -> UInt8 in
            bits[(place * 8)..<min(place * 8 + 8, bits.count)].reduce(0) { $0 << 1 | $1 }
        }
        defer { wipe(&bytes) }
        let checksumBits = words.count / 3
        let checksum = sha256(Array(bytes[..<count]))[0] >> (8 - checksumBits)
        guard bytes[count] == checksum else { throw .checksum }
        return SecretBytes(copying: bytes[..<count])
    }

    /// Returns the only word of the list at an edit distance of one, or the only one with the same first four letters.
    private static func nearest(to word: String, in list: [Substring]) -> String? {
        let typed = Array(word)
        func isOneEdit(_ candidate: [Character]) -> Bool {
            guard abs(candidate.count - typed.count) <= 1 else { return false }
            let prefix = zip(candidate, typed).prefix { $0 == $1 }.count
            let suffix = zip(candidate.reversed(), typed.reversed()).prefix { $0 == $1 }.count
            return prefix + suffix >= max(candidate.count, typed.count) - 1
        }
        let near = list.filter { isOneEdit(Array(TypedWords.key($0))) }
        if near.count == 1 { return String(near[0]) }
        let prefixed =
            typed.count >= 4 ? list.filter { TypedWords.key($0).hasPrefix(word.prefix(4)) } : []
        return prefixed.count == 1 ? String(prefixed[0]) : nil
    }

    /// The number of words.
    public var wordCount: Int {
        sentence.withBytes { $0.count(where: { $0 == UInt8(ascii: " ") }) + 1 }
    }

    /// Returns whether a typed text is the word at `position`, from 1. Letter case and accents of Latin letters do not matter.
    public func isWord(_ typed: String, at position: Int) -> Bool {
        let word = sentence.withBytes { sentence -> String in
            let words = sentence.split(separator: UInt8(ascii: " "))
            return String(decoding: words[position - 1], as: UTF8.self)
        }
        return TypedWords.words(of: typed) == [TypedWords.key(word)]
    }

    /// Returns the sentence as users write it down. It is secret: show it, but do not log it.
    public func sentenceText() -> String {
        let text = sentence.withBytes { String(decoding: $0, as: UTF8.self) }
        return text.split(separator: " ").joined(separator: wordlist.separator)
    }

    /// Returns the 64-byte seed (BIP 39, "From mnemonic to seed"). `passphrase` must be in NFKD; ASCII always is.
    public func seed(passphrase: String = "") -> SecretBytes {
        var password = sentence.withBytes { Array($0) }
        defer { wipe(&password) }
        return pbkdf2SHA512(
            password: password, salt: Array(("mnemonic" + passphrase).utf8), rounds: 2048)
    }
}
