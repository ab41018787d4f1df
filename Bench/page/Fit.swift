import Glibc

/// The power of the size with which a time grows: the exponent of the line through the logarithms with the least squares.
struct Fit {
    /// The exponent: 0 if the time is the same at all sizes, 1 if it is proportional to the size.
    let exponent: Double

    /// Fits a line. Returns `nil` without two different sizes, or if a size or a time is not above zero.
    init?(_ points: [(size: Double, seconds: Double)]) {
        guard points.allSatisfy({ $0.size > 0 && $0.seconds > 0 }) else { return nil }
        let places = points.map { (x: log($0.size), y: log($0.seconds)) }
        let count = Double(places.count)
        let middle = (
            x: places.reduce(0) { $0 + $1.x } / count, y: places.reduce(0) { $0 + $1.y } / count
        )
        let square = places.reduce(0) { $0 + ($1.x - middle.x) * ($1.x - middle.x) }
        guard square > 0 else { return nil }
        exponent = places.reduce(0) { $0 + ($1.x - middle.x) * ($1.y - middle.y) } / square
    }

    /// The exponent with two decimals.
    var text: String { decimal(exponent, places: 2) }

    /// Whether the exponent, rounded as it is printed, is at most `goal`.
    func reaches(_ goal: Double) -> Bool { (exponent * 100).rounded() <= (goal * 100).rounded() }
}
