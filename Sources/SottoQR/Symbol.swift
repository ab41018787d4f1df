/// A place in a picture, in pixels from its upper left corner.
public struct Point: Sendable, Hashable {
    /// Pixels to the right.
    public let x: Double
    /// Pixels down.
    public let y: Double
}

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

    /// The area that two vectors span: positive when the other is clockwise from this one, as pictures are drawn.
    func cross(_ other: Point) -> Double { x * other.y - y * other.x }

    func dot(_ other: Point) -> Double { x * other.x + y * other.y }

    var length: Double { (x * x + y * y).squareRoot() }
}

/// A QR code that was found in a picture.
public struct Symbol: Sendable, Hashable {
    /// What it holds.
    public let bytes: [UInt8]
    /// Its corners, one after the other around it, in the picture as it was read.
    public let polygon: [Point]

    var top: Double { polygon.map(\.y).min() ?? 0 }

    /// The symbol where `place` tells for each corner.
    func moved(_ place: (Point) -> Point) -> Symbol {
        Symbol(bytes: bytes, polygon: polygon.map(place))
    }
}
