import Glibc

/// The encoding of text that an ECI assigns (AIM ITS/04-023), read with the converters of the C library.
public struct TextEncoding: Sendable {
    private let name: String

    /// The encoding of the Kanji mode.
    static let shiftJIS = TextEncoding(name: "SJIS")

    private init(name: String) { self.name = name }

    /// Returns the encoding with a number, or `nil` if it is unknown, or its bytes need no conversion: ASCII, UTF-8 and
    /// binary data.
    init?(eci number: Int) {
        switch number {
        case 0, 2: name = "CP437"
        case 1: name = "ISO8859-1"
        case 3...13, 15...18: name = "ISO8859-\(number - 2)"
        case 20: name = "SJIS"
        case 21...23: name = "CP\(number + 1_229)"
        case 24: name = "CP1256"
        case 25: name = "UTF-16BE"
        case 28: name = "BIG-5"
        case 29, 31, 32: name = "GB18030"
        case 30: name = "UHC"
        case 33: name = "UTF-16LE"
        case 34: name = "UTF-32BE"
        case 35: name = "UTF-32LE"
        default: return nil
        }
    }

    /// The highest number of a known ECI.
    private static let lastECI = 35

    /// Loads all converters. The C library reads a file for each, which a restricted process cannot do; a file stays
    /// loaded while a descriptor is open, so these descriptors are not closed. A converter that is not installed stays
    /// unavailable.
    public static func loadAll() {
        for number in 0...lastECI { _ = TextEncoding(eci: number).map { $0.open() } }
    }

    private func open() -> iconv_t? {
        let converter = iconv_open("UTF-8", name)
        return Int(bitPattern: converter) == -1 ? nil : converter
    }

    /// Returns the text in UTF-8, or `nil` if the bytes are not valid or the converter is not available.
    func utf8(of bytes: [UInt8]) -> [UInt8]? {
        guard let converter = open() else { return nil }
        defer { iconv_close(converter) }
        var input = bytes.map { CChar(bitPattern: $0) }
        // A byte is at most three bytes in UTF-8, four bytes are at most four; the end of the text adds nothing.
        var output = [CChar](repeating: 0, count: bytes.count * 4 + 4)
        let capacity = output.count
        var (left, free) = (input.count, capacity)
        let isConverted = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                var (from, to) = (input.baseAddress, output.baseAddress)
                return iconv(converter, &from, &left, &to, &free) != -1
            }
        }
        guard isConverted, left == 0 else { return nil }
        return output.prefix(capacity - free).map { UInt8(bitPattern: $0) }
    }
}
