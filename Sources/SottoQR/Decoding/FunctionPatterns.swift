/// The modules that all codes of one size have in common (ISO/IEC 18004, §6.3 and §7.10).
package struct FunctionPatterns {
    /// The number of modules on a side.
    package let side: Int
    /// The color of each module, 1 dark and 0 light, or `nil` if it depends on the content or the level.
    package private(set) var modules: [UInt8?]

    /// Creates the patterns for `side`, which is 17 plus four times the version (1 to 40).
    package init(side: Int) {
        self.side = side
        modules = Array(repeating: nil, count: side * side)
        for index in 8..<side - 8 {
            set(index, 6, index % 2 == 0)
            set(6, index, index % 2 == 0)
        }
        let places = Self.alignmentPlaces(side: side)
        for row in places {
            // Three of the corners have finder patterns.
            for column in places
            where min(column, row) > 6 || ![6, side - 7].contains(max(column, row)) {
                draw(around: column, row, radius: 2) { $0 != 1 }
            }
        }
        // The light modules at a distance of 4 are the separators.
        for (column, row) in [(3, 3), (side - 4, 3), (3, side - 4)] {
            draw(around: column, row, radius: 4) { $0 != 2 && $0 != 4 }
        }
        set(8, side - 8, true)
        drawVersion()
    }

    /// Draws the number of the version, which a code from version 7 on has in two corners, with its error correction.
    private mutating func drawVersion() {
        let version = (side - 17) / 4
        guard version > 6 else { return }
        var remainder = version
        for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1F25 }
        let bits = version << 12 | remainder
        for place in 0..<18 {
            let isDark = bits >> place & 1 == 1
            set(side - 11 + place % 3, place / 3, isDark)
            set(place / 3, side - 11 + place % 3, isDark)
        }
    }

    /// Draws a square of modules. `isDark` gets the distance of a module from the center.
    private mutating func draw(
        around column: Int, _ row: Int, radius: Int, _ isDark: (Int) -> Bool
    ) {
        for down in -radius...radius {
            for right in -radius...radius {
                set(column + right, row + down, isDark(max(abs(right), abs(down))))
            }
        }
    }

    private mutating func set(_ column: Int, _ row: Int, _ isDark: Bool) {
        guard 0..<side ~= column, 0..<side ~= row else { return }
        modules[row * side + column] = isDark ? 1 : 0
    }

    /// Returns the columns, and equally the rows, of the centers of alignment patterns (ISO/IEC 18004, annex E).
    package static func alignmentPlaces(side: Int) -> [Int] {
        let version = (side - 17) / 4
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        // Equally spaced backwards from the last one; version 32 is the exception in the table.
        let step = version == 32 ? 26 : (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).reversed().map { side - 7 - $0 * step }
    }
}
