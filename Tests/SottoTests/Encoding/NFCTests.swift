import Foundation
import Sotto
import TestSupport
import Testing

struct NFCTests {
    /// Examples of UAX #15: composition, ordering of marks, exclusions, Hangul.
    @Test(arguments: [
        ("", ""), ("abc", "abc"), ("e\u{301}", "\u{E9}"), ("\u{212B}", "\u{C5}"),
        ("a\u{323}\u{307}", "\u{1EA1}\u{307}"), ("a\u{307}\u{323}", "\u{1EA1}\u{307}"),
        ("\u{1100}\u{1161}\u{11A8}", "\u{AC01}"), ("\u{958}", "\u{915}\u{93C}"),
        ("\u{FB01}", "\u{FB01}"), ("\u{D55C}\u{AE00}", "\u{D55C}\u{AE00}"),
    ])
    func theComposedFormMatchesTheStandard(_ text: String, _ composed: String) {
        #expect(nfc(text).isSameBytes(as: composed))
        #expect(isNFC(composed) && isNFC(text) == text.isSameBytes(as: composed))
    }

    /// A zero ends no text, and characters that Unicode has not assigned stay.
    @Test(arguments: ["\0", "a\0e\u{301}", "\u{10FFFF}", "\u{E000}", "\u{FFFD}", "\u{378}"])
    func zerosAndUnassignedCharactersStay(_ text: String) {
        let last = text.unicodeScalars.last == "\u{301}" ? "a\0\u{E9}" : text
        #expect(nfc(text).isSameBytes(as: last))
    }

    @Test func aLongTextIsComposed() {
        let text = String(repeating: "e\u{301}", count: 100_000)
        #expect(nfc(text).isSameBytes(as: String(repeating: "\u{E9}", count: 100_000)))
    }

    /// Unicode's own test: 18,000 lines of five forms each, and every other character, which stays.
    @Test(.needs(.unicodeData))
    func unicodesOwnTestPasses() throws {
        let run = try Command(path: "/usr/bin/env", ["bzcat", Peer.unicodeData.path]).run()
        #expect(run.status == 0)
        var changed: Set<UInt32> = []
        var part: Substring = ""
        var lines = 0
        for line in run.text.split(separator: "\n") {
            if line.hasPrefix("@") { part = line.prefix(6) }
            guard !line.hasPrefix("#"), !line.hasPrefix("@") else { continue }
            let forms = line.split(separator: ";").prefix(5).map { form in
                var text = String.UnicodeScalarView()
                for code in form.split(separator: " ") {
                    text.append(UInt32(code, radix: 16).flatMap { Unicode.Scalar($0) } ?? "?")
                }
                return String(text)
            }
            #expect(forms.count == 5)
            if part == "@Part1" { changed.insert(forms[0].unicodeScalars.first?.value ?? 0) }
            for (place, form) in forms.enumerated() {
                let expected = forms[place < 3 ? 1 : 3]
                if !nfc(form).isSameBytes(as: expected) { Issue.record("\(line), form \(place)") }
            }
            lines += 1
        }
        #expect(lines > 18_000)
        for value in 0..<UInt32(0x110000) where !changed.contains(value) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(Character(scalar))
            if !nfc(text).isSameBytes(as: text) { Issue.record("U+\(String(value, radix: 16))") }
        }
    }
}
