import Sotto
import SottoQR
import SottoScan

extension FuzzTarget {
    /// An image. In a small one, codes are searched too. A PNG is also read with corrected chunk checksums, without
    /// which mutations would be refused.
    static let picture = FuzzTarget("picture") { bytes in
        see(bytes)
        let mended = withChecksums(bytes)
        if mended != bytes { see(mended) }
    }

    private static func see(_ bytes: [UInt8]) {
        // A few bytes of PNG can have a million pixels, which would be slow and test nothing else.
        if bytes.starts(with: pngSignature), bytes.count >= 24 {
            let width = UInt64(UInt32(bigEndianBytes: bytes[16..<20])!)
            let height = UInt64(UInt32(bigEndianBytes: bytes[20..<24])!)
            if 1 << 18...UInt64(Raster.maximumPixels) ~= width * height { return }
        }
        guard let picture = try? Picture(decoding: bytes) else { return }
        let raster = picture.raster
        precondition(raster.pixels.count == raster.width * raster.height)
        if let other = picture.onBlack {
            precondition(other.width == raster.width && other.height == raster.height)
        }
        if raster.pixels.count <= 64 * 64 { search(picture) { !$0.isEmpty } }
    }

    private static func search(_ picture: Picture, until isEnough: ([Symbol]) -> Bool) {
        guard let symbols = try? picture.symbols(until: isEnough) else { return }
        for symbol in symbols {
            precondition(symbol.polygon.allSatisfy { $0.x.isFinite && $0.y.isFinite })
        }
        precondition(Set(symbols.map(\.bytes)).count == symbols.count)
    }

    // MARK: The text of codes

    /// QR codes. Each 19 bytes are the data codewords of a code of version 1 at level L, valid or not, with the correct
    /// error correction (ISO/IEC 18004, §7.4 and §7.5). Only the first code is read here: of several codes of a structured
    /// append, zbar can write past its buffer. SottoQRTests give images with all codes to the restricted process.
    static let codeText = FuzzTarget("code-text") { bytes in
        guard let picture = try? Picture(decoding: image(ofCodes: Array(bytes.prefix(dataSize))))
        else { preconditionFailure("cannot decode the image") }
        search(picture) { _ in true }
    }

    /// Returns a PGM file with up to four codes, each with 19 bytes of `bytes` as its data codewords.
    package static func image(ofCodes bytes: [UInt8]) -> [UInt8] {
        let count = min(max(1, (bytes.count + dataSize - 1) / dataSize), 4)
        let codes = (0..<count).map { place in
            modules(of: Array(bytes.dropFirst(place * dataSize).prefix(dataSize)))
        }
        let (across, down) = (count * (side + 4) + 4, side + 8)
        var pixels: [UInt8] = []
        for row in -4..<down - 4 {
            var line: [UInt8] = []
            for column in -4..<across - 4 {
                let (code, inside) = (column / (side + 4), column % (side + 4))
                let isDark =
                    column >= 0 && code < count && inside < side && 0..<side ~= row
                    && codes[code][row * side + inside]
                line += [UInt8](repeating: isDark ? 0 : 255, count: scale)
            }
            for _ in 0..<scale { pixels += line }
        }
        return Array("P5 \(across * scale) \(down * scale) 255\n".utf8) + pixels
    }

    private static let scale = 3
    private static let side = 21
    private static let dataSize = 19
    private static let checkSize = 7

    /// A code of the same version with known data: 17 letters, after the mode and the count, before 4 bits of
    /// terminator.
    private static let template: [Bool] = {
        guard let code = try? QRCode(encoding: [UInt8](repeating: 0x78, count: 17), level: .low),
            code.side == side
        else { preconditionFailure("no code of version 1") }
        return code.modules
    }()
    private static let templateData: [UInt8] =
        [0x41, 0x17] + [UInt8](repeating: 0x87, count: 16) + [0x80]

    /// Returns the modules of a code with other data. Error correction and masking are linear, so the difference of the
    /// data is encoded, and the modules that differ are inverted. The mask stays the same.
    private static func modules(of bytes: [UInt8]) -> [Bool] {
        let data = bytes + [UInt8](repeating: 0, count: dataSize - bytes.count)
        let difference = zip(data, templateData).map { $0 ^ $1 }
        let codewords = difference + check(difference)
        var bit = 0
        var modules = template
        var isUpward = true
        for right in [20, 18, 16, 14, 12, 10, 8, 5, 3, 1] {
            for step in 0..<side {
                let row = isUpward ? side - 1 - step : step
                for column in [right, right - 1] where !isFunction(column, row) {
                    if codewords[bit / 8] >> (7 - bit % 8) & 1 == 1 {
                        modules[row * side + column].toggle()
                    }
                    bit += 1
                }
            }
            isUpward.toggle()
        }
        return modules
    }

    /// Whether a module belongs to the finder patterns, the timing patterns or the format.
    private static func isFunction(_ column: Int, _ row: Int) -> Bool {
        column == 6 || row == 6 || (column < 9 && (row < 9 || row >= 13))
            || (column >= 13 && row < 9)
    }

    /// Returns the Reed-Solomon check bytes over GF(2⁸) with 0x11D. The generator has the roots 2⁰ to 2⁶.
    private static func check(_ data: [UInt8]) -> [UInt8] {
        var generator: [UInt8] = [1]
        var root: UInt8 = 1
        for _ in 0..<checkSize {
            var next = generator + [0]
            for (place, factor) in generator.enumerated() {
                next[place + 1] ^= product(factor, root)
            }
            generator = next
            root = product(root, 2)
        }
        var rest = data + [UInt8](repeating: 0, count: checkSize)
        for place in data.indices {
            let factor = rest[place]
            for (offset, value) in generator.enumerated() {
                rest[place + offset] ^= product(value, factor)
            }
        }
        return Array(rest.suffix(checkSize))
    }

    private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
        var (result, a, b) = (UInt8(0), a, b)
        while b > 0 {
            if b & 1 == 1 { result ^= a }
            a = a << 1 ^ (a & 0x80 == 0 ? 0 : 0x1D)
            b >>= 1
        }
        return result
    }

    // MARK: PNG

    private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Returns a PNG file with correct checksums in all complete chunks (ISO/IEC 15948, §5.5).
    private static func withChecksums(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.starts(with: pngSignature) else { return bytes }
        var bytes = bytes
        var place = pngSignature.count
        while let length = UInt32(bigEndianBytes: bytes[place...].prefix(4)),
            Int(length) + 12 <= bytes.count - place
        {
            let end = place + 8 + Int(length)
            var sum: UInt32 = .max
            for byte in bytes[place + 4..<end] {
                sum ^= UInt32(byte)
                for _ in 0..<8 { sum = sum & 1 == 1 ? 0xEDB8_8320 ^ sum >> 1 : sum >> 1 }
            }
            bytes.replaceSubrange(end..<end + 4, with: (~sum).bigEndianBytes)
            place = end + 4
        }
        return bytes
    }
}
