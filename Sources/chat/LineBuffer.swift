/// The lines of a stream that arrives in pieces. A line that is longer than the limit is cut, so a stream without line feeds
/// needs no more memory.
struct LineBuffer {
    /// The largest number of bytes of a line.
    let limit: Int
    private var rest: [UInt8] = []
    /// Whether the rest of a cut line is still to come.
    private var isCutting = false

    init(limit: Int) { self.limit = limit }

    /// Takes a piece, and passes each line that it ends to `body`, without its line feed.
    mutating func take(_ piece: ArraySlice<UInt8>, _ body: ([UInt8]) -> Void) {
        var piece = piece
        while let end = piece.firstIndex(of: UInt8(ascii: "\n")) {
            add(piece[..<end], body)
            if !isCutting { body(rest) }
            rest.removeAll(keepingCapacity: rest.capacity <= 64 << 10)
            isCutting = false
            piece = piece[(end + 1)...]
        }
        add(piece, body)
    }

    /// Passes a last line without a line feed to `body`.
    mutating func end(_ body: ([UInt8]) -> Void) {
        if !rest.isEmpty, !isCutting { body(rest) }
        rest = []
    }

    /// Adds a piece without line feeds. A line that reaches the limit is passed to `body` at once.
    private mutating func add(_ piece: ArraySlice<UInt8>, _ body: ([UInt8]) -> Void) {
        guard !isCutting else { return }
        rest += piece.prefix(limit - rest.count)
        if rest.count == limit {
            body(rest)
            isCutting = true
            rest = []
        }
    }
}
