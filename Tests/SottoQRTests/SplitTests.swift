import Foundation
import Sotto
import SottoQR
import TestSupport
import Testing

/// Tests of content that is split over several codes.
@Suite struct SplitTests {
    /// Content of the length of a card with post-quantum keys.
    static let card: [UInt8] = {
        var random = Seeded(0x53)
        return random.bytes(4096)
    }()

    @Test func aPartHasTheDocumentedFormat() throws {
        let parts = CodePart.split(Array("hello".utf8), into: 2)
        #expect(
            parts.map(\.code) == [
                // The first half of SHA-256("hello").
                bytes(hex: "53515201" + "2cf24dba5fb0a30e26e83b2ac5b9e29e" + "0102" + "6865"),
                bytes(hex: "53515201" + "2cf24dba5fb0a30e26e83b2ac5b9e29e" + "0202" + "6c6c6f"),
            ])
        #expect(parts.map { CodePart(parsing: $0.code) } == parts)
    }

    @Test func otherBytesAreNotAPart() {
        let header = CodePart.split([1, 2], into: 2)[1].code
        for (place, value) in [(0, 0x54), (3, 2), (20, 0), (20, 3), (21, 1), (21, 100)] {
            var code = header
            code[place] = UInt8(value)
            #expect(CodePart(parsing: code) == nil, "\(place)")
        }
        for count in 0..<header.count {
            #expect(CodePart(parsing: Array(header.prefix(count))) == nil)
        }
    }

    @Test(arguments: [1, 2, 7, 99])
    func partsCanBeShuffledAndRepeated(count: Int) throws {
        var random = Seeded(0x54)
        for size in [count, count + 1, 1000, 4096] {
            let content = random.bytes(size)
            let parts = CodePart.split(content, into: count)
            #expect(parts.allSatisfy { abs($0.bytes.count - size / count) <= 1 })
            let shuffled = (parts + parts.prefix(3)).shuffled(using: &random)
            #expect(try CodePart.content(of: shuffled) == content)
        }
    }

    @Test func mismatchedPartsAreRefused() throws {
        let parts = CodePart.split(Self.card, into: 6)
        #expect(throws: CodePartsError.missing([2, 5], of: 6)) {
            try CodePart.content(of: parts.filter { ![2, 5].contains($0.index) })
        }
        #expect(throws: CodePartsError.sets(2)) {
            try CodePart.content(of: parts + CodePart.split([1], into: 1))
        }
        var changed = parts[3].code
        changed[changed.count - 1] ^= 1
        let forged = try #require(CodePart(parsing: changed))
        #expect(throws: CodePartsError.contradiction(4)) {
            try CodePart.content(of: parts + [forged])
        }
        #expect(throws: CodePartsError.hash) {
            try CodePart.content(of: parts.filter { $0.index != 4 } + [forged])
        }
    }

    @Test func aCardIsReadFromShuffledAndRepeatedPictures() throws {
        let files = TemporaryDirectory()
        files.write("card", Self.card)
        let made = try runQR(["--split", "auto", "-o", files("c.png"), files("card")])
        #expect(made.status == 0 && made.stdout.isEmpty, "\(made.stderr)")
        var pictures = (1...7).map { files("c-\($0).png") }
        #expect(pictures.allSatisfy(FileManager.default.fileExists(atPath:)))
        #expect(!FileManager.default.fileExists(atPath: files("c-8.png")))
        var random = Seeded(0x55)
        pictures.shuffle(using: &random)
        let read = try runQR(["scan"] + pictures + pictures.prefix(2))
        #expect(read.status == 0 && read.stdout == Self.card, "\(read.stderr)")
        let record = try runQR(["scan", "--json"] + pictures)
        #expect(String(decoding: record.stdout, as: UTF8.self).hasSuffix("\"parts\":7}\n"))

        let fewer = (1...7).filter { $0 != 2 }.map { files("c-\($0).png") }
        let one = try runQR(["scan"] + fewer)
        #expect(one.status == 15 && one.stdout.isEmpty)
        #expect(one.stderr.hasPrefix("qr: error: part 2 of 7 is missing\n"))
        let two = try runQR(["scan"] + fewer.filter { $0 != files("c-5.png") })
        #expect(two.status == 15 && two.stdout.isEmpty)
        #expect(two.stderr.hasPrefix("qr: error: parts 2 and 5 of 7 are missing\n"))

        let part = try runQR(["scan", "--all", "--json", files("c-3.png")])
        #expect(String(decoding: part.stdout, as: UTF8.self).contains(#""index":3,"count":7}"#))
    }

    @Test func partsOnOneSheetAreRead() throws {
        let content = Array(Self.card.prefix(900))
        var pixels: [UInt8] = []
        var width = 0
        for part in CodePart.split(content, into: 3).shuffled() {
            let raster = try QRCode(encoding: part.code).raster(size: 3, margin: 4)
            #expect(width == 0 || raster.width == width)
            width = raster.width
            pixels += raster.pixels
        }
        let sheet = png(Raster(width: width, height: 3 * width, pixels: pixels))
        let read = try runQR(["scan"], input: sheet)
        #expect(read.status == 0 && read.stdout == content, "\(read.stderr)")
    }

    /// Bytes that look like a part are read back unchanged.
    @Test func aPartCanBeEncodedAsContent() throws {
        let part = CodePart.split(Self.card, into: 20)[4].code
        let made = try runQR(["-t", "png"], input: part)
        #expect(try runQR(["scan"], input: made.stdout).stdout == part)
        let again = try runQR(["-t", "png", "--split", "1"], input: part)
        #expect(try runQR(["scan"], input: again.stdout).stdout == part)
    }

    @Test func drawingsFollowOneAnother() throws {
        let drawn = try runQR(["--split", "2", "-t", "ascii"], input: Array("text".utf8))
        let lines = String(decoding: drawn.stdout, as: UTF8.self).split(separator: "\n")
        #expect(drawn.status == 0 && lines.first == "1 of 2")
        #expect(lines.count(where: { $0 == "2 of 2" }) == 1)
    }

    @Test func invalidSplitsAreRefused() throws {
        let text = Array("text".utf8)
        for (arguments, input, status) in [
            (["--split", "0"], text, 64), (["--split", "100"], text, 64),
            (["--split", "x"], text, 64), (["--split", "2", "-t", "png"], text, 64),
            (["--split", "2", "-o", "-", "-t", "svg"], text, 64),
            (["--split", "5"], text, 65), (["--split", "auto"], [], 65),
            (["--split", "1"], Self.card, 65),
            (["--split", "auto"], [UInt8](repeating: 0xFF, count: 100 * 640), 65),
        ] as [([String], [UInt8], Int32)] {
            let run = try runQR(arguments, input: input)
            #expect(run.status == status && run.stdout.isEmpty, "\(arguments): \(run.stderr)")
        }
        let hint = try runQR(["--split", "1"], input: Self.card).stderr
        #expect(hint.contains("use --split 2"))
    }
}
