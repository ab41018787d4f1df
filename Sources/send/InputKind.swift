import Sotto
import SottoTool

/// The kind of standard input, detected from its first bytes. Only records begin with a brace; any other input is
/// reported as one error and not once per line.
enum InputKind {
    /// The number of first bytes that are examined.
    static let size = 64

    /// Throws a failure with status 65 for input that does not begin like a record. `beginning` may have leading white
    /// space.
    static func check(_ beginning: [UInt8]) throws(Failure) {
        let text = beginning.drop { [0x09, 0x0A, 0x0D, 0x20].contains($0) }
        guard let first = text.first, first != UInt8(ascii: "{") else { return }
        throw Failure(
            .malformed, "standard input is \(name(of: text)), not an envelope",
            hint: "use sotto encrypt --to first")
    }

    /// Returns the name of the bytes' kind, with an article.
    private static func name(of bytes: ArraySlice<UInt8>) -> String {
        if AgeFormat.isAge(Array(bytes)) { return "an age file" }
        let magics: [(String, [UInt8])] = [
            ("a picture (PNG)", [0x89] + Array("PNG".utf8)),
            ("a picture (JPEG)", [0xFF, 0xD8, 0xFF]), ("a picture (GIF)", Array("GIF8".utf8)),
            ("a PDF document", Array("%PDF".utf8)), ("compressed data (gzip)", [0x1F, 0x8B]),
            ("a sotto: URI", Array("sotto:".utf8)),
        ]
        if let known = magics.first(where: { bytes.starts(with: $0.1) }) { return known.0 }
        // The last character may be incomplete.
        let isText = (0...3).contains { cut in
            String(validating: bytes.dropLast(cut), as: UTF8.self) != nil
        }
        return isText && !bytes.contains(0) ? "plain text" : "binary data"
    }
}
