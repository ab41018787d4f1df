import SottoQR

extension Point {
    static func + (one: Point, other: Point) -> Point {
        Point(x: one.x + other.x, y: one.y + other.y)
    }

    static func - (one: Point, other: Point) -> Point {
        Point(x: one.x - other.x, y: one.y - other.y)
    }

    static func * (point: Point, factor: Double) -> Point {
        Point(x: point.x * factor, y: point.y * factor)
    }

    /// The signed area that two vectors span: positive if the other is clockwise from this one in picture coordinates.
    func cross(_ other: Point) -> Double { x * other.y - y * other.x }

    func dot(_ other: Point) -> Double { x * other.x + y * other.y }

    var length: Double { (x * x + y * y).squareRoot() }
}

extension Symbol {
    var top: Double { polygon.map(\.y).min() ?? 0 }

    /// Returns the symbol with its corners mapped by `place`.
    func moved(_ place: (Point) -> Point) -> Symbol {
        Symbol(bytes: bytes, polygon: polygon.map(place))
    }
}
