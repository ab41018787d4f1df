import Sotto
import Testing

struct PastedTextTests {
    @Test(arguments: [
        ("a", "a"), (" a\r\n", "a"), ("\u{FEFF}a\u{200B}", "a"), ("<a>", "a"),
        ("< a\r\n b >", "ab"),
        ("\"a b\"", "a b"), ("'a'", "a"), ("<a", "<a"), ("a>", "a>"), ("<", "<"), ("", ""),
        (" \t", ""), ("a b", "a b"), ("\u{A0}a\u{3000}", "a"), ("\u{1B}a", "\u{1B}a"),
    ])
    func whatSurroundsATextIsRemoved(_ text: String, _ inner: String) {
        #expect(Pasted.text(text) == inner)
    }

    @Test func aSchemeHasAnyCase() {
        for text in ["sotto:x", "SOTTO:x", "Sotto:", "sOtTo:y"] {
            #expect(Pasted.hasPrefix(text, "sotto:"))
        }
        for text in ["sotto", "sotto\u{1A}x", "ｓotto:x", "sott\u{F6}:"] {
            #expect(!Pasted.hasPrefix(text, "sotto:"))
        }
    }
}
