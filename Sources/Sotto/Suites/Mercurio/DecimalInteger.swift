/// Whole numbers of any length between big-endian bytes and decimal digits, for the moduli that Mercurio's
/// Flutter client writes in decimal.
enum DecimalInteger {
    /// The most digits that are read: those of a number of 3072 bits.
    static let limit = 925

    /// Whether a text is only ASCII digits, and at least one.
    static func isDecimal(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// The bytes of a positive number without zeros before it; `nil` for anything else.
    static func bytes(_ text: String) -> [UInt8]? {
        guard isDecimal(text), text.utf8.count <= limit, text.utf8.first != UInt8(ascii: "0") else {
            return nil
        }
        var bytes: [UInt8] = []  // the least significant first
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

    /// The digits of a number.
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
