// What the standard library has only together with regular expressions, whose share of a program costs each start
// of it time.
extension StringProtocol where SubSequence == Substring {
    /// The pieces between the places where `separator` stands, which is not empty; one piece where it stands nowhere.
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

    /// The text with `replacement` wherever `text` stands.
    public func replacingAll(_ text: String, with replacement: String) -> String {
        pieces(between: text).joined(separator: replacement)
    }
}
