/// Textual encodings of keys (RFC 7468): base64 between a BEGIN line and an END line.
package enum PEM {
    /// Returns the text, with 64 characters on a line and a line feed at the end.
    package static func encode(_ label: String, _ bytes: [UInt8]) -> String {
        var text = Base64.standard.encode(bytes)[...]
        var lines = ["-----BEGIN \(label)-----"]
        while !text.isEmpty {
            lines.append(String(text.prefix(64)))
            text = text.dropFirst(64)
        }
        return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
    }

    /// Returns the label and the bytes, or `nil` unless the text is one such encoding in ASCII. White space around it
    /// and CRLF are allowed.
    package static func decode(_ text: [UInt8]) -> (label: String, bytes: [UInt8])? {
        // Swift compares some other characters as equal to ASCII characters.
        guard text.allSatisfy({ $0 < 0x80 }) else { return nil }
        let string = String(decoding: text, as: UTF8.self)
        var lines = string.split(whereSeparator: \.isNewline)[...]
        while lines.first.map({ $0.allSatisfy(\.isWhitespace) }) == true { lines.removeFirst() }
        while lines.last.map({ $0.allSatisfy(\.isWhitespace) }) == true { lines.removeLast() }
        guard lines.count >= 2, let label = label(lines.removeFirst(), "BEGIN"),
            label == self.label(lines.removeLast(), "END"),
            lines.allSatisfy({ $0.utf8.count <= 76 }),
            let bytes = Base64.standard.decode(lines.joined())
        else { return nil }
        return (label, bytes)
    }

    private static func label(_ line: Substring, _ word: String) -> String? {
        let head = "-----\(word) "
        guard line.hasPrefix(head), line.hasSuffix("-----") else { return nil }
        let label = line.dropFirst(head.count).dropLast(5)
        return label.isEmpty ? nil : String(label)
    }
}
