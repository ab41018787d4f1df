import Glibc

extension QRCode {
    /// Reads the code and compares the bytes. The code that reads it has nothing in common with libqrencode, which made it.
    ///
    /// Throws ``VerificationError`` unless exactly `bytes` are read.
    public func verify(holds bytes: [UInt8]) throws(VerificationError) {
        let patterns = FunctionPatterns(side: side)
        let hasPatterns = zip(patterns.modules, modules).allSatisfy { pattern, isDark in
            pattern == nil || pattern == (isDark ? 1 : 0)
        }
        guard hasPatterns, let content = content(patterns) else { throw .unreadable }
        guard content == bytes else { throw .differs }
    }

    /// Reads a PNG file that ``png(size:margin:)`` made: its pixels must be those of a code with that size and margin,
    /// and that code must contain `bytes`.
    public static func verify(
        png: [UInt8], size: Int, margin: Int, holds bytes: [UInt8]
    ) throws(VerificationError) {
        guard let pixels = try? PNGPixels(decoding: png),
            let code = QRCode(exactly: pixels, size: size, margin: margin)
        else { throw .pixels }
        try code.verify(holds: bytes)
    }

    /// Creates the code from exactly the picture that ``raster(size:margin:)`` makes. `nil` if a single pixel differs.
    private init?(exactly picture: PNGPixels, size: Int, margin: Int) {
        let side = picture.width / size - 2 * margin
        guard side >= 21, side <= 177, side % 4 == 1, picture.width == picture.height,
            !picture.hasAlpha
        else { return nil }
        var modules: [Bool] = []
        for row in 0..<side {
            for column in 0..<side {
                let x = (column + margin) * size
                let y = (row + margin) * size
                modules.append(picture.bytes[y * picture.width + x] == 0)
            }
        }
        self.init(side: side, modules: modules)
        let drawn = raster(size: size, margin: margin)
        // Array comparison is slow: it compares one byte at a time.
        guard drawn.width == picture.width,
            memcmp(drawn.pixels, picture.bytes, picture.bytes.count) == 0
        else { return nil }
    }
}
