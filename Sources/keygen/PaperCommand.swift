import Arguments
import Sotto
import SottoTool

/// `keygen paper`: a printable page of an identity.
struct PaperCommand: Program {
    static let configuration = CommandConfiguration(
        name: "paper",
        abstract:
            "Write a printable page with an identity's words, a QR code of the words, and its fingerprint.",
        usage: "sotto keygen paper -o SVG [FILE]",
        discussion: """
            The page is an SVG picture in A4 size. It contains the secret words: print it, then delete the file.

            EXAMPLES
              sotto keygen paper -o alice.svg alice.key
              sotto qr scan photo.jpg | sotto keygen recover -o alice.key
            """)

    @OptionGroup var destination: SecretFileOptions

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func execute() throws {
        let output = try destination.open(tool: KeygenTool.toolName)
        let identity = try identity.load(argument: file)
        guard identity.isConsistent() else {
            throw Failure(
                .malformed, "the words in the identity do not match its keys",
                hint: "the file was edited; do not use these words")
        }
        let mnemonic = try identity.mnemonic()
        let code = try ToolRun(
            "qr", ["-t", "svg", "-s", "1", "-l", "Q"], input: Array(mnemonic.sentenceText().utf8)
        ).output()
        try output.writeText(try Page(identity, mnemonic, code: code).svg)
        try output.finish()
    }
}

/// The page; units are millimeters.
private struct Page {
    private let identity: Identity
    private let words: [String]
    /// The drawing of the QR code, and its side in modules.
    private let code: (drawing: String, side: Substring)
    private let fingerprint: [String]

    init(_ identity: Identity, _ mnemonic: Mnemonic, code: [UInt8]) throws(Failure) {
        self.identity = identity
        words = mnemonic.sentenceText().split(whereSeparator: \.isWhitespace).map(String.init)
        let text = String(decoding: code, as: UTF8.self)
        let head = text.pieces(between: "<rect")
        let box = head[0].pieces(between: "viewBox=\"0 0 ")
        guard head.count == 2, box.count == 2,
            let fingerprint = Fingerprint(identity.id)
        else { throw Failure(.bug, "qr drew no code") }
        self.code = ("<rect" + head[1].pieces(between: "</svg>")[0], box[1].prefix { $0.isNumber })
        self.fingerprint = pieces(fingerprint.digits, 15).map { Fingerprint.grouped(String($0)) }
    }

    var svg: String {
        var lines = [
            text(20, 28, title, size: 7, weight: "bold"),
            text(
                20, 36, "This page gives full access to the identity. Store it like a key.",
                size: 4),
            text(20, 43, "Made on \(Timestamp.now().description.prefix(10)).", size: 4),
        ]
        let columns = 4
        let rows = (words.count + columns - 1) / columns
        for (place, word) in words.enumerated() {
            let (x, y) = (20 + 44 * (place / rows), 52 + 9 * (place % rows))
            lines.append(text(x + 6, y, "\(place + 1)", size: 3, anchor: "end"))
            lines.append(text(x + 8, y, word, size: 5.5))
        }
        let top = 52 + 9 * rows
        lines.append(
            """
            <svg x="16" y="\(top)" width="84" height="84" viewBox="0 0 \(code.side) \(code.side)" shape-rendering="crispEdges">
            \(code.drawing)</svg>
            """)
        var (x, y) = (108, top + 12)
        func paragraph(_ title: String, _ body: [(text: String, isTyped: Bool)]) {
            lines.append(text(x, y, title, size: 3.8, weight: "bold"))
            for line in body {
                y += 6
                lines.append(
                    text(
                        x, y, line.text, size: 3.8,
                        family: line.isTyped ? "monospace" : "sans-serif"))
            }
            y += 11
        }
        paragraph("Fingerprint", fingerprint.map { ($0, true) })
        paragraph("Id", pieces(identity.id.description, 22).map { (String($0), true) })
        paragraph("The QR code", [("contains the words in order.", false)])
        (x, y) = (20, top + 94)
        let option = identity.hasWordsPassphrase ? " --words-passphrase ask" : ""
        paragraph(
            "To restore it",
            [
                ("sotto qr scan PHOTO | sotto keygen recover\(option) -o FILE", true),
                (
                    "or type the words into sotto keygen recover. Then compare the fingerprint:",
                    false
                ),
                ("sotto fingerprint -i FILE", true),
            ])
        paragraph("What the words do not restore", missing)
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="210mm" height="297mm" viewBox="0 0 210 297">
            <rect width="210" height="297" fill="#fff"/>
            \(lines.joined(separator: "\n"))
            </svg>

            """
    }

    /// The title. A name that would not fit is truncated.
    private var title: String {
        let name = identity.name
        if name.isEmpty { return "Sotto identity" }
        return "Sotto identity \u{2013} " + name.prefix(30) + (name.count > 30 ? "\u{2026}" : "")
    }

    /// The longest member of the identity that is printed, in bytes.
    private static let shortMember = 64

    /// The data that the words do not restore, with the address of the relay.
    private var missing: [(text: String, isTyped: Bool)] {
        var lines = ["Contacts, groups and messages: only a backup has them."]
        if identity.hasWordsPassphrase {
            lines.append("The passphrase of the words: without it they give different keys.")
        }
        for (name, value) in identity.otherMembers.members {
            guard let text = value.string else { continue }
            lines.append(
                text.utf8.count <= Self.shortMember
                    ? "For another messenger, \(name): \(text)."
                    : "For another messenger, \(name): sotto bridge export \(name) -o FILE.")
        }
        guard let relay = identity.relay else { return lines.map { ($0, false) } }
        return (lines + ["The relay, for --relay:"]).map { ($0, false) }
            + pieces(relay, 70).map { (String($0), true) }
    }
}

/// Returns a line of text whose baseline begins or ends at a point.
private func text(
    _ x: Int, _ y: Int, _ content: String, size: Double, family: String = "sans-serif",
    weight: String = "normal", anchor: String = "start"
) -> String {
    let escaped = legible(content).replacingAll("&", with: "&amp;").replacingAll("<", with: "&lt;")
        .replacingAll(">", with: "&gt;")
    return
        "<text x=\"\(x)\" y=\"\(y)\" font-family=\"\(family)\" font-size=\"\(size)\" font-weight=\"\(weight)\" text-anchor=\"\(anchor)\" xml:space=\"preserve\">\(escaped)</text>"
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
private func pieces(_ text: String, _ count: Int) -> [Substring] {
    var (rest, pieces) = (text[...], [Substring]())
    while !rest.isEmpty {
        pieces.append(rest.prefix(count))
        rest = rest.dropFirst(count)
    }
    return pieces
}
