import CPNG
import CSottoImage

extension QRCode {
    /// Returns the code as a PNG picture with one bit per pixel: black on white, `size` pixels per module, with a
    /// margin of `margin` light modules. `nil` if memory is exhausted.
    public func png(size: Int, margin: Int) -> [UInt8]? {
        let total = (side + 2 * margin) * size
        let rows = filteredRows(size: size, margin: margin)
        var compressed = [UInt8](repeating: 0, count: sotto_deflate_room(rows.count))
        let count = sotto_deflate(rows, rows.count, &compressed, compressed.count)
        guard count > 0 else { return nil }
        let length = (0..<4).map { UInt8(truncatingIfNeeded: total >> (24 - 8 * $0)) }
        // One bit of grey; the only compression and filter methods; not interlaced.
        return Picture.pngSignature
            + PNGChunks.chunk("IHDR", length + length + [1, 0, 0, 0, 0])
            + PNGChunks.chunk("IDAT", compressed[..<count])
            + PNGChunks.chunk("IEND", [])
    }

    /// Returns the rows of pixels, eight per byte, each after its filter number (ISO/IEC 15948, §9). The first row of a
    /// row of modules is stored as it is; the others as the difference from the row above, which is zero.
    private func filteredRows(size: Int, margin: Int) -> [UInt8] {
        let total = (side + 2 * margin) * size
        let width = (total + 7) / 8
        let same = [2] + [UInt8](repeating: 0, count: width)
        var rows: [UInt8] = []
        rows.reserveCapacity(total * (width + 1))
        for row in -margin..<side + margin {
            var line = [UInt8](repeating: 0, count: width)
            for column in -margin..<side + margin where !isDark(column, row) {
                let start = (column + margin) * size
                for x in start..<start + size { line[x / 8] |= 0x80 >> (x % 8) }
            }
            rows.append(0)
            rows += line
            for _ in 1..<size { rows += same }
        }
        return rows
    }
}

/// Values of png.h that are macros with expressions, which Swift does not import.
private enum PNGFormat {
    static let gray: png_uint_32 = 0
    static let grayAlpha: png_uint_32 = 1
    static let alphaFlag: png_uint_32 = 1
}

extension Picture {
    static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Reads a PNG picture (ISO/IEC 15948). All chunks up to the end must be present and intact.
    init(png bytes: [UInt8]) throws(PictureError) {
        guard PNGChunks.areWhole(in: bytes) else { throw .broken(.png) }
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        defer { png_image_free(&image) }
        // libpng reads from the memory until the picture is finished.
        var outcome: Result<Picture, PictureError> = .failure(.broken(.png))
        bytes.withUnsafeBytes { memory in
            guard
                png_image_begin_read_from_memory(&image, memory.baseAddress, memory.count) != 0
            else { return }
            let (width, height) = (Int(image.width), Int(image.height))
            guard width * height <= Raster.maximumPixels else {
                outcome = .failure(.tooManyPixels)
                return
            }
            let hasAlpha = image.format & PNGFormat.alphaFlag != 0
            image.format = hasAlpha ? PNGFormat.grayAlpha : PNGFormat.gray
            var pixels = [UInt8](repeating: 0, count: width * height * (hasAlpha ? 2 : 1))
            guard png_image_finish_read(&image, nil, &pixels, 0, nil) != 0 else { return }
            outcome = .success(
                hasAlpha
                    ? Picture(width: width, height: height, grayAlpha: pixels)
                    : Picture(raster: Raster(width: width, height: height, pixels: pixels)))
        }
        self = try outcome.get()
    }
}
