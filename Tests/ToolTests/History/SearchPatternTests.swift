import TestSupport
import Testing

@testable import SottoState

struct SearchPatternTests {
    private static let letters: [Unicode.Scalar] = [
        "a", "A", "b", "ß", "S", "s", "İ", "i", "k", "\u{212A}", "\"", "é",
    ]

    private func random(_ count: Int, _ random: inout Generator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<count { text.append(Self.letters.randomElement(using: &random)!) }
        return String(text)
    }

    /// Whether a text has the pattern at an offset of its bytes: each character in one of its four forms.
    private func has(_ pattern: Substring.UnicodeScalarView, at bytes: ArraySlice<UInt8>) -> Bool {
        guard let scalar = pattern.first else { return true }
        let properties = scalar.properties
        return [
            String(scalar), properties.lowercaseMapping, properties.uppercaseMapping,
            properties.titlecaseMapping,
        ].contains { form in
            bytes.starts(with: form.utf8)
                && has(pattern.dropFirst(), at: bytes.dropFirst(form.utf8.count))
        }
    }

    /// The pattern finds what a comparison at each place finds.
    @Test func everyMatchIsFound() throws {
        try withGenerator { random in
            var matches = 0
            for _ in 0..<20_000 {
                let text = self.random(Int.random(in: 0...8, using: &random), &random)
                let word = self.random(Int.random(in: 0...3, using: &random), &random)
                let bytes = Array(text.utf8)
                let expected =
                    bytes.indices.contains {
                        has(Substring(word).unicodeScalars, at: bytes[$0...])
                    } || word.isEmpty
                if expected { matches += 1 }
                #expect(
                    SearchPattern(word, inJSON: false).occurs(in: text) == expected,
                    "\(text) \(word), \(random.comment)")
            }
            #expect(matches > 2_000)
        }
    }
}
