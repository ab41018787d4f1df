import FuzzParsers
import Foundation
import Glibc
import Sotto
@testable import SottoMedia
@testable import SottoQR
@testable import SottoScan
import TestSupport
import Testing

/// The facts about attached files that `qr-scan` finds.
struct MediaTests {
    // MARK: Pictures

    /// A light picture with a dark corner at the top left.
    private static func cornered(_ width: Int, _ height: Int) -> Raster {
        var pixels = [UInt8](repeating: 240, count: width * height)
        for y in 0..<height / 4 { for x in 0..<width / 4 { pixels[y * width + x] = 10 } }
        return Raster(width: width, height: height, pixels: pixels)
    }

    private static func noise(_ width: Int, _ height: Int) -> Raster {
        Raster(width: width, height: height, pixels: randomBytes(width * height))
    }

    private func thumbnail(_ facts: MediaFacts) throws -> Raster {
        let file = try #require(facts.thumbnail)
        #expect(file.count <= MediaFacts.maximumThumbnail)
        return try Picture(decoding: file).raster
    }

    @Test(arguments: [(1, 1), (640, 480), (4_000, 3_000), (3, 9_000), (50, 20)])
    func aThumbnailIsSmall(_ width: Int, _ height: Int) throws {
        for raster in [Self.cornered(width, height), Self.noise(width, height)] {
            let rgb = raster.pixels.flatMap { [$0, $0, 255 - $0] }
            for file in [
                jpeg(raster), jpeg(raster, progressive: true), jpeg(raster, inks: true),
                png(raster),
                png(width: width, height: height, format: 2, rgb),
            ] {
                let facts = MediaFacts(picture: file)
                #expect(facts.width == Int64(width) && facts.height == Int64(height))
                #expect(facts.contentType == nil && facts.duration == nil)
                let small = try thumbnail(facts)
                #expect(max(small.width, small.height) <= min(320, max(width, height)))
                // A noisy picture of few pixels needs no reduction.
                #expect(small.width == width || max(small.width, small.height) >= 64)
            }
        }
    }

    @Test(arguments: [(1, 1), (640, 480), (480, 640), (3, 9_000), (50, 20)])
    func aPreviewHasFewPixels(_ width: Int, _ height: Int) throws {
        for file in [jpeg(Self.cornered(width, height)), png(Self.cornered(width, height))] {
            let preview = try #require(PicturePreview(picture: file))
            let longer = max(preview.width, preview.height)
            #expect(longer == min(PicturePreview.maximumSide, max(width, height)))
            #expect((preview.width > preview.height) == (width > height) || longer == 1)
            #expect(PicturePreview(parsing: Array(preview.line.dropLast())) == preview)
            #expect(preview.line.count <= MediaFacts.maximumLine)
        }
        #expect(PicturePreview(picture: randomBytes(100)) == nil)
        #expect(PicturePreview(picture: Array(jpeg(Self.noise(64, 64)).prefix(300))) == nil)
    }

    @Test func transparentPartsAreWhite() throws {
        let pixels = [UInt8](repeating: 0, count: 100 * 100 * 4)
        let facts = MediaFacts(picture: png(width: 100, height: 100, format: 3, pixels))
        #expect(try thumbnail(facts).pixels.allSatisfy { $0 > 250 })
    }

    /// The corner that was stored first is displayed at the top left, top right, bottom right, bottom left, and for the
    /// transposed orientations again so (JEITA CP-3451, §4.6.4).
    @Test(arguments: 1...8)
    func aThumbnailIsTurned(_ orientation: Int) throws {
        let file = jpeg(Self.cornered(400, 200))
        let content = Exif.content(UInt8(orientation))
        let turned =
            file[..<2] + [0xFF, 0xE1] + UInt16(content.count + 2).bigEndianBytes + content
            + file[2...]
        let facts = MediaFacts(picture: Array(turned))
        #expect(facts.width == (orientation < 5 ? 400 : 200))
        #expect(facts.height == (orientation < 5 ? 200 : 400))
        let small = try thumbnail(facts)
        #expect((small.width > small.height) == (orientation < 5))
        func isDark(_ x: Int, _ y: Int) -> Bool { small.pixels[y * small.width + x] < 100 }
        let (right, bottom) = (small.width - 5, small.height - 5)
        let corners = [isDark(5, 5), isDark(right, 5), isDark(right, bottom), isDark(5, bottom)]
        let dark = [0, 1, 2, 3, 0, 1, 2, 3][orientation - 1]
        #expect(corners == (0..<4).map { $0 == dark })
    }

    @Test func aBrokenPictureHasAtMostASize() throws {
        let raster = Self.noise(300, 200)
        for file in [jpeg(raster), jpeg(raster, progressive: true), png(raster)] {
            for count in [0, 1, 8, 20, 33, 100, file.count / 2, file.count - 1] {
                let facts = MediaFacts(picture: Array(file[..<count]))
                #expect([nil, 300].contains(facts.width) && [nil, 200].contains(facts.height))
            }
        }
        for count in [0, 1, 100, 10_000] {
            #expect(MediaFacts(picture: randomBytes(count)) == MediaFacts())
        }
    }

    /// The size of a picture with too many pixels is known, and nothing is allocated for them.
    @Test func aHugePictureHasNoThumbnail() throws {
        var file = png(Self.noise(10, 10))
        file.replaceSubrange(16..<24, with: [0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60])
        let head = file[12..<29]
        file.replaceSubrange(29..<33, with: Self.checksum(Array(head)).bigEndianBytes)
        let facts = MediaFacts(picture: file)
        #expect(facts.width == 60_000 && facts.height == 60_000 && facts.thumbnail == nil)
    }

    /// zlib's CRC-32, from its definition.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }

    // MARK: Types and recordings

    @Test func typesAreRecognized() throws {
        let types = FileType()
        for (content, type) in [
            (png(Self.noise(5, 5)), "image/png"), (jpeg(Self.noise(5, 5)), "image/jpeg"),
            (Array("hello, world\n".utf8), "text/plain"),
            (Array("%PDF-1.7\n".utf8), "application/pdf"),
            (Sample.wav(seconds: 1), "audio/x-wav"), ([], nil), ([0, 1, 2, 3, 0xFE], nil),
        ] as [([UInt8], String?)] {
            #expect(types.type(of: content) == type)
        }
    }

    @Test func theDurationOfARecordingIsRounded() throws {
        let reader = try #require(RecordingReader())
        for seconds in [0, 1, 83] {
            #expect(reader.duration(of: Sample.wav(seconds: seconds)) == Int64(seconds))
        }
        let file = Sample.wav(seconds: 3)
        #expect(reader.duration(of: Array(file[..<(44 + 8_000 * 3)])) == 2)
        for count in [0, 1, 12] { #expect(reader.duration(of: Array(file[..<count])) == nil) }
        for count in [0, 100, 10_000] { #expect(reader.duration(of: randomBytes(count)) == nil) }
    }

    // MARK: Records

    @Test func recordsAreValidated() throws {
        var facts = MediaFacts()
        (facts.contentType, facts.width, facts.height) = ("video/mp4", 1, 65_535)
        facts.thumbnail = [0xFF, 0xD8, 0xFF] + randomBytes(MediaFacts.maximumThumbnail - 3)
        facts.duration = 12
        #expect(facts.line.count <= MediaFacts.maximumLine)
        #expect(MediaFacts(parsing: Array(facts.line.dropLast())) == facts)
        for line in [
            #"{"contentType":"a"}"#, #"{"contentType":"a/b/c"}"#, #"{"contentType":"/b"}"#,
            #"{"contentType":"a/b c"}"#, #"{"contentType":"a/\u0007"}"#, #"{"contentType":7}"#,
            #"{"width":0,"height":1}"#, #"{"width":1}"#, #"{"width":65536,"height":1}"#,
            #"{"thumbnail":"AAAA"}"#, #"{"thumbnail":"/9j"}"#, #"{"duration":-1}"#,
            #"{"duration":31536001}"#, #"{"duration":1.5}"#,
        ] {
            #expect(MediaFacts(parsing: Array(line.utf8)) == MediaFacts(), "\(line)")
        }
        facts.thumbnail = [0xFF, 0xD8, 0xFF] + randomBytes(MediaFacts.maximumThumbnail - 2)
        #expect(MediaFacts(parsing: Array(facts.line.dropLast()))?.thumbnail == nil)
        #expect(MediaFacts(parsing: Array("nonsense".utf8)) == nil)
        let request = MediaRequest(.picture, length: 5)
        #expect(MediaRequest(parsing: Array(request.line.dropLast())) == request)
        for line in [
            #"{"type":"x","length":1}"#, #"{"type":"type"}"#, #"{"type":"type","length":-1}"#,
            #"{"type":"type","length":67108865}"#, "",
        ] {
            #expect(MediaRequest(parsing: Array(line.utf8)) == nil, "\(line)")
        }
    }
}
