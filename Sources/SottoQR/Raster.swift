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
    /// The maximum length of a picture's file in bytes: 64 MiB.
    public static let maximumBytes = 64 << 20

    /// Creates a picture from pixels. Their number must be `width` times `height`.
    public init(width: Int, height: Int, pixels: [UInt8]) {
        precondition(width > 0 && height > 0 && pixels.count == width * height)
        self.width = width
        self.height = height
        self.pixels = pixels
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
}
