import Sotto
import SottoWire

extension FuzzTarget {
    /// A line between a client and a relay. A request or a response that is read is written as one line and read back
    /// unchanged.
    ///
    /// The outline of the bytes agrees with the parser.
    static let frame = FuzzTarget("frame") { bytes in
        let outline = FrameOutline(of: bytes, limit: bytes.count)
        guard let frame = try? Frame(parsing: bytes) else { return }
        precondition(outline.isOneObject && !outline.isOverLimit)
        precondition(outline.type == nil || outline.type == frame.type)
        precondition(outline.requestID == nil || outline.requestID == frame.requestID)
        if let request = try? Request(frame) {
            let line = request.line(requestID: frame.requestID ?? "fuzz")
            precondition(again(line).map { try? Request($0) } == request)
            if case .login(let login) = request { _ = login.isSigned }
        }
        if let response = Response(frame) {
            precondition(
                again(response.line(requestID: frame.requestID)).map(Response.init) == response)
        }
    }

    /// Parses the frame of a line that was written.
    private static func again(_ line: [UInt8]) -> Frame? {
        precondition(line.firstIndex(of: 0x0A) == line.count - 1)
        return try? Frame(parsing: Array(line.dropLast()))
    }

    /// A stream of lines, split into pieces. The first byte is the limit of a line, the second the length of a piece.
    static let lines = FuzzTarget("lines") { bytes in
        guard bytes.count > 2 else { return }
        let (limit, size) = (Int(bytes[0]), Int(bytes[1]) + 1)
        let stream = bytes.dropFirst(2)
        var splitter = LineSplitter(limit: limit)
        var found: [[UInt8]] = []
        var isTooLong = false
        var rest = stream
        while !rest.isEmpty, !isTooLong {
            rest.prefix(size).withUnsafeBytes { splitter.append($0) }
            rest = rest.dropFirst(size)
            reading: while true {
                switch splitter.next() {
                case .line(let line): found.append(line)
                case .tooLong:
                    isTooLong = true
                    break reading
                case .incomplete: break reading
                }
            }
        }
        let all = stream.split(separator: 0x0A, omittingEmptySubsequences: false)
        let expected = all.prefix { $0.count <= limit }
        precondition(isTooLong == (expected.count < all.count))
        // The bytes after the last line feed are not a line.
        precondition(found.elementsEqual(expected.prefix(all.count - 1), by: { $0[...] == $1 }))
        precondition(isTooLong || splitter.hasPartialLine == (all.last?.isEmpty == false))
    }
}
