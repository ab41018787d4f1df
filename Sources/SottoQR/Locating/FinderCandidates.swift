/// A place where a finder pattern may be.
struct FinderCandidate {
    let x: Double
    let y: Double
    /// Pixels from edge to edge across and down.
    let across: Double
    let down: Double
    /// The number of rows in which it was seen.
    var rows: Int
    /// The bit of its core.
    let core: UInt8
}

/// The candidates of a picture, found by their place.
///
/// A picture can show a hundred thousand patterns. Each candidate is filed in a square of the candidate's size, so that a search
/// looks into a few squares of each size, even with many candidates.
struct FinderCandidates {
    private(set) var all: [FinderCandidate] = []
    private var squares: [Square: [Int]] = [:]
    /// The sizes that occur, as powers of two.
    private var sizes: [Int] = []

    private struct Square: Hashable {
        let size: Int
        let column: Int
        let row: Int
    }

    /// Files a candidate.
    mutating func add(_ candidate: FinderCandidate) {
        // At least as large as the reach of a candidate in both directions.
        let length = Int(max(candidate.across, candidate.down))
        let size = Int.bitWidth - length.leadingZeroBitCount
        if !sizes.contains(size) { sizes.append(size) }
        let square = Square(
            size: size, column: Int(candidate.x) >> size, row: Int(candidate.y) >> size)
        squares[square, default: []].append(all.count)
        all.append(candidate)
    }

    /// Counts one more row of the candidate at a place in ``all``.
    mutating func sawAgain(_ place: Int) { all[place].rows += 1 }

    /// The place in ``all`` of the first candidate in whose core the pixel is.
    func place(x: Int, y: Int, core: UInt8) -> Int? {
        var first: Int?
        for size in sizes {
            for row in (y >> size) - 1...(y >> size) + 1 {
                for column in (x >> size) - 1...(x >> size) + 1 {
                    let square = squares[Square(size: size, column: column, row: row)]
                    for place in square ?? [] where place < first ?? .max {
                        let candidate = all[place]
                        if candidate.core == core,
                            abs(candidate.x - Double(x)) < candidate.across * 0.2,
                            abs(candidate.y - Double(y)) < candidate.down * 0.3
                        {
                            first = place
                        }
                    }
                }
            }
        }
        return first
    }
}
