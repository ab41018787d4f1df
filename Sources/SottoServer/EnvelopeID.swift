import Sotto

/// Converts envelope ids between 36 characters on the wire and 16 bytes in a store.
enum EnvelopeID {
    /// Returns the 16 bytes of an id that `Envelope.isID` accepts.
    static func bytes(_ id: String) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(16)
        var high: UInt8?
        for digit in id.utf8 where digit != UInt8(ascii: "-") {
            let value = digit < 0x3A ? digit - 0x30 : digit - 0x57
            if let first = high {
                out.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return out
    }

    /// Returns the id of 16 bytes.
    static func text(_ bytes: [UInt8]) -> String {
        var digits = hex(bytes)
        for place in [20, 16, 12, 8] {
            digits.insert("-", at: digits.index(digits.startIndex, offsetBy: place))
        }
        return digits
    }
}
