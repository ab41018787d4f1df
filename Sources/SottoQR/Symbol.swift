/// A position in a picture, in pixels from its upper left corner.
public struct Point: Sendable, Hashable {
    /// Pixels to the right.
    public let x: Double
    /// Pixels down.
    public let y: Double

    /// Creates a position.
    @inlinable
    public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
}

/// A QR code that was found in a picture.
public struct Symbol: Sendable, Hashable {
    /// The content.
    public let bytes: [UInt8]
    /// The corners in order, in the coordinates of the original picture.
    public let polygon: [Point]

    /// Creates a symbol.
    public init(bytes: [UInt8], polygon: [Point]) { (self.bytes, self.polygon) = (bytes, polygon) }
}
