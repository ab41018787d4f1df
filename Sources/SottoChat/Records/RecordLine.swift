import SottoBytes

/// A line with a record of a tool, of which only the beginning arrived.
enum RecordLine {
    /// The length from which a line is cut.
    static let limit = 1 << 20

    /// Returns a record with the members before the cut, and with the member `cut`: many reactions to a message must not hide it.
    /// Returns other lines as they are.
    static func mended(_ line: [UInt8]) -> [UInt8] {
        guard line.count >= limit, let end = lastMemberEnd(line) else { return line }
        return line[..<end] + Array(#","cut":true}"#.utf8)
    }

    /// Returns the place of the last comma between members of the record itself.
    private static func lastMemberEnd(_ line: [UInt8]) -> Int? {
        var (strings, depth, end) = (JSONStrings(), 0, Int?.none)
        for (place, byte) in line.enumerated() where strings.isOutside(byte) {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                // The record is whole.
                if depth == 0 { return nil }
            case UInt8(ascii: ",") where depth == 1: end = place
            default: break
            }
        }
        return end
    }
}
