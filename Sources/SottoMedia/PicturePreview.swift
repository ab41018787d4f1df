import SottoBytes

/// A picture of few pixels, as `chat` shows it: the answer to ``MediaRequest/Question/preview``.
public struct PicturePreview: Sendable, Hashable {
    /// The greatest width and height in pixels.
    public static let maximumSide = 24

    /// The width in pixels, from 1 to ``maximumSide``.
    public let width: Int
    /// The height in pixels, from 1 to ``maximumSide``.
    public let height: Int
    /// Red, green and blue of each pixel, row by row from the top.
    public let pixels: [UInt8]

    /// Creates a preview. `nil` if a side is out of range or the pixels are not `width` × `height` × 3 bytes.
    public init?(width: Int, height: Int, pixels: [UInt8]) {
        guard 1...Self.maximumSide ~= width, 1...Self.maximumSide ~= height,
            pixels.count == width * height * 3
        else { return nil }
        (self.width, self.height, self.pixels) = (width, height, pixels)
    }

    /// The line, with its line feed.
    public var line: [UInt8] {
        let record: JSONObject = [
            "width": .integer(Int64(width)), "height": .integer(Int64(height)),
            "pixels": .base64(pixels),
        ]
        return record.serialized() + [0x0A]
    }

    /// Parses a line without its line feed. `nil` if it is no preview.
    public init?(parsing line: [UInt8]) {
        guard let record = try? JSON.object(parsing: line),
            let width = record["width"]?.integer, let height = record["height"]?.integer,
            let pixels = try? Fields<FieldError>(record)["pixels"].bytes()
        else { return nil }
        self.init(width: Int(clamping: width), height: Int(clamping: height), pixels: pixels)
    }
}
