/// The picture that `ssh-keygen -lv` draws of a hash: the "drunken bishop" of Loss, Limmer and von Gernler, "The
/// drunken bishop: An analysis of the OpenSSH fingerprint visualization algorithm", 2009.
///
/// The bishop starts in the middle of 17 by 9 squares. Each two bits of the hash, the lowest of each byte first, move
/// it diagonally: the lower bit selects left or right, the upper bit up or down. At a wall it slides. A square's
/// character shows the number of visits; the first square is S and the last one E.
package enum Randomart {
    static let width = 17
    static let height = 9
    private static let marks = Array(" .o+=*BOX@%&#/^")

    /// Returns the picture of `hash` in a frame with `title` above and `footer` below, at most 15 characters each: 11
    /// lines of 19 characters.
    package static func lines(of hash: [UInt8], title: String, footer: String) -> [String] {
        var visits = [Int](repeating: 0, count: width * height)
        var (x, y) = (width / 2, height / 2)
        let start = y * width + x
        for byte in hash {
            for shift in stride(from: 0, to: 8, by: 2) {
                let bits = byte >> UInt8(shift)
                x = min(max(x + (bits & 1 == 1 ? 1 : -1), 0), width - 1)
                y = min(max(y + (bits & 2 == 2 ? 1 : -1), 0), height - 1)
                visits[y * width + x] += 1
            }
        }
        var squares = visits.map { marks[min($0, marks.count - 1)] }
        squares[start] = "S"
        squares[y * width + x] = "E"
        let rows = stride(from: 0, to: squares.count, by: width).map {
            "|" + String(squares[$0..<$0 + width]) + "|"
        }
        return [edge(title)] + rows + [edge(footer)]
    }

    /// Returns the picture of a fingerprint's 30 digits or a safety number's 60, from SHA-256 of the digits as text.
    package static func lines(ofDigits digits: String) -> [String] {
        lines(
            of: sha256(Array(digits.utf8)),
            title: digits.utf8.count == 30 ? "fingerprint" : "safety number", footer: "SHA256")
    }

    private static func edge(_ text: String) -> String {
        let label = "[\(text)]"
        let left = (width - label.count) / 2
        return "+" + String(repeating: "-", count: left) + label
            + String(repeating: "-", count: width - left - label.count) + "+"
    }
}
