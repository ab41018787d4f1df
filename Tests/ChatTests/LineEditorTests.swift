import Testing

@testable import SottoChat

struct LineEditorTests {
    private func editor(_ keys: [Key]) -> LineEditor {
        var editor = LineEditor()
        for key in keys { _ = editor.take(key) }
        return editor
    }

    @Test func clustersAreEdited() {
        #expect(editor([.text("a👩‍👩‍👧e"), .text("\u{301}"), .backspace, .backspace]).text == "a")
        #expect(editor([.text("ab"), .left, .text("x"), .delete]).text == "ax")
        #expect(editor([.text("one two"), .control("w")]).text == "one ")
        #expect(editor([.text("one"), .lineBreak, .text("two"), .control("u")]).text == "one\n")
        #expect(editor([.text("one two"), .home, .wordRight, .control("k")]).text == "one")
    }

    @Test func rowsAndTheCursor() {
        var editor = editor([.text("abcdefgh")])
        var (rows, cursor) = editor.visible(width: 4, height: 5)
        #expect(rows == ["abcd", "efgh"] && cursor == Screen.Place(row: 1, column: 4))
        let moves = [-1, -1, 1].map { editor.move(rows: $0, width: 4) }
        #expect(moves == [true, false, true])
        editor.set("1\n2\n3\n4\n5")
        (rows, cursor) = editor.visible(width: 4, height: 2)
        #expect(rows == ["4", "5"] && cursor == Screen.Place(row: 1, column: 1))
        editor.set("漢字漢")
        #expect(editor.visible(width: 5, height: 9).rows == ["漢字", "漢"])
    }

    @Test func aTextThatIsTooLongIsNotTaken() {
        var editor = LineEditor()
        let takes = [String(repeating: "x", count: LineEditor.limit), "y"].map { editor.insert($0) }
        #expect(takes == [true, false])
        #expect(editor.text.utf8.count == LineEditor.limit)
    }
}
