import CWordlists

/// A stretch of a text that can be recovery words (BIP 39): at least twelve words in succession that the lists have or, with accents or
/// in another script, can have. Numbers, punctuation and line ends may stand between them.
///
/// It is found without reading words as text: a text without such a stretch, as nearly all are, costs a few nanoseconds for each byte.
package struct WordRun: Sendable, Equatable {
    /// The letters of a list.
    package enum Script: Sendable, Equatable { case latin, kana, hangul, ideographs }

    package let script: Script
    /// The bytes from the end of the word before to the beginning of the word after: the words with the numbers and the punctuation around them.
    package let range: Range<Int>
    /// The number of words.
    package let count: Int
    /// Whether no two ideographs stand together, without a separator.
    package let isSpaced: Bool

    /// Whether the words alone are probably recovery words, by their number. Only their checksum tells it.
    package var isLikely: Bool { count > 24 ? script == .latin : count.isMultiple(of: 3) }

    /// The fewest words of a sentence.
    private static let shortest = 12

    /// Returns the stretches of a text in UTF-8, in order.
    package static func all(in bytes: [UInt8]) -> [WordRun] {
        // Twelve ideographs.
        guard bytes.count >= 3 * shortest else { return [] }
        // Without words of fitting lengths no list is read.
        let possible = runs(in: bytes) { _ in true }
        guard possible.contains(where: { $0.script == .latin }) else { return possible }
        let known = latinWords
        return runs(in: bytes) { known.contains($0) }
    }

    private static func runs(in bytes: [UInt8], isListed: (UInt64) -> Bool) -> [WordRun] {
        bytes.withUnsafeBufferPointer { bytes in
            var search = Search()
            var place = 0
            while place < bytes.count {
                let (kind, length) = Kind.next(in: bytes, at: place)
                search.take(kind, at: place, isListed)
                place += length
            }
            search.endWord(at: place, isListed)
            search.endRun(at: place)
            return search.found
        }
    }

    // MARK: The lists with Latin letters

    /// The words of these lists, each packed by ``pack(_:_:)``, without accents.
    private static let latinWords: Set<UInt64> = {
        let lists = [
            wordlist_english, wordlist_spanish, wordlist_french, wordlist_italian, wordlist_czech,
            wordlist_portuguese,
        ]
        var words = Set<UInt64>(minimumCapacity: lists.count * 2_048)
        for list in lists {
            var word: UInt64 = 0
            for byte in UnsafeRawBufferPointer(start: list.text, count: list.size) {
                if byte == UInt8(ascii: "\n") {
                    words.insert(word)
                    word = 0
                } else if byte < 0x80 {
                    // The lists are in NFKD: an accent is a separate character.
                    word = pack(word, UInt32(byte))
                }
            }
        }
        return words
    }()

    /// Appends a letter to a packed word, in five bits. The letters of both cases are equal, in the full width too.
    private static func pack(_ word: UInt64, _ letter: UInt32) -> UInt64 {
        word << 5 | UInt64(letter & 31)
    }

    // MARK: Characters

    private enum Kind {
        /// A letter of the English alphabet, by its code.
        case plain(UInt32)
        /// Another Latin letter; or a separate accent, which is not counted as a letter.
        case accented(isLetter: Bool)
        case kana
        /// A syllable of Hangul, or a part of one.
        case hangul(parts: Int)
        case ideograph
        /// A letter of no list.
        case foreign
        case separator
        /// A character that is not shown, such as a soft hyphen.
        case ignored

        /// Returns the kind of the character at a place, and its number of bytes.
        @inline(__always)
        static func next(
            in bytes: UnsafeBufferPointer<UInt8>, at place: Int
        ) -> (Kind, length: Int) {
            let byte = bytes[place]
            if byte < 0x80 {
                let isLetter = (0x61...0x7A).contains(byte | 0x20)
                return (isLetter ? .plain(UInt32(byte)) : .separator, 1)
            }
            let length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
            guard length > 1, place + length <= bytes.count else { return (.foreign, 1) }
            var scalar = UInt32(byte) & (0x7F >> UInt32(length))
            for next in bytes[place + 1..<place + length] {
                guard next & 0xC0 == 0x80 else { return (.foreign, 1) }
                scalar = scalar << 6 | UInt32(next & 0x3F)
            }
            return (Kind(scalar), length)
        }

        private init(_ scalar: UInt32) {
            switch scalar {
            case 0xAD, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x2064, 0xFE00...0xFE0F, 0xFEFF:
                self = .ignored
            case 0x80...0xBF, 0xD7, 0xF7: self = .separator
            case 0xC0...0x24F, 0x1E00...0x1EFF: self = .accented(isLetter: true)
            case 0x300...0x36F: self = .accented(isLetter: false)
            case 0x1100...0x11FF, 0x3131...0x318E: self = .hangul(parts: 1)
            case 0xAC00...0xD7A3: self = .hangul(parts: 3)
            case 0x3041...0x309F: self = .kana
            case 0x3400...0x4DBF, 0x4E00...0x9FFF: self = .ideograph
            case 0xFF21...0xFF3A, 0xFF41...0xFF5A: self = .plain(scalar)
            case 0x2000...0x2BFF, 0x3000...0x303F, 0xFF00...0xFF65, 0x1F000...0x1FBFF:
                self = .separator
            default: self = .foreign
            }
        }
    }

    // MARK: The search

    private struct Search {
        var found: [WordRun] = []

        // The word that is read.
        private var start = 0
        private var packed: UInt64 = 0
        private var length = 0
        private var script: Script?
        private var (hasAccent, isForeign) = (false, false)

        // The words before it.
        private var runStart = 0
        private var runCount = 0
        private var runScript: Script?
        private var isSpaced = true
        private var lastEnd = 0

        @inline(__always)
        mutating func take(_ kind: Kind, at place: Int, _ isListed: (UInt64) -> Bool) {
            switch kind {
            case .plain(let letter):
                add(.latin, at: place)
                packed = WordRun.pack(packed, letter)
            case .separator: if script != nil { endWord(at: place, isListed) }
            case .accented(let isLetter):
                add(.latin, length: isLetter ? 1 : 0, at: place)
                hasAccent = true
            case .kana: add(.kana, at: place)
            case .hangul(let parts): add(.hangul, length: parts, at: place)
            case .ideograph: add(.ideographs, at: place)
            case .foreign:
                add(.latin, at: place)
                isForeign = true
            case .ignored: break
            }
        }

        @inline(__always)
        private mutating func add(_ script: Script, length: Int = 1, at place: Int) {
            if self.script == nil {
                (self.script, start) = (script, place)
            } else if self.script != script {
                isForeign = true
            }
            self.length += length
        }

        mutating func endWord(at place: Int, _ isListed: (UInt64) -> Bool) {
            guard let script else { return }
            if isForeign || !isPossible(script, isListed) {
                endRun(at: start)
            } else {
                if runScript != script {
                    endRun(at: start)
                    (runScript, runStart) = (script, lastEnd)
                }
                runCount += script == .ideographs ? length : 1
                if script == .ideographs, length > 1 { isSpaced = false }
            }
            lastEnd = place
            (self.script, packed, length, hasAccent, isForeign) = (nil, 0, 0, false, false)
        }

        /// Whether a list of the script can have the word. A word with accents is not looked up.
        private func isPossible(_ script: Script, _ isListed: (UInt64) -> Bool) -> Bool {
            switch script {
            case .latin: (3...9).contains(length) && (hasAccent || isListed(packed))
            case .kana: (2...10).contains(length)
            case .hangul: length <= 12
            case .ideographs: true
            }
        }

        mutating func endRun(at place: Int) {
            if let runScript, runCount >= WordRun.shortest {
                found.append(
                    WordRun(
                        script: runScript, range: runStart..<place, count: runCount,
                        isSpaced: isSpaced))
            }
            (runCount, runScript, isSpaced) = (0, nil, true)
        }
    }
}
