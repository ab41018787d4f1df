import CPNG
import SottoQR

/// Values of png.h that are macros with expressions, which Swift does not import.
private enum SimplifiedPNG {
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
            let hasAlpha = image.format & SimplifiedPNG.alphaFlag != 0
            image.format = hasAlpha ? SimplifiedPNG.grayAlpha : SimplifiedPNG.gray
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
