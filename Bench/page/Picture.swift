/// The picture of all results: bars of our speed against each peer's, and lines of growth.
struct Picture {
    let results: Results
    /// The date and the machine.
    let foot: String

    /// The space at the sides, in pixels.
    static let margin = 24.0

    /// The SVG text, without a line feed at its end.
    var text: String {
        var drawing = Drawing()
        var y = Self.margin
        if !results.groups.isEmpty {
            y = heading(
                "Sotto against its peers",
                "Our speed as a multiple of the peer's in the same run, at the right of the line if ours is faster.",
                &drawing, y)
            y = Bars(groups: results.groups).draw(&drawing, y) + 28
        }
        if !results.subjects.isEmpty {
            y = heading(
                "How cost grows",
                "The time of a command over the number of things, and its exponent: at 0 it stays, at 1 it is proportional.",
                &drawing, y)
            y = GrowthCharts(subjects: results.subjects).draw(&drawing, y) + 12
        }
        drawing.write(
            foot, x: Self.margin, y: y + 12, room: Drawing.width - 2 * Self.margin, style: .quiet)
        return drawing.text(
            height: y + 32, title: "Results of make bench", description: description)
    }

    /// Draws a title and the line below it. Returns the place below them.
    private func heading(_ title: String, _ note: String, _ drawing: inout Drawing, _ y: Double)
        -> Double
    {
        let room = Drawing.width - 2 * Self.margin
        drawing.write(title, x: Self.margin, y: y + 20, room: room, style: .title)
        drawing.write(note, x: Self.margin, y: y + 42, room: room, style: .quiet)
        return y + 58
    }

    /// The rows in words, for those who do not see the picture.
    private var description: String {
        let rows = results.groups.flatMap { group in
            group.rows.map { "\(group.title): \($0.label) \(figure($0.ratio))x \($0.peer)" }
        }
        let lines = results.subjects.flatMap { subject in
            subject.lines.map {
                "\(subject.title): \($0.label) exponent \(Fit($0.points)?.text ?? "unknown")"
            }
        }
        return (rows + lines + [foot]).joined(separator: "; ")
    }
}
