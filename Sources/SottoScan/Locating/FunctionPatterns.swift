import CQREncode

/// The modules that all codes of one size have in common (ISO/IEC 18004, §5.3.2).
struct FunctionPatterns {
    /// The number of modules on a side.
    let side: Int
    /// The color of each module, 1 dark and 0 light, or `nil` if it depends on the content or the level.
    let modules: [UInt8?]

    /// Creates the patterns for `side`, which is 17 plus four times the version (1 to 40). `nil` if memory is
    /// exhausted.
    init?(side: Int) {
        let version = Int32((side - 17) / 4)
        guard let input = QRinput_new2(version, QR_ECLEVEL_L) else { return nil }
        defer { QRinput_free(input) }
        guard QRinput_append(input, QR_MODE_8, 1, [0]) == 0, let code = QRcode_encodeInput(input)
        else { return nil }
        defer { QRcode_free(code) }
        guard code.pointee.width == side else { return nil }
        self.side = side
        // Bit 0 is the color, bit 2 marks the format information, bit 7 marks modules without data.
        modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side).map {
            $0 & 0x84 == 0x80 ? $0 & 1 : nil
        }
    }

    /// Returns the columns, and equally the rows, of the centers of alignment patterns (ISO/IEC 18004, annex E).
    static func alignmentPlaces(side: Int) -> [Int] {
        let version = (side - 17) / 4
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        // Equally spaced backwards from the last one; version 32 is the exception in the table.
        let step = version == 32 ? 26 : (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).reversed().map { side - 7 - $0 * step }
    }
}
