import Glibc
import SottoQR

extension Raster {
    /// Creates a picture with the pixels that `pixel` returns.
    init(width: Int, height: Int, _ pixel: (_ x: Int, _ y: Int) -> UInt8) {
        let pixels = [UInt8](unsafeUninitializedCapacity: width * height) { buffer, count in
            for y in 0..<height {
                for x in 0..<width { buffer[y * width + x] = pixel(x, y) }
            }
            count = width * height
        }
        self.init(width: width, height: height, pixels: pixels)
    }
}

extension QRCode {
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
