import Glibc

/// The results of a run of `make bench`.
///
/// Each line has fields with tabs between them:
///
/// | line | fields after the first |
/// |---|---|
/// | `row` | group, label, our figure, unit, the peer's name, its figure. A unit with a slash is a rate, others are times |
/// | `growth` | subject, label, the goal of the exponent, size, seconds |
struct Results {
    /// Our figure, and that of a peer.
    struct Row {
        let label: String
        let ours: Double
        let unit: String
        let peer: String
        let theirs: Double

        /// Our speed as a multiple of the peer's.
        var ratio: Double { unit.contains("/") ? ours / theirs : theirs / ours }
    }

    /// The times of one command at several sizes.
    struct Line {
        let label: String
        let goal: Double
        var points: [(size: Double, seconds: Double)]
    }

    /// The rows of a part of the bench.
    struct Group {
        let title: String
        var rows: [Row] = []
    }

    /// The lines of one thing that grows.
    struct Subject {
        let title: String
        var lines: [Line] = []

        /// All sizes, in order.
        var sizes: [Double] { Set(lines.flatMap { $0.points.map(\.size) }).sorted() }
    }

    private(set) var groups: [Group] = []
    private(set) var subjects: [Subject] = []

    /// Adds a line. Throws ``LineError`` for another form, and for a number below 0.000001 or above 10¹²,
    /// so that every figure and ratio can be printed.
    mutating func add(_ line: String) throws(LineError) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        func number(_ place: Int) throws(LineError) -> Double {
            guard let value = Double(fields[place]), (1e-6...1e12).contains(value) else {
                throw LineError(line: line)
            }
            return value
        }
        switch (fields[0], fields.count) {
        case ("row", 7):
            let row = Row(
                label: fields[2], ours: try number(3), unit: fields[4], peer: fields[5],
                theirs: try number(6))
            if let place = groups.firstIndex(where: { $0.title == fields[1] }) {
                groups[place].rows.append(row)
            } else {
                groups.append(Group(title: fields[1], rows: [row]))
            }
        case ("growth", 6):
            let line = Line(
                label: fields[2], goal: try number(3),
                points: [(size: try number(4), seconds: try number(5))])
            if let place = subjects.firstIndex(where: { $0.title == fields[1] }) {
                subjects[place].add(line)
            } else {
                subjects.append(Subject(title: fields[1], lines: [line]))
            }
        default: throw LineError(line: line)
        }
    }
}

extension Results.Subject {
    /// Adds the points of a line to those of the line with its label.
    mutating func add(_ line: Results.Line) {
        if let place = lines.firstIndex(where: { $0.label == line.label }) {
            lines[place].points += line.points
        } else {
            lines.append(line)
        }
    }
}

/// A line that is no result.
struct LineError: Error {
    let line: String
}
