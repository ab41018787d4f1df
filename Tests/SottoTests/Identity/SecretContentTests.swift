import Foundation
import TestSupport
import Testing

@testable import Sotto

/// What counts as a secret in a message.
struct SecretContentTests {
    private func kind(_ text: String) -> SecretContent? {
        SecretContent(beginning: Array(text.utf8))
    }

    @Test func keysAreRecognized() {
        let identity = Sample.identity().record.serialized()
        #expect(SecretContent(beginning: identity) == .key(.identity))
        let spread = String(decoding: identity, as: UTF8.self)
            .replacing(",", with: ",\n ").replacing(":", with: " : ")
        #expect(kind("\n\n" + spread) == .key(.identity))
        for text in [
            "# created: today\nAGE-SECRET-KEY-1QQPQYQQ\n", "  age-secret-key-1qqpqyqq",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "note\n-----BEGIN PRIVATE KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----",
            "PuTTY-User-Key-File-3: ssh-ed25519\n",
            "untrusted comment: minisign encrypted secret key\nRWRT",
        ] { #expect(kind(text) == .key(.secretKey), "\(text)") }
    }

    @Test func wordsAreRecognizedInEachListAndForm() throws {
        for wordlist in Wordlist.allCases {
            for count in [12, 24] {
                let mnemonic = Mnemonic(randomWordCount: count, wordlist: wordlist)
                #expect(kind(mnemonic.sentenceText()) == .words, "\(wordlist)")
            }
        }
        let words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
        let numbered = words.split(separator: " ").enumerated()
            .map { "\($0 + 1). \($1)" }.joined(separator: "\n")
        for text in [words, words.uppercased(), numbered, "\(words)\n"] {
            #expect(kind(text) == .words, "\(text)")
        }
    }

    @Test func wordsAreRecognizedInASentence() throws {
        for wordlist in Wordlist.allCases {
            let words = Mnemonic(randomWordCount: 24, wordlist: wordlist).sentenceText()
                .split(whereSeparator: \.isWhitespace).map(String.init)
            let numbered = words.enumerated().map { "\($0 + 1). \($1)" }
            // A page in two columns, which is read row by row.
            let columns = (0..<12).map { "\(numbered[$0])   \(numbered[$0 + 12])" }
            for text in [
                words.joined(separator: " "), words.joined(separator: "\n> "),
                words.map(\.localizedUppercase).joined(separator: ", "),
                words.map { "**\($0)**" }.joined(separator: " – "),
                words.map(\.precomposedStringWithCanonicalMapping).joined(separator: " "),
                numbered.joined(separator: " "), columns.joined(separator: "\n"),
                zip(words, 1...).map { "\($0) (\($1))" }.joined(separator: "; "),
            ] {
                #expect(kind("my 24 words: \(text) ok?") == .words, "\(wordlist): \(text)")
                #expect(kind("(\(text))") == .words, "\(wordlist): \(text)")
                // Words of the list stand beside them, and the text is long.
                let beside = "\(words[5]) \(text) \(words[7])"
                if text == words.joined(separator: " ") {
                    #expect(kind(beside) == .words, "\(wordlist): \(text)")
                }
                let long = String(repeating: "I am at home. ", count: 1_000)
                #expect(kind(long + text + "!\n" + long) == .words, "\(wordlist): \(text)")
            }
        }
    }

    @Test func fewerWordsAreRecognizedBetweenOtherWords() {
        let words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
        for text in ["my words: \(words) ok?", "it is\n\(words).", "\(words) is what I wrote"] {
            #expect(kind(text) == .words, "\(text)")
        }
    }

    @Test func wordsWithAWrongChecksumOrAGapAreNoSecretInASentence() {
        let words = "legal winner thank year wave sausage worth useful legal winner thank yellow"
            .split(separator: " ")
        let swapped = [words[1], words[0]] + words[2...]
        #expect(kind("my words: \(swapped.joined(separator: " ")) ok?") == nil)
        let apart = words[..<6] + ["or"] + words[6...]
        #expect(kind("my words: \(apart.joined(separator: " ")) ok?") == nil)
    }

    /// Twenty words show a fingerprint, and a line of Chinese has only characters of the lists.
    @Test func fingerprintsAndChineseTextAreNoSecret() {
        for seed in 0..<200 {
            let digest = sha256(Array("fingerprint \(seed)".utf8))
            let places = (0..<20).map { Int(digest[$0]) * 8 + Int(digest[31 - $0 % 12] & 7) }
            let list = Wordlist.english.words
            let words = places.map { String(list[$0]) }.joined(separator: " ")
            #expect(kind("compare: \(words)") == nil, "\(words)")
            let characters = Wordlist.chineseSimplified.words
            let text = (places + places.reversed()).map { String(characters[$0]) }.joined()
            #expect(kind(text) == nil, "\(text)")
        }
    }

    @Test func whatPeopleWriteIsNoSecret() {
        for text in [
            "", "dinner at 8?", "my key is AGE-SECRET-KEY in the safe",
            "how do I read a file that begins with -----BEGIN PRIVATE KEY-----?",
            // Twelve words of the list with a wrong checksum, and words in a sentence.
            "legal winner thank year wave sausage worth useful legal winner thank winner",
            "one two three four five six seven eight nine ten eleven twelve",
            "the first word is legal, then come winner thank year wave sausage worth useful",
            #"{"type":"contact","name":"identity"}"#, "-----BEGIN PUBLIC KEY-----",
            "untrusted comment: minisign public key\nRWQ",
        ] { #expect(kind(text) == nil, "\(text)") }
        let card = Sample.identity().card().record?.serialized() ?? []
        #expect(SecretContent(beginning: card) == nil)
    }
}
