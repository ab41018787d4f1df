import SottoBytes

/// Words for numbers and names.
enum Words {
    /// Returns the name of a member who is no contact: the nickname and the beginning of the id. Spaces in the nickname cannot move
    /// the id away.
    static func member(_ nickname: String, _ id: String) -> String {
        let words = Cells.line(nickname, limit: 31).split { $0.isWhitespace || $0 == "\u{2800}" }
        return (words + [id.prefix(8)]).joined(separator: " ")
    }

    /// Returns a text that another person can choose, in quotation marks that it cannot end.
    static func quoted(_ text: String) -> String {
        "“\(text.replacingAll("“", with: "'").replacingAll("”", with: "'"))”"
    }

    /// Returns a text, in quotation marks if it begins as the words of the chat in place of a text or above it do.
    static func said(_ text: String) -> String {
        guard let first = text.unicodeScalars.first(where: { !$0.properties.isWhitespace }),
            first == "[" || (0x2500...0x259F).contains(first.value)
        else { return text }
        return "“\(text)”"
    }

    static func count(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Returns a size in bytes with a decimal unit.
    static func size(_ bytes: Int64) -> String {
        var (value, unit) = (Double(bytes), "B")
        for next in ["kB", "MB", "GB", "TB"] where value >= 1_000 {
            (value, unit) = (value / 1_000, next)
        }
        let isWhole = unit == "B" || value >= 10
        let tenths = Int((value * 10).rounded())
        return isWhole ? "\(Int(value.rounded())) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    /// Returns a duration as `1:05`.
    static func duration(_ seconds: Int64) -> String {
        "\(seconds / 60):\(padded(Int(seconds % 60)))"
    }

    /// Returns a day as `26 Nov`.
    static func day(_ time: ChatOptions.LocalTime) -> String {
        let months = MessageRows.months
        let month = months.indices.contains(time.month - 1) ? months[time.month - 1].prefix(3) : "?"
        return "\(time.day) \(month)"
    }

    /// Returns a time as `26 Nov 09:30`.
    static func moment(_ time: ChatOptions.LocalTime) -> String {
        "\(day(time)) \(padded(time.hour)):\(padded(time.minute))"
    }

    /// Returns a lifetime as `7d`.
    static func time(_ seconds: Int64) -> String {
        for (unit, length) in [("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60)]
            as [(String, Int64)]
        where seconds % length == 0 { return "\(seconds / length)\(unit)" }
        return "\(seconds)s"
    }

    /// Returns a number with at least two digits.
    static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Returns the first line of what a tool printed on standard error, without the tool's name.
    static func cause(_ lines: [String]) -> String? {
        let line = lines.first { $0.contains(": error: ") } ?? lines.first
        guard var text = line.map({ $0[...] }) else { return nil }
        for mark in [": error: ", ": note: "] {
            let pieces = text.pieces(between: mark)
            if pieces.count > 1, pieces[0].utf8.count < 20 { text = text[pieces[1].startIndex...] }
        }
        // Each text has its own tools, so the number of a line tells nothing.
        let pieces = text.pieces(between: ": ")
        let words = pieces[0].split(separator: " ")
        if pieces.count > 1, words.count == 2, words[0] == "line", Int(words[1]) != nil {
            text = text[pieces[1].startIndex...]
        }
        return Cells.line(String(text), limit: 400)
    }

    /// Returns the first hint of what a tool printed on standard error.
    static func hint(_ lines: [String]) -> String? {
        for line in lines {
            let pieces = line.pieces(between: ": hint: ")
            guard pieces.count > 1, pieces[0].utf8.count < 20 else { continue }
            return Cells.line(String(line[pieces[1].startIndex...]), limit: 400)
        }
        return nil
    }
}
