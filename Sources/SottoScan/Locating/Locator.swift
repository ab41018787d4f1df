import SottoQR

/// Finds codes by their finder patterns, including in perspective, and reads their modules. zbar finds only codes seen
/// almost from the front.
struct Locator {
    private let raster: Raster

    init(_ raster: Raster) { self.raster = raster }

    /// Returns the codes found with means over `radius` pixels. Sets `isUnread` if a further code is visible but cannot
    /// be read.
    func symbols(radius: Int, isUnread: inout Bool) -> [Symbol] {
        let patterns = Bitmap(of: raster, radius: radius).finderPatterns(limit: Self.mostPatterns)
        var found: [Symbol] = []
        // The centers of the patterns of codes that were read: each belongs to one code.
        var taken: Set<Point> = []
        var unread: [FinderTriple] = []
        for triple in Self.triples(of: patterns)
        where triple.centres.allSatisfy({ !taken.contains($0) }) {
            guard let (grid, samples) = look({ Grid(triple, in: $0) }) else { continue }
            if let bytes = bytes(in: grid, samples) {
                found.append(Symbol(bytes: bytes, polygon: grid.corners))
                taken.formUnion(triple.centres)
            } else {
                unread.append(triple)
            }
        }
        isUnread = unread.contains { $0.centres.allSatisfy { !taken.contains($0) } }
        return found
    }

    static let mostPatterns = 24
    static let mostTriples = 24

    static func triples(of patterns: [FinderPattern]) -> [FinderTriple] {
        var triples: [FinderTriple] = []
        for i in patterns.indices {
            for j in patterns.indices.dropFirst(i + 1)
            where patterns[i].isInverse == patterns[j].isInverse {
                for k in patterns.indices.dropFirst(j + 1)
                where patterns[i].isInverse == patterns[k].isInverse {
                    if let triple = FinderTriple([patterns[i], patterns[j], patterns[k]]) {
                        triples.append(triple)
                    }
                }
            }
        }
        return Array(triples.sorted { $0.disagreement < $1.disagreement }.prefix(mostTriples))
    }

    /// Reads a code that zbar found again, from its corners and with each possible size. zbar converts some encodings of
    /// text and not others. Returns `nil` if the code cannot be read in this way.
    func reading(_ symbol: Symbol) -> Symbol? {
        guard symbol.polygon.count == 4 else { return nil }
        for side in stride(from: 21, through: 177, by: 4) {
            guard let (grid, samples) = look({ Grid(symbol.polygon, side: side, in: $0) }),
                let bytes = bytes(in: grid, samples)
            else { continue }
            return Symbol(bytes: bytes, polygon: symbol.polygon)
        }
        return nil
    }

    /// Returns the grid that `find` finds, and the darkness of each of its modules.
    private func look(_ find: (GrayView) -> Grid?) -> (Grid, [Float])? {
        raster.pixels.withUnsafeBufferPointer { pixels in
            let view = GrayView(pixels: pixels, width: raster.width, height: raster.height)
            return find(view).map { ($0, $0.samples(in: view)) }
        }
    }

    private func bytes(in grid: Grid, _ samples: [Float]) -> [UInt8]? {
        let patterns = FunctionPatterns(side: grid.side)
        for reading in Reading.allCases {
            let modules = reading.modules(samples, side: grid.side)
            let code = QRCode(
                side: grid.side,
                modules: zip(patterns.modules, modules).map { own, seen in
                    own.map { $0 == 1 } ?? seen
                })
            if let content = code.content(patterns) { return content }
        }
        return nil
    }
}

/// A method to separate dark and light modules.
enum Reading: CaseIterable {
    case plain, sharp, sharper, near

    /// `samples` are the darkness of each module, row by row.
    func modules(_ samples: [Float], side: Int) -> [Bool] {
        let (weight, radius): (Float, Int) =
            switch self {
            case .plain: (0.1, 5)
            case .sharp: (0.25, 5)
            case .sharper: (0.6, 5)
            case .near: (0.1, 2)
            }
        var values = samples
        for row in 0..<side {
            for column in 0..<side {
                let here = row * side + column
                let left = samples[column > 0 ? here - 1 : here]
                let right = samples[column < side - 1 ? here + 1 : here]
                let above = samples[row > 0 ? here - side : here]
                let below = samples[row < side - 1 ? here + side : here]
                values[here] += weight * (4 * samples[here] - left - right - above - below)
            }
        }
        return (0..<side * side).map { index in
            let (row, column) = (index / side, index % side)
            var (sum, count): (Float, Float) = (0, 0)
            for y in max(0, row - radius)...min(side - 1, row + radius) {
                for x in max(0, column - radius)...min(side - 1, column + radius) {
                    sum += values[y * side + x]
                    count += 1
                }
            }
            return values[index] * count > sum
        }
    }
}
