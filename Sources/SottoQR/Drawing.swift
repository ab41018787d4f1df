/// The modules that a text drawing shows with characters, and whether it sets its own colors.
public enum Ink: Sendable, Hashable {
    /// Dark modules are drawn: for terminals with dark text on a light background.
    case dark
    /// Light modules are drawn: for terminals with light text on a dark background.
    case light
    /// Black on white by escape sequences (ECMA-48 SGR, 256 colors): for every terminal.
    case coloured
}

extension QRCode {
    /// Returns the code in Unicode half blocks, two rows of modules per line, with a margin of `margin` light modules.
    /// Each line ends with a line feed.
    public func halfBlocks(margin: Int, ink: Ink) -> String {
        lines(margin: margin, step: 2) { column, row in
            let upper = isDark(column, row) != (ink == .light)
            // Below an odd number of rows nothing is drawn.
            let isInside = row + 1 < side + margin
            let lower =
                isInside ? isDark(column, row + 1) != (ink == .light) : false
            return switch (upper, lower) {
            case (true, true): "█"
            case (true, false): "▀"
            case (false, true): "▄"
            case (false, false): " "
            }
        }.map { line in
            ink == .coloured ? "\u{1b}[38;5;16;48;5;231m\(line)\u{1b}[0m\n" : line + "\n"
        }.joined()
    }

    /// Returns the code in ASCII, two characters per module, with a margin of `margin` light modules. Each line ends
    /// with a line feed.
    public func ascii(margin: Int, ink: Ink) -> String {
        lines(margin: margin, step: 1) { column, row in
            switch ink {
            case .dark: isDark(column, row) ? "##" : "  "
            case .light: isDark(column, row) ? "  " : "##"
            case .coloured:
                isDark(column, row) ? "\u{1b}[48;5;16m  " : "\u{1b}[48;5;231m  "
            }
        }.map { ink == .coloured ? $0 + "\u{1b}[0m\n" : $0 + "\n" }.joined()
    }

    private func lines(
        margin: Int, step: Int, _ glyph: (_ column: Int, _ row: Int) -> String
    ) -> [String] {
        stride(from: -margin, to: side + margin, by: step).map { row in
            (-margin..<side + margin).map { glyph($0, row) }.joined()
        }
    }

    /// Returns the code as an SVG 1.1 document: black on white, `size` pixels per module, with a margin of `margin`
    /// light modules.
    public func svg(size: Int, margin: Int) -> String {
        let total = side + 2 * margin
        var path = ""
        for row in 0..<side {
            var column = 0
            while column < side {
                let start = column
                while isDark(column, row) { column += 1 }
                if column > start {
                    let left = start + margin
                    path += "M\(left) \(row + margin)h\(column - start)v1H\(left)z"
                } else {
                    column += 1
                }
            }
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" version="1.1" \
            width="\(total * size)" height="\(total * size)" viewBox="0 0 \(total) \(total)" \
            shape-rendering="crispEdges">
            <rect width="\(total)" height="\(total)" fill="#fff"/>
            <path fill="#000" d="\(path)"/>
            </svg>

            """
    }
}
