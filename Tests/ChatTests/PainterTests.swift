import SottoChat
import Testing

struct PainterTests {
    private func screen(_ rows: [String], cursor: Screen.Place? = nil) -> Screen {
        Screen(columns: 10, rows: rows.map { $0.isEmpty ? [] : [Screen.Span($0)] }, cursor: cursor)
    }

    @Test func onlyWhatDiffersIsWritten() {
        var painter = Painter(hasColor: true)
        let first = painter.paint(screen(["one", "two", ""], cursor: .init(row: 1, column: 2)))
        #expect(
            String(decoding: first, as: UTF8.self)
                == "\u{1B}[?25l\u{1B}[0m\u{1B}[H\u{1B}[2J\u{1B}[1;1H\u{1B}[2Kone\u{1B}[2;1H\u{1B}[2Ktwo\u{1B}[2;3H\u{1B}[?25h"
        )
        let second = painter.paint(screen(["one", "", "three"]))
        #expect(
            String(decoding: second, as: UTF8.self)
                == "\u{1B}[?25l\u{1B}[2;1H\u{1B}[2K\u{1B}[3;1H\u{1B}[2Kthree")
        let third = painter.paint(screen(["one", "", "three"]))
        #expect(third.isEmpty)
        painter.forget()
        let fourth = painter.paint(screen(["one", "", "three"]))
        #expect(!fourth.isEmpty)
    }

    /// A terminal can see another width of an emoji or a wide character. What follows has its column all the same.
    @Test func whatFollowsAnEmojiHasItsColumn() {
        let spans = ["ab", "👩‍👩‍👧", "c", "日", "d"].map { Screen.Span($0) }
        var painter = Painter(hasColor: false)
        let bytes = painter.paint(Screen(columns: 10, rows: [spans], cursor: nil))
        #expect(
            String(decoding: bytes, as: UTF8.self)
                .hasSuffix("ab👩‍👩‍👧\u{1B}[5Gc\u{1B}[6G日\u{1B}[8Gd"))
    }

    @Test func stylesEnd() {
        var style = Screen.Style()
        (style.isBold, style.color) = (true, .green)
        let screen = Screen(
            columns: 4, rows: [[Screen.Span("x", style), Screen.Span("y")]], cursor: nil)
        for (hasColor, end) in [
            (true, "\u{1B}[1;32mx\u{1B}[0my"), (false, "\u{1B}[1mx\u{1B}[0my"),
        ] {
            var painter = Painter(hasColor: hasColor)
            let bytes = painter.paint(screen)
            #expect(String(decoding: bytes, as: UTF8.self).hasSuffix(end))
        }
    }
}
