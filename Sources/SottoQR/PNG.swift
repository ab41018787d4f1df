import CPNG

extension QRCode {
    /// The code as a PNG picture of one bit to a pixel: black on white, `size` pixels to a module, `margin`
    /// light modules around it; `nil` when memory runs out.
    public func png(size: Int, margin: Int) -> [UInt8]? {
        let raster = raster(size: size, margin: margin)
        // An index into a palette of two, which libpng packs into single bits.
        let indices = raster.pixels.map { $0 & 1 }
        let palette: [UInt8] = [0, 255]
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(raster.width)
        image.height = png_uint_32(raster.height)
        image.format = PNGFormat.grayPalette
        image.colormap_entries = 2
        defer { png_image_free(&image) }
        var size = 0
        guard png_image_write_to_memory(&image, nil, &size, 0, indices, 0, palette) != 0 else {
            return nil
        }
        var file = [UInt8](repeating: 0, count: size)
        guard png_image_write_to_memory(&image, &file, &size, 0, indices, 0, palette) != 0 else {
            return nil
        }
        return Array(file[..<size])
    }
}

/// Values of png.h that its macros compute and Swift therefore does not import.
private enum PNGFormat {
    static let gray: png_uint_32 = 0
    static let grayAlpha: png_uint_32 = 1
    static let grayPalette: png_uint_32 = 8
    static let alphaFlag: png_uint_32 = 1
}

extension Picture {
    static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Reads a PNG picture (ISO/IEC 15948). Every chunk up to the end must be there and unharmed.
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
