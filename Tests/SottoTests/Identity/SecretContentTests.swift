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
