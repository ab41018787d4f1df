import Glibc

/// A grey picture.
public struct Raster: Sendable, Hashable {
    /// The number of pixels in a row.
    public let width: Int
    /// The number of rows.
    public let height: Int
    /// `width` × `height` pixels, row by row from the top, 0 black to 255 white.
    public let pixels: [UInt8]

    /// The maximum number of pixels in a picture.
    public static let maximumPixels = 64 << 20

    /// Creates a picture from pixels. Their number must be `width` times `height`.
    public init(width: Int, height: Int, pixels: [UInt8]) {
        precondition(width > 0 && height > 0 && pixels.count == width * height)
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    /// Creates a picture with the pixels that `pixel` returns.
    init(width: Int, height: Int, _ pixel: (_ x: Int, _ y: Int) -> UInt8) {
        self.width = width
        self.height = height
        pixels = [UInt8](unsafeUninitializedCapacity: width * height) { buffer, count in
            for y in 0..<height {
                for x in 0..<width { buffer[y * width + x] = pixel(x, y) }
            }
            count = width * height
        }
    }
}

extension QRCode {
    /// Returns the code in black on white, `size` pixels per module, with a margin of `margin` light modules.
    public func raster(size: Int, margin: Int) -> Raster {
        let total = (side + 2 * margin) * size
        var pixels: [UInt8] = []
        pixels.reserveCapacity(total * total)
        for row in -margin..<side + margin {
            var line: [UInt8] = []
            line.reserveCapacity(total)
            for column in -margin..<side + margin {
                let pixel: UInt8 = isDark(column, row) ? 0 : 255
                for _ in 0..<size { line.append(pixel) }
            }
            for _ in 0..<size { pixels += line }
        }
        return Raster(width: total, height: total, pixels: pixels)
    }

    /// Creates the code from exactly the picture that ``raster(size:margin:)`` makes. `nil` if a single pixel differs.
    init?(exactly raster: Raster, size: Int, margin: Int) {
        let side = raster.width / size - 2 * margin
        guard side > 0, raster.width == raster.height else { return nil }
        var modules: [Bool] = []
        for row in 0..<side {
            for column in 0..<side {
                let x = (column + margin) * size
                let y = (row + margin) * size
                modules.append(raster.pixels[y * raster.width + x] == 0)
            }
        }
        self.init(side: side, modules: modules)
        let drawn = self.raster(size: size, margin: margin)
        // Array comparison is slow: it compares one byte at a time.
        guard drawn.width == raster.width, drawn.height == raster.height,
            memcmp(drawn.pixels, raster.pixels, raster.pixels.count) == 0
        else { return nil }
    }
}
