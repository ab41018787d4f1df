import CPNG
import CSottoJPEG
import Glibc
import SottoQR

/// A decoded picture in colour, at most as large as a thumbnail needs.
struct ColorPicture {
    let width: Int
    let height: Int
    /// `width` × `height` × 3 bytes: red, green and blue, row by row from the top.
    let pixels: [UInt8]

    /// The size of the picture in a file, in pixels, and the picture if it can be decoded.
    typealias Decoded = (width: Int, height: Int, picture: ColorPicture?)

    /// Values of png.h that are macros with expressions, which Swift does not import.
    private static let pngColor: png_uint_32 = 2

    /// Decodes a JPEG or PNG picture; a JPEG picture is reduced as in ``jpeg(_:side:)``. Returns it with its orientation, 1 to 8.
    static func decode(_ bytes: [UInt8], side: Int) -> (Decoded, orientation: Int)? {
        let isPNG = bytes.starts(with: PNGChunks.signature)
        guard let decoded = isPNG ? png(bytes) : jpeg(bytes, side: side) else { return nil }
        return (decoded, isPNG ? Orientation.png(bytes) : Orientation.jpeg(bytes))
    }

    /// Decodes a JPEG picture (ISO/IEC 10918-1), reduced as long as its longer side has at least `side` pixels. Returns
    /// `nil` if not even its size can be read.
    static func jpeg(_ bytes: [UInt8], side: Int) -> Decoded? {
        var picture = sotto_jpeg_picture()
        let status = sotto_jpeg_read_small(
            bytes, bytes.count, UInt32(side), UInt64(Raster.maximumPixels), &picture)
        defer { free(picture.rgb) }
        guard picture.full_width > 0, picture.full_height > 0 else { return nil }
        let size = (Int(picture.full_width), Int(picture.full_height))
        guard status == SOTTO_JPEG_OK else { return (size.0, size.1, nil) }
        let (width, height) = (Int(picture.width), Int(picture.height))
        let pixels = UnsafeBufferPointer(start: picture.rgb, count: width * height * 3)
        return (
            size.0, size.1, ColorPicture(width: width, height: height, pixels: Array(pixels))
        )
    }

    /// Decodes a PNG picture (ISO/IEC 15948), on white. Returns `nil` if not even its size can be read.
    static func png(_ bytes: [UInt8]) -> Decoded? {
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        defer { png_image_free(&image) }
        return bytes.withUnsafeBytes { memory in
            guard
                png_image_begin_read_from_memory(&image, memory.baseAddress, memory.count) != 0
            else { return nil }
            let (width, height) = (Int(image.width), Int(image.height))
            guard width * height <= Raster.maximumPixels else { return (width, height, nil) }
            image.format = pngColor
            var pixels = [UInt8](repeating: 0, count: width * height * 3)
            var white = png_color(red: 255, green: 255, blue: 255)
            guard png_image_finish_read(&image, &white, &pixels, 0, nil) != 0 else {
                return (width, height, nil)
            }
            return (width, height, ColorPicture(width: width, height: height, pixels: pixels))
        }
    }

    /// Returns the picture with a longer side of at most `side` pixels; each pixel is the mean of those it replaces.
    func reduced(to side: Int) -> ColorPicture {
        let longer = max(width, height)
        guard longer > side else { return self }
        let (newWidth, newHeight) = (max(1, width * side / longer), max(1, height * side / longer))
        var result = [UInt8](repeating: 0, count: newWidth * newHeight * 3)
        pixels.withUnsafeBufferPointer { pixels in
            for y in 0..<newHeight {
                let rows = y * height / newHeight..<max((y + 1) * height / newHeight, 1)
                for x in 0..<newWidth {
                    let columns = x * width / newWidth..<max((x + 1) * width / newWidth, 1)
                    var sums = (0, 0, 0)
                    for row in rows {
                        for column in columns {
                            let place = (row * width + column) * 3
                            sums.0 += Int(pixels[place])
                            sums.1 += Int(pixels[place + 1])
                            sums.2 += Int(pixels[place + 2])
                        }
                    }
                    let count = rows.count * columns.count
                    let place = (y * newWidth + x) * 3
                    result[place] = UInt8(sums.0 / count)
                    result[place + 1] = UInt8(sums.1 / count)
                    result[place + 2] = UInt8(sums.2 / count)
                }
            }
        }
        return ColorPicture(width: newWidth, height: newHeight, pixels: result)
    }

    /// Returns the picture as it is displayed with an orientation of Exif, 1 to 8 (JEITA CP-3451, §4.6.4).
    func turned(_ orientation: Int) -> ColorPicture {
        guard 2...8 ~= orientation else { return self }
        let isTransposed = orientation >= 5
        let (newWidth, newHeight) = isTransposed ? (height, width) : (width, height)
        var result: [UInt8] = []
        result.reserveCapacity(pixels.count)
        for y in 0..<newHeight {
            for x in 0..<newWidth {
                let (right, bottom) = (newWidth - 1 - x, newHeight - 1 - y)
                let (column, row) =
                    switch orientation {
                    case 2: (right, y)
                    case 3: (right, bottom)
                    case 4: (x, bottom)
                    case 5: (y, x)
                    case 6: (y, right)
                    case 7: (bottom, right)
                    default: (bottom, x)
                    }
                let place = (row * width + column) * 3
                result += pixels[place..<place + 3]
            }
        }
        return ColorPicture(width: newWidth, height: newHeight, pixels: result)
    }

    /// Returns a JPEG file of at most `limit` bytes, or `nil` if it would be longer.
    func jpeg(quality: Int32, limit: Int) -> [UInt8]? {
        var file = [UInt8](repeating: 0, count: limit)
        let count = sotto_jpeg_write(
            pixels, UInt32(width), UInt32(height), quality, &file, file.count)
        return count > 0 ? Array(file[..<count]) : nil
    }
}
