import CSottoImage
import Glibc

/// A file format of pictures.
public enum PictureFormat: String, Sendable {
    case png = "PNG"
    case jpeg = "JPEG"
    case pnm = "PNM"
}

/// Why bytes are not read as a picture.
public enum PictureError: Error, Sendable, Hashable {
    /// There are no bytes.
    case empty
    /// They begin as a file of none of the formats.
    case unknownFormat
    /// They begin so, but are malformed, changed or break off.
    case broken(PictureFormat)
    /// More than ``Raster/maximumPixels`` pixels.
    case tooManyPixels
    /// More than ``Picture/maximumBytes`` bytes.
    case tooManyBytes
    /// A picture within the limits, but memory has run out.
    case outOfMemory
}

/// A picture from elsewhere, in grey.
public struct Picture: Sendable, Hashable {
    /// The picture; what is transparent shows a white ground.
    public let raster: Raster
    /// The picture where transparent parts show a black ground; `nil` for one without such parts.
    public let onBlack: Raster?

    /// The most bytes that a picture's file may have: 64 MiB.
    public static let maximumBytes = 64 << 20

    /// Reads a PNG, JPEG or binary PGM or PPM file; which of them it is, its content tells.
    public init(decoding bytes: [UInt8]) throws(PictureError) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= Self.maximumBytes else { throw .tooManyBytes }
        if bytes.starts(with: Self.pngSignature.prefix(bytes.count)) {
            try self.init(png: bytes)
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF].prefix(bytes.count)) {
            try self.init(jpeg: bytes)
        } else if Self.isPNM(bytes) {
            try self.init(pnm: bytes)
        } else {
            throw .unknownFormat
        }
    }

    /// A picture that was not in a file.
    public init(raster: Raster) {
        self.raster = raster
        onBlack = nil
    }

    /// A picture of two bytes to a pixel: grey, and how opaque it is.
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

    /// Reads a JPEG picture (ISO/IEC 10918-1). All of its pixels must be there.
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
