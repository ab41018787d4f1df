import SottoQR

/// Finds codes by their finder patterns, including in perspective, and redraws them straight and in black and white for
/// zbar. zbar alone reads only codes seen almost from the front.
struct Locator {
    private let raster: Raster
    private let scanner: Scanner

    init(_ raster: Raster, scanner: Scanner) {
        (self.raster, self.scanner) = (raster, scanner)
    }

    /// Returns the codes found with means over `radius` pixels. Sets `isUnread` if a further code is visible but cannot
    /// be read.
    func symbols(radius: Int, isUnread: inout Bool) throws(ScanError) -> [Symbol] {
        let patterns = Bitmap(of: raster, radius: radius).finderPatterns(limit: Self.mostPatterns)
        var found: [Symbol] = []
        // The centers of the patterns of codes that were read: each belongs to one code.
        var taken: Set<Point> = []
        var unread: [FinderTriple] = []
        for triple in Self.triples(of: patterns)
        where triple.centres.allSatisfy({ !taken.contains($0) }) {
            guard let (grid, samples) = look(for: triple) else { continue }
            if let bytes = try bytes(in: grid, samples) {
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

    /// Returns the grid of a code and the darkness of each of its modules.
    private func look(for triple: FinderTriple) -> (Grid, [Float])? {
        raster.pixels.withUnsafeBufferPointer { pixels in
            let view = GrayView(pixels: pixels, width: raster.width, height: raster.height)
            return Grid(triple, in: view).map { ($0, $0.samples(in: view)) }
        }
    }

    private func bytes(in grid: Grid, _ samples: [Float]) throws(ScanError) -> [UInt8]? {
        guard let patterns = FunctionPatterns(side: grid.side) else { throw .outOfMemory }
        for reading in Reading.allCases {
            let modules = reading.modules(samples, side: grid.side)
            let code = QRCode(
                side: grid.side,
                modules: zip(patterns.modules, modules).map { own, seen in
                    own.map { $0 == 1 } ?? seen
                })
            // No single size works for every code in zbar.
            for size in [3, 4] {
                let symbols = try scanner.symbols(
                    in: code.raster(size: size, margin: 4), density: 2)
                if let symbol = symbols.first { return symbol.bytes }
            }
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
