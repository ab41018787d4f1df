import CQREncode

/// What all codes of one size have in common (ISO/IEC 18004, §5.3.2).
struct FunctionPatterns {
    /// Modules on a side.
    let side: Int
    /// For each module its colour, 1 dark and 0 light, and `nil` for one that depends on the content or the level.
    let modules: [UInt8?]

    /// `side` is 17 and four times the version, 1 to 40; `nil` when memory runs out.
    init?(side: Int) {
        let version = Int32((side - 17) / 4)
        guard let input = QRinput_new2(version, QR_ECLEVEL_L) else { return nil }
        defer { QRinput_free(input) }
        guard QRinput_append(input, QR_MODE_8, 1, [0]) == 0, let code = QRcode_encodeInput(input)
        else { return nil }
        defer { QRcode_free(code) }
        guard code.pointee.width == side else { return nil }
        self.side = side
        // Bit 0 is the colour, bit 2 marks the format information, bit 7 what is no data.
        modules = UnsafeBufferPointer(start: code.pointee.data, count: side * side).map {
            $0 & 0x84 == 0x80 ? $0 & 1 : nil
        }
    }

    /// The columns, and the rows as well, of the centres of alignment patterns (ISO/IEC 18004, annex E).
    static func alignmentPlaces(side: Int) -> [Int] {
        let version = (side - 17) / 4
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        // Evenly from the last one back, in even steps; version 32 is the exception of the table.
        let step = version == 32 ? 26 : (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).reversed().map { side - 7 - $0 * step }
    }
}
