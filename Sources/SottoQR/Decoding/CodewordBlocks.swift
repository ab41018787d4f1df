/// The blocks of codewords of a code (ISO/IEC 18004, §7.5.1, table 9).
struct CodewordBlocks {
    /// The number of blocks, and of error correction codewords in each.
    private let blocks: Int
    private let corrections: Int

    /// The blocks of a version, 1 to 40, with the two bits of a level in the format information.
    init(version: Int, levelBits: Int) {
        blocks = Self.blockCounts[levelBits][version - 1]
        corrections = Self.correctionCounts[levelBits][version - 1]
    }

    /// Returns the data of all codewords of a code, in their order in the code, or `nil` if they have too many errors.
    func data(of codewords: [UInt8]) -> [UInt8]? {
        let short = codewords.count / blocks - corrections
        let longBlocks = codewords.count % blocks
        guard short > 0 else { return nil }
        let lengths = (0..<blocks).map { short + ($0 >= blocks - longBlocks ? 1 : 0) }
        var parts = [[UInt8]](repeating: [], count: blocks)
        var place = 0
        for column in 0...short {
            for block in 0..<blocks where column < lengths[block] {
                parts[block].append(codewords[place])
                place += 1
            }
        }
        for _ in 0..<corrections {
            for block in 0..<blocks {
                parts[block].append(codewords[place])
                place += 1
            }
        }
        var data: [UInt8] = []
        for part in parts {
            guard let corrected = ReedSolomon.corrected(part, count: corrections) else {
                return nil
            }
            data += corrected.dropLast(corrections)
        }
        return data
    }

    // The levels are in the order of their bits: M, L, H, Q.
    private static let correctionCounts = [
        [
            10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26,
            26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        ],
        [
            7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28,
            28, 28, 30, 30, 26, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
        ],
        [
            17, 28, 22, 16, 22, 28, 26, 26, 24, 28, 24, 28, 22, 24, 24, 30, 28, 28, 26, 28,
            30, 24, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
        ],
        [
            13, 22, 18, 26, 18, 24, 18, 22, 20, 24, 28, 26, 24, 20, 30, 24, 28, 28, 26, 30,
            28, 30, 30, 30, 30, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
        ],
    ]
    private static let blockCounts = [
        [
            1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16,
            17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
        ],
        [
            1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8,
            8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 24, 25,
        ],
        [
            1, 1, 2, 4, 4, 4, 5, 6, 8, 8, 11, 11, 16, 16, 18, 16, 19, 21, 25, 25,
            25, 34, 30, 32, 35, 37, 40, 42, 45, 48, 51, 54, 57, 60, 63, 66, 70, 74, 77, 81,
        ],
        [
            1, 1, 2, 2, 4, 4, 6, 6, 8, 8, 8, 10, 12, 16, 12, 17, 16, 18, 21, 20,
            23, 23, 25, 27, 29, 34, 34, 35, 38, 40, 43, 45, 48, 51, 53, 56, 59, 62, 65, 68,
        ],
    ]
}
