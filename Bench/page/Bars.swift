import Glibc

/// A bar for each row, on one logarithmic scale with the peer's speed at 1.
struct Bars {
    let groups: [Results.Group]

    private static let rowHeight = 20.0
    private static let groupHeight = 30.0
    /// The columns: our figure ends, the bars begin and end, the ratio ends, the peer's figure ends, its name begins.
    private static let ours = 340.0
    private static let bars = (from: 350.0, to: 590.0)
    private static let ratio = 646.0
    private static let theirs = 736.0
    private static let peer = 746.0

    /// The exponents of 2 at the ends of the scale.
    private let octaves: ClosedRange<Int>

    init(groups: [Results.Group]) {
        self.groups = groups
        let logarithms = groups.flatMap { $0.rows.map { log2($0.ratio) } }
        octaves =
            min(
                -1, Int((logarithms.min() ?? 0).rounded(.down)))...max(
                1, Int((logarithms.max() ?? 0).rounded(.up)))
    }

    /// Returns the place of a ratio on the scale.
    private func x(_ ratio: Double) -> Double {
        let share =
            (log2(ratio) - Double(octaves.lowerBound))
            / Double(octaves.upperBound - octaves.lowerBound)
        return Self.bars.from + share * (Self.bars.to - Self.bars.from)
    }

    /// Draws the bars from `y` on. Returns the place below them.
    func draw(_ drawing: inout Drawing, _ y: Double) -> Double {
        let rows = groups.reduce(0) { $0 + $1.rows.count }
        let end =
            y + 20 + Double(groups.count) * Self.groupHeight + Double(rows) * Self.rowHeight + 6
        scale(&drawing, from: y, to: end)
        var y = y + 20
        for group in groups {
            drawing.write(
                group.title, x: Picture.margin, y: y + 20, room: Self.ours - Picture.margin,
                style: .group)
            y += Self.groupHeight
            for row in group.rows {
                draw(row, &drawing, y)
                y += Self.rowHeight
            }
        }
        return end
    }

    /// Draws those powers of 2 whose labels have room, and the line of the peer.
    private func scale(_ drawing: inout Drawing, from top: Double, to bottom: Double) {
        let wide = (Self.bars.to - Self.bars.from) / Double(octaves.count - 1)
        func label(_ octave: Int) -> String {
            (octave < 0 ? "1/" : "") + grouped(exp2(Double(abs(octave)))) + "×"
        }
        let room = (octaves.map { Drawing.width(of: label($0)) }.max() ?? 0) + 8
        let step = [1, 2, 3, 4, 6, 8].first { wide * Double($0) >= room } ?? 12
        for octave in octaves where octave % step == 0 {
            let place = x(exp2(Double(octave)))
            drawing.write(
                label(octave), x: place, y: top + 12, room: wide * Double(step), anchor: .middle,
                style: .quiet)
            if octave != 0 { drawing.line((place, top + 20), (place, bottom), "grid") }
        }
        drawing.line((x(1), top + 20), (x(1), bottom), "peer")
    }

    private func draw(_ row: Results.Row, _ drawing: inout Drawing, _ y: Double) {
        let base = y + 14
        let isFaster = row.ratio >= 1
        func unit(_ value: Double) -> String {
            figure(value) + (row.unit.hasPrefix("/") ? "" : " ") + row.unit
        }
        let ours = unit(row.ours)
        let oursWidth = Drawing.width(of: ours)
        drawing.write(
            row.label, x: Picture.margin, y: base,
            room: Self.ours - oursWidth - 10 - Picture.margin)
        drawing.write(ours, x: Self.ours, y: base, room: oursWidth, anchor: .end)
        let ends = [x(1), x(row.ratio)].sorted()
        drawing.rectangle(
            x: ends[0], y: y + 4, width: max(1, ends[1] - ends[0]), height: Self.rowHeight - 8,
            isFaster ? "faster" : "slower")
        drawing.write(
            figure(row.ratio) + "×", x: Self.ratio, y: base, room: Self.ratio - Self.bars.to,
            anchor: .end, style: isFaster ? .faster : .slower)
        drawing.write(
            unit(row.theirs), x: Self.theirs, y: base, room: Self.theirs - Self.ratio - 4,
            anchor: .end, style: .quiet)
        drawing.write(
            row.peer, x: Self.peer, y: base, room: Drawing.width - Picture.margin - Self.peer,
            style: .quiet)
    }
}
