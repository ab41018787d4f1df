import Glibc

/// A chart for each thing that grows, in two columns: times over sizes on logarithmic scales, and below them the labels with the
/// exponents.
struct GrowthCharts {
    let subjects: [Results.Subject]

    private static let gap = 28.0
    private static let width = (Drawing.width - 2 * Picture.margin - gap) / 2
    /// The space for the labels of times.
    private static let axis = 56.0
    private static let plotHeight = 150.0
    private static let lineHeight = 18.0

    /// Draws the charts from `y` on. Returns the place below them.
    func draw(_ drawing: inout Drawing, _ y: Double) -> Double {
        var y = y
        for first in stride(from: 0, to: subjects.count, by: 2) {
            let pair = subjects[first..<min(first + 2, subjects.count)]
            for (place, subject) in pair.enumerated() {
                draw(
                    subject, &drawing, x: Picture.margin + Double(place) * (Self.width + Self.gap),
                    y: y)
            }
            let lines = pair.map(\.lines.count).max() ?? 0
            y += 22 + Self.plotHeight + 30 + Double(lines) * Self.lineHeight + 14
        }
        return y
    }

    private func draw(
        _ subject: Results.Subject, _ drawing: inout Drawing, x left: Double, y top: Double
    ) {
        drawing.write(
            subject.title, x: left, y: top + 14, room: Self.width, style: .group)
        let scales = Scales(
            subject, x: (left + Self.axis)...(left + Self.width - 32),
            y: (top + 28)...(top + 28 + Self.plotHeight - 6))
        axes(scales, &drawing, left: left)
        for (place, line) in subject.lines.enumerated() {
            let colour = "c\(place % Drawing.colours)"
            drawing.path(
                line.points.sorted { $0.size < $1.size }.map {
                    (scales.x($0.size), scales.y($0.seconds))
                }, colour)
            label(
                line, colour, &drawing, left,
                scales.bottom + 40 + Double(place) * Self.lineHeight)
        }
    }

    /// Draws the powers of ten of the times, and the sizes.
    private func axes(_ scales: Scales, _ drawing: inout Drawing, left: Double) {
        for power in scales.powers {
            let seconds = pow(10, Double(power))
            let y = scales.y(seconds)
            drawing.line((scales.left, y), (scales.right, y), "grid")
            drawing.write(
                label(ofPower: power), x: scales.left - 8, y: y + 4, room: Self.axis - 8,
                anchor: .end, style: .quiet)
        }
        var end = -Double.infinity
        for size in scales.sizes {
            let text = grouped(size)
            let half = Drawing.width(of: text) / 2
            let x = scales.x(size)
            drawing.line((x, scales.bottom), (x, scales.bottom + 4), "grid")
            guard x - half > end + 6 else { continue }
            end = x + half
            drawing.write(
                text, x: x, y: scales.bottom + 18, room: 2 * half, anchor: .middle, style: .quiet)
        }
    }

    /// Returns a power of ten of a second: 10 ms, 1 s.
    private func label(ofPower power: Int) -> String {
        switch power {
        case 0...: grouped(pow(10, Double(power))) + " s"
        case -3 ... -1: grouped(pow(10, Double(power + 3))) + " ms"
        default: grouped(pow(10, Double(max(power, -6) + 6))) + " µs"
        }
    }

    private func label(
        _ line: Results.Line, _ colour: String, _ drawing: inout Drawing, _ left: Double,
        _ y: Double
    ) {
        let fit = Fit(line.points)
        let isMissed = fit.map { !$0.reaches(line.goal) } ?? false
        let text =
            "\(fit?.text ?? "-")  (goal \(figure(line.goal))\(isMissed ? ", missed" : ""))"
        let width = Drawing.width(of: text)
        drawing.line((left, y - 4), (left + 16, y - 4), "line \(colour)")
        drawing.write(
            line.label, x: left + 24, y: y, room: Self.width - 24 - width - 10)
        drawing.write(
            text, x: left + Self.width, y: y, room: width, anchor: .end,
            style: isMissed ? .missed : .quiet)
    }
}

/// The scales of a chart: a size and a time to their places.
struct Scales {
    /// The sizes, in order.
    let sizes: [Double]
    /// The powers of ten of seconds, from below the shortest time to above the longest.
    let powers: ClosedRange<Int>
    private let xs: ClosedRange<Double>
    private let ys: ClosedRange<Double>

    var left: Double { xs.lowerBound }
    var right: Double { xs.upperBound }
    var bottom: Double { ys.upperBound }

    init(_ subject: Results.Subject, x: ClosedRange<Double>, y: ClosedRange<Double>) {
        sizes = subject.sizes
        let times = subject.lines.flatMap { $0.points.map { log10($0.seconds) } }
        let low = Int((times.min() ?? 0).rounded(.down))
        powers = low...max(low + 1, Int((times.max() ?? 0).rounded(.up)))
        (xs, ys) = (x, y)
    }

    func x(_ size: Double) -> Double {
        guard let first = sizes.first, let last = sizes.last, last > first else { return left }
        return left + log(size / first) / log(last / first) * (right - left)
    }

    func y(_ seconds: Double) -> Double {
        let share =
            (log10(seconds) - Double(powers.lowerBound))
            / Double(powers.upperBound - powers.lowerBound)
        return bottom - share * (bottom - ys.lowerBound)
    }
}
