import CQREncode
import Foundation
import Sotto
@testable import SottoQR
@testable import SottoScan
import Testing

/// Encodes bytes, writes a PNG and reads it.
func roundTrip(_ bytes: [UInt8], level: ErrorCorrection = .medium) throws -> [[UInt8]] {
    let code = try QRCode(encoding: bytes, level: level)
    let png = try #require(code.png(size: 4, margin: 4))
    return try Picture(decoding: png).codes()
}

@Suite struct KnownAnswerTests {
    /// FORMATS: the binary payload of a contact, valid or not, because `qr` does not parse it.
    @Test func binaryPayloads() throws {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Vectors/qr.json")
        let file = try JSON(parsing: Array(Data(contentsOf: url)))
        let vectors = try #require(file.object)
        let good = vectors["kecalek_binary"]?.array ?? []
        let bad = vectors["kecalek_must_fail"]?.array ?? []
        let payloads = (good + bad).compactMap { $0.object?["payload"]?.string }
        #expect(payloads.count == good.count + bad.count && good.count >= 4 && bad.count >= 9)
        for payload in payloads where !payload.isEmpty {
            let decoded = bytes(hex: payload)
            let content = try #require(decoded)
            for level in ErrorCorrection.allCases {
                #expect(try roundTrip(content, level: level) == [content])
            }
        }
    }

    @Test func everyByteValue() throws {
        let all = (0...255).map { UInt8($0) }
        #expect(try roundTrip(all) == [all])
        for byte in all { #expect(try roundTrip([byte]) == [[byte]]) }
    }

    /// ISO/IEC 18004, table 7: the capacity of version 40, and one byte more.
    @Test(arguments: ErrorCorrection.allCases, EncodingMode.allCases)
    func capacity(level: ErrorCorrection, mode: EncodingMode) throws {
        let byte: UInt8 =
            switch mode {
            case .numeric: 0x37
            case .alphanumeric: 0x51
            case .byte: 0xE9
            }
        let limit = mode.capacity(at: level)
        let full = [UInt8](repeating: byte, count: limit)
        let code = try QRCode(encoding: full, level: level)
        #expect(code.side == 177)
        try code.verify(holds: full)
        #expect(throws: QREncodeError.tooLong(count: limit + 1, mode: mode, level: level)) {
            try QRCode(encoding: full + [byte], level: level)
        }
    }

    /// ISO/IEC 18004, table 7: the capacity of version 1 at level M, by mode.
    @Test func modes() throws {
        for (text, count, side) in [
            ("1", 34, 21), ("1", 35, 25), ("A", 20, 21), ("A", 21, 25), ("a", 14, 21),
            ("a", 15, 25),
        ] {
            let bytes = Array(String(repeating: text, count: count).utf8)
            #expect(try QRCode(encoding: bytes).side == side)
        }
    }

    /// The same at three levels: version 1 has a capacity of 14 bytes at M, 11 at Q, 7 at H.
    @Test func higherCorrectionIfNotLarger() throws {
        for (count, level) in [
            (7, ErrorCorrection.high), (8, .quartile), (11, .quartile), (12, .medium),
            (14, .medium),
        ] {
            let bytes = [UInt8](repeating: 0xE9, count: count)
            let code = try QRCode(encoding: bytes, atLeast: .medium)
            #expect(code.side == 21)
            #expect(try code == QRCode(encoding: bytes, level: level), "\(count)")
        }
        // ISO/IEC 18004, table 1: 26 codewords, 44, 196 with version information, 346, and 3706.
        for (side, count) in [(21, 26), (25, 44), (45, 196), (57, 346), (177, 3706)] {
            let code = QRCode(side: side, modules: [])
            #expect(code.codewordBits / 8 == count, "\(side)")
        }
        // Levels that are not tried would not have fit.
        for mode: UInt8 in [0x37, 0x51, 0xE9] {
            for count in stride(from: 1, through: 1200, by: 23) {
                let bytes = [UInt8](repeating: mode, count: count)
                let side = try QRCode(encoding: bytes).side
                let best = try ErrorCorrection.allCases.last {
                    try QRCode(encoding: bytes, level: $0).side <= side
                }
                let expected = try QRCode(encoding: bytes, level: best ?? .medium)
                #expect(try QRCode(encoding: bytes, atLeast: .medium) == expected, "\(count)")
            }
        }
        for count in [1273, 1274, 2331] {
            let bytes = [UInt8](repeating: 0xE9, count: count)
            let code = try QRCode(encoding: bytes, atLeast: .medium)
            #expect(try code.side == QRCode(encoding: bytes).side)
            try code.verify(holds: bytes)
        }
    }

    /// A code that names its character set (ISO/IEC 18004, §7.3.2) gives UTF-8, converted by zbar; a code without one
    /// gives its bytes.
    @Test func characterSets() throws {
        let latin: [UInt8] = [0x67, 0x72, 0xFC, 0xDF, 0x65]
        let greek: [UInt8] = [0xE1, 0xE2, 0xE3]
        for (set, bytes, expected) in [
            (3, latin, Array("grüße".utf8)), (9, greek, Array("αβγ".utf8)),
            (26, Array("grüße".utf8), Array("grüße".utf8)), (0, latin, latin),
        ] as [(UInt32, [UInt8], [UInt8])] {
            let input = try #require(QRinput_new2(0, QR_ECLEVEL_M))
            defer { QRinput_free(input) }
            if set > 0 { #expect(QRinput_appendECIheader(input, set) == 0) }
            #expect(QRinput_append(input, QR_MODE_8, Int32(bytes.count), bytes) == 0)
            let code = try #require(QRcode_encodeInput(input))
            defer { QRcode_free(code) }
            let side = Int(code.pointee.width)
            let modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side)
            let raster = QRCode(side: side, modules: modules.map { $0 & 1 == 1 })
                .raster(size: 5, margin: 4)
            #expect(try Picture(raster: raster).codes() == [expected], "\(set)")
        }
    }

    @Test func postQuantumRecipient() throws {
        let recipient = Array(("AGE1PQ1" + String(repeating: "Q9ZX", count: 488)).utf8)
        #expect(recipient.count == 1959)
        #expect(try roundTrip(recipient, level: .low) == [recipient])
    }

    @Test func nothing() {
        #expect(throws: QREncodeError.empty) { try QRCode(encoding: []) }
    }

    /// In each drawing, the first row of a finder pattern is seven dark modules.
    @Test func drawings() throws {
        let code = try QRCode(encoding: [0])
        let dark = code.ascii(margin: 1, ink: .dark).split(separator: "\n")
        let light = code.ascii(margin: 1, ink: .light).split(separator: "\n")
        #expect(dark.count == 23 && dark.allSatisfy { $0.count == 46 })
        #expect(dark[0].allSatisfy { $0 == " " } && light[0].allSatisfy { $0 == "#" })
        #expect(dark[1].hasPrefix("  ##############  "))
        #expect(light[1].hasPrefix("##              ##"))
        let blocks = code.halfBlocks(margin: 1, ink: .dark).split(separator: "\n")
        #expect(blocks.count == 12 && blocks.allSatisfy { $0.count == 23 })
        #expect(blocks[0].hasPrefix(" ▄▄▄▄▄▄▄ ") && blocks[11].allSatisfy { $0 == " " })
        let lightBlocks = code.halfBlocks(margin: 1, ink: .light).split(separator: "\n")
        #expect(lightBlocks[0].hasPrefix("█▀▀▀▀▀▀▀█") && lightBlocks[11].allSatisfy { $0 == "▀" })
        let svg = code.svg(size: 3, margin: 2)
        #expect(svg.contains("width=\"75\" height=\"75\" viewBox=\"0 0 25 25\""))
        #expect(svg.contains("d=\"M2 2h7v1H2z"))
    }

    /// The runs of an SVG drawing, drawn again, give the modules.
    @Test func svgPath() throws {
        let code = try QRCode(encoding: (0...255).map { UInt8($0) })
        let svg = code.svg(size: 1, margin: 3)
        let path = try #require(svg.split(separator: "d=\"").last?.split(separator: "\"").first)
        var modules = [Bool](repeating: false, count: code.side * code.side)
        for run in path.split(separator: "M") {
            let numbers = run.split { !$0.isNumber }.compactMap { Int($0) }
            try #require(numbers.count == 5 && numbers[3] == 1 && numbers[4] == numbers[0])
            for column in numbers[0]..<numbers[0] + numbers[2] {
                modules[(numbers[1] - 3) * code.side + column - 3] = true
            }
        }
        #expect(modules == code.modules)
    }
}
