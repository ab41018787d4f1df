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
