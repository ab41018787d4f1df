public import SottoBytes

/// What a library tells about a file. A member is `nil` if it is unknown.
public struct MediaFacts: Sendable, Hashable {
    /// The media type (RFC 6838), such as `video/mp4`.
    public var contentType: String?
    /// The width and height of a picture in pixels, as it is displayed.
    public var width: Int64?, height: Int64?
    /// A small copy of a picture: a JPEG of at most ``maximumThumbnail`` bytes.
    public var thumbnail: [UInt8]?
    /// The duration of a recording in seconds, rounded.
    public var duration: Int64?

    /// The maximum length of a thumbnail in bytes.
    public static let maximumThumbnail = 8_192
    /// The maximum length of a line in bytes.
    public static let maximumLine = 16_384
    /// The maximum width and height.
    private static let maximumPixels: Int64 = 65_535
    /// The maximum duration, one year.
    private static let maximumDuration: Int64 = 31_536_000

    /// Creates facts; all are unknown.
    public init() {}

    /// The line, with its line feed.
    public var line: [UInt8] {
        JSONObject([
            ("contentType", contentType.map { .string($0) }),
            ("width", width.map { .integer($0) }), ("height", height.map { .integer($0) }),
            ("thumbnail", thumbnail.map { .base64($0) }),
            ("duration", duration.map { .integer($0) }),
        ]).serialized() + [0x0A]
    }

    /// Parses a line without its line feed. `nil` if it is not a record. A member that is not valid is unknown.
    public init?(parsing line: [UInt8]) {
        guard let record = try? JSON.object(parsing: line) else { return nil }
        contentType = record["contentType"]?.string.flatMap { Self.isType($0) ? $0 : nil }
        if let width = record["width"]?.integer, let height = record["height"]?.integer,
            1...Self.maximumPixels ~= width, 1...Self.maximumPixels ~= height
        {
            (self.width, self.height) = (width, height)
        }
        thumbnail = (try? Fields<FieldError>(record)["thumbnail"].bytes()).flatMap {
            let isJPEG = $0.starts(with: [0xFF, 0xD8, 0xFF])
            return isJPEG && $0.count <= Self.maximumThumbnail ? $0 : nil
        }
        duration = record["duration"]?.integer.flatMap {
            0...Self.maximumDuration ~= $0 ? $0 : nil
        }
    }

    /// Returns whether a text is a type and a subtype, of at most 100 bytes together.
    private static func isType(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= 100 && parts.count == 2
            && parts.allSatisfy { part in !part.isEmpty && part.allSatisfy(isTypeCharacter) }
    }

    /// Returns whether a byte may be in a type (RFC 6838, §4.2).
    private static func isTypeCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$&-^_.+".utf8.contains(byte)
        }
    }
}
