// The standard library has these functions only in its regular expression module, which would slow down the start of
// each program.
extension StringProtocol where SubSequence == Substring {
    /// Returns the parts of the text around each `separator`, which is not empty. Without a separator there is one
    /// part.
    public func pieces(between separator: String) -> [Substring] {
        let (text, mark) = (self[...], Array(separator.utf8))
        precondition(!mark.isEmpty)
        var (pieces, start, place) = ([Substring](), text.startIndex, text.startIndex)
        while place < text.endIndex {
            if text.utf8[place...].starts(with: mark) {
                pieces.append(text[start..<place])
                place = text.utf8.index(place, offsetBy: mark.count)
                start = place
            } else {
                text.utf8.formIndex(after: &place)
            }
        }
        return pieces + [text[start...]]
    }

    /// Returns the text with each occurrence of `text` replaced by `replacement`.
    public func replacingAll(_ text: String, with replacement: String) -> String {
        pieces(between: text).joined(separator: replacement)
    }
}
