/// The text of a UUID (RFC 9562 §4): 36 characters, lower-case hexadecimal digits with hyphens.
package enum UUIDText {
    /// The places of the hyphens.
    private static func isHyphen(_ place: Int) -> Bool {
        place == 8 || place == 13 || place == 18 || place == 23
    }

    /// Returns the text of 16 bytes.
    package static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 36) { text in
            bytes.withUnsafeBytes { write($0, to: text) }
            return 36
        }
    }

    /// Appends the text of 16 bytes.
    package static func append(_ bytes: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { text in
            write(bytes, to: text)
            out.append(contentsOf: text)
        }
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to text: UnsafeMutableBufferPointer<UInt8>
    ) {
        precondition(bytes.count == 16)
        var place = 0
        for byte in bytes {
            if isHyphen(place) {
                text[place] = UInt8(ascii: "-")
                place += 1
            }
            text[place] = hexDigit(byte >> 4)
            text[place + 1] = hexDigit(byte & 15)
            place += 2
        }
    }

    /// Returns the 16 bytes, or `nil` if the text has another form.
    package static func bytes(_ text: String) -> [UInt8]? {
        guard text.utf8.count == 36 else { return nil }
        var text = text
        return text.withUTF8 { text in
            var isValid = true
            let bytes = [UInt8](unsafeUninitializedCapacity: 16) { bytes, count in
                var place = 0
                for index in 0..<16 {
                    if isHyphen(place) {
                        isValid = isValid && text[place] == UInt8(ascii: "-")
                        place += 1
                    }
                    let (high, low) = (value(text[place]), value(text[place + 1]))
                    isValid = isValid && high | low < 16
                    bytes[index] = high << 4 | low & 15
                    place += 2
                }
                count = 16
            }
            return isValid ? bytes : nil
        }
    }

    /// Returns the value of a lower-case digit, or 255.
    private static func value(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: 255
        }
    }
}
