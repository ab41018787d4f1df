/// A file that is transferred separately as an encrypted blob.
public struct FileBody: Sendable, Hashable {
    /// The file's name, without a path; see ``isName(_:)``.
    public let name: String
    /// The media type, from 1 to ``BodyLimits/contentType`` bytes.
    public let contentType: String
    /// The file's size in bytes.
    public let size: Int64
    /// The key of a blob of another messenger, 32 bytes; `nil` if ``blob`` has the key.
    public let key: [UInt8]?
    /// The blob.
    public let blob: BlobPointer?
    /// The width and height of a picture or film in pixels.
    public let width: Int64?, height: Int64?
    /// The duration of a recording in seconds.
    public let duration: Int64?
    /// Whether the file is a voice message, which a person recorded to be heard now; `nil` if the sender does not tell.
    public let voice: Bool?
    /// A JPEG of at most ``BodyLimits/thumbnail`` bytes.
    public let thumbnail: [UInt8]?
    /// The text that accompanies the file.
    public let text: String?

    /// Whether a text is a file's name that can be used in any directory: from 1 to ``BodyLimits/fileName`` bytes,
    /// without separators, control and bidirectional formatting characters, and neither `.` nor `..`.
    public static func isName(_ text: String) -> Bool {
        (1...BodyLimits.fileName).contains(text.utf8.count) && text.isPlainLine && text != "."
            && text != ".." && !text.utf8.contains(UInt8(ascii: "/"))
            && !text.utf8.contains(UInt8(ascii: "\\"))
    }

    /// Returns a name for the file at `path`: its last part, with U+FFFD in place of each character that a name must not
    /// have.
    public static func name(ofPath path: String) -> String {
        let scalars = (path.split(separator: "/").last ?? "").unicodeScalars.map {
            $0.isPlain && $0 != "\\" ? $0 : "\u{FFFD}"
        }
        let name = shortened(String(String.UnicodeScalarView(scalars)), to: BodyLimits.fileName)
        return isName(name) ? name : "file"
    }

    /// The longest extension that a shortened name keeps, in bytes.
    private static let longestExtension = 32

    /// Returns a name of at most `limit` bytes, with `suffix` before its extension. A name that is too long loses characters
    /// before the suffix, and keeps its extension.
    package static func shortened(_ name: String, to limit: Int, suffix: String = "") -> String {
        let (stem, ending) = parts(of: name)
        var kept = stem[...]
        let space = max(0, limit - suffix.utf8.count - ending.utf8.count)
        while kept.utf8.count > space { kept.removeLast() }
        if kept.isEmpty {
            // The first character has many combining marks.
            kept = stem[...]
            while kept.utf8.count > space { kept.unicodeScalars.removeLast() }
        }
        return kept + suffix + ending
    }

    /// Returns a name before its extension, and the extension with its dot, such as `.jpg` or `.tar.gz`, or an empty text.
    private static func parts(of name: String) -> (stem: Substring, ending: Substring) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
            name[dot...].utf8.count <= longestExtension
        else { return (name[...], "") }
        let archive = name[..<dot].hasSuffix(".tar") ? ".tar".count : 0
        let start = name.index(dot, offsetBy: -archive)
        return start == name.startIndex
            ? (name[..<dot], name[dot...]) : (name[..<start], name[start...])
    }

    init(_ reader: inout BodyReader) throws(BodyError) {
        name = try reader.require("name").text { Self.isName($0) ? $0 : nil }
        contentType = try reader.required(
            "contentType", reader.line("contentType", limit: BodyLimits.contentType))
        size = try reader.require("size").integer(in: 0...BodyLimits.fileSize)
        blob = try reader.object("blob") { (reader) throws(BodyError) in
            try BlobPointer(&reader)
        }
        let key = try reader.data("key", limit: 32)
        guard key.map({ $0.count == 32 }) ?? (blob != nil) else { throw reader.malformed("key") }
        self.key = key
        width = try reader.take("width")?.integer(in: 1...BodyLimits.pixels)
        height = try reader.take("height")?.integer(in: 1...BodyLimits.pixels)
        duration = try reader.take("duration")?.integer(in: 0...BodyLimits.timer)
        voice = try reader.take("voice")?.bool()
        thumbnail = try reader.picture("thumbnail")
        text = try reader.text("text")
    }

    var members: [(String, JSON?)] {
        [
            ("name", .string(name)), ("contentType", .string(contentType)),
            ("size", .integer(size)), ("key", key.map { .base64($0) }),
            ("blob", blob.map { .object($0.object) }), ("width", width.map { .integer($0) }),
            ("height", height.map { .integer($0) }), ("duration", duration.map { .integer($0) }),
            ("voice", voice.map { .bool($0) }), ("thumbnail", thumbnail.map { .base64($0) }),
            ("text", text.map { .string($0) }),
        ]
    }
}

extension BlobPointer {
    init(_ reader: inout BodyReader) throws(BodyError) {
        let key = try reader.require("key").bytes(count: Blob.keySize)
        let digest = try reader.require("digest").bytes(count: 32)
        let size: Int64 = try reader.require("size").integer(in: 1...Blob.maximumSize)
        let relay = try reader.line("relay", limit: BodyLimits.relay)
        let id = try reader.take("id")?.bytes(count: 32)
        guard relay == nil || id != nil else { throw reader.malformed("id") }
        self.init(
            key: key, digest: digest, size: size, place: id.map { Place(relay: relay, id: $0) })
    }

    /// The object in a body.
    public var object: JSONObject {
        JSONObject([
            ("relay", place?.relay.map { .string($0) }), ("id", place.map { .base64($0.id) }),
            ("key", .base64(key)), ("digest", .base64(digest)), ("size", .integer(size)),
        ])
    }
}
