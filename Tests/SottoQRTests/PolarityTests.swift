@testable import SottoQR
@testable import SottoScan
import Testing

/// Text drawings on terminals with a dark and a light background: never inverted, because not every reader accepts
/// inverted codes.
@Suite struct PolarityTests {
    private static let bytes = Array("which is dark".utf8)

    /// Returns the picture that a terminal with a background and the inverse text color shows; a character has 4 × 8
    /// pixels.
    private func shown(_ text: String, ground: UInt8) throws -> Raster {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let (width, height) = (4 * 80, 8 * (lines.count + 2))
        var pixels = [UInt8](repeating: ground, count: width * height)
        var (ink, paper) = (255 - ground, ground)
        for (row, line) in lines.enumerated() {
            var column = 2
            var rest = line[...]
            while let character = rest.popFirst() {
                if character == "\u{1B}" {
                    let parameters = rest.dropFirst().prefix { $0 != "m" }
                    rest = rest.dropFirst(parameters.count + 2)
                    let numbers = parameters.split(separator: ";")
                    // Colors 16 and 231 of 256 are black and white.
                    for (place, number) in numbers.enumerated() where numbers.count > 2 {
                        let colour: UInt8 = numbers.dropFirst(place + 2).first == "16" ? 0 : 255
                        if number == "38" { ink = colour }
                        if number == "48" { paper = colour }
                    }
                    if parameters == "0" { (ink, paper) = (255 - ground, ground) }
                    continue
                }
                for y in 0..<8 {
                    let isInk =
                        character == "█" || character == "#"
                        || character == (y < 4 ? "▀" : "▄")
                    for x in 0..<4 {
                        pixels[(8 * (row + 1) + y) * width + 4 * column + x] = isInk ? ink : paper
                    }
                }
                column += 1
            }
        }
        return Raster(width: width, height: height, pixels: pixels)
    }

    /// zbar alone does not read inverted codes.
    private func reads(_ text: String, ground: UInt8) throws -> Bool {
        try Scanner().symbols(in: shown(text, ground: ground)).map(\.bytes) == [Self.bytes]
    }

    @Test func colouredDrawingsAreReadOnBothBackgrounds() throws {
        let code = try QRCode(encoding: Self.bytes)
        for ground: UInt8 in [0, 255] {
            #expect(try reads(code.halfBlocks(margin: 4, ink: .coloured), ground: ground))
            #expect(try reads(code.ascii(margin: 4, ink: .coloured), ground: ground))
        }
    }

    @Test func theInkSelectsTheBackgroundInAFile() throws {
        let code = try QRCode(encoding: Self.bytes)
        for (ink, right) in [(Ink.dark, UInt8(255)), (.light, 0)] {
            for drawing in [code.halfBlocks(margin: 4, ink: ink), code.ascii(margin: 4, ink: ink)] {
                #expect(try reads(drawing, ground: right))
                #expect(try !reads(drawing, ground: 255 - right))
            }
        }
    }
}
