import SottoQR

extension FuzzTarget {
    /// A part of content that is split over several QR codes. The bytes are also read as several parts, each after a
    /// length byte, and as content to split.
    static let codePart = FuzzTarget("code-part") { bytes in
        if let part = CodePart(parsing: bytes) { precondition(part.code == bytes) }
        var parts: [CodePart] = []
        var rest = bytes[...]
        while let count = rest.popFirst() {
            if let part = CodePart(parsing: Array(rest.prefix(Int(count)))) { parts.append(part) }
            rest = rest.dropFirst(Int(count))
        }
        if let content = try? CodePart.content(of: parts), let first = parts.first {
            precondition(
                CodePart.split(content, into: first.count).allSatisfy { $0.set == first.set })
        }
        guard let first = bytes.first, bytes.count > 1 else { return }
        let content = Array(bytes.dropFirst())
        let count = min(1 + Int(first) % CodePart.maximumCount, content.count)
        let split = CodePart.split(content, into: count)
        precondition(split.allSatisfy { CodePart(parsing: $0.code) == $0 })
        precondition((try? CodePart.content(of: split.reversed())) == content)
    }
}
