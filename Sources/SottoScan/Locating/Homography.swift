import SottoQR

/// A projective mapping from the plane of a code to a picture.
struct Homography {
    /// Eight coefficients: x = (a·u + b·v + c) / w and y = (d·u + e·v + f) / w with w = g·u + h·v + 1.
    private let c: [Double]

    func callAsFunction(_ u: Double, _ v: Double) -> Point {
        let scale = 1 / (c[6] * u + c[7] * v + 1)
        return Point(
            x: (c[0] * u + c[1] * v + c[2]) * scale, y: (c[3] * u + c[4] * v + c[5]) * scale)
    }

    /// Points of the code with their positions in the picture, from which least squares computes a homography.
    struct Fit {
        /// The upper triangle of the normal equations with the right sides: 8 rows of 9.
        private var rows = [Double](repeating: 0, count: 72)

        /// Scale factors that bring the coordinates close to one: (u, v) by `sheet`, (x, y) by `picture`.
        private let sheet: Double
        private let picture: Double

        init(sheet: Double, picture: Double) {
            (self.sheet, self.picture) = (sheet, picture)
        }

        mutating func add(_ u: Double, _ v: Double, seenAt point: Point, weight: Double = 1) {
            let (u, v) = (u / sheet, v / sheet)
            let (x, y) = (point.x / picture, point.y / picture)
            add([u, v, 1, 0, 0, 0, -u * x, -v * x, x], weight)
            add([0, 0, 0, u, v, 1, -u * y, -v * y, y], weight)
        }

        private mutating func add(_ equation: [Double], _ weight: Double) {
            for i in 0..<8 where equation[i] != 0 {
                for j in 0..<9 { rows[i * 9 + j] += weight * equation[i] * equation[j] }
            }
        }

        /// Returns the homography, or `nil` if the points do not determine it.
        func solved() -> Homography? {
            var m = rows
            for i in 0..<8 {
                let pivot = (i..<8).max { abs(m[$0 * 9 + i]) < abs(m[$1 * 9 + i]) } ?? i
                guard abs(m[pivot * 9 + i]) > 1e-12 else { return nil }
                if pivot != i { for j in 0..<9 { m.swapAt(pivot * 9 + j, i * 9 + j) } }
                for k in 0..<8 where k != i {
                    let factor = m[k * 9 + i] / m[i * 9 + i]
                    if factor != 0 { for j in i..<9 { m[k * 9 + j] -= factor * m[i * 9 + j] } }
                }
            }
            let s = (0..<8).map { m[$0 * 9 + 8] / m[$0 * 9 + $0] }
            return Homography(c: [
                s[0] * picture / sheet, s[1] * picture / sheet, s[2] * picture,
                s[3] * picture / sheet, s[4] * picture / sheet, s[5] * picture,
                s[6] / sheet, s[7] / sheet,
            ])
        }
    }
}
