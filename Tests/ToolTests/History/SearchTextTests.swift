import Sotto
import TestSupport
import Testing

@testable import SottoState

struct SearchTextTests {
    private static let letters: [Unicode.Scalar] = [
        "a", "A", "b", "ß", "ẞ", "S", "s", "ſ", "ﬆ", "T", "İ", "i", "ı", "k", "\u{212A}", "\"",
        "\\", "é",
        "e", "\u{301}", "\u{323}", "\u{307}", "σ", "ς", "Σ", "한", "\u{1112}", "𐐀", "𐐨",
    ]

    private func random(_ count: Int, _ random: inout Generator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<count { text.append(Self.letters.randomElement(using: &random)!) }
        return String(text)
    }

    /// The search finds what a search in the folded texts finds, and the filter before it misses nothing.
    @Test func everyMatchIsFound() throws {
        try withGenerator { random in
            var (matches, rejected) = (0, 0)
            for _ in 0..<20_000 {
                let text = self.random(Int.random(in: 0...8, using: &random), &random)
                let word = self.random(Int.random(in: 0...3, using: &random), &random)
                let (bytes, wanted) = (Array(caseFolded(text).utf8), Array(caseFolded(word).utf8))
                let expected =
                    wanted.isEmpty || bytes.indices.contains { bytes[$0...].starts(with: wanted) }
                #expect(
                    SearchText(word).occurs(in: text) == expected,
                    "\(text) \(word), \(random.comment)")
                let mayOccur = SearchFilter(word, inJSON: false).mayOccur(in: text)
                let json = JSON.string(text).serialized()
                let mayOccurInJSON = json.withUnsafeBytes {
                    SearchFilter(word, inJSON: true).mayOccur(in: $0)
                }
                #expect(mayOccur || !expected, "\(text) \(word), \(random.comment)")
                #expect(mayOccurInJSON || !expected, "\(text) \(word), \(random.comment)")
                if expected { matches += 1 }
                if !mayOccur { rejected += 1 }
            }
            #expect(matches > 2_000 && rejected > 5_000)
        }
    }

    /// Texts that are the same to a reader: the word, and the text that it is found in.
    @Test(arguments: [
        ("straße", "Straße"), ("STRASSE", "Straße"), ("strasse", "Straße"),
        ("straßenbahn", "STRASSENBAHN"), ("ärzte", "ÄRZTE"), ("a\u{308}rzte", "Ärzte"),
        ("äpfel", "A\u{308}pfel"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("σίσυφοσ", "σίσυφος"),
        ("i\u{307}stanbul", "İstanbul"), ("istanbul", "İSTANBUL"), ("İSTANBUL", "istanbul"),
        ("\u{1E69}", "s\u{307}\u{323}"), ("ГРУППА", "группа"), ("ﬁn", "FIN"), ("in", "ﬁn"),
        ("\u{AC00}", "\u{1100}\u{1161}"), ("Kelvin", "\u{212A}elvin"),
    ])
    func textsOfOneMeaningAreFound(word: String, text: String) {
        #expect(SearchText(word).occurs(in: text))
        #expect(SearchFilter(word, inJSON: true).mayOccur(in: text))
    }

    /// The short way to the base of a character gives what the long one gives.
    @Test func theBaseOfACharacterIsThatOfItsFolding() {
        let filter = SearchFilter("", inJSON: false)
        for value in UInt32(1)..<0x20000 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let (base, all) = (filter.base(of: value), foldedBases(scalar))
            #expect(
                base == .max || all == (base == 0 ? [] : [base]), "U+\(String(value, radix: 16))")
        }
    }

    @Test(arguments: [("a", "ä"), ("ı", "i"), ("e", "e\u{301}"), ("ss", "s"), ("日", "本")])
    func otherTextsAreNotFound(word: String, text: String) {
        #expect(!SearchText(word).occurs(in: text))
    }

    /// A text of combining marks is compared once and not from each mark: with the square of its length this takes hours.
    @Test func aTextOfMarksIsComparedOnce() {
        let text = "e" + String(repeating: "\u{301}", count: 2_000_000)
        #expect(!SearchFilter("ab", inJSON: true).mayOccur(in: text))
        #expect(SearchFilter("eb", inJSON: true).mayOccur(in: text + "b"))
    }
}
