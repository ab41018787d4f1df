import CQREncode
import Glibc
import Testing

@testable import SottoQR
@testable import SottoScan

/// Codes that other programs make: every version and level, each mode, ECI, structured append and damage.
struct DecodingTests {
    /// A segment of a code.
    enum Part {
        case bytes([UInt8]), kanji([UInt8]), digits(String), letters(String), eci(UInt32)
    }

    /// Makes a code with libqrencode.
    static func code(
        _ parts: [Part], version: Int32 = 0, level: QRecLevel = QR_ECLEVEL_M
    ) throws -> QRCode {
        let input = try #require(QRinput_new2(version, level))
        defer { QRinput_free(input) }
        for part in parts {
            let status =
                switch part {
                case .bytes(let bytes):
                    QRinput_append(input, QR_MODE_8, Int32(bytes.count), bytes)
                case .kanji(let bytes):
                    QRinput_append(input, QR_MODE_KANJI, Int32(bytes.count), bytes)
                case .digits(let text):
                    QRinput_append(input, QR_MODE_NUM, Int32(text.utf8.count), Array(text.utf8))
                case .letters(let text):
                    QRinput_append(input, QR_MODE_AN, Int32(text.utf8.count), Array(text.utf8))
                case .eci(let number): QRinput_appendECIheader(input, number)
                }
            try #require(status == 0)
        }
        let code = try #require(QRcode_encodeInput(input))
        defer { QRcode_free(code) }
        return qrCode(code)
    }

    static func qrCode(_ code: UnsafeMutablePointer<QRcode>) -> QRCode {
        let side = Int(code.pointee.width)
        return QRCode(
            side: side,
            modules: UnsafeBufferPointer(start: code.pointee.data, count: side * side).map {
                $0 & 1 == 1
            })
    }

    func content(_ code: QRCode) throws -> [UInt8]? {
        code.content(FunctionPatterns(side: code.side))
    }

    /// Returns the contents that are found in a picture of a code.
    func scan(_ code: QRCode) throws -> [[UInt8]] {
        try Picture(raster: code.raster(size: 3, margin: 4)).codes()
    }

    // MARK: Forms of codes

    /// libqrencode marks the modules of function patterns in its codes (bit 7), and the format information among them (bit 2).
    @Test func functionPatterns() throws {
        for version: Int32 in 1...40 {
            let input = try #require(QRinput_new2(version, QR_ECLEVEL_L))
            defer { QRinput_free(input) }
            try #require(QRinput_append(input, QR_MODE_8, 1, [0]) == 0)
            let code = try #require(QRcode_encodeInput(input))
            defer { QRcode_free(code) }
            let side = Int(code.pointee.width)
            let modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side)
            #expect(
                FunctionPatterns(side: side).modules
                    == modules.map { $0 & 0x84 == 0x80 ? $0 & 1 : nil }, "\(version)")
        }
    }

    @Test(arguments: [QR_ECLEVEL_L, QR_ECLEVEL_M, QR_ECLEVEL_Q, QR_ECLEVEL_H])
    func everyVersionAndLevelIsRead(_ level: QRecLevel) throws {
        for version in 1...40 as ClosedRange<Int32> {
            let text = (0..<7).map { UInt8(truncatingIfNeeded: $0 * 31 + Int(version)) }
            let code = try Self.code([.bytes(text)], version: version, level: level)
            #expect(code.side == 17 + 4 * Int(version))
            #expect(try content(code) == text, "version \(version)")
        }
    }

    @Test func eachBlockIsCorrected() throws {
        var random = Seeded(0x71)
        for version in [1, 2, 5, 7, 14, 27, 40] as [Int32] {
            for level in [QR_ECLEVEL_L, QR_ECLEVEL_H] {
                let text = random.bytes(5)
                let code = try Self.code([.bytes(text)], version: version, level: level)
                var modules = code.modules
                // A row of wrong modules touches few codewords of each block.
                let row = code.side / 2
                for column in 9..<min(14, code.side - 9) {
                    modules[row * code.side + column].toggle()
                }
                let damaged = QRCode(side: code.side, modules: modules)
                #expect(try content(damaged) == text, "version \(version)")
                let mirrored = QRCode(
                    side: code.side,
                    modules: (0..<code.side * code.side).map {
                        modules[$0 % code.side * code.side + $0 / code.side]
                    })
                #expect(try content(mirrored) == text, "version \(version)")
            }
        }
    }

    @Test func everyModeIsRead() throws {
        let digits = "0070010203" + String(repeating: "9", count: 91)
        let letters = "ABC $%*+-./:0"
        let code = try Self.code([
            .digits(digits), .letters(letters), .bytes([0, 0xFF, 0x80]), .kanji([0x93, 0xFA]),
            .letters("Z"), .digits("5"),
        ])
        #expect(
            try content(code) == Array((digits + letters).utf8) + [0, 0xFF, 0x80]
                + Array("日Z5".utf8))
        let whole = try #require(try content(code))
        #expect(try scan(code) == [whole])
    }

    @Test func damageBeyondCorrectionIsNoContent() throws {
        var random = Seeded(0x72)
        for _ in 0..<200 {
            let code = try Self.code([.bytes(random.bytes(20))], version: 5, level: QR_ECLEVEL_Q)
            let modules = code.modules.map { $0 != (Int.random(in: 0..<3, using: &random) == 0) }
            #expect(try content(QRCode(side: code.side, modules: modules)) == nil)
        }
    }

    // MARK: Text

    /// Text with a known ECI becomes UTF-8, whatever the ECI.
    @Test(
        arguments: [
            (1, [0x63, 0x61, 0x66, 0xE9], "café"), (3, [0x63, 0x61, 0x66, 0xE9], "café"),
            (0, [0x82], "é"), (2, [0x82], "é"), (4, [0xA3], "Ł"), (7, [0xC0], "Р"),
            (9, [0xE1], "α"),
            (11, [0xDD], "İ"), (17, [0xA4], "€"), (20, [0x93, 0xFA, 0x96, 0x7B], "日本"),
            (21, [0x8A], "Š"), (22, [0xCF, 0xF0, 0xE8], "При"), (23, [0x80], "€"),
            (24, [0xC7], "ا"),
            (25, [0x00, 0x41, 0x20, 0xAC], "A€"), (26, [0xC3, 0xA9], "é"), (27, [0x41], "A"),
            (28, [0xA4, 0xE9], "日"), (29, [0xC8, 0xD5], "日"), (30, [0xB0, 0xA1], "가"),
            (33, [0xAC, 0x20], "€"), (35, [0xAC, 0x20, 0, 0], "€"),
        ] as [(UInt32, [UInt8], String)])
    func aKnownECIBecomesUTF8(_ eci: UInt32, _ bytes: [UInt8], _ text: String) throws {
        let code = try Self.code([.eci(eci), .bytes(bytes)])
        #expect(try content(code) == Array(text.utf8))
        #expect(try scan(code) == [Array(text.utf8)])
    }

    /// A code is never unreadable because of its text: bytes of an unknown ECI, and bytes that are not valid in theirs, are
    /// the content as they are.
    @Test(
        arguments: [
            (26, [0x63, 0xE9]), (26, [0xFF, 0xFE]), (20, [0x93]), (27, [0xE9]), (14, [0xE9]),
            (36, [0xE9]), (170, [0x23]), (899, [0, 0xFF]), (128, [0xE9]), (16_383, [0xE9]),
            (16_384, [0xE9]), (999_999, [0x41, 0xE9]), (25, [0xD8]),
        ] as [(UInt32, [UInt8])])
    func otherBytesAreTheContent(_ eci: UInt32, _ bytes: [UInt8]) throws {
        let code = try Self.code([.eci(eci), .bytes(bytes)])
        #expect(try content(code) == bytes, "ECI \(eci)")
        #expect(try scan(code) == [bytes], "ECI \(eci)")
    }

    @Test func anECIEndsWithTheNext() throws {
        let code = try Self.code([
            .bytes([0xE9]), .eci(3), .bytes([0xE9]), .digits("7"), .bytes([0xE9]), .eci(22),
            .bytes([0xCF]), .eci(899), .bytes([0xCF]),
        ])
        #expect(try content(code) == [0xE9] + Array("é7éП".utf8) + [0xCF])
        // A character may be split over two segments.
        let split = try Self.code([.eci(20), .bytes([0x93]), .bytes([0xFA])])
        #expect(try content(split) == Array("日".utf8))
    }

    @Test func kanjiIsTextWithoutAnECI() throws {
        let code = try Self.code([.kanji([0x93, 0xFA, 0x96, 0x7B, 0x8C, 0xEA])])
        #expect(try scan(code) == [Array("日本語".utf8)])
    }

    @Test func eachPartOfAStructuredAppendIsRead() throws {
        let structure = try #require(QRinput_Struct_new())
        defer { QRinput_Struct_free(structure) }
        let parts = [Array("the first part, ".utf8), Array("the second".utf8)]
        for part in parts {
            let input = try #require(QRinput_new2(3, QR_ECLEVEL_M))
            try #require(QRinput_append(input, QR_MODE_8, Int32(part.count), part) == 0)
            try #require(QRinput_Struct_appendInput(structure, input) > 0)
        }
        try #require(QRinput_Struct_insertStructuredAppendHeaders(structure) == 0)
        let list = try #require(QRcode_encodeInputStructured(structure))
        defer { QRcode_List_free(list) }
        var next: UnsafeMutablePointer<QRcode_List>? = list
        for part in parts {
            let entry = try #require(next)
            let code = Self.qrCode(try #require(entry.pointee.code))
            #expect(try scan(code) == [part])
            next = entry.pointee.next
        }
    }

    /// A code that only zbar finds is read again from its corners, so that its text follows the same rule.
    @Test func aCodeOfZbarIsReadAgain() throws {
        for (eci, bytes, text) in [
            (3, [0xE9], "é"), (22, [0xCF], "П"), (26, [0xC3, 0xA9], "é"),
        ] as [(UInt32, [UInt8], String)] {
            let code = try Self.code([.eci(eci), .bytes(bytes)], version: 4)
            let raster = code.raster(size: 5, margin: 4)
            let found = try #require(try Scanner().symbols(in: raster).first)
            let symbol = Locator(raster).reading(found)
            #expect(symbol?.bytes == Array(text.utf8), "ECI \(eci)")
        }
    }
}
