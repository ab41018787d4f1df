import CJPEG
import CPNG
import Glibc
@testable import SottoQR
@testable import SottoScan

/// Returns a JPEG file of a grey picture, made with libjpeg; with `inks` in four channels (CMYK).
func jpeg(
    _ raster: Raster, quality: Int32 = 75, progressive: Bool = false, inks: Bool = false
) -> [UInt8] {
    var errors = jpeg_error_mgr()
    var encoder = jpeg_compress_struct()
    encoder.err = jpeg_std_error(&errors)
    jpeg_CreateCompress(&encoder, JPEG_LIB_VERSION, MemoryLayout<jpeg_compress_struct>.size)
    defer { jpeg_destroy_compress(&encoder) }
    var file: UnsafeMutablePointer<UInt8>?
    var size: UInt = 0
    defer { free(file) }
    jpeg_mem_dest(&encoder, &file, &size)
    encoder.image_width = JDIMENSION(raster.width)
    encoder.image_height = JDIMENSION(raster.height)
    encoder.input_components = inks ? 4 : 1
    encoder.in_color_space = inks ? JCS_CMYK : JCS_GRAYSCALE
    jpeg_set_defaults(&encoder)
    jpeg_set_quality(&encoder, quality, boolean(1))
    if progressive { jpeg_simple_progression(&encoder) }
    jpeg_start_compress(&encoder, boolean(1))
    var pixels = inks ? raster.pixels.flatMap { [$0, $0, $0, 255] } : raster.pixels
    pixels.withUnsafeMutableBufferPointer { pixels in
        for row in 0..<raster.height {
            let start = row * pixels.count / raster.height
            var line: UnsafeMutablePointer<UInt8>? = pixels.baseAddress! + start
            jpeg_write_scanlines(&encoder, &line, 1)
        }
    }
    jpeg_finish_compress(&encoder)
    return Array(UnsafeBufferPointer(start: file, count: Int(size)))
}

/// Returns a PNG file with 8 bits per channel. `format` is libpng's: 0 grey, 1 grey and alpha, 2 RGB, 3 RGBA.
func png(width: Int, height: Int, format: UInt32, _ pixels: [UInt8]) -> [UInt8] {
    var image = png_image()
    image.version = png_uint_32(PNG_IMAGE_VERSION)
    image.width = png_uint_32(width)
    image.height = png_uint_32(height)
    image.format = format
    var size = 0
    png_image_write_to_memory(&image, nil, &size, 0, pixels, 0, nil)
    var file = [UInt8](repeating: 0, count: size)
    png_image_write_to_memory(&image, &file, &size, 0, pixels, 0, nil)
    return Array(file[..<size])
}

/// Returns a PNG file of a grey picture.
func png(_ raster: Raster) -> [UInt8] {
    png(width: raster.width, height: raster.height, format: 0, raster.pixels)
}

extension Raster {
    /// Returns the picture rotated clockwise around its center, on a white background that contains all of it.
    func rotated(degrees: Double) -> Raster {
        let angle = degrees * .pi / 180
        let (sine, cosine) = (sin(angle), cos(angle))
        let (across, down) = (Double(width), Double(height))
        let newWidth = Int((abs(across * cosine) + abs(down * sine)).rounded(.up))
        let newHeight = Int((abs(across * sine) + abs(down * cosine)).rounded(.up))
        return resampled(width: newWidth, height: newHeight) { x, y in
            let (right, below) = (x - Double(newWidth - 1) / 2, y - Double(newHeight - 1) / 2)
            return (
                right * cosine + below * sine + (across - 1) / 2,
                below * cosine - right * sine + (down - 1) / 2
            )
        }
    }
}
