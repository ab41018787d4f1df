import SottoQR

/// The quadrilateral through points on its edge.
enum Quadrilateral {
    /// Returns the corners, in order, of the quadrilateral around `centre` whose sides contain `edge`, or `nil` if none
    /// fits.
    static func corners(of edge: [Point], around centre: Point) -> [Point]? {
        guard let rough = roughCorners(of: edge, around: centre) else { return nil }
        var lines: [Line] = []
        for side in 0..<4 {
            let (start, end) = (rough[side], rough[(side + 1) % 4])
            let along = end - start
            let squared = along.dot(along)
            guard squared > 4 else { return nil }
            // Excludes points near the corners, which blur has rounded.
            let near = edge.filter { point in
                let share = (point - start).dot(along) / squared
                let away = abs((point - start).cross(along)) / squared.squareRoot()
                return share > 0.12 && share < 0.88 && away < 0.2 * squared.squareRoot()
                    && (point - centre).dot(start + end - centre * 2) > 0
            }
            guard let line = Line(through: near) else { return nil }
            lines.append(line)
        }
        var corners: [Point] = []
        for side in 0..<4 {
            guard let corner = lines[(side + 3) % 4].intersection(with: lines[side]),
                (corner - rough[side]).length < 0.35 * (rough[side] - centre).length
            else { return nil }
            corners.append(corner)
        }
        return corners
    }

    /// Returns the outermost points.
    private static func roughCorners(of edge: [Point], around centre: Point) -> [Point]? {
        func farthest(_ distance: (Point) -> Double) -> Point? {
            edge.max { distance($0) < distance($1) }
        }
        guard let first = farthest({ ($0 - centre).length }),
            let third = farthest({ ($0 - first).length })
        else { return nil }
        let diagonal = third - first
        guard let second = farthest({ diagonal.cross($0 - first) }),
            let fourth = farthest({ -diagonal.cross($0 - first) }),
            diagonal.cross(second - first) > 0, diagonal.cross(fourth - first) < 0
        else { return nil }
        return [first, second, third, fourth]
    }
}

/// A straight line through a point.
private struct Line {
    var point: Point
    var direction: Point

    /// Fits a line to `points` except the outliers, by least squares. `nil` for fewer than three points.
    init?(through points: [Point]) {
        guard var line = Self.fit(points) else { return nil }
        let sorted = points.sorted { line.distance(to: $0) < line.distance(to: $1) }
        if let better = Self.fit(Array(sorted.prefix(max(3, points.count * 4 / 5)))) {
            line = better
        }
        self = line
    }

    private init(point: Point, direction: Point) {
        (self.point, self.direction) = (point, direction)
    }

    private static func fit(_ points: [Point]) -> Line? {
        guard points.count >= 3 else { return nil }
        let mean = points.reduce(Point(x: 0, y: 0), +) * (1 / Double(points.count))
        var (xx, xy, yy) = (0.0, 0.0, 0.0)
        for point in points {
            let offset = point - mean
            xx += offset.x * offset.x
            xy += offset.x * offset.y
            yy += offset.y * offset.y
        }
        // The eigenvector of the larger eigenvalue.
        let half = (xx - yy) / 2
        let root = (half * half + xy * xy).squareRoot()
        let direction =
            half > 0 ? Point(x: half + root, y: xy) : Point(x: xy, y: root - half)
        guard direction.length > 0 else { return nil }
        return Line(point: mean, direction: direction * (1 / direction.length))
    }

    func distance(to other: Point) -> Double { abs((other - point).cross(direction)) }

    func intersection(with other: Line) -> Point? {
        let sine = direction.cross(other.direction)
        guard abs(sine) > 0.1 else { return nil }
        return point + direction * ((other.point - point).cross(other.direction) / sine)
    }
}
