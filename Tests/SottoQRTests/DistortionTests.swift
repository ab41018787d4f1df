@testable import SottoQR
@testable import SottoScan
import Testing

/// Pictures distorted as by cameras.
@Suite struct DistortionTests {
    static let bytes: [UInt8] = [0, 1, 0xFF, 0x80, 0x0A, 0xC3, 0x28] + Array("sotto voce".utf8)

    private func scene(size: Int = 5) throws -> Raster {
        try QRCode(encoding: Self.bytes).raster(size: size, margin: 6)
    }

    private func reads(_ raster: Raster) throws -> Bool {
        try Picture(decoding: png(raster)).codes() == [Self.bytes]
    }

    @Test(arguments: [7.0, 33, 45, 90, 128, 180, 271])
    func rotation(degrees: Double) throws {
        #expect(try reads(scene().rotated(degrees: degrees)))
    }

    @Test func inverse() throws { #expect(try reads(scene().inverted())) }

    @Test func blur() throws {
        var raster = try scene(size: 6)
        for _ in 0..<5 { raster = raster.blurred() }
        #expect(try reads(raster))
    }

    @Test(arguments: [10.0, 30, 50])
    func noise(deviation: Double) throws {
        var random = Seeded(0x53)
        let raster = try scene(size: 6)
        let noisy = raster.pixels.map {
            UInt8(clamping: Int(Double($0) * 0.7 + 40 + deviation * random.normal()))
        }
        #expect(try reads(Raster(width: raster.width, height: raster.height, pixels: noisy)))
    }

    @Test(arguments: [0.4, 0.5, 0.83, 1.7])
    func scale(factor: Double) throws {
        let raster = try scene()
        let side = Int(Double(raster.width) * factor)
        let scaled = raster.resampled(width: side, height: side) { x, y in
            (x / factor, y / factor)
        }
        #expect(try reads(scaled))
    }

    @Test func shadow() throws {
        let raster = try scene()
        let shaded = Raster(width: raster.width, height: raster.height) { x, y in
            let light = 1 - 0.7 * Double(x + y) / Double(raster.width + raster.height)
            return UInt8(light * (30 + 0.7 * Double(raster.pixels[y * raster.width + x])))
        }
        #expect(try reads(shaded))
    }

    @Test func perspective() throws {
        let raster = try scene()
        let side = Double(raster.width)
        let tilted = raster.resampled(width: raster.width, height: raster.height) { x, y in
            let depth = 1 + 0.2 * y / side
            return ((x - side / 2) * depth + side / 2, y * depth)
        }
        #expect(try reads(tilted))
    }

    @Test func withoutQuietZone() throws {
        #expect(try reads(QRCode(encoding: Self.bytes).raster(size: 2, margin: 0)))
    }

    @Test(arguments: [false, true])
    func jpegFiles(progressive: Bool) throws {
        for quality: Int32 in [15, 40, 75, 95] {
            let file = jpeg(try scene(), quality: quality, progressive: progressive)
            #expect(try Picture(decoding: file).codes() == [Self.bytes])
        }
    }

    @Test func jpegInInks() throws {
        let file = jpeg(try scene(), inks: true)
        #expect(try Picture(decoding: file).codes() == [Self.bytes])
    }

    /// A code with a transparent background, drawn in black and in white.
    @Test func transparency() throws {
        let raster = try scene()
        for ink: UInt8 in [0, 255] {
            let grayAlpha = raster.pixels.flatMap { [ink, 255 - $0] }
            let file = png(
                width: raster.width, height: raster.height, format: 1, grayAlpha)
            #expect(try Picture(decoding: file).codes() == [Self.bytes])
        }
    }

    @Test func colours() throws {
        let raster = try scene()
        let blueOnYellow = raster.pixels.flatMap { $0 == 0 ? [20, 30, 120] : [250, 230, 90] }
        let file = png(
            width: raster.width, height: raster.height, format: 2, blueOnYellow.map { UInt8($0) })
        #expect(try Picture(decoding: file).codes() == [Self.bytes])
    }

    /// Two codes above each other, each twice.
    @Test func severalCodes() throws {
        let pieces = try ["upper", "lower"].map {
            try QRCode(encoding: Array($0.utf8)).raster(size: 4, margin: 4)
        }
        let side = pieces[0].width
        let sheet = Raster(width: 2 * side, height: 2 * side) { x, y in
            pieces[y / side].pixels[y % side * side + x % side]
        }
        let codes = try Picture(decoding: png(sheet)).codes()
        #expect(codes == [Array("upper".utf8), Array("lower".utf8)])
    }
}
