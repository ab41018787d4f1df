import Sotto
import TestSupport
import Testing

@testable import SottoContacts
@testable import SottoMessages

/// What is removed from pictures before they are sent.
struct PictureMetadataTests {
    typealias Format = PictureMetadata.Format

    private func remove(_ bytes: [UInt8]) throws -> [UInt8] {
        let sink = MemorySink()
        try PictureMetadata.remove(
            Format(Array(bytes.prefix(12))), from: Pieces(bytes), to: sink)
        return sink.bytes
    }

    /// A source that returns a few bytes at a time.
    private final class Pieces: ByteSource {
        private var rest: ArraySlice<UInt8>
        init(_ bytes: [UInt8]) { rest = bytes[...] }
        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let some = rest.prefix(min(Int.random(in: 1...7), buffer.count))
            rest = rest.dropFirst(some.count)
            buffer.copyBytes(from: some)
            return some.count
        }
    }

    // MARK: JPEG

    private func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, marker] + UInt16(content.count + 2).bigEndianBytes + content
    }

    private func exif(_ orientation: UInt8, isLittle: Bool) -> [UInt8] {
        // Two entries: the camera's maker and the orientation.
        let entries: [[UInt8]] =
            isLittle
            ? [
                [0x0F, 0x01, 2, 0, 4, 0, 0, 0] + Array("ACME".utf8),
                [0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0],
            ]
            : [
                [0x01, 0x0F, 0, 2, 0, 0, 0, 4] + Array("ACME".utf8),
                [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0],
            ]
        return Array("Exif\0\0".utf8)
            + (isLittle
                ? Array("II*\0".utf8) + [8, 0, 0, 0, 2, 0]
                : Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 2])
            + entries[0] + entries[1] + Array("GPS Berlin".utf8)
    }

    private let jfif = Array("JFIF\0".utf8) + [1, 2, 0, 0, 1, 0, 1]
    private let scan: [UInt8] = [1, 2, 0xFF, 0x00, 3, 0xFF, 0xD0, 4, 0xFF, 0xFF, 0x00, 5]

    @Test(arguments: [true, false])
    func aJPEGKeepsWhatShowsIt(_ isLittle: Bool) throws {
        let icc = Array("ICC_PROFILE\0".utf8) + [1, 1, 9]
        let adobe = Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 2]
        let tables = segment(0xDB, [0, 1, 2]) + segment(0xC0, [8, 0, 1]) + segment(0xC4, [0])
        let scans =
            segment(0xDA, [1]) + scan + segment(0xC4, [7]) + segment(0xDA, [2]) + scan
        let picture =
            [0xFF, 0xD8] + segment(0xE0, jfif + [2, 1, 9, 9, 9, 9, 9, 9])
            + segment(0xE0, Array("JFXX\0".utf8) + [0x10])
            + segment(0xE1, exif(6, isLittle: isLittle))
            + segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0<x/>".utf8))
            + segment(0xE2, icc) + segment(0xE2, Array("MPF\0".utf8) + [1])
            + segment(0xED, Array("Photoshop 3.0\0Berlin".utf8)) + segment(0xEE, adobe)
            + segment(0xFE, Array("a comment".utf8)) + [0xFF] + tables + scans + [0xFF, 0xD9]
        let kept =
            [0xFF, 0xD8] + segment(0xE0, jfif + [0, 0])
            + segment(0xE1, try orientationOnly(6)) + segment(0xE2, icc) + segment(0xEE, adobe)
            + tables + scans.replacing([0xFF, 0xFF, 0x00], with: [0xFF, 0x00]) + [0xFF, 0xD9]
        // A film or a second picture after the end is dropped too.
        #expect(try remove(picture + Array("ftypmp42 Berlin".utf8)) == kept)
        // It changes nothing when it is repeated.
        #expect(try remove(kept) == kept)
        // The usual orientation needs no Exif data.
        let usual = [0xFF, 0xD8] + segment(0xE1, exif(1, isLittle: isLittle)) + [0xFF, 0xD9]
        #expect(try remove(usual) == [0xFF, 0xD8, 0xFF, 0xD9])
    }

    private func orientationOnly(_ orientation: UInt8) throws -> [UInt8] {
        Array("Exif\0\0MM\0*".utf8) + [0, 0, 0, 8, 0, 1]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0] + [0, 0, 0, 0]
    }

    @Test func aCutOrMalformedPictureIsRefused() throws {
        let jpeg =
            [0xFF, 0xD8] + segment(0xE0, jfif + [0, 0]) + segment(0xDA, [1]) + scan + [0xFF, 0xD9]
        let png = PNGPicture.make([("IHDR", [1]), ("IDAT", [2, 3]), ("IEND", [])])
        for picture in [jpeg, png] {
            #expect(
                try remove(picture) == picture.replacing([0xFF, 0xFF, 0x00], with: [0xFF, 0x00]))
            for count in 8..<picture.count {
                #expect(throws: PictureMetadata.Malformed.self, "\(count)") {
                    try remove(Array(picture[..<count]))
                }
            }
        }
        for bytes in [
            [0xFF, 0xD8, 0xFF, 0xE1, 0, 1], [0xFF, 0xD8, 0xFF, 0xD8, 0, 0],
            [0xFF, 0xD8, 0xFF, 0xE1, 0, 2, 0], [0xFF, 0xD8, 0xFF, 0x00, 0, 0],
        ] as [[UInt8]] {
            #expect(throws: PictureMetadata.Malformed.self) { try remove(bytes) }
        }
    }

    /// A sequential picture of random coefficients: its segments before the data, and its scans.
    private struct Sequential {
        let whole: [UInt8]

        init(_ random: inout Generator, parts: Int, isInterleaved: Bool, restarts: Int) {
            let (width, height) = (random.int(1..<70), random.int(1..<50))
            let factors = (0..<parts).map { _ in (random.int(1..<3), random.int(1..<3)) }
            let most = (factors.map(\.0).max()!, factors.map(\.1).max()!)
            func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
                [0xFF, marker] + UInt16(content.count + 2).bigEndianBytes + content
            }
            let size = UInt16(height).bigEndianBytes + UInt16(width).bigEndianBytes
            var bytes: [UInt8] = [0xFF, 0xD8]
            bytes += segment(
                0xC0,
                [8] + size + [UInt8(parts)]
                    + factors.enumerated().flatMap {
                        [UInt8($0.offset + 1), UInt8($0.element.0 << 4 | $0.element.1), 0]
                    })
            // The sizes 0 and 1 of a first coefficient; the end of a block, one bit, and sixteen zeros.
            let first: [UInt8] = [0x00, 1, 1] + [UInt8](repeating: 0, count: 14) + [0, 1]
            let others: [UInt8] =
                [0x10, 1, 1, 1] + [UInt8](repeating: 0, count: 13) + [0, 1, 0xF0]
            bytes += segment(0xC4, first + others)
            if restarts > 0 { bytes += segment(0xDD, UInt16(restarts).bigEndianBytes) }
            func ceiling(_ a: Int, _ b: Int) -> Int { (a + b - 1) / b }
            let scans = isInterleaved ? [Array(0..<parts)] : (0..<parts).map { [$0] }
            for scan in scans {
                bytes += segment(
                    0xDA,
                    [UInt8(scan.count)] + scan.flatMap { [UInt8($0 + 1), 0x00] } + [0, 63, 0])
                let units: Int
                var blocks = 1
                if scan.count == 1 {
                    let (h, v) = factors[scan[0]]
                    units =
                        ceiling(ceiling(width * h, most.0), 8)
                        * ceiling(ceiling(height * v, most.1), 8)
                } else {
                    units = ceiling(width, 8 * most.0) * ceiling(height, 8 * most.1)
                    blocks = scan.reduce(0) { $0 + factors[$1].0 * factors[$1].1 }
                }
                var bits: [Bool] = []
                func flush() {
                    while !bits.count.isMultiple(of: 8) { bits.append(true) }
                    for start in stride(from: 0, to: bits.count, by: 8) {
                        let byte = bits[start..<(start + 8)].reduce(UInt8(0)) {
                            $0 << 1 | ($1 ? 1 : 0)
                        }
                        bytes += byte == 0xFF ? [0xFF, 0] : [byte]
                    }
                    bits = []
                }
                for unit in 0..<units {
                    if restarts > 0, unit > 0, unit % restarts == 0 {
                        flush()
                        bytes += [0xFF, 0xD0 + UInt8((unit / restarts - 1) % 8)]
                    }
                    for _ in 0..<blocks {
                        bits +=
                            random.int(0..<2) == 0
                            ? [false] : [true, false, random.int(0..<2) == 0]
                        var coefficient = 1
                        while coefficient < 64 {
                            let choice = random.int(0..<8)
                            if choice == 0 {
                                bits.append(false)
                                break
                            }
                            if choice == 1, coefficient <= 48 {
                                bits += [true, true, false]
                                coefficient += 16
                            } else {
                                bits += [true, false, true]
                                coefficient += 1
                            }
                        }
                    }
                }
                flush()
            }
            whole = bytes
        }
    }

    /// Without the end marker the codes tell where a picture ends. A trailer of any bytes is dropped, with the marker and
    /// without it.
    @Test func theTrailerOfATelephoneIsDropped() throws {
        try withGenerator { generator in
            for round in 0..<200 {
                let picture = Sequential(
                    &generator, parts: round % 3 == 0 ? 1 : 3, isInterleaved: round % 2 == 0,
                    restarts: round % 5 == 0 ? generator.int(1..<6) : 0
                ).whole
                let trailers = [
                    [], [0, 0, 0], Array("Image_UTC_Data SECRET ftypmp42".utf8),
                    generator.bytes(generator.int(1..<400)), [0xFF] + generator.bytes(60),
                    [0xFF, 0xD8, 0xFF, 0xE1, 0, 9] + Array("SECRET".utf8),
                ]
                for trailer in trailers {
                    for end in [[], [0xFF, 0xD9]] as [[UInt8]] {
                        #expect(
                            (try? remove(picture + end + trailer)) == picture + [0xFF, 0xD9],
                            "round \(round)")
                    }
                }
                // A cut within the data is no whole picture.
                #expect(throws: PictureMetadata.Malformed.self) {
                    try remove(Array(picture.dropLast(1 + generator.int(0..<3))))
                }
            }
        }
    }

    /// Exif data with wrong offsets and counts has no orientation.
    @Test func randomExifDataIsHarmless() throws {
        try withGenerator { generator in
            for _ in 0..<5_000 {
                var data = exif(6, isLittle: Bool.random())
                for _ in 0..<generator.int(1..<6) {
                    data[generator.int(6..<data.count)] = generator.bytes(1)[0]
                }
                if generator.int(0..<3) == 0 { data.removeLast(generator.int(0..<data.count - 6)) }
                let picture = [0xFF, 0xD8] + segment(0xE1, data) + [0xFF, 0xD9]
                let result = try remove(picture)
                let isPlain = result == [0xFF, 0xD8, 0xFF, 0xD9]
                let isOriented = try (2...8).contains {
                    try result == [0xFF, 0xD8] + segment(0xE1, orientationOnly($0)) + [0xFF, 0xD9]
                }
                #expect(isPlain || isOriented)
            }
        }
    }

    // MARK: PNG

    enum PNGPicture {
        static func make(_ chunks: [(String, [UInt8])]) -> [UInt8] {
            chunks.reduce([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { bytes, chunk in
                let content = Array(chunk.0.utf8) + chunk.1
                return bytes + UInt32(chunk.1.count).bigEndianBytes + content
                    + checksum(content).bigEndianBytes
            }
        }

        /// zlib's CRC-32, from its definition.
        static func checksum(_ bytes: [UInt8]) -> UInt32 {
            var crc: UInt32 = 0xFFFF_FFFF
            for byte in bytes {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            }
            return ~crc
        }
    }

    @Test func aPNGKeepsWhatShowsIt() throws {
        let exif = exif(6, isLittle: true).dropFirst(6)
        let picture = PNGPicture.make([
            ("IHDR", [1, 2, 3]), ("eXIf", Array(exif)), ("tEXt", Array("Author\0Alice".utf8)),
            ("iTXt", Array("XML:com.adobe.xmp\0".utf8)), ("zTXt", [1]), ("tIME", [7, 0]),
            ("gAMA", [1]), ("iCCP", [2]), ("caBX", Array("c2pa".utf8)), ("PLTE", [3]),
            ("tRNS", [4]), ("IDAT", [UInt8](repeating: 5, count: 100_000)), ("fdAT", [6]),
            ("IEND", []),
        ])
        let kept = PNGPicture.make([
            ("IHDR", [1, 2, 3]),
            ("eXIf", Array(try orientationOnly(6).dropFirst(6))), ("gAMA", [1]), ("iCCP", [2]),
            ("PLTE", [3]), ("tRNS", [4]), ("IDAT", [UInt8](repeating: 5, count: 100_000)),
            ("fdAT", [6]), ("IEND", []),
        ])
        #expect(try remove(picture + Array("Berlin".utf8)) == kept)
        #expect(try remove(kept) == kept)
    }

    // MARK: Other files

    @Test func otherFilesAreUnchanged() throws {
        for file in [[], [1], Array("hello".utf8), randomBytes(100_000).map { $0 & 0x7F }] {
            #expect(try remove(file) == file)
        }
        let names: [([UInt8], Format)] = [
            (Array("RIFF....WEBPVP8 ".utf8), .untouched), (Array("....ftypheic".utf8), .untouched),
            (Array("II*\0".utf8), .untouched), (Array("MM\0*".utf8), .untouched),
            (Array("RIFF....WAVE".utf8), .other), ([0xFF, 0xD8], .other), ([], .other),
        ]
        for (bytes, format) in names { #expect(Format(bytes) == format) }
    }
}

extension [UInt8] {
    /// Returns the bytes with each occurrence of `old` replaced.
    fileprivate func replacing(_ old: [UInt8], with new: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var place = 0
        while place < count {
            if self[place...].starts(with: old) {
                result += new
                place += old.count
            } else {
                result.append(self[place])
                place += 1
            }
        }
        return result
    }
}
