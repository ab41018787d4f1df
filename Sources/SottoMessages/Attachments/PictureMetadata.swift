import SottoContacts
import Sotto
import SottoMedia
import SottoTool

/// Removes from pictures what they tell about the sender: place, time, camera, names, comments and small copies of the
/// original. The pixels, the colours and the orientation stay.
///
/// It handles JPEG (ISO/IEC 10918-1, with Exif of JEITA CP-3451) and PNG (ISO/IEC 15948), which it recognizes by their
/// first bytes.
enum PictureMetadata {
    /// The format of a file, as far as it matters here.
    enum Format {
        case jpeg, png
        /// A format that can contain metadata, which this version does not remove.
        case untouched
        case other

        /// Recognizes a file by its first bytes, at least 12 unless it is shorter.
        init(_ beginning: [UInt8]) {
            func has(_ text: String, at offset: Int) -> Bool {
                beginning.dropFirst(offset).starts(with: text.utf8)
            }
            if beginning.starts(with: [0xFF, 0xD8, 0xFF]) {
                self = .jpeg
            } else if beginning.starts(with: PNGParts.signature) {
                self = .png
            } else if has("RIFF", at: 0) && has("WEBP", at: 8) || has("ftyp", at: 4)
                || has("II*\0", at: 0) || has("MM\0*", at: 0)
            {
                self = .untouched
            } else {
                self = .other
            }
        }

        /// Whether metadata can be removed.
        var isPicture: Bool { mediaType != nil }

        /// The media type of a picture.
        var mediaType: String? {
            switch self {
            case .jpeg: "image/jpeg"
            case .png: "image/png"
            case .untouched, .other: nil
            }
        }
    }

    /// A reason why metadata cannot be removed: the file is cut or malformed.
    struct Malformed: Error {}

    /// Copies a picture without its metadata. Throws ``Malformed``.
    static func remove(
        _ format: Format, from source: any ByteSource, to sink: any ByteSink
    ) throws {
        let input = PictureInput(source)
        switch format {
        case .jpeg: try JPEG.copy(from: input, to: sink)
        case .png: try PNGParts.copy(from: input, to: sink)
        case .untouched, .other: try copy(from: source, to: sink)
        }
    }
}

/// Reads a picture byte by byte and in pieces.
final class PictureInput {
    private let source: any ByteSource
    private var block = [UInt8](repeating: 0, count: 64 << 10)
    private var place = 0
    private var end = 0
    private var unread: [UInt8] = []

    init(_ source: any ByteSource) { self.source = source }

    /// The bytes that were read from the source and not returned. Reads more if there are none.
    private func fill() throws {
        guard place == end else { return }
        (place, end) = (0, try block.withUnsafeMutableBytes { try source.read(into: $0) })
    }

    /// Returns bytes that were read, so that they are read again by ``byte()``.
    func unread(_ bytes: [UInt8]) { unread += bytes }

    /// Returns the next byte. Throws ``PictureMetadata/Malformed`` at the end.
    func byte() throws -> UInt8 {
        if !unread.isEmpty { return unread.removeFirst() }
        try fill()
        guard place < end else { throw PictureMetadata.Malformed() }
        defer { place += 1 }
        return block[place]
    }

    /// Returns the next `count` bytes. Throws ``PictureMetadata/Malformed`` if fewer follow.
    func bytes(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            try fill()
            guard place < end else { throw PictureMetadata.Malformed() }
            let some = min(count - bytes.count, end - place)
            bytes += block[place..<(place + some)]
            place += some
        }
        return bytes
    }

    /// Copies the next `count` bytes, or drops them without a sink.
    func copy(_ count: Int, to sink: (any ByteSink)?) throws {
        var left = count
        while left > 0 {
            let some = try bytes(min(left, 64 << 10))
            try sink?.write(some)
            left -= some.count
        }
    }

    /// Copies bytes up to the next 0xFF, which is returned by the next read.
    func copyUpToMarker(to sink: any ByteSink) throws {
        while let first = unread.first {
            if first == 0xFF { return }
            try sink.write([first])
            unread.removeFirst()
        }
        while true {
            try fill()
            guard place < end else { throw PictureMetadata.Malformed() }
            let marker = block[place..<end].firstIndex(of: 0xFF)
            try sink.write(Array(block[place..<(marker ?? end)]))
            place = marker ?? end
            if marker != nil { return }
        }
    }

    /// Reads all that follows.
    func skipRest() throws {
        while true {
            try fill()
            if place == end { return }
            place = end
        }
    }
}

/// The segments of a JPEG file.
private enum JPEG {
    private static let (endOfImage, startOfScan): (UInt8, UInt8) = (0xD9, 0xDA)
    private static let (jfif, exif, comment): (UInt8, UInt8, UInt8) = (0xE0, 0xE1, 0xFE)

    static func copy(from input: PictureInput, to sink: any ByteSink) throws {
        try sink.write(input.bytes(2))
        var scans = JPEGScans()
        while true {
            guard try input.byte() == 0xFF else { throw PictureMetadata.Malformed() }
            var marker = try input.byte()
            while marker == 0xFF { marker = try input.byte() }
            switch marker {
            case endOfImage:
                try sink.write([0xFF, marker])
                // Some cameras append further pictures or a film.
                return try input.skipRest()
            case 0x01, 0xD0...0xD7:
                try sink.write([0xFF, marker])
                continue
            case 0x00, 0xD8: throw PictureMetadata.Malformed()
            default: break
            }
            let length = try input.bytes(2)
            let count = Int(length[0]) << 8 | Int(length[1])
            guard count >= 2 else { throw PictureMetadata.Malformed() }
            let content = try input.bytes(count - 2)
            scans.take(marker, content)
            if let kept = kept(marker, content) {
                let length = UInt16(kept.count + 2)
                try sink.write([0xFF, marker] + length.bigEndianBytes + kept)
            }
            guard marker == startOfScan else { continue }
            switch try scans.copy(content, from: input, to: sink) {
            case .whole(isLast: false): break
            case .whole(isLast: true):
                // The end marker may be missing, and further pictures, a film or a text may follow.
                try sink.write([0xFF, endOfImage])
                return try input.skipRest()
            case .unknown: try copyScan(from: input, to: sink)
            }
        }
    }

    /// Returns the part of a segment that is needed to show the picture, or `nil` if nothing is.
    private static func kept(_ marker: UInt8, _ content: [UInt8]) -> [UInt8]? {
        switch marker {
        case jfif:
            // A small copy of the original follows its width and height, which are the last two of 14 bytes.
            content.starts(with: "JFIF\0".utf8) && content.count >= 14
                ? content[..<12] + [0, 0] : nil
        case exif:
            Exif.orientation(in: content).flatMap { $0 == 1 ? nil : Exif.content($0) }
        case 0xE2: content.starts(with: "ICC_PROFILE\0".utf8) ? content : nil
        case 0xEE: content.starts(with: "Adobe".utf8) ? content : nil
        case 0xE3...0xEF, comment: nil
        default: content
        }
    }

    /// Copies the data of a scan up to the next marker that ends it.
    private static func copyScan(from input: PictureInput, to sink: any ByteSink) throws {
        while true {
            try input.copyUpToMarker(to: sink)
            _ = try input.byte()
            var next = try input.byte()
            while next == 0xFF { next = try input.byte() }
            switch next {
            case 0x00, 0xD0...0xD7: try sink.write([0xFF, next])
            default:
                return input.unread([0xFF, next])
            }
        }
    }
}

/// The chunks of a PNG file.
private enum PNGParts {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The chunks that are needed to show the picture, also a moving one.
    private static let kept: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP",
        "mDCV", "cLLI", "bKGD", "hIST", "pHYs", "sPLT", "acTL", "fcTL", "fdAT",
    ]
    /// The longest chunk with Exif data that is read for its orientation.
    private static let exifLimit = 1 << 20

    static func copy(from input: PictureInput, to sink: any ByteSink) throws {
        try sink.write(input.bytes(signature.count))
        while true {
            let head = try input.bytes(8)
            guard let length = UInt32(bigEndianBytes: head[..<4]), length < 1 << 31 else {
                throw PictureMetadata.Malformed()
            }
            let name = String(decoding: head[4...], as: UTF8.self)
            // The checksum follows the data.
            let count = Int(length) + 4
            if kept.contains(name) {
                try sink.write(head)
                try input.copy(count, to: sink)
            } else if name == "eXIf", count <= exifLimit {
                let content = Array(try input.bytes(count).dropLast(4))
                if let orientation = Exif.orientation(in: content), orientation != 1 {
                    try sink.write(chunk("eXIf", Exif.data(orientation)))
                }
            } else {
                try input.copy(count, to: nil)
            }
            if name == "IEND" { return try input.skipRest() }
        }
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let content = Array(name.utf8) + data
        return UInt32(data.count).bigEndianBytes + content + checksum(content).bigEndianBytes
    }

    /// Returns the CRC-32 of a chunk's type and data (ISO/IEC 15948 §5.5).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF) { crc, byte in
            (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in
                crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1
            }
        }
    }
}
