/// A place in a picture, in pixels from its upper left corner.
public struct Point: Sendable, Hashable {
    /// Pixels to the right.
    public let x: Double
    /// Pixels down.
    public let y: Double
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
