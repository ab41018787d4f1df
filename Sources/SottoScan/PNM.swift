import SottoQR

extension Picture {
    /// Returns whether `bytes` begin like a binary PGM or PPM file, even if they are shorter than the signature.
    static func isPNM(_ bytes: [UInt8]) -> Bool {
        guard bytes.starts(with: "P5".utf8.prefix(bytes.count)) || bytes.starts(with: "P6".utf8)
        else { return false }
        return bytes.count < 3 || PNMHeader.isSpace(bytes[2])
    }

    /// Reads the first picture of a binary PGM or PPM file, P5 or P6 of pgm(5) and ppm(5). All of its pixels must be
    /// present.
    init(pnm bytes: [UInt8]) throws(PictureError) {
        guard let header = PNMHeader(bytes) else { throw .broken(.pnm) }
        let pixels = header.width * header.height
        guard pixels <= Raster.maximumPixels else { throw .tooManyPixels }
        let stride = header.channels * header.sampleSize
        guard bytes.count - header.size >= pixels * stride else { throw .broken(.pnm) }
        let raster = bytes.withUnsafeBufferPointer { bytes in
            Raster(width: header.width, height: header.height) { x, y in
                let pixel = header.size + (y * header.width + x) * stride
                func sample(_ channel: Int) -> Int {
                    let place = pixel + channel * header.sampleSize
                    let value =
                        header.sampleSize == 1
                        ? Int(bytes[place]) : Int(bytes[place]) << 8 | Int(bytes[place + 1])
                    return min(value, header.maximum) * 255 / header.maximum
                }
                guard header.channels == 3 else { return UInt8(sample(0)) }
                // The luma of ITU-R BT.601.
                return UInt8((299 * sample(0) + 587 * sample(1) + 114 * sample(2)) / 1000)
            }
        }
        self.init(raster: raster)
    }
}

/// The header before the pixels of a P5 or P6 file.
private struct PNMHeader {
    let channels: Int
    let width: Int
    let height: Int
    /// The value of the lightest sample, 1 to 65535.
    let maximum: Int
    /// The length of the header in bytes.
    let size: Int

    var sampleSize: Int { maximum < 256 ? 1 : 2 }

    init?(_ bytes: [UInt8]) {
        guard bytes.count > 2 else { return nil }
        channels = bytes[1] == UInt8(ascii: "6") ? 3 : 1
        var place = 2
        guard let width = Self.number(in: bytes, &place),
            let height = Self.number(in: bytes, &place),
            let maximum = Self.number(in: bytes, &place), maximum <= 65535,
            place < bytes.count, Self.isSpace(bytes[place])
        else { return nil }
        (self.width, self.height, self.maximum) = (width, height, maximum)
        size = place + 1
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    /// Reads a number from 1 to 999,999,999 after white space and comments. Returns `nil` if there is no such number.
    private static func number(in bytes: [UInt8], _ place: inout Int) -> Int? {
        let start = place
        while place < bytes.count {
            if bytes[place] == UInt8(ascii: "#") {
                while place < bytes.count, bytes[place] != 0x0A { place += 1 }
            } else if isSpace(bytes[place]) {
                place += 1
            } else {
                break
            }
        }
        guard place > start else { return nil }
        let digits = bytes[place...].prefix { 0x30...0x39 ~= $0 }
        guard 1...9 ~= digits.count else { return nil }
        place += digits.count
        let value = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return value > 0 ? value : nil
    }
}
