/// The text of an SVG picture (SVG 1.1) with the classes of ``style``.
struct Drawing {
    /// The width of the picture in pixels.
    static let width = 900.0

    private var elements: [String] = []

    enum Anchor: String { case start, middle, end }

    /// The width of a text at most, in pixels: a sum for a system font without serifs.
    static func width(of text: String, size: Double = 12) -> Double {
        text.unicodeScalars.reduce(0) { sum, scalar in
            let share =
                switch scalar {
                case "i", "j", "l", "I", ".", ",", ":", ";", "'", "|", "!", " ", "(", ")", "/": 0.36
                case "f", "r", "t", "-": 0.42
                case "m", "w", "M", "W", "@", "%": 0.95
                case "A"..."Z": 0.74
                case "\u{2E80}"...: 1.1
                default: 0.62
                }
            return sum + share * size
        }
    }

    /// Returns the text, or its beginning with an ellipsis, so that it is at most `room` pixels wide.
    static func fit(_ text: String, _ room: Double, size: Double = 12) -> String {
        guard width(of: text, size: size) > room else { return text }
        var short = text
        while !short.isEmpty, width(of: short + "…", size: size) > room { short.removeLast() }
        return short + "…"
    }

    /// Adds a text that begins, has its middle or ends at `x`, shortened to `room` pixels.
    mutating func write(
        _ text: String, x: Double, y: Double, room: Double, anchor: Anchor = .start,
        style: TextStyle = .plain
    ) {
        let short = Self.fit(text, room, size: style.size)
        let place = anchor == .start ? "" : " text-anchor=\"\(anchor.rawValue)\""
        let kind = style == .plain ? "" : " class=\"\(style.rawValue)\""
        elements.append(
            "<text x=\"\(number(x))\" y=\"\(number(y))\"\(place)\(kind)>\(escaped(short))</text>")
    }

    mutating func line(_ from: (Double, Double), _ to: (Double, Double), _ kind: String) {
        elements.append(
            "<line x1=\"\(number(from.0))\" y1=\"\(number(from.1))\" x2=\"\(number(to.0))\" "
                + "y2=\"\(number(to.1))\" class=\"\(kind)\"/>")
    }

    mutating func rectangle(x: Double, y: Double, width: Double, height: Double, _ kind: String) {
        elements.append(
            "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(width))\" "
                + "height=\"\(number(height))\" class=\"\(kind)\"/>")
    }

    /// Adds a line through points, with a dot at each.
    mutating func path(_ points: [(Double, Double)], _ kind: String) {
        let list = points.map { "\(number($0.0)),\(number($0.1))" }.joined(separator: " ")
        elements.append("<polyline points=\"\(list)\" class=\"line \(kind)\"/>")
        for point in points {
            elements.append(
                "<circle cx=\"\(number(point.0))\" cy=\"\(number(point.1))\" r=\"2.5\" "
                    + "class=\"dot \(kind)\"/>")
        }
    }

    /// Returns the picture with this height.
    func text(height: Double, title: String, description: String) -> String {
        let size = "\(number(Self.width))\" height=\"\(number(height))"
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(size)" viewBox="0 0 \
            \(number(Self.width)) \(number(height))" role="img" aria-labelledby="title description">
            <title id="title">\(escaped(title))</title>
            <desc id="description">\(escaped(description))</desc>
            <style>
            \(Self.style)
            </style>
            <rect width="100%" height="100%" class="page"/>
            \(elements.joined(separator: "\n"))
            </svg>
            """
    }

    /// Returns a coordinate with at most one decimal.
    private func number(_ value: Double) -> String {
        let text = decimal(value, places: 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Returns a text for the content of an element or an attribute (XML 1.0 §2.4). Characters that XML does not have become
    /// U+FFFD (§2.2).
    private func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\0"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// The kinds of text; the raw value is the class.
enum TextStyle: String {
    case plain
    case title
    case group
    case quiet
    case faster = "strong faster"
    case slower = "strong slower"
    case missed = "slower"

    /// The size of the font in pixels. A bold text has a larger one here, because its letters are wider.
    var size: Double {
        switch self {
        case .title: 22
        case .group: 14.5
        case .faster, .slower: 13
        case .plain, .quiet, .missed: 12
        }
    }
}

extension Drawing {
    /// The number of colours of lines.
    static let colours = 5

    /// The style, in light and in dark.
    static let style = """
        text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;\
        font-variant-numeric:tabular-nums;fill:#1f2328}
        .title{font-size:20px;font-weight:600}
        .group{font-size:13px;font-weight:600}
        .strong{font-weight:600}
        .page{fill:#fff}
        .quiet{fill:#59636e}
        .grid{stroke:#d8dee4}
        .peer{stroke:#59636e;stroke-width:1.5}
        .faster{fill:#0969da}
        .slower{fill:#bc4c00}
        .line{fill:none;stroke-width:2;stroke-linejoin:round}
        .dot{stroke:none}
        .line.c0{stroke:#0969da}.dot.c0{fill:#0969da}
        .line.c1{stroke:#bc4c00}.dot.c1{fill:#bc4c00}
        .line.c2{stroke:#1a7f37}.dot.c2{fill:#1a7f37}
        .line.c3{stroke:#8250df}.dot.c3{fill:#8250df}
        .line.c4{stroke:#9a6700}.dot.c4{fill:#9a6700}
        @media (prefers-color-scheme:dark){
        text{fill:#e6edf3}
        .page{fill:#0d1117}
        .quiet{fill:#9198a1}
        .grid{stroke:#2a313c}
        .peer{stroke:#9198a1}
        .faster{fill:#58a6ff}
        .slower{fill:#f0883e}
        .line.c0{stroke:#58a6ff}.dot.c0{fill:#58a6ff}
        .line.c1{stroke:#f0883e}.dot.c1{fill:#f0883e}
        .line.c2{stroke:#3fb950}.dot.c2{fill:#3fb950}
        .line.c3{stroke:#bc8cff}.dot.c3{fill:#bc8cff}
        .line.c4{stroke:#d29922}.dot.c4{fill:#d29922}
        }
        """
}
