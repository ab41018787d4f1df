extension QRCode {
    /// Returns the content of a code whose modules were found in a picture (ISO/IEC 18004, §12), or `nil` if they have too
    /// many errors. A mirrored code is read too. `patterns` are those of its size.
    package func content(_ patterns: FunctionPatterns) -> [UInt8]? {
        read(patterns) { isDark($0, $1) } ?? read(patterns) { isDark($1, $0) }
    }

    private func read(
        _ patterns: FunctionPatterns, _ isDark: (_ column: Int, _ row: Int) -> Bool
    ) -> [UInt8]? {
        guard let format = format(isDark) else { return nil }
        let version = (side - 17) / 4
        let codewords = codewords(patterns, mask: format & 7, isDark)
        guard
            let data = CodewordBlocks(version: version, levelBits: format >> 3).data(of: codewords)
        else { return nil }
        return Segments.content(data, version: version)
    }

    /// Returns the five bits of the format information: two of the level and three of the mask. It stands twice in the
    /// code, and up to three wrong bits are corrected.
    private func format(_ isDark: (Int, Int) -> Bool) -> Int? {
        let upperLeft =
            (0...5).map { (8, $0) } + [(8, 7), (8, 8), (7, 8)] + (9...14).map { (14 - $0, 8) }
        let others = (0...7).map { (side - 1 - $0, 8) } + (8...14).map { (8, side - 15 + $0) }
        var best = (format: 0, distance: 4)
        for places in [upperLeft, others] {
            let seen = places.enumerated().reduce(0) { bits, place in
                bits | (isDark(place.element.0, place.element.1) ? 1 << place.offset : 0)
            }
            for format in 0..<32 {
                var remainder = format
                for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
                let distance = (seen ^ (format << 10 | remainder) ^ 0x5412).nonzeroBitCount
                if distance < best.distance { best = (format, distance) }
            }
        }
        return best.distance < 4 ? best.format : nil
    }

    /// Returns the codewords in their order, without the mask.
    private func codewords(
        _ patterns: FunctionPatterns, mask: Int, _ isDark: (Int, Int) -> Bool
    ) -> [UInt8] {
        func isFormat(_ column: Int, _ row: Int) -> Bool {
            row == 8 && (column <= 8 || column >= side - 8)
                || column == 8 && (row <= 8 || row >= side - 8)
        }
        var (codewords, bits, count) = ([UInt8](), UInt8(0), 0)
        var right = side - 1
        while right > 0 {
            // The column of the timing pattern has no data.
            if right == 6 { right = 5 }
            let isUpward = (right + 1) & 2 == 0
            for step in 0..<side {
                let row = isUpward ? side - 1 - step : step
                for column in [right, right - 1] {
                    guard patterns.modules[row * side + column] == nil, !isFormat(column, row)
                    else { continue }
                    let bit = isDark(column, row) != Self.isMasked(mask, column, row)
                    bits = bits << 1 | (bit ? 1 : 0)
                    count += 1
                    if count == 8 {
                        codewords.append(bits)
                        (bits, count) = (0, 0)
                    }
                }
            }
            right -= 2
        }
        return codewords
    }

    /// Whether a mask inverts a module (ISO/IEC 18004, §7.8.2).
    private static func isMasked(_ mask: Int, _ x: Int, _ y: Int) -> Bool {
        switch mask {
        case 0: (x + y) % 2 == 0
        case 1: y % 2 == 0
        case 2: x % 3 == 0
        case 3: (x + y) % 3 == 0
        case 4: (x / 3 + y / 2) % 2 == 0
        case 5: x * y % 2 + x * y % 3 == 0
        case 6: (x * y % 2 + x * y % 3) % 2 == 0
        default: ((x + y) % 2 + x * y % 3) % 2 == 0
        }
    }
}
