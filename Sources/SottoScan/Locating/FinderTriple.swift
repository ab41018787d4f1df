import SottoQR

/// Three finder patterns that may belong to one code.
struct FinderTriple {
    let upperLeft: FinderPattern
    let upperRight: FinderPattern
    let lowerLeft: FinderPattern
    /// The number of modules on a side of the code, estimated from the sizes of the patterns.
    let side: Double
    /// The difference between the two sides; a small one is better.
    let disagreement: Double

    /// Uses the pattern at the largest angle as the upper left one. `nil` if no code has this shape.
    init?(_ patterns: [FinderPattern]) {
        let sides = patterns.map(\.side)
        guard let least = sides.min(), let most = sides.max(), most < 2.5 * least else {
            return nil
        }
        // The corner opposite the longest side of the triangle.
        let corner = (0..<3).max {
            Self.opposite($0, in: patterns) < Self.opposite($1, in: patterns)
        }
        guard let corner else { return nil }
        var (one, other) = (patterns[(corner + 1) % 3], patterns[(corner + 2) % 3])
        let middle = patterns[corner]
        if (one.centre - middle.centre).cross(other.centre - middle.centre) < 0 {
            swap(&one, &other)
        }
        (upperLeft, upperRight, lowerLeft) = (middle, one, other)
        let (right, down) = (one.centre - middle.centre, other.centre - middle.centre)
        // From 25 to 155 degrees.
        guard right.cross(down) > 0.42 * right.length * down.length,
            let across = Self.modules(from: middle, to: one),
            let along = Self.modules(from: middle, to: other)
        else { return nil }
        side = (across + along) / 2 + 7
        disagreement = abs(across - along) / (across + along)
        guard 19...185 ~= side, disagreement < 0.2 else { return nil }
    }

    var centres: [Point] { [upperLeft.centre, upperRight.centre, lowerLeft.centre] }

    private static func opposite(_ index: Int, in patterns: [FinderPattern]) -> Double {
        (patterns[(index + 1) % 3].centre - patterns[(index + 2) % 3].centre).length
    }

    /// Returns the number of modules between two centers. In perspective, the exact divisor is the geometric mean of
    /// the module lengths at both centers.
    private static func modules(from one: FinderPattern, to other: FinderPattern) -> Double? {
        let line = other.centre - one.centre
        guard let first = one.width(along: line), let second = other.width(along: line) else {
            return nil
        }
        return line.length * 7 / (first * second).squareRoot()
    }
}

extension FinderPattern {
    /// Returns the width of the pattern in a direction.
    fileprivate func width(along direction: Point) -> Double? {
        let unit = direction * (1 / direction.length)
        let middles = (0..<4).map { (corners[$0] + corners[($0 + 1) % 4]) * 0.5 - centre }
        // The pair of sides that the direction crosses.
        let spans = [middles[2] - middles[0], middles[3] - middles[1]]
        let span = spans.max { abs($0.dot(unit)) / $0.length < abs($1.dot(unit)) / $1.length }
        guard let span, abs(span.dot(unit)) > 0.6 * span.length else { return nil }
        return span.length
    }

    /// Returns the corners in the order of the code, whose rows and columns have these directions: upper left, upper
    /// right, lower right, lower left.
    func corners(right: Point, down: Point) -> [Point]? {
        let area = right.cross(down)
        var ordered = [Point?](repeating: nil, count: 4)
        for corner in corners {
            let offset = corner - centre
            let (u, v) = (offset.cross(down) / area, right.cross(offset) / area)
            ordered[u < 0 ? (v < 0 ? 0 : 3) : (v < 0 ? 1 : 2)] = corner
        }
        let known = ordered.compactMap(\.self)
        return known.count == 4 ? known : nil
    }
}
