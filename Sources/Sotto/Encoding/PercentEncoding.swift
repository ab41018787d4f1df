/// Percent-encoding of the values in a URI's query (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Returns the text with each byte outside the unreserved set (RFC 3986 §2.3) as `%` and two upper-case digits.
    package static func encode(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                out.unicodeScalars.append(Unicode.Scalar(byte))
            default: out += "%" + hex([byte]).uppercased()
            }
        }
        return out
    }

    /// Returns the decoded text, or `nil` for a `%` without two hexadecimal digits or for bytes that are not UTF-8.
    package static func decode(_ text: Substring) -> String? {
        let input = Array(text.utf8)
        var out: [UInt8] = []
        var index = 0
        while index < input.count {
            guard input[index] == UInt8(ascii: "%") else {
                out.append(input[index])
                index += 1
                continue
            }
            guard index + 2 < input.count,
                let byte = bytes(
                    hex: String(decoding: input[(index + 1)...(index + 2)], as: UTF8.self))
            else { return nil }
            out += byte
            index += 3
        }
        return String(validating: out, as: UTF8.self)
    }
}
