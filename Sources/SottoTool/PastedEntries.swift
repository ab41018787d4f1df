import SottoBytes

/// The entries of a text with one on each line: without white space around them, without empty lines, and without
/// comments, which begin with `#`.
///
/// A JSON object, and a URI in `<…>`, may extend over several lines.
public struct PastedEntries {
    private var rest: ArraySlice<UInt8>
    private var line = 1
    /// The maximum length of a URI in `<…>`, in bytes.
    private static let uriLimit = 8 << 10

    /// Creates the entries of a text.
    public init(_ text: [UInt8]) { rest = text[...] }

    /// Returns the next entry and the number of its first line, from 1, or `nil` at the end.
    public mutating func next() -> (line: Int, bytes: ArraySlice<UInt8>)? {
        while let first = rest.first {
            if first == 0x0A { line += 1 }
            if first <= 0x20 {
                rest.removeFirst()
                continue
            }
            let entry = rest[..<end(of: first)]
            defer {
                line += entry.count { $0 == 0x0A }
                rest = rest[entry.endIndex...]
            }
            if first == UInt8(ascii: "#") { continue }
            let last = entry.lastIndex { $0 > 0x20 } ?? entry.startIndex
            return (line, entry[...last])
        }
        return nil
    }

    /// Returns the end of the entry at the beginning of ``rest``: that of an object or of a URI in `<…>`, else that of
    /// the line.
    private func end(of first: UInt8) -> Int {
        let lineEnd = rest.firstIndex(of: 0x0A) ?? rest.endIndex
        switch first {
        case UInt8(ascii: "{"): return objectEnd() ?? lineEnd
        case UInt8(ascii: "<"):
            let mark = rest.prefix(Self.uriLimit).firstIndex(of: UInt8(ascii: ">"))
            return mark.map { $0 + 1 } ?? lineEnd
        default: return lineEnd
        }
    }

    /// Returns the end of the JSON object at the beginning of ``rest``, or `nil` if it is not closed.
    private func objectEnd() -> Int? {
        var (strings, depth) = (JSONStrings(), 0)
        for place in rest.indices where strings.isOutside(rest[place]) {
            switch rest[place] {
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"):
                depth -= 1
                if depth == 0 { return place + 1 }
            default: break
            }
        }
        return nil
    }
}
