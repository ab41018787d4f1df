import Sotto
import SottoTool

/// A QR code on a page.
struct PaperCode {
    /// The drawing, and its side in modules.
    private let drawing: String
    private let side: Substring

    /// Draws the code of some bytes, with the program `qr`. `level` is its error correction.
    init(_ content: [UInt8], level: String) throws {
        let svg = try ToolRun("qr", ["-t", "svg", "-s", "1", "-l", level], input: content).output()
        let head = String(decoding: svg, as: UTF8.self).pieces(between: "<rect")
        let box = head[0].pieces(between: "viewBox=\"0 0 ")
        guard head.count == 2, box.count == 2 else { throw Failure(.bug, "qr drew no code") }
        drawing = "<rect" + head[1].pieces(between: "</svg>")[0]
        side = box[1].prefix { $0.isNumber }
    }

    fileprivate func svg(x: Int, y: Int, side length: Int) -> String {
        """
        <svg x="\(x)" y="\(y)" width="\(length)" height="\(length)" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">
        \(drawing)</svg>
        """
    }
}

/// A printable page, an SVG picture in A4 size; units are millimeters.
struct PaperPage {
    private var lines: [String] = []
    /// The beginning of the next paragraph.
    private var (x, y) = (20, 20)

    /// Returns the title of a page with the name of an identity. A name that would not fit is truncated.
    static func title(_ what: String, _ name: String) -> String {
        if name.isEmpty { return what }
        return what + " \u{2013} " + name.prefix(30) + (name.count > 30 ? "\u{2026}" : "")
    }

    /// Adds a line of text whose baseline begins or ends at a point.
    mutating func add(
        _ x: Int, _ y: Int, _ content: String, size: Double, family: String = "sans-serif",
        weight: String = "normal", anchor: String = "start"
    ) {
        let escaped = legible(content).replacingAll("&", with: "&amp;")
            .replacingAll("<", with: "&lt;").replacingAll(">", with: "&gt;")
        lines.append(
            "<text x=\"\(x)\" y=\"\(y)\" font-family=\"\(family)\" font-size=\"\(size)\" font-weight=\"\(weight)\" text-anchor=\"\(anchor)\" xml:space=\"preserve\">\(escaped)</text>"
        )
    }

    /// Adds a QR code.
    mutating func add(_ code: PaperCode, x: Int, y: Int, side: Int) {
        lines.append(code.svg(x: x, y: y, side: side))
    }

    /// Sets where the next paragraph begins.
    mutating func place(_ x: Int, _ y: Int) { (self.x, self.y) = (x, y) }

    /// Adds a paragraph with a title, below the one before it.
    mutating func paragraph(_ title: String, _ body: [(text: String, isTyped: Bool)]) {
        add(x, y, title, size: 3.8, weight: "bold")
        for line in body {
            y += 6
            add(x, y, line.text, size: 3.8, family: line.isTyped ? "monospace" : "sans-serif")
        }
        y += 11
    }

    /// The picture.
    var svg: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="210mm" height="297mm" viewBox="0 0 210 297">
        <rect width="210" height="297" fill="#fff"/>
        \(lines.joined(separator: "\n"))
        </svg>

        """
    }
}

/// Returns a text without control characters and characters that XML does not allow (XML 1.0, "Characters").
private func legible(_ text: String) -> String {
    var legible = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0xFFFE, 0xFFFF: legible.append("\u{FFFD}")
        default: legible.append(scalar)
        }
    }
    return String(legible)
}

/// Splits a text into parts of `count` characters.
func pieces(_ text: String, _ count: Int) -> [Substring] {
    var (rest, pieces) = (text[...], [Substring]())
    while !rest.isEmpty {
        pieces.append(rest.prefix(count))
        rest = rest.dropFirst(count)
    }
    return pieces
}
