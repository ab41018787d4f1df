import SottoBytes

/// The lines for `send`, each until `send` has answered it.
///
/// A line without an answer is given to the next `send` again. That changes nothing at the other side: an envelope has an id, and
/// a relay stores an id once.
struct Outgoing: Sendable {
    private struct Line: Sendable {
        let bytes: [UInt8]
        /// The id and the recipient of an envelope; `nil` for another record, which is not answered by its id.
        let name: Name?
        /// Whether `send` keeps it in the outbox until the relay takes it.
        var isKept = false
        /// The bytes that wait for an answer; 0 for another record.
        var size: Int { name == nil ? 0 : bytes.count }
        /// The number of the line in the input of the present `send`, or `nil` if that has not got it.
        var number: Int?
    }

    /// An envelope: the copies of a message for several people can have one id.
    struct Name: Sendable, Hashable {
        var id: String
        var to: String?
    }

    private var lines: [Line] = []
    /// The number of lines that the present `send` has got, and the bytes of those that it has not answered.
    private var (count, size) = (0, 0)

    /// The bytes that a `send` gets before it answers; a pipe to it keeps more than these.
    private static let window = 256 << 10

    var isEmpty: Bool { lines.isEmpty }

    /// The ids of the envelopes that the outbox keeps.
    var keptIDs: Set<String> { Set(lines.filter(\.isKept).compactMap { $0.name?.id }) }

    /// Whether the present `send` has got all lines.
    var isWritten: Bool { lines.last.map { $0.number != nil } ?? true }

    /// Adds a line that `encrypt` printed, with its record.
    mutating func add(_ bytes: [UInt8], _ record: JSONObject) {
        let isEnvelope = record.isA("envelope")
        let id = isEnvelope ? record["id"]?.string : nil
        lines.append(
            Line(
                bytes: bytes, name: id.map { Name(id: $0, to: record["to"]?.string) },
                isKept: isEnvelope && record["ttl"]?.integer != 0))
    }

    /// Returns the lines that the present `send` gets now, with their line feeds.
    mutating func next() -> [UInt8] {
        var bytes: [UInt8] = []
        guard var place = lines.firstIndex(where: { $0.number == nil }) else { return [] }
        while place < lines.count, size < Self.window {
            count += 1
            lines[place].number = count
            size += lines[place].size
            bytes += lines[place].bytes + [UInt8(ascii: "\n")]
            place += 1
        }
        return bytes
    }

    /// Removes the envelope that a result names, and the other records before it: `send` reads its lines in order.
    mutating func answer(_ result: JSONObject) {
        guard let id = result["id"]?.string else { return }
        let name = Name(id: id, to: result["to"]?.string)
        guard let place = lines.firstIndex(where: { $0.name == name && $0.number != nil }) else {
            return
        }
        size -= lines.remove(at: place).size
        let envelopes = lines[..<place].filter { $0.name != nil }
        if envelopes.count < place { lines.replaceSubrange(..<place, with: envelopes) }
    }

    /// Whether an envelope is here that the outbox will keep, and is not known to have.
    var hasKept: Bool { lines.contains(where: \.isKept) }

    /// Removes the envelopes that the outbox has: `send` sends them later, also if the present one ends.
    mutating func remove(stored names: Set<Name>) {
        let isStored = { (line: Line) in line.isKept && line.name.map(names.contains) ?? false }
        size -= lines.filter { $0.number != nil && isStored($0) }.reduce(0) { $0 + $1.size }
        lines.removeAll(where: isStored)
    }

    /// Removes the line with a number in the input of the present `send`, which refused it.
    mutating func refuse(line number: Int64) {
        guard let place = lines.firstIndex(where: { $0.number.map(Int64.init) == number }) else {
            return
        }
        size -= lines.remove(at: place).size
    }

    /// Prepares for the next `send`. The present one has ended; if `isDone`, it did what it was to do with all lines that it got.
    mutating func end(isDone: Bool) {
        if isDone { lines.removeAll { $0.number != nil } }
        for place in lines.indices { lines[place].number = nil }
        (count, size) = (0, 0)
    }
}
