public import SottoMedia
import SottoQR

extension MediaFacts {
    /// The longest sides of a thumbnail in pixels, and the qualities of its file, in the order in which they are tried.
    private static let sides = [320, 256, 192, 128, 64]
    private static let qualities: [Int32] = [75, 60, 45, 30]

    /// Creates the facts about a JPEG or PNG picture. Nothing is known of another file.
    public init(picture bytes: [UInt8]) {
        self.init()
        guard let (decoded, orientation) = ColorPicture.decode(bytes, side: 2 * Self.sides[0])
        else { return }
        let size = (Int64(decoded.width), Int64(decoded.height))
        (width, height) = orientation >= 5 ? (size.1, size.0) : size
        thumbnail = decoded.picture.flatMap { Self.thumbnail(of: $0, orientation) }
    }

    private static func thumbnail(of picture: ColorPicture, _ orientation: Int) -> [UInt8]? {
        for side in sides {
            let small = picture.reduced(to: side).turned(orientation)
            for quality in qualities {
                if let file = small.jpeg(quality: quality, limit: maximumThumbnail) { return file }
            }
        }
        return nil
    }
}

/// The orientation in the Exif data of a picture, 1 to 8.
enum Orientation {
    /// Returns that of a PNG file; 1 without one.
    static func png(_ file: [UInt8]) -> Int {
        var place = PNGChunks.signature.count
        while place + 8 <= file.count {
            let length = file[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            guard place + 12 + length <= file.count else { return 1 }
            if file[place + 4..<place + 8].elementsEqual("eXIf".utf8) {
                let content = Array(file[place + 8..<place + 8 + length])
                return Exif.orientation(in: content).map(Int.init) ?? 1
            }
            place += 12 + length
        }
        return 1
    }

    /// Returns that of a JPEG file; 1 without one.
    static func jpeg(_ file: [UInt8]) -> Int {
        var place = 2
        // The segments before the first scan.
        while place + 4 <= file.count, file[place] == 0xFF, file[place + 1] != 0xDA {
            let length = Int(file[place + 2]) << 8 | Int(file[place + 3])
            guard length >= 2, place + 2 + length <= file.count else { return 1 }
            let content = file[place + 4..<place + 2 + length]
            if file[place + 1] == 0xE1, content.starts(with: Exif.head) {
                return Exif.orientation(in: Array(content)).map(Int.init) ?? 1
            }
            place += 2 + length
        }
        return 1
    }
}
