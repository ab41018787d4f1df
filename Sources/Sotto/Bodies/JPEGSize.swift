/// The size of a JPEG picture, as its frame header states it (ITU-T T.81 §B.2.2). Nothing is decoded.
public struct JPEGSize: Sendable, Hashable {
    /// The width in pixels, from 1 to 65,535.
    public let width: Int
    /// The height in pixels, from 1 to 65,535.
    public let height: Int

    /// Reads the header of a picture. Returns `nil` if the bytes before the first scan are not those of a JPEG file, or leave a
    /// side open.
    public init?(of picture: [UInt8]) {
        guard picture.starts(with: [0xFF, 0xD8]) else { return nil }
        var place = 2
        while place + 4 <= picture.count {
            guard picture[place] == 0xFF else { return nil }
            let marker = picture[place + 1]
            // A byte that fills up before a marker.
            if marker == 0xFF {
                place += 1
                continue
            }
            let length = Int(picture[place + 2]) << 8 | Int(picture[place + 3])
            guard length >= 2, place + 2 + length <= picture.count else { return nil }
            switch marker {
            case 0xC4, 0xC8, 0xCC: break
            case 0xC0...0xCF:
                guard length >= 8 else { return nil }
                height = Int(picture[place + 5]) << 8 | Int(picture[place + 6])
                width = Int(picture[place + 7]) << 8 | Int(picture[place + 8])
                guard width > 0, height > 0 else { return nil }
                return
            // A scan, or a marker without a length, before the frame header.
            case 0x00, 0x01, 0xD0...0xDA: return nil
            default: break
            }
            place += 2 + length
        }
        return nil
    }

    /// Whether a program can decode the picture with little memory: no side is longer than ``BodyLimits/thumbnailSide``.
    public var isSmall: Bool { max(width, height) <= BodyLimits.thumbnailSide }
}
