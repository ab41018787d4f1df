import Foundation
import TestSupport
import Testing

@testable import Sotto

struct MnemonicTests {
    static let english =
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"

    func failure(_ text: String, _ wordlist: Wordlist? = nil) -> MnemonicError? {
        do throws(MnemonicError) {
            _ = try Mnemonic(parsing: text, wordlist: wordlist)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: Wordlist.allCases)
    func aListHas2048DifferentWordsInNFKD(_ wordlist: Wordlist) {
        let words = wordlist.words
        #expect(words.count == 2048)
        #expect(Set(words.map { Array($0.utf8) }).count == 2048)
        for word in words {
            #expect(
                word.isSameBytes(as: String(word).decomposedStringWithCompatibilityMapping))
        }
    }

    @Test(arguments: Wordlist.allCases, Mnemonic.wordCounts)
    func randomWordsRoundTrip(_ wordlist: Wordlist, _ count: Int) throws {
        try withGenerator { generator in
            for _ in 0..<3 {
                let entropy = generator.bytes(count / 3 * 4)
                let made = Mnemonic(entropy: SecretBytes(copying: entropy), wordlist: wordlist)
                #expect(made.wordCount == count && made.wordlist == wordlist)
                let read = try Mnemonic(parsing: made.sentenceText(), wordlist: wordlist)
                #expect(read.sentenceText() == made.sentenceText(), generator.comment)
                let (a, b) = (made.seedBytes(), read.seedBytes())
                #expect(a == b, generator.comment)
                // Composed characters, which users type, are the same words.
                let composed = made.sentenceText().precomposedStringWithCanonicalMapping
                #expect(
                    try Mnemonic(parsing: composed, wordlist: wordlist).seedBytes() == a,
                    generator.comment)
            }
        }
    }

    @Test func theWordsDetermineTheList() throws {
        for wordlist in Wordlist.allCases {
            let text = Mnemonic(randomWordCount: 24, wordlist: wordlist).sentenceText()
            switch failure(text) {
            case nil: #expect(try Mnemonic(parsing: text).wordlist == wordlist)
            case .ambiguous(let lists): #expect(lists.contains(wordlist) && lists.count > 1)
            case let error?: Issue.record("\(wordlist): \(error)")
            }
        }
    }

    @Test func freshWordsDiffer() {
        #expect(
            Mnemonic(randomWordCount: 12).sentenceText()
                != Mnemonic(randomWordCount: 12).sentenceText())
    }

    @Test func caseAndWhiteSpaceDoNotMatter() throws {
        let known = try Mnemonic(parsing: Self.english).seedBytes()
        for text in [
            "  " + Self.english.uppercased() + "\n",
            Self.english.replacingOccurrences(of: " ", with: "\n\t "),
            Self.english.replacingOccurrences(of: " ", with: "\u{3000}"),
            Self.english.capitalized + "\r\n",
        ] {
            #expect(try Mnemonic(parsing: text).seedBytes() == known, "\(text)")
        }
    }

    @Test(arguments: [0, 1, 11, 13, 14, 16, 23, 25, 1000])
    func anotherNumberOfWordsIsRefused(_ count: Int) {
        let text = Array(repeating: "abandon", count: count).joined(separator: " ")
        #expect(failure(text) == .wordCount(count))
    }

    /// Words with numbers, separators and other forms of their letters, in all lists.
    @Test(arguments: Wordlist.allCases)
    func wordsAreReadAsPeopleTypeThem(_ wordlist: Wordlist) throws {
        for count in Mnemonic.wordCounts {
            let made = Mnemonic(randomWordCount: count, wordlist: wordlist)
            let words = made.sentenceText().split(whereSeparator: \.isWhitespace).map(String.init)
            let numbered = words.enumerated().map { ($0.offset + 1, $0.element) }
            // The page of keygen paper has four columns, and a copy may go row by row.
            let rows = (count + 3) / 4
            let byRow = numbered.sorted { ($0.0 - 1) % rows < ($1.0 - 1) % rows }
            let marks = "\u{300}\u{301}\u{302}\u{303}\u{308}\u{327}\u{30C}".unicodeScalars
            let plain = words.map { word in
                String(
                    String.UnicodeScalarView(word.unicodeScalars.filter { !marks.contains($0) }))
            }
            let texts: [String] = [
                words.joined(separator: "\n"), words.joined(separator: ", "),
                words.joined(separator: ";"), "\u{FEFF}" + words.joined(separator: "\r\n"),
                words.joined(separator: "\u{3001}"), words.joined(separator: "\u{A0}"),
                "\"" + words.joined(separator: "\", \"") + "\"",
                numbered.map { "\($0). \($1)" }.joined(separator: "\n"),
                numbered.map { "\($0) \($1)" }.joined(separator: " "),
                numbered.map { "\($0))\t\($1)" }.joined(separator: "\n"),
                numbered.map { "\($0)\($1)" }.joined(separator: " "),
                numbered.map { "\($0 < 10 ? "0" : "")\($0): \($1)" }.joined(separator: "\n"),
                byRow.map { "\($0) \($1)" }.joined(separator: "  "),
                numbered.reversed().map { "\($0 - 1). \($1)" }.joined(separator: "\n"),
                numbered.map { "\($1) (\($0))" }.joined(separator: " "),
                plain.joined(separator: " "), words.map { $0.uppercased() }.joined(separator: " "),
                nfc(words.joined(separator: " ")),
            ]
            for text in texts {
                let read = try Mnemonic(parsing: text, wordlist: wordlist)
                #expect(read.sentenceText().isSameBytes(as: made.sentenceText()), "\(text)")
            }
        }
    }

    /// Without accents each word of a list still is one word.
    @Test func theKeysOfWordsAreDifferent() {
        for wordlist in Wordlist.allCases { #expect(wordlist.places.count == 2048) }
    }

    @Test func numbersThatAreNoNumberingKeepTheOrder() throws {
        let words = Self.english.split(separator: " ").map(String.init)
        let same = words.map { "7. \($0)" }.joined(separator: " ")
        #expect(try Mnemonic(parsing: same).sentenceText() == Self.english)
        let few = "12 words:\n1-6 " + words[..<6].joined(separator: " ")
        #expect(failure(few) == .wordCount(7))
        #expect(
            TypedWords.words(of: "1-6 a b\n7-12 c d") == ["a", "b", "c", "d"])
    }

    @Test func aControlCharacterIsNoSeparator() {
        for control in ["\0", "\u{1B}", "\u{7F}"] {
            let count = Self.english.split(separator: " ").count
            guard case .unknownWord(count, _) = failure(Self.english + control) else {
                Issue.record("\(control.unicodeScalars)")
                continue
            }
            #expect(failure(control + Self.english) != nil)
        }
    }

    @Test func aWrongWordIsReportedWithItsPositionAndTheNearestWord() {
        var words = Self.english.split(separator: " ").map(String.init)
        words[6] = "abandom"
        #expect(
            failure(words.joined(separator: " "))
                == .unknownWord(position: 7, suggestion: "abandon"))
        words[6] = "xyzzy"
        #expect(
            failure(words.joined(separator: " "), .english)
                == .unknownWord(position: 7, suggestion: nil))
        words[6] = "aband"
        #expect(
            failure(words.joined(separator: " "), .english)
                == .unknownWord(position: 7, suggestion: "abandon"))
    }

    @Test func anExchangedOrMovedWordFailsTheChecksum() throws {
        #expect(
            failure(Array(repeating: "abandon", count: 12).joined(separator: " ")) == .checksum)
        // An 8-bit checksum accepts one wrong sentence in 256.
        let words = Mnemonic(randomWordCount: 24).sentenceText().split(separator: " ")
        var refused = 0
        for place in 1..<words.count where words[0] != words[place] {
            var moved = words
            moved.swapAt(0, place)
            if failure(moved.joined(separator: " ")) == .checksum { refused += 1 }
        }
        #expect(refused >= 15)
    }

    @Test func thePassphraseChangesTheSeed() throws {
        let mnemonic = try Mnemonic(parsing: Self.english)
        let plain = Identity(mnemonic: mnemonic, name: "")
        let other = Identity(mnemonic: mnemonic, name: "", passphrase: "TREZOR")
        #expect(plain.id != other.id && plain.ageKey.recipient != other.ageKey.recipient)
    }
}

extension Mnemonic {
    func seedBytes(passphrase: String = "") -> [UInt8] {
        seed(passphrase: passphrase).withBytes { Array($0) }
    }
}

/// The vectors of trezor/python-mnemonic and bip32JP, read from EXTERNAL_VECTORS.
@Suite(.enabled(if: TestSupport.Vectors.hasExternal, TestSupport.Vectors.hint))
struct ExternalMnemonicTests {
    struct Japanese: Decodable {
        let entropy: Hex
        let mnemonic: String
        let passphrase: String
        let seed: Hex
    }

    struct Known: Decodable {
        let mustFail: [MustFail]
        let normalise: [Normalised]
        let passphrase: [Passphrase]
        struct MustFail: Decodable {
            let mnemonic: String
            let why: String
        }
        struct Normalised: Decodable {
            let input: String
            let canonical: String
        }
        struct Passphrase: Decodable {
            let mnemonic: String
            let passphraseNfkd: Hex
            let seed: Hex
        }
    }

    /// Entropy, sentence, and seed with the passphrase TREZOR.
    @Test(arguments: Wordlist.allCases)
    func trezorsVectorsMatch(_ wordlist: Wordlist) throws {
        let all: [String: [[String]]] = TestSupport.Vectors.loadExternal(
            "bip39/trezor_vectors.json")
        let name = wordlist.rawValue.replacingOccurrences(of: "-", with: "_")
        let vectors = try #require(all[name])
        #expect(vectors.count == 24)
        for vector in vectors {
            let entropy = try #require(bytes(hex: vector[0]))
            let made = Mnemonic(entropy: SecretBytes(copying: entropy), wordlist: wordlist)
            #expect(
                made.sentenceText().isSameBytes(
                    as: vector[1].decomposedStringWithCompatibilityMapping
                        .replacingOccurrences(of: " ", with: wordlist.separator)))
            let read = try Mnemonic(parsing: vector[1], wordlist: wordlist)
            #expect(hex(read.seedBytes(passphrase: "TREZOR")) == vector[2])
        }
    }

    @Test func theJapaneseVectorsMatch() throws {
        let vectors: [Japanese] = TestSupport.Vectors.loadExternal("bip39/test_JP_BIP39.json")
        #expect(vectors.count == 24)
        for vector in vectors {
            let mnemonic = try Mnemonic(parsing: vector.mnemonic)
            #expect(mnemonic.wordlist == .japanese)
            let passphrase = vector.passphrase.decomposedStringWithCompatibilityMapping
            #expect(mnemonic.seedBytes(passphrase: passphrase) == vector.seed.bytes)
        }
    }

    @Test func ourOwnCasesMatch() throws {
        let known: Known = TestSupport.Vectors.loadExternal("bip39/kat_bip39.json")
        for vector in known.mustFail {
            #expect(throws: MnemonicError.self, "\(vector.why)") {
                try Mnemonic(parsing: vector.mnemonic)
            }
        }
        for vector in known.normalise {
            #expect(
                try Mnemonic(parsing: vector.input).seedBytes()
                    == Mnemonic(parsing: vector.canonical).seedBytes())
        }
        for vector in known.passphrase {
            let passphrase = String(decoding: vector.passphraseNfkd.bytes, as: UTF8.self)
            #expect(
                try Mnemonic(parsing: vector.mnemonic).seedBytes(passphrase: passphrase)
                    == vector.seed.bytes)
        }
    }
}
