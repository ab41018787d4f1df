import SottoQR

/// A possible finder pattern.
struct FinderCandidate {
    let x: Double
    let y: Double
    /// The width and height in pixels, from edge to edge.
    let across: Double
    let down: Double
    /// The number of rows that found it.
    var rows: Int
    /// The bit of its core.
    let core: UInt8
}

/// The candidates of a picture, indexed by position.
///
/// A picture can contain a hundred thousand candidates. Each is stored in a grid square of its own size, so that a
/// search examines only a few squares of each size.
struct FinderCandidates {
    private(set) var all: [FinderCandidate] = []
    private var squares: [Square: [Int]] = [:]
    /// The existing sizes, as powers of two.
    private var sizes: [Int] = []

    private struct Square: Hashable {
        let size: Int
        let column: Int
        let row: Int
    }

    /// Adds a candidate.
    mutating func add(_ candidate: FinderCandidate) {
        // At least as large as the candidate in both directions.
        let length = Int(max(candidate.across, candidate.down))
        let size = Int.bitWidth - length.leadingZeroBitCount
        if !sizes.contains(size) { sizes.append(size) }
        let square = Square(
            size: size, column: Int(candidate.x) >> size, row: Int(candidate.y) >> size)
        squares[square, default: []].append(all.count)
        all.append(candidate)
    }

    /// Counts another row for the candidate at an index of ``all``.
    mutating func sawAgain(_ place: Int) { all[place].rows += 1 }

    /// Returns the index in ``all`` of the first candidate whose core contains the pixel, or `nil`.
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
