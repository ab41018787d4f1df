@testable import SottoQR
@testable import SottoScan
import Testing

/// Tests of binary PGM and PPM files.
@Suite struct PNMTests {
    static let content = Array("portable".utf8)

    private func raster() throws -> Raster {
        try QRCode(encoding: Self.content).raster(size: 3, margin: 4)
    }

    @Test func greyAndColourOfOneAndTwoBytesAreRead() throws {
        let raster = try raster()
        let (width, pixels) = (raster.width, raster.pixels)
        let wide = pixels.flatMap { [$0, $0] }
        let files: [(String, [UInt8])] = [
            ("P5\n\(width) \(width)\n255\n", pixels),
            ("P5 # a comment\n# and one more\n\(width)\t\(width)\r\n255 ", pixels),
            ("P5\n\(width) \(width)\n65535\n", wide),
            ("P6\n\(width) \(width)\n255\n", pixels.flatMap { [$0, $0, $0] }),
            ("P6\n\(width) \(width)\n65535\n", wide.flatMap { [$0, $0, $0] }),
            ("P5\n\(width) \(width)\n1\n", pixels.map { $0 & 1 }),
        ]
        for (header, samples) in files {
            let picture = try Picture(decoding: Array(header.utf8) + samples)
            #expect(picture.raster == raster, "\(header)")
            #expect(try picture.codes() == [Self.content])
        }
        // The data after it is another picture.
        #expect(
            try Picture(decoding: Array(files[0].0.utf8) + pixels + [1, 2]).raster == raster)
    }

    @Test func coloursAreWeighed() throws {
        let file = Array("P6 3 1 255\n".utf8) + [255, 0, 0, 0, 255, 0, 0, 0, 255]
        #expect(try Picture(decoding: file).raster.pixels == [76, 149, 29])
    }

    @Test func brokenFilesAreRefused() throws {
        for header in [
            "P", "P5", "P5 ", "P5\n2", "P5\n2 2", "P5\n2 2\n255", "P5\n0 2\n255\n", "P5\n2 2\n0\n",
            "P5\n2 2\n65536\n", "P5\n-2 2\n255\n", "P5\n2 2\n255#\n", "P5\n2 x\n255\n",
            "P5\n2 2\n255\nabc", "P6\n2 2\n255\nabcdefghijk", "P5\n2222222222 1\n255\n", "P5 #",
        ] {
            #expect(throws: PictureError.broken(.pnm), "\(header)") {
                try Picture(decoding: Array(header.utf8))
            }
        }
        #expect(throws: PictureError.tooManyPixels) {
            try Picture(decoding: Array("P5 999999999 999999999 255 ".utf8))
        }
        #expect(throws: PictureError.unknownFormat) { try Picture(decoding: Array("P5x".utf8)) }
        #expect(throws: PictureError.unknownFormat) { try Picture(decoding: Array("P4 1 1 ".utf8)) }
    }
}
