import SottoQR
import SottoScan
import Testing

@Suite struct BrokenPictureTests {
    static let raster: Raster = {
        let code = try? QRCode(encoding: Array("a code that is whole".utf8))
        return code!.raster(size: 3, margin: 4)
    }()
    static let files: [(PictureFormat, [UInt8])] = [
        (.png, png(raster)), (.jpeg, jpeg(raster)), (.jpeg, jpeg(raster, progressive: true)),
    ]

    @Test func truncated() throws {
        for (format, file) in Self.files {
            var lengths = (1..<16).map { file.count * $0 / 16 }
            lengths += [1, 2, 3, 7, 8, 9, 12, 20]
            // A JPEG may lack its end marker, but no pixel.
            lengths += format == .jpeg ? [file.count - 3] : [file.count - 1, file.count - 2]
            for length in lengths {
                let part = Array(file[..<length])
                #expect(throws: PictureError.broken(format), "\(length) of \(file.count)") {
                    try Picture(decoding: part)
                }
            }
        }
    }

    /// Telephones leave out the end marker, and append films, texts or zeros with or without it.
    @Test func aJPEGWithoutAnEndOrWithATrailerIsRead() throws {
        let trailers: [[UInt8]] = [
            [], [0xFF], [0, 0, 0, 0], Array("Image_UTC_Data1528000000 ftypmp42".utf8),
            [0xFF, 0xD8, 0xFF, 0xE1, 0, 4, 1, 2], Array((0...255).map { UInt8($0) }),
        ]
        for inks in [false, true] {
            let file = jpeg(Self.raster, inks: inks)
            let pixels = try Picture(decoding: file)
            for trailer in trailers {
                for end in [file.count, file.count - 2] {
                    let whole = Array(file[..<end]) + trailer
                    #expect(try Picture(decoding: whole) == pixels, "\(end) \(trailer)")
                }
            }
        }
        let progressive = jpeg(Self.raster, progressive: true)
        let pixels = try Picture(decoding: progressive)
        #expect(try Picture(decoding: Array(progressive.dropLast(2))) == pixels)
        #expect(try Picture(decoding: progressive + trailers[3]) == pixels)
    }

    /// Any change gives a picture or an error, and never a crash. In a PNG every change is detected.
    @Test func bitFlips() throws {
        var random = Seeded(0x54)
        for (format, file) in Self.files {
            for _ in 0..<400 {
                var broken = file
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    let index = Int.random(in: 0..<file.count, using: &random)
                    broken[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
                let picture = try? Picture(decoding: broken)
                if broken != file, format == .png { #expect(picture == nil) }
            }
        }
    }

    /// Damage that a PNG's checksums do not detect, because they were computed after it.
    @Test func damageWithValidChecksums() throws {
        var random = Seeded(0x55)
        let file = Self.files[0].1
        for _ in 0..<300 {
            var broken = file
            for _ in 0..<3 {
                let index = Int.random(in: 16..<file.count - 12, using: &random)
                broken[index] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? Picture(decoding: resummed(broken))
        }
    }

    @Test func notPictures() {
        var random = Seeded(0x56)
        #expect(throws: PictureError.empty) { try Picture(decoding: []) }
        #expect(throws: PictureError.unknownFormat) { try Picture(decoding: Array("GIF89a".utf8)) }
        for count in [1, 100, 10_000] {
            let bytes = [0] + random.bytes(count)
            #expect(throws: PictureError.unknownFormat) { try Picture(decoding: bytes) }
        }
    }

    @Test func noCode() throws {
        var random = Seeded(0x57)
        for (width, height) in [(1, 1), (2, 1), (1, 300), (7, 5), (90, 60)] {
            let white = Raster(
                width: width, height: height,
                pixels: [UInt8](repeating: 255, count: width * height))
            let noise = Raster(
                width: width, height: height, pixels: random.bytes(width * height))
            for raster in [white, noise] {
                #expect(try Picture(decoding: png(raster)).codes().isEmpty)
            }
        }
    }

    /// Codes with wrong modules give the right content or nothing, and never other bytes.
    @Test func damagedCodes() throws {
        var random = Seeded(0x58)
        for round in 0..<120 {
            let bytes = random.bytes(Int.random(in: 1...60, using: &random))
            var raster = try QRCode(encoding: bytes, level: .high).raster(size: 1, margin: 4)
            var pixels = raster.pixels
            for _ in 0..<round * raster.width / 20 {
                let index = Int.random(in: 0..<pixels.count, using: &random)
                pixels[index] = 255 - pixels[index]
            }
            raster = Raster(width: raster.width, height: raster.height, pixels: pixels)
            let codes = try Picture(decoding: png(raster)).codes()
            #expect(codes.isEmpty || codes == [bytes])
        }
    }

    /// 64 megapixels are the limit, which is checked before memory is allocated.
    @Test func tooLarge() throws {
        var header = Self.files[0].1
        header.replaceSubrange(16..<24, with: [0, 0, 0x20, 0, 0, 0, 0x20, 1])
        #expect(throws: PictureError.tooManyPixels) { try Picture(decoding: resummed(header)) }
        var frame = Self.files[1].1
        let start = try #require(
            frame.indices.dropLast(9).first { frame[$0] == 0xFF && frame[$0 + 1] == 0xC0 })
        frame.replaceSubrange(start + 5..<start + 9, with: [0x20, 0, 0x20, 1])
        #expect(throws: PictureError.tooManyPixels) { try Picture(decoding: frame) }
    }

    /// Returns the file with new checksums for all chunks that can be parsed.
    private func resummed(_ file: [UInt8]) -> [UInt8] {
        var file = file
        var start = 8
        while start + 12 <= file.count {
            let length = file[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            guard start + 12 + length <= file.count else { break }
            var crc: UInt32 = 0xFFFF_FFFF
            for byte in file[start + 4..<start + 8 + length] {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            }
            let sum = ~crc
            for index in 0..<4 {
                let byte = UInt8(truncatingIfNeeded: sum >> (24 - 8 * index))
                file[start + 8 + length + index] = byte
            }
            start += 12 + length
        }
        return file
    }
}
