import Glibc

/// A grey picture.
public struct Raster: Sendable, Hashable {
    /// Pixels in a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// `width` times `height` pixels, row by row from the top, 0 black to 255 white.
    public let pixels: [UInt8]

    /// The most pixels that a picture may have.
    public static let maximumPixels = 64 << 20

    /// A picture of these pixels. Their number must be `width` times `height`.
    public init(width: Int, height: Int, pixels: [UInt8]) {
        precondition(width > 0 && height > 0 && pixels.count == width * height)
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    /// A picture whose pixels `pixel` tells.
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
    /// The code in black on white, `size` pixels to a module, `margin` light modules around it.
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

    /// The code of which `raster` is exactly the picture that ``raster(size:margin:)`` makes; `nil` when a
    /// single pixel differs from that.
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
        // Arrays compare a byte at a time.
        guard drawn.width == raster.width, drawn.height == raster.height,
            memcmp(drawn.pixels, raster.pixels, raster.pixels.count) == 0
        else { return nil }
    }
}
