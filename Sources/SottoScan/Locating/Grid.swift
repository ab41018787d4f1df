import SottoQR

/// The positions of a code's modules in a picture.
struct Grid {
    /// The number of modules on a side.
    let side: Int
    /// Maps columns and rows to the picture; 0 is the outer edge of the first and `side` that of the last.
    private(set) var place: Homography
    private let isInverse: Bool

    /// Finds the size and the position of the code of three finder patterns. `nil` if they are not a code.
    init?(_ triple: FinderTriple, in picture: GrayView) {
        let guess = Int(((triple.side - 17) / 4).rounded())
        let doubt = 1 + guess / 8
        var best: (grid: Grid, score: Double)?
        for version in max(1, guess - doubt)...min(40, max(1, guess + doubt)) {
            let side = 17 + 4 * version
            guard let fit = Self.fit(triple, side: side), let place = fit.solved() else { continue }
            let grid = Grid(side: side, place: place, isInverse: triple.upperLeft.isInverse)
            let score = grid.timing(in: picture)
            if score > best?.score ?? 0.3 { best = (grid, score) }
        }
        guard let best else { return nil }
        self = best.grid
        if var fit = Self.fit(triple, side: side) { align(&fit, in: picture) }
        // A result far outside the picture is not a code.
        let most = Double(2 * max(picture.width, picture.height))
        guard corners.allSatisfy({ abs($0.x) < most && abs($0.y) < most }) else { return nil }
    }

    /// Fits the grid of a code with `side` modules on a side to its four corners, in order. `nil` if it has no timing
    /// pattern.
    init?(_ corners: [Point], side: Int, in picture: GrayView) {
        var fit = Homography.Fit(
            sheet: Double(side), picture: max(1, (corners[2] - corners[0]).length))
        let far = Double(side)
        for (corner, (u, v)) in zip(corners, [(0, 0), (0, far), (far, far), (far, 0)]) {
            fit.add(u, v, seenAt: corner)
        }
        guard let place = fit.solved() else { return nil }
        self.init(side: side, place: place, isInverse: false)
        guard timing(in: picture) > 0.3 else { return nil }
        align(&fit, in: picture)
    }

    private init(side: Int, place: Homography, isInverse: Bool) {
        (self.side, self.place, self.isInverse) = (side, place, isInverse)
    }

    private static func fit(_ triple: FinderTriple, side: Int) -> Homography.Fit? {
        let right = triple.upperRight.centre - triple.upperLeft.centre
        let down = triple.lowerLeft.centre - triple.upperLeft.centre
        var fit = Homography.Fit(
            sheet: Double(side), picture: max(1, triple.upperRight.centre.length))
        let far = Double(side - 7)
        for (pattern, u, v) in [
            (triple.upperLeft, 0, 0), (triple.upperRight, far, 0), (triple.lowerLeft, 0, far),
        ] {
            guard let corners = pattern.corners(right: right, down: down) else { return nil }
            fit.add(u + 3.5, v + 3.5, seenAt: pattern.centre, weight: 2)
            fit.add(u, v, seenAt: corners[0])
            fit.add(u + 7, v, seenAt: corners[1])
            fit.add(u + 7, v + 7, seenAt: corners[2])
            fit.add(u, v + 7, seenAt: corners[3])
        }
        return fit
    }

    /// Returns the darkness of a point of the code, for a code with dark on light; larger is darker.
    private func darkness(_ u: Double, _ v: Double, in picture: GrayView) -> Double {
        let value = picture[place(u, v)]
        return isInverse ? value : 255 - value
    }

    /// Returns how well the timing patterns match, -1 to 1: their modules must be alternately darker and lighter than
    /// their neighbors.
    private func timing(in picture: GrayView) -> Double {
        var (fitting, all) = (0.0, 0.0)
        for isRow in [true, false] {
            let line = (7...side - 8).map { index in
                let along = Double(index) + 0.5
                return isRow
                    ? darkness(along, 6.5, in: picture) : darkness(6.5, along, in: picture)
            }
            for index in 1..<line.count - 1 {
                let peak = line[index] * 2 - line[index - 1] - line[index + 1]
                // Even columns are dark, and the first column here is the seventh.
                fitting += index % 2 == 1 ? peak : -peak
                all += abs(peak)
            }
        }
        return all > 0 ? fitting / all : 0
    }

    /// Refines the position with the alignment patterns, from those near the finder patterns to the distant ones.
    private mutating func align(_ fit: inout Homography.Fit, in picture: GrayView) {
        let places = FunctionPatterns.alignmentPlaces(side: side)
        guard let last = places.last else { return }
        var centres: [(column: Int, row: Int)] = []
        for row in places {
            for column in places
            where !(row == 6 && column == 6) && !(row == 6 && column == last)
                && !(row == last && column == 6)
            {
                centres.append((column, row))
            }
        }
        centres.sort { $0.column + $0.row < $1.column + $1.row }
        for centre in centres {
            guard let seen = alignmentPattern(at: centre, in: picture) else { continue }
            fit.add(Double(centre.column) + 0.5, Double(centre.row) + 0.5, seenAt: seen, weight: 4)
            if let better = fit.solved() { place = better }
        }
    }

    /// Returns the position of the alignment pattern of this column and row: five modules on a side, dark around light
    /// around dark.
    private func alignmentPattern(
        at centre: (column: Int, row: Int), in picture: GrayView
    ) -> Point? {
        let (u, v) = (Double(centre.column) + 0.5, Double(centre.row) + 0.5)
        let origin = place(u, v)
        let right = (place(u + 1, v) - place(u - 1, v)) * 0.5
        let down = (place(u, v + 1) - place(u, v - 1)) * 0.5
        var best: (score: Double, u: Double, v: Double) = (0.6, 0, 0)
        func search(_ u0: Double, _ v0: Double, reach: Double, step: Double) {
            for dv in stride(from: v0 - reach, through: v0 + reach, by: step) {
                for du in stride(from: u0 - reach, through: u0 + reach, by: step) {
                    let score = correlation(
                        origin + right * du + down * dv, right, down, in: picture)
                    if score > best.score { best = (score, du, dv) }
                }
            }
        }
        search(0, 0, reach: 2, step: 0.5)
        guard best.score > 0.6 else { return nil }
        search(best.u, best.v, reach: 0.3, step: 0.15)
        return origin + right * best.u + down * best.v
    }

    /// Returns the correlation of the surroundings of a point with an alignment pattern, -1 to 1.
    private func correlation(
        _ centre: Point, _ right: Point, _ down: Point, in picture: GrayView
    ) -> Double {
        // 17 dark modules and 8 light ones.
        var (dark, light, squares) = (0.0, 0.0, 0.0)
        for row in -2...2 {
            let start = centre + down * Double(row)
            for column in -2...2 {
                let value = picture[start + right * Double(column)]
                squares += value * value
                if max(abs(row), abs(column)) == 1 { light += value } else { dark += value }
            }
        }
        let mean = (dark + light) / 25
        let variance = squares - 25 * mean * mean
        guard variance > 25 else { return 0 }
        let difference = light / 8 - dark / 17
        // The pattern's own deviation is (17 · 8 / 25)^½.
        let score = difference * (17.0 * 8 / 25).squareRoot() / variance.squareRoot()
        return isInverse ? -score : score
    }

    /// Returns the darkness of each module, row by row from the top; larger is darker.
    func samples(in picture: GrayView) -> [Float] {
        var samples = [Float](repeating: 0, count: side * side)
        for row in 0..<side {
            for column in 0..<side {
                var sum = 0.0
                for v in [0.28, 0.5, 0.72] {
                    for u in [0.28, 0.5, 0.72] {
                        sum += picture[place(Double(column) + u, Double(row) + v)]
                    }
                }
                let value = Float(sum / 9)
                samples[row * side + column] = isInverse ? value : 255 - value
            }
        }
        return samples
    }

    /// The corners in the picture, in order.
    var corners: [Point] {
        let far = Double(side)
        return [place(0, 0), place(0, far), place(far, far), place(far, 0)]
    }
}

/// The pixels of a picture, with interpolation.
struct GrayView {
    let pixels: UnsafeBufferPointer<UInt8>
    let width: Int
    let height: Int

    /// Returns the weighted mean of the four pixels around a point; outside the picture, that of its edge.
    @inline(__always)
    subscript(_ point: Point) -> Double {
        // Written so that NaN is also mapped into the picture.
        let x = point.x > 0 ? min(point.x, Double(width - 1)) : 0
        let y = point.y > 0 ? min(point.y, Double(height - 1)) : 0
        let (left, top) = (Int(x), Int(y))
        let (right, below) = (min(left &+ 1, width &- 1), min(top &+ 1, height &- 1))
        let (alongX, alongY) = (x - Double(left), y - Double(top))
        let upper =
            Double(pixels[top &* width &+ left]) * (1 - alongX)
            + Double(pixels[top &* width &+ right]) * alongX
        let lower =
            Double(pixels[below &* width &+ left]) * (1 - alongX)
            + Double(pixels[below &* width &+ right]) * alongX
        return upper * (1 - alongY) + lower * alongY
    }
}
