@testable import SottoQR
import SottoScan
import Testing

@Suite struct RoundTripTests {
    @Test(arguments: ErrorCorrection.allCases)
    func randomBytes(level: ErrorCorrection) throws {
        var random = Seeded(0x51)
        let capacity = EncodingMode.byte.capacity(at: level)
        var sizes = [1, 2, 3, capacity - 1, capacity]
        for _ in 0..<8 { sizes.append(Int.random(in: 1...capacity, using: &random)) }
        for _ in 0..<12 { sizes.append(Int.random(in: 1...100, using: &random)) }
        for size in sizes {
            let bytes = random.bytes(size)
            try QRCode(encoding: bytes, level: level).verify(holds: bytes)
        }
    }

    @Test func randomSizesAndMargins() throws {
        var random = Seeded(0x52)
        for _ in 0..<12 {
            let bytes = random.bytes(Int.random(in: 1...40, using: &random))
            let size = Int.random(in: 1...6, using: &random)
            let margin = Int.random(in: 0...5, using: &random)
            let code = try QRCode(encoding: bytes)
            let png = try #require(code.png(size: size, margin: margin))
            try QRCode.verify(png: png, size: size, margin: margin, holds: bytes)
            #expect(
                try Picture(decoding: png).codes() == [bytes], "size \(size), margin \(margin)")
        }
    }

    /// A module of a finder, timing or alignment pattern in the wrong color makes a code that some readers do not find.
    @Test func verificationComparesThePatterns() throws {
        let bytes = Array("a text for version 2".utf8)
        let code = try QRCode(encoding: bytes)
        #expect(code.side == 25)
        for (column, row) in [(0, 0), (24, 3), (3, 24), (12, 6), (18, 18), (8, 17)] {
            var modules = code.modules
            modules[row * code.side + column].toggle()
            #expect(throws: VerificationError.unreadable, "\(column), \(row)") {
                try QRCode(side: code.side, modules: modules).verify(holds: bytes)
            }
        }
    }

    /// Verification detects a code of other bytes, a wrong size, and a single wrong pixel.
    @Test func verificationFails() throws {
        let (one, other): ([UInt8], [UInt8]) = (Array("one".utf8), Array("other".utf8))
        let code = try QRCode(encoding: one)
        #expect(throws: VerificationError.differs) { try code.verify(holds: other) }
        let png = try #require(code.png(size: 3, margin: 4))
        #expect(throws: VerificationError.differs) {
            try QRCode.verify(png: png, size: 3, margin: 4, holds: other)
        }
        #expect(throws: VerificationError.pixels) {
            try QRCode.verify(png: png, size: 2, margin: 4, holds: one)
        }
        #expect(throws: VerificationError.pixels) {
            try QRCode.verify(png: Array(png.dropLast(1)), size: 3, margin: 4, holds: one)
        }
    }
}
