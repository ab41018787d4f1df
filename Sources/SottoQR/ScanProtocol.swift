import SottoBytes

// The records that `qr` and `qr-scan` exchange, each one line of JSON. `qr-scan` runs C libraries on pictures of unknown
// origin, so `qr` must expect any bytes from it.

/// The effort of a search for codes.
public enum Search: String, Sendable {
    /// Fast attempts that read nine of ten pictures, for cameras, which soon deliver another picture.
    case quick
    /// All variants, until a code is found.
    case usual
    /// All variants, and again for further codes.
    case thorough
}

/// A record from `qr` to `qr-scan`. `qr-scan` answers each with any number of ``ScanReply/symbol(_:)`` and then one
/// ``ScanReply/end`` or ``ScanReply/fault(_:)``.
public enum ScanRequest: Sendable, Hashable {
    /// A picture's file, whose `length` bytes follow the line.
    case picture(length: Int, search: Search)
    /// A search of an earlier picture, by its number from 0, in all variants, until its codes and `parts` complete a
    /// content in parts.
    case again(Int, parts: [[UInt8]])

    /// The line of the request, with its line feed.
    public var line: [UInt8] {
        let record: JSONObject =
            switch self {
            case .picture(let length, let search):
                [
                    "type": .string("picture"), "length": .integer(Int64(length)),
                    "search": .string(search.rawValue),
                ]
            case .again(let place, let parts):
                [
                    "type": .string("again"), "picture": .integer(Int64(place)),
                    "parts": .array(parts.map { .base64($0) }),
                ]
            }
        return record.serialized() + [0x0A]
    }

    /// Parses a line without its line feed. `nil` if it is not a request.
    public init?(parsing line: [UInt8]) {
        guard let record = try? JSON.object(parsing: line) else { return nil }
        let fields = Fields<FieldError>(record)
        do throws(FieldError) {
            switch record["type"]?.string {
            case "picture":
                self = .picture(
                    length: try fields["length"].integer(),
                    search: try fields["search"].text { Search(rawValue: $0) })
            case "again":
                self = .again(
                    try fields["picture"].integer(),
                    parts: try fields["parts"].list { (part) throws(FieldError) in
                        try part.bytes()
                    })
            default: return nil
            }
        } catch {
            return nil
        }
    }
}

/// A record from `qr-scan` to `qr`.
public enum ScanReply: Sendable, Hashable {
    /// A code, with its corners rounded to pixels.
    case symbol(Symbol)
    /// The end of an answer. With a camera: the camera is open, or a frame is finished.
    case end
    /// An error; it ends the answer.
    case fault(ScanFault)

    /// The maximum length of a line in bytes. The longest content, 16 codes of digits in a structured append, is far
    /// shorter.
    public static let maximumLine = 1 << 20

    /// The line of the reply, with its line feed.
    public var line: [UInt8] {
        let record: JSONObject =
            switch self {
            case .symbol(let symbol):
                [
                    "type": .string("symbol"),
                    "data": .base64(symbol.bytes),
                    "polygon": .array(symbol.polygon.map(Self.corner)),
                ]
            case .end: ["type": .string("end")]
            case .fault(let fault):
                [
                    "type": .string("error"), "error": .string(fault.name),
                    "code": .integer(Int64(fault.code)),
                ]
            }
        return record.serialized() + [0x0A]
    }

    /// Parses a line without its line feed. `nil` if it is not a reply.
    public init?(parsing line: [UInt8]) {
        guard let record = try? JSON.object(parsing: line) else { return nil }
        let fields = Fields<FieldError>(record)
        do throws(FieldError) {
            switch record["type"]?.string {
            case "symbol":
                self = .symbol(
                    Symbol(
                        bytes: try fields["data"].bytes(),
                        polygon: try fields["polygon"].list(Self.point)))
            case "end": self = .end
            case "error":
                let code: Int32 = try fields["code"].integer()
                self = .fault(
                    try fields["error"].text { name in
                        ScanFault.all(code: code).first { $0.name == name }
                    })
            default: return nil
            }
        } catch {
            return nil
        }
    }

    /// A corner is at most twice as far as the picture is wide or high, and a picture has at most 2²⁶ pixels.
    private static let farthest = 1e9

    private static func corner(_ point: Point) -> JSON {
        func pixel(_ value: Double) -> JSON {
            .integer(Int64(value.isFinite ? min(max(value, -farthest), farthest).rounded() : 0))
        }
        return .array([pixel(point.x), pixel(point.y)])
    }

    private static func point(_ corner: Field<FieldError>) throws(FieldError) -> Point {
        let limit = Int64(farthest)
        let pair = try corner.list(counts: 2...2) { (number) throws(FieldError) in
            try number.integer(in: -limit...limit)
        }
        return Point(x: Double(pair[0]), y: Double(pair[1]))
    }
}

/// An error that `qr-scan` reports.
public enum ScanFault: Error, Sendable, Hashable {
    case picture(PictureError)
    case search(ScanError)
    case camera(CameraError)
    /// The system does not support the restriction of the process; the value is its error number. No picture is read
    /// without it.
    case unrestricted(Int32)

    /// The name in a record.
    var name: String {
        switch self {
        case .picture(.empty): "picture-empty"
        case .picture(.unknownFormat): "picture-unknown-format"
        case .picture(.broken(let format)): "picture-broken-\(format.rawValue)"
        case .picture(.tooManyPixels): "picture-too-many-pixels"
        case .picture(.tooManyBytes): "picture-too-many-bytes"
        case .picture(.outOfMemory): "picture-out-of-memory"
        case .search(.outOfMemory): "search-out-of-memory"
        case .camera(.cannotOpen): "camera-cannot-open"
        case .camera(.noCamera): "camera-not-a-camera"
        case .camera(.busy): "camera-busy"
        case .camera(.unusable): "camera-unusable"
        case .camera(.ended): "camera-ended"
        case .camera(.outOfMemory): "camera-out-of-memory"
        case .unrestricted: "unrestricted"
        }
    }

    /// The system's error number; 0 without one.
    var code: Int32 {
        switch self {
        case .camera(.cannotOpen(let code)), .unrestricted(let code): code
        case .picture, .search, .camera: 0
        }
    }

    /// All faults; those with an error number have `code`.
    static func all(code: Int32) -> [ScanFault] {
        [
            .picture(.empty), .picture(.unknownFormat), .picture(.broken(.png)),
            .picture(.broken(.jpeg)), .picture(.broken(.pnm)), .picture(.tooManyPixels),
            .picture(.tooManyBytes), .picture(.outOfMemory), .search(.outOfMemory),
            .camera(.cannotOpen(code)), .camera(.noCamera), .camera(.busy), .camera(.unusable),
            .camera(.ended), .camera(.outOfMemory), .unrestricted(code),
        ]
    }
}
