import Sotto
import SottoBytes

/// Members of records, as they can be shown. Other people choose many of them.
extension JSONObject {
    /// Returns the first line of a text, at most `limit` columns wide, or `nil` if the member is no text.
    func line(_ name: String, limit: Int = 80) -> String? {
        self[name]?.string.map { Cells.line($0, limit: limit) }
    }

    /// Returns a time, or `nil` if the member is none.
    func time(_ name: String) -> Timestamp? {
        self[name]?.string.flatMap { $0.utf8.count < 64 ? Timestamp($0) : nil }
    }

    /// Returns a number of things; 0 if the member is none.
    func count(_ name: String) -> Int { Int(clamping: max(0, self[name]?.integer ?? 0)) }

    /// Whether a member is true.
    func isTrue(_ name: String) -> Bool { self[name]?.bool == true }

    /// Whether the record has a type.
    func isA(_ type: String) -> Bool { self["type"]?.string == type }
}
