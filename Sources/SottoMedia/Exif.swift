/// The orientation in Exif data (JEITA CP-3451 §4.6).
public enum Exif {
    /// The first bytes of a JPEG segment with Exif data.
    public static let head = Array("Exif\0\0".utf8)
    private static let orientationTag = 0x0112

    /// Returns the orientation, 1 to 8, in a segment or chunk with Exif data; `nil` without one.
    public static func orientation(in content: [UInt8]) -> UInt8? {
        let data = content.starts(with: head) ? Array(content.dropFirst(head.count)) : content
        guard data.count >= 8 else { return nil }
        let isLittle = data.starts(with: "II".utf8)
        guard isLittle || data.starts(with: "MM".utf8) else { return nil }
        func number(_ place: Int, _ size: Int) -> Int? {
            guard place >= 0, place + size <= data.count else { return nil }
            let bytes = data[place..<(place + size)]
            return (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(0) {
                $0 << 8 | Int($1)
            }
        }
        guard number(2, 2) == 42, let table = number(4, 4), let count = number(table, 2) else {
            return nil
        }
        for entry in 0..<count {
            let place = table + 2 + entry * 12
            guard let tag = number(place, 2) else { return nil }
            // One short integer.
            guard tag == orientationTag, number(place + 2, 2) == 3, number(place + 4, 4) == 1
            else { continue }
            return number(place + 8, 2).flatMap { 1...8 ~= $0 ? UInt8($0) : nil }
        }
        return nil
    }

    /// Returns Exif data with nothing but an orientation.
    public static func data(_ orientation: UInt8) -> [UInt8] {
        Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0] + [0, 0, 0, 0]
    }

    /// Returns the content of a JPEG segment with ``data(_:)``.
    public static func content(_ orientation: UInt8) -> [UInt8] { head + data(orientation) }
}
