/// RFC 4648 base64: the standard alphabet (§4) and the URL-safe one (§5), with or without padding.
public enum Base64: Sendable {
    /// §4 with padding, for records and PEM-like armor.
    case standard
    /// §4 without padding, for age headers.
    case raw
    /// §5 without padding, for contact URIs.
    case url

    private var alphabet: StaticString {
        switch self {
        case .standard, .raw: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        case .url: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        }
    }

    private var isPadded: Bool { if case .standard = self { true } else { false } }

    /// Returns the text of `bytes`, without line breaks.
    public func encode(_ bytes: [UInt8]) -> String {
        String(decoding: encodeBytes(bytes), as: UTF8.self)
    }

    /// Returns the text of `bytes` as ASCII.
    public func encodeBytes(_ bytes: [UInt8]) -> [UInt8] {
        let size = isPadded ? (bytes.count + 2) / 3 * 4 : (bytes.count * 4 + 2) / 3
        let table = alphabet.utf8Start
        return bytes.withUnsafeBufferPointer { bytes in
            [UInt8](unsafeUninitializedCapacity: size) { out, count in
                count = Self.encode(bytes, to: out, table, isPadded: isPadded)
            }
        }
    }

    /// Writes the text of `bytes`. Returns its length.
    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, to out: UnsafeMutableBufferPointer<UInt8>,
        _ table: UnsafePointer<UInt8>, isPadded: Bool
    ) -> Int {
        var written = 0
        var index = 0
        while index + 3 <= bytes.count {
            let group =
                UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
                | UInt32(bytes[index + 2])
            out[written] = table[Int(group >> 18)]
            out[written + 1] = table[Int(group >> 12 & 63)]
            out[written + 2] = table[Int(group >> 6 & 63)]
            out[written + 3] = table[Int(group & 63)]
            written += 4
            index += 3
        }
        let left = bytes.count - index
        if left > 0 {
            let group =
                UInt32(bytes[index]) << 16 | (left == 2 ? UInt32(bytes[index + 1]) << 8 : 0)
            out[written] = table[Int(group >> 18)]
            out[written + 1] = table[Int(group >> 12 & 63)]
            written += 2
            if left == 2 {
                out[written] = table[Int(group >> 6 & 63)]
                written += 1
            }
            if isPadded {
                for _ in left..<3 {
                    out[written] = UInt8(ascii: "=")
                    written += 1
                }
            }
        }
        return written
    }

    /// Returns the bytes of `text`, or `nil` unless it is their canonical encoding: exact padding, no white space,
    /// unused bits zero.
    @inlinable
    public func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(utf8: Array(text.utf8)[...])
    }

    /// Decodes ASCII bytes as ``decode(_:)`` does.
    public func decode(utf8 text: ArraySlice<UInt8>) -> [UInt8]? {
        var text = text
        if isPadded {
            guard text.count.isMultiple(of: 4) else { return nil }
            if text.last == UInt8(ascii: "=") { text.removeLast() }
            if text.last == UInt8(ascii: "=") { text.removeLast() }
            // The removed characters must be exactly the padding that the remaining length requires.
        }
        let tail = text.count % 4
        guard tail != 1 else { return nil }
        let values: [UInt8] = if case .url = self { Self.urlValues } else { Self.standardValues }
        let size = text.count / 4 * 3 + (tail == 0 ? 0 : tail - 1)
        var isCanonical = true
        let result = [UInt8](unsafeUninitializedCapacity: size) { out, count in
            // The values of all characters together: a character that is not in the alphabet sets the highest bit.
            var seen: UInt8 = 0
            var written = 0
            text.withUnsafeBufferPointer { text in
                values.withUnsafeBufferPointer { values in
                    func value(_ place: Int) -> UInt32 {
                        let value = values[Int(text[place])]
                        seen |= value
                        return UInt32(value)
                    }
                    var place = 0
                    while place + 4 <= text.count {
                        let group =
                            value(place) << 18 | value(place + 1) << 12 | value(place + 2) << 6
                            | value(place + 3)
                        out[written] = UInt8(truncatingIfNeeded: group >> 16)
                        out[written + 1] = UInt8(truncatingIfNeeded: group >> 8)
                        out[written + 2] = UInt8(truncatingIfNeeded: group)
                        written += 3
                        place += 4
                    }
                    if tail == 2 {
                        let group = value(place) << 6 | value(place + 1)
                        isCanonical = group & 0xF == 0
                        out[written] = UInt8(truncatingIfNeeded: group >> 4)
                        written += 1
                    } else if tail == 3 {
                        let group =
                            value(place) << 12 | value(place + 1) << 6 | value(place + 2)
                        isCanonical = group & 3 == 0
                        out[written] = UInt8(truncatingIfNeeded: group >> 10)
                        out[written + 1] = UInt8(truncatingIfNeeded: group >> 2)
                        written += 2
                    }
                }
            }
            isCanonical = isCanonical && seen < 0x80
            count = written
        }
        return isCanonical ? result : nil
    }

    private static let standardValues = reverse(Base64.standard.alphabet)
    private static let urlValues = reverse(Base64.url.alphabet)

    private static func reverse(_ alphabet: StaticString) -> [UInt8] {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for index in 0..<64 { values[Int(alphabet.utf8Start[index])] = UInt8(index) }
        return values
    }
}
