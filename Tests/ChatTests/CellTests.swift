@testable import SottoChat
import Testing

struct CellTests {
    @Test(arguments: [
        ("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("👍🏽", 2), ("👩‍👩‍👧", 2), ("🇯🇵", 2), ("❤️", 2), ("שלום", 4),
        ("", 0),
    ])
    func widthsAreColumns(_ text: String, _ width: Int) { #expect(Cells.width(text) == width) }

    @Test func textIsPlain() {
        #expect(Cells.plain("a\u{1B}[2J\u{202E}b\u{7}") == #"a\u{1b}[2J\u{202e}b\u{7}"#)
        #expect(Cells.plain("a\tb\nc") == "a    b\nc")
        #expect(
            Cells.plain("a" + String(repeating: "\u{301}", count: 50)).unicodeScalars.count == 9)
    }

    @Test func aLineIsCut() {
        #expect(Cells.line("one\ntwo", limit: 20) == "one…")
        #expect(Cells.line("漢字漢字", limit: 5) == "漢字…")
        #expect(Cells.line(String(repeating: "x", count: 1_000_000), limit: 4) == "xxx…")
    }

    @Test func textIsWrapped() {
        #expect(
            Cells.wrap("the quick brown fox", width: 10, limit: 9).rows == [
                "the quick", "brown fox",
            ])
        #expect(Cells.wrap("abcdefgh", width: 3, limit: 9).rows == ["abc", "def", "gh"])
        #expect(Cells.wrap("漢字漢字", width: 5, limit: 9).rows == ["漢字", "漢字"])
        #expect(Cells.wrap("a\n\nb", width: 5, limit: 9).rows == ["a", "", "b"])
        #expect(Cells.wrap("ab cdef", first: 3, width: 6, limit: 9).rows == ["ab", "cdef"])
        #expect(Cells.wrap("abcdef", first: 3, width: 6, limit: 9).rows == ["", "abcdef"])
        let flood = Cells.wrap(String(repeating: "\n", count: 32 << 10), width: 5, limit: 40)
        #expect(flood.rows.count == 40 && flood.isCut)
    }
}
