public import SottoBytes

// The records that `encrypt` or `chat` and `qr-scan` exchange about a file, each one line of JSON. `qr-scan` runs C libraries
// on the file, so the other programs must expect any bytes from it.

/// A question about a file, from `encrypt` or `chat` to `qr-scan`. The bytes follow the line. `qr-scan` answers each with one
/// ``MediaFacts``, or with a ``PicturePreview`` if the question is for one and the picture can be decoded.
public struct MediaRequest: Sendable, Hashable {
    /// A fact about a file.
    public enum Question: String, Sendable {
        /// The media type of a file with these first bytes.
        case type
        /// The size and a thumbnail of a JPEG or PNG picture.
        case picture
        /// The duration of a recording.
        case recording
        /// The few pixels of a JPEG or PNG picture that a terminal can show.
        case preview
    }

    /// The requested fact.
    public let question: Question
    /// The number of bytes that follow, from 0 to ``maximumBytes``.
    public let length: Int

    /// The maximum length of a file in bytes: 64 MiB.
    public static let maximumBytes = 64 << 20

    /// Creates a request.
    public init(_ question: Question, length: Int) {
        self.question = question
        self.length = length
    }

    /// The line of the request, with its line feed.
    public var line: [UInt8] {
        let record: JSONObject = [
            "type": .string(question.rawValue), "length": .integer(Int64(length)),
        ]
        return record.serialized() + [0x0A]
    }

    /// Parses a line without its line feed. `nil` if it is not a request.
    public init?(parsing line: [UInt8]) {
        guard let record = try? JSON.object(parsing: line),
            let question = record["type"]?.string.flatMap(Question.init(rawValue:)),
            let length = record["length"]?.integer, 0...Int64(Self.maximumBytes) ~= length
        else { return nil }
        self.init(question, length: Int(length))
    }
}
