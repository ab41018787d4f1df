import Sotto
import Testing

/// Names of attachments that are too long.
struct FileNameTests {
    private func name(_ path: String) -> String { FileBody.name(ofPath: path) }

    @Test(arguments: [".jpg", ".tar.gz", ".日本", ".x"])
    func theExtensionStays(_ ending: String) {
        for letter in ["n", "é", "日", "👩‍👩‍👧"] {
            let long = name(String(repeating: letter, count: 300) + ending)
            #expect(long.hasSuffix(letter + ending))
            #expect((255 - letter.utf8.count + 1...255).contains(long.utf8.count))
            #expect(FileBody.isName(long))
        }
    }

    @Test func aNameOf255BytesStays() {
        for count in 240...255 {
            let whole = String(repeating: "n", count: count - 4) + ".jpg"
            #expect(name("folder/" + whole) == whole)
        }
        let without = String(repeating: "n", count: 255)
        #expect(name(without) == without && name(without + "n") == without)
    }

    /// What is no extension is shortened too.
    @Test func aLongEndingIsNoExtension() {
        let ending = "." + String(repeating: "e", count: 300)
        #expect(name("a" + ending) == "a" + ending.prefix(254))
        #expect(name(ending) == ending.prefix(255))
        #expect(name("." + String(repeating: "日", count: 100)).utf8.count == 253)
    }

    @Test func aCharacterOfManyMarksIsCut() {
        let long = name("e" + String(repeating: "\u{301}", count: 300) + ".txt")
        #expect(Array(long.utf8).suffix(6) == Array("\u{301}.txt".utf8)[...])
        #expect(long.utf8.count == 255)
    }

    /// A number before the extension leaves the name within its limit.
    @Test func aSuffixStandsBeforeTheExtension() {
        #expect(FileBody.shortened("a.tar.gz", to: 255, suffix: "-1") == "a-1.tar.gz")
        #expect(FileBody.shortened("a", to: 255, suffix: "-1") == "a-1")
        let whole = String(repeating: "n", count: 251) + ".jpg"
        let numbered = FileBody.shortened(whole, to: 255, suffix: "-12")
        #expect(numbered.hasSuffix("n-12.jpg") && numbered.utf8.count == 255)
    }
}
