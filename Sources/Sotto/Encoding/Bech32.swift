/// Bech32 (BIP 173) without its length limit, as age uses it for keys.
package enum Bech32 {
    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    private static func polymodStep(_ checksum: UInt32, _ value: UInt8) -> UInt32 {
        let generators: [5 of UInt32] = [
            0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3,
        ]
        let top = checksum >> 25
        var next = (checksum & 0x1ff_ffff) << 5 ^ UInt32(value)
        for bit in 0..<5 where top >> bit & 1 == 1 { next ^= generators[bit] }
        return next
    }

    private static func prefixChecksum(_ prefix: [UInt8]) -> UInt32 {
        var checksum: UInt32 = 1
        for character in prefix { checksum = polymodStep(checksum, character >> 5) }
        checksum = polymodStep(checksum, 0)
        for character in prefix { checksum = polymodStep(checksum, character & 31) }
        return checksum
    }

    /// Returns the lower-case text of `data` with the human-readable part `prefix` (lower-case ASCII).
    package static func encode(prefix: String, _ data: [UInt8]) -> String {
        let prefix = Array(prefix.utf8)
        var text = prefix + [UInt8(ascii: "1")]
        text.reserveCapacity(prefix.count + data.count * 8 / 5 + 9)
        var checksum = prefixChecksum(prefix)
        func put(_ value: UInt8) {
            checksum = polymodStep(checksum, value)
            text.append(alphabet[Int(value)])
        }
        var accumulator: UInt32 = 0
        var bits = 0
        for byte in data {
            accumulator = (accumulator << 8 | UInt32(byte)) & 0xFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                put(UInt8(accumulator >> bits & 31))
            }
        }
        if bits > 0 { put(UInt8(accumulator << (5 - bits) & 31)) }
        for _ in 0..<6 { checksum = polymodStep(checksum, 0) }
        checksum ^= 1
        for index in 0..<6 { text.append(alphabet[Int(checksum >> (5 * (5 - index)) & 31)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the human-readable part in lower case and the data of `text`. Returns `nil` for a wrong checksum, mixed
    /// case, a character outside the alphabet, or padding bits that are not zero.
    package static func decode(_ text: some StringProtocol) -> (prefix: String, data: [UInt8])? {
        var characters = Array(text.utf8)
        let hasLower = characters.contains { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
        let hasUpper = characters.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        guard !(hasLower && hasUpper), characters.allSatisfy({ (33...126).contains($0) }) else {
            return nil
        }
        if hasUpper {
            characters = characters.map {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0
            }
        }
        guard let separator = characters.lastIndex(of: UInt8(ascii: "1")), separator > 0,
            characters.count - separator > 6
        else { return nil }
        let prefix = Array(characters[..<separator])
        var checksum = prefixChecksum(prefix)
        var symbols: [UInt8] = []
        symbols.reserveCapacity(characters.count)
        for character in characters[(separator + 1)...] {
            let value = values[Int(character)]
            guard value != 0xFF else { return nil }
            checksum = polymodStep(checksum, value)
            symbols.append(value)
        }
        guard checksum == 1 else { return nil }
        var data: [UInt8] = []
        data.reserveCapacity(symbols.count * 5 / 8)
        var accumulator: UInt32 = 0
        var bits = 0
        for value in symbols.dropLast(6) {
            accumulator = (accumulator << 5 | UInt32(value)) & 0xFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                data.append(UInt8(accumulator >> bits & 0xFF))
            }
        }
        guard bits < 5, accumulator & ((1 << bits) - 1) == 0 else { return nil }
        return (String(decoding: prefix, as: UTF8.self), data)
    }
}
