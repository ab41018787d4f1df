import CSottoJPEG
import Glibc
public import SottoQR

/// A decoded picture in grey.
public struct Picture: Sendable, Hashable {
    /// The picture with transparent parts on a white background.
    public let raster: Raster
    /// The picture with transparent parts on a black background; `nil` if it has no such parts.
    public let onBlack: Raster?

    /// Decodes a PNG, JPEG or binary PGM or PPM file; the content determines the format.
    public init(decoding bytes: [UInt8]) throws(PictureError) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= Raster.maximumBytes else { throw .tooManyBytes }
        if bytes.starts(with: PNGChunks.signature.prefix(bytes.count)) {
            try self.init(png: bytes)
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF].prefix(bytes.count)) {
            try self.init(jpeg: bytes)
        } else if Self.isPNM(bytes) {
            try self.init(pnm: bytes)
        } else {
            throw .unknownFormat
        }
    }

    /// Decodes a PNG picture.
    init(png bytes: [UInt8]) throws(PictureError) {
        let pixels = try PNGPixels(decoding: bytes)
        if pixels.hasAlpha {
            self.init(width: pixels.width, height: pixels.height, grayAlpha: pixels.bytes)
        } else {
            self.init(
                raster: Raster(width: pixels.width, height: pixels.height, pixels: pixels.bytes))
        }
    }

    /// Creates a picture that was not in a file.
    public init(raster: Raster) {
        self.raster = raster
        onBlack = nil
    }

    /// Creates a picture from two bytes per pixel: grey and opacity.
    init(width: Int, height: Int, grayAlpha: [UInt8]) {
        func shown(on ground: Int) -> Raster {
            grayAlpha.withUnsafeBufferPointer { pixels in
                Raster(width: width, height: height) { x, y in
                    let index = 2 * (y * width + x)
                    let alpha = Int(pixels[index + 1])
                    let sum = Int(pixels[index]) * alpha + ground * (255 - alpha)
                    return UInt8((sum + 127) / 255)
                }
            }
        }
        raster = shown(on: 255)
        let isOpaque = stride(from: 1, to: grayAlpha.count, by: 2).allSatisfy {
            grayAlpha[$0] == 255
        }
        onBlack = isOpaque ? nil : shown(on: 0)
    }

    /// Decodes a JPEG picture (ISO/IEC 10918-1). All of its pixels must be present.
    private init(jpeg bytes: [UInt8]) throws(PictureError) {
        var gray: UnsafeMutablePointer<UInt8>?
        var width: UInt32 = 0
        var height: UInt32 = 0
        let status = sotto_jpeg_read(
            bytes, bytes.count, UInt64(Raster.maximumPixels), &gray, &width, &height)
        switch status {
        case SOTTO_JPEG_OK: break
        case SOTTO_JPEG_TOO_LARGE: throw .tooManyPixels
        case SOTTO_JPEG_NO_MEMORY: throw .outOfMemory
        default: throw .broken(.jpeg)
        }
        defer { free(gray) }
        let pixels = UnsafeBufferPointer(start: gray, count: Int(width) * Int(height))
        self.init(raster: Raster(width: Int(width), height: Int(height), pixels: Array(pixels)))
    }
}
