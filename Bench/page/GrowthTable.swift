/// The growth of times as text, in the form of the other parts of the bench.
struct GrowthTable {
    let results: Results

    /// The lines: each subject with its sizes, and below it the times, the exponent and its goal.
    var lines: [String] {
        results.subjects.flatMap { subject -> [String] in
            let sizes = subject.sizes
            let head = right(subject.title, 34) + sizes.map { " " + left(grouped($0), 10) }.joined()
            return ["  " + head]
                + subject.lines.map { line in
                    let times = sizes.map { size in
                        line.points.last { $0.size == size }.map { time($0.seconds) } ?? "-"
                    }
                    return "    " + right(line.label, 32)
                        + times.map { " " + left($0, 10) }.joined()
                        + "   " + verdict(line)
                }
        }
    }

    private func verdict(_ line: Results.Line) -> String {
        let goal = "goal \(figure(line.goal))"
        guard let fit = Fit(line.points) else { return "one size only (\(goal))" }
        let result = fit.reaches(line.goal) ? "ok" : "MISSED"
        return "exponent \(left(fit.text, 5))   \(goal): \(result)"
    }

    /// Returns the text with spaces after it, up to this many characters.
    private func right(_ text: String, _ count: Int) -> String {
        text + String(repeating: " ", count: max(0, count - text.count))
    }

    /// Returns the text with spaces before it, up to this many characters.
    private func left(_ text: String, _ count: Int) -> String {
        String(repeating: " ", count: max(0, count - text.count)) + text
    }
}
