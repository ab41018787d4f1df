import SottoBytes
import SottoMedia
import Testing

@testable import SottoChat

/// Previews of pictures: the sandboxed helper decodes, and the chat draws half blocks.
struct PictureScreens {
    private func picture(
        _ number: Int64, _ name: String = "photo.jpg", thumbnail: [UInt8] = [0xFF, 0xD8, 0xFF, 1]
    ) -> String {
        ChatStage.message(
            number,
            body:
                #"{"type":"file","name":"\#(name)","contentType":"image/jpeg","size":345678,"width":1200,"height":800,"key":"x","text":"the view","thumbnail":"\#(Base64.standard.encode(thumbnail))"}"#
        )
    }

    /// An answer of the helper: red above, blue below, and a grey last row.
    private func answer(_ width: Int, _ height: Int) throws -> String {
        let pixels = (0..<height).flatMap { y in
            (0..<width).flatMap { _ -> [UInt8] in
                y == height - 1 ? [128, 128, 128] : y < height / 2 ? [255, 0, 0] : [0, 0, 255]
            }
        }
        let preview = try #require(PicturePreview(width: width, height: height, pixels: pixels))
        return String(decoding: preview.line.dropLast(), as: UTF8.self)
    }

    @Test func aPictureHasAPreview() throws {
        var stage = ChatStage.withBob(rows: 14, [picture(1), ChatStage.message(2, "nice")])
        stage.show("before the helper has answered")
        let input = try #require(stage.written.values.first { $0.contains("preview") })
        #expect(input.hasPrefix(#"{"type":"preview","length":4}"#))
        stage.print("qr-scan media 5 1024", try answer(24, 7))
        stage.end("qr-scan media", 0)
        stage.show("the preview")
        let row = try #require(
            stage.state.screen().rows.first { $0.contains { $0.text.hasPrefix("▀") } })
        #expect(row.map(\.style.halves) == [nil, Screen.Halves(upper: 196, lower: 196)])
        let last = stage.state.screen().rows.last { $0.contains { $0.text.hasPrefix("▀") } }
        #expect(last?.last?.style.halves == Screen.Halves(upper: 244, lower: nil))
        stage.give(.resized(columns: 26, rows: 14))
        stage.show("no room for it")
        stage.compare("picture")
    }

    /// A picture that ends the helper has no preview, and the others have theirs.
    @Test func aPictureThatEndsTheHelperHasNone() throws {
        var stage = ChatStage.withBob(
            rows: 20, [picture(1, "a.jpg"), picture(2, "bomb.jpg"), picture(3, "c.jpg")])
        // The newest first.
        stage.print("qr-scan media", try answer(8, 2))
        stage.end("qr-scan media", 159)
        stage.answers["history page"] = (
            [picture(1, "a.jpg"), picture(2, "bomb.jpg"), picture(3, "c.jpg")], 0
        )
        stage.store(ChatStage.message(4, "news"))
        stage.wait()
        stage.print("qr-scan media", try answer(8, 2))
        stage.end("qr-scan media", 0)
        stage.show("two of three")
        #expect(stage.commands.count { $0.hasPrefix("qr-scan") } == 2)
        stage.compare("picture-bomb")
    }

    @Test func aHelperThatIsNotThereIsNotAskedForEver() {
        var stage = ChatStage.withBob(rows: 8, [])
        for number in 1...9 as ClosedRange<Int64> {
            stage.store(picture(number))
            if stage.running.contains(where: { $0.stages[0].tool == "qr-scan" }) {
                stage.end("qr-scan media", 78)
            }
        }
        #expect(stage.commands.count { $0.hasPrefix("qr-scan") } == 3)
    }

    @Test func aFloodOfPicturesIsBounded() throws {
        var stage = ChatStage.withBob(rows: 8, [])
        for number in 1...2_000 as ClosedRange<Int64> { stage.store(picture(number)) }
        while stage.running.contains(where: { $0.stages[0].tool == "qr-scan" }) {
            for _ in 0..<Previews.batch { stage.print("qr-scan media", try answer(1, 1)) }
            stage.end("qr-scan media", 0)
        }
        #expect(stage.commands.count { $0.hasPrefix("qr-scan") } < 40)
        #expect(stage.state.previews.pictures.count <= Previews.limit)
    }

    @Test(arguments: [
        #"{"width":24,"height":1,"pixels":"AAAA"}"#, #"{"width":25,"height":1,"pixels":""}"#,
        #"{"width":0,"height":0,"pixels":""}"#, #"{"width":-1,"height":1,"pixels":"AAAA"}"#,
        #"{"width":1,"height":1,"pixels":"\u001b[2J"}"#, "{}", "nonsense",
    ])
    func aHelperThatWasTakenOverDrawsNothing(_ answer: String) {
        var stage = ChatStage.withBob(rows: 8, [picture(1)])
        let before = stage.screen
        stage.print("qr-scan media", answer)
        stage.end("qr-scan media", 0)
        #expect(stage.screen == before)
        stage.check()
    }

    /// With NO_COLOR, TERM=dumb or few colours, the helper does not run.
    @Test func withoutColorsNothingIsDecoded() {
        var stage = ChatStage(who: "bob", pictures: false)
        stage.answers["history page"] = ([picture(1)], 0)
        stage.answers["compose text -- bob"] = (
            [#"{"v":1,"type":"message","to":"\#(ChatStage.bob)","body":{}}"#], 0
        )
        stage.start()
        stage.store(picture(2))
        stage.wait()
        #expect(!stage.commands.contains { $0.hasPrefix("qr-scan") })
    }

    @Test func halfBlocksAreWrittenWithTheirColors() {
        var style = Screen.Style.plain
        style.halves = Screen.Halves(upper: 196, lower: 21)
        let screen = Screen(columns: 4, rows: [[Screen.Span("▀▀", style)]], cursor: nil)
        var painter = Painter(hasColor: true)
        let bytes = String(decoding: painter.paint(screen), as: UTF8.self)
        #expect(bytes.contains("\u{1B}[38;5;196;48;5;21m▀▀\u{1B}[0m"))
    }
}
