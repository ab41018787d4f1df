import SottoMedia

/// The previews of pictures in the open conversation. The sandboxed helper decodes them, some at a time.
struct Previews: Sendable {
    /// The most previews that are kept, and the most files that wait.
    static let limit = 200
    /// The most files of one run of the helper.
    static let batch = 8
    /// The number of failures in a row after which no more is asked.
    private static let patience = 3

    private(set) var pictures: [Int64: PicturePreview] = [:]
    private var order: [Int64] = []
    private var waiting: [(number: Int64, file: [UInt8])] = []
    /// The messages whose file was decoded, or cannot be.
    private var asked: Set<Int64> = []
    private var failures = 0

    /// Whether the helper cannot be used here.
    private var isOff: Bool { failures >= Self.patience }

    /// Takes the small picture of a message, once.
    mutating func ask(_ number: Int64, _ file: [UInt8]) {
        guard !isOff, asked.insert(number).inserted else { return }
        waiting.append((number, file))
        if waiting.count > Self.limit { asked.remove(waiting.removeFirst().number) }
    }

    /// Removes the files for one run of the helper, the newest first.
    mutating func next() -> [(number: Int64, file: [UInt8])] {
        guard !isOff else { return [] }
        let part = Array(waiting.suffix(Self.batch).reversed())
        waiting.removeLast(part.count)
        return part
    }

    /// Takes the answers to files, in their order. If there are fewer, the helper ended at the next file, and the others can be asked
    /// again.
    mutating func take(_ answers: [[UInt8]], of numbers: [Int64]) {
        for (number, answer) in zip(numbers, answers) {
            guard let picture = PicturePreview(parsing: answer) else { continue }
            pictures[number] = picture
            order.append(number)
        }
        failures = answers.isEmpty ? failures + 1 : 0
        for number in numbers.dropFirst(answers.count + 1) { asked.remove(number) }
        while order.count > Self.limit { pictures[order.removeFirst()] = nil }
    }
}

extension PicturePreview {
    /// The rows of half blocks.
    var rows: [[Screen.Span]] {
        stride(from: 0, to: height, by: 2).map { y in
            var row: [Screen.Span] = []
            for x in 0..<width {
                var style = Screen.Style.plain
                style.halves = Screen.Halves(
                    upper: color(x, y), lower: y + 1 < height ? color(x, y + 1) : nil)
                if row.last?.style == style {
                    row[row.count - 1].text += "▀"
                } else {
                    row.append(Screen.Span("▀", style))
                }
            }
            return row
        }
    }

    /// Returns the nearest of the 256 colours of terminals: 24 greys, or a cube of six steps.
    private func color(_ x: Int, _ y: Int) -> UInt8 {
        let place = (y * width + x) * 3
        let parts = pixels[place..<place + 3].map(Int.init)
        let (low, high) = (parts.min() ?? 0, parts.max() ?? 0)
        if high - low < 10 {
            if high < 4 { return 16 }
            return low > 246 ? 231 : UInt8(232 + min(23, max(0, (low - 3) / 10)))
        }
        let steps = parts.map { $0 < 48 ? 0 : $0 < 115 ? 1 : ($0 - 35) / 40 }
        return UInt8(16 + steps[0] * 36 + steps[1] * 6 + steps[2])
    }
}
