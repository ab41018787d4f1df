import Sotto

/// Conversion of integers of any length between big-endian bytes and decimal digits, for the moduli that Mercurio's
/// Flutter client writes in decimal.
enum DecimalInteger {
    /// The highest number of digits that is read: that of a 3072-bit number.
    static let limit = 925

    /// Whether a text has at least one character and only ASCII digits.
    static func isDecimal(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Returns the bytes of a positive decimal number without leading zeros, or `nil` for any other text.
    static func bytes(_ text: String) -> [UInt8]? {
        guard isDecimal(text), text.utf8.count <= limit, text.utf8.first != UInt8(ascii: "0") else {
            return nil
        }
        var bytes: [UInt8] = []  // little-endian
        for digit in text.utf8 {
            var carry = Int(digit - UInt8(ascii: "0"))
            for index in bytes.indices {
                carry += Int(bytes[index]) * 10
                bytes[index] = UInt8(carry & 255)
                carry >>= 8
            }
            if carry > 0 { bytes.append(UInt8(carry)) }
        }
        return bytes.reversed()
    }

    /// Returns the decimal digits of a number.
    static func text(_ bytes: [UInt8]) -> String {
        var rest = bytes
        var digits: [UInt8] = []
        repeat {
            var remainder = 0
            for index in rest.indices {
                remainder = remainder << 8 | Int(rest[index])
                rest[index] = UInt8(remainder / 10)
                remainder %= 10
            }
            digits.append(UInt8(ascii: "0") + UInt8(remainder))
        } while rest.contains { $0 != 0 }
        return String(decoding: digits.reversed(), as: UTF8.self)
    }
}
