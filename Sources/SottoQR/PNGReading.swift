import CPNG

/// The pixels of a PNG picture (ISO/IEC 15948).
package struct PNGPixels {
    /// The number of pixels in a row.
    package let width: Int
    /// The number of rows.
    package let height: Int
    /// Whether each pixel has two bytes, grey and opacity, and not only grey.
    package let hasAlpha: Bool
    /// The pixels, row by row from the top.
    package let bytes: [UInt8]

    /// Values of png.h that are macros with expressions, which Swift does not import.
    private enum SimplifiedPNG {
        static let gray: png_uint_32 = 0
        static let grayAlpha: png_uint_32 = 1
        static let alphaFlag: png_uint_32 = 1
    }

    /// Reads a picture. All chunks up to the end must be present and intact.
    package init(decoding file: [UInt8]) throws(PictureError) {
        guard PNGChunks.areWhole(in: file) else { throw .broken(.png) }
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        defer { png_image_free(&image) }
        // libpng reads from the memory until the picture is finished.
        var outcome: Result<PNGPixels, PictureError> = .failure(.broken(.png))
        file.withUnsafeBytes { memory in
            guard
                png_image_begin_read_from_memory(&image, memory.baseAddress, memory.count) != 0
            else { return }
            let (width, height) = (Int(image.width), Int(image.height))
            guard width * height <= Raster.maximumPixels else {
                outcome = .failure(.tooManyPixels)
                return
            }
            let hasAlpha = image.format & SimplifiedPNG.alphaFlag != 0
            image.format = hasAlpha ? SimplifiedPNG.grayAlpha : SimplifiedPNG.gray
            var bytes = [UInt8](repeating: 0, count: width * height * (hasAlpha ? 2 : 1))
            guard png_image_finish_read(&image, nil, &bytes, 0, nil) != 0 else { return }
            outcome = .success(
                PNGPixels(width: width, height: height, hasAlpha: hasAlpha, bytes: bytes))
        }
        self = try outcome.get()
    }

    private init(width: Int, height: Int, hasAlpha: Bool, bytes: [UInt8]) {
        (self.width, self.height, self.hasAlpha, self.bytes) = (width, height, hasAlpha, bytes)
    }
}
