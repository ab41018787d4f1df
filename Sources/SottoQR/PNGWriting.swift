import CPNG

extension QRCode {
    /// Returns the code as a PNG picture (ISO/IEC 15948) with a palette and one bit per pixel: black on white, `size`
    /// pixels per module, with a margin of `margin` light modules. `nil` if memory is exhausted.
    public func png(size: Int, margin: Int) -> [UInt8]? {
        let side = (side + 2 * margin) * size
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        image.width = png_uint_32(side)
        image.height = png_uint_32(side)
        image.format = SimplifiedPNG.colourMapped
        // libpng uses one bit for each pixel of a palette with two colors.
        image.colormap_entries = 2
        image.flags = SimplifiedPNG.fast
        defer { png_image_free(&image) }
        let colours: [UInt8] = [0, 0, 0, 255, 255, 255]
        let pixels = indices(size: size, margin: margin)
        // Deflate adds at most 5 bytes to each block of at least 16 KiB; libpng's chunks take the rest.
        let row = side / 8 + 2
        var count = row * side + row * side / 64 + 4096
        var file = [UInt8](repeating: 0, count: count)
        guard png_image_write_to_memory(&image, &file, &count, 0, pixels, 0, colours) != 0 else {
            return nil
        }
        file.removeLast(file.count - count)
        return file
    }

    /// Returns the place in the palette of each pixel, row by row: 0 dark, 1 light.
    private func indices(size: Int, margin: Int) -> [UInt8] {
        let side = (side + 2 * margin) * size
        var pixels: [UInt8] = []
        pixels.reserveCapacity(side * side)
        for row in -margin..<self.side + margin {
            var line: [UInt8] = []
            line.reserveCapacity(side)
            for column in -margin..<self.side + margin {
                let index: UInt8 = isDark(column, row) ? 0 : 1
                for _ in 0..<size { line.append(index) }
            }
            for _ in 0..<size { pixels += line }
        }
        return pixels
    }
}

/// Values of png.h that are macros with expressions, which Swift does not import.
private enum SimplifiedPNG {
    /// `PNG_FORMAT_RGB_COLORMAP`.
    static let colourMapped: png_uint_32 = 0x02 | 0x08
    /// `PNG_IMAGE_FLAG_FAST`: no filters, which do not help with one bit for each pixel.
    static let fast: png_uint_32 = 0x02
}
