public import SottoBytes

/// A sink for a terminal that accepts only text.
///
/// The only ASCII control characters that reach the terminal are tab, line feed and carriage return. Non-ASCII control
/// characters and invisible characters are escaped.
public final class TerminalText: ByteSink {
    private let sink: any ByteSink
    /// The beginning of an incomplete character: at most 3 bytes.
    private var partial: [UInt8] = []
    private var escapes = TerminalEscapes(.text, besides: "\r")

    /// Creates a sink that writes to `sink`, which is a terminal.
    public init(_ sink: any ByteSink) { self.sink = sink }

    /// Writes `bytes`. If they are not text, throws a failure with status 64 and writes nothing.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        var block = partial + Array(bytes)
        defer { wipe(&block) }
        let whole = block.count - Self.partialLength(block)
        guard let text = String(validating: block[..<whole], as: UTF8.self),
            !text.utf8.contains(where: Self.isBinary)
        else { throw Failure.binaryOnTerminal }
        partial = Array(block[whole...])
        try sink.write(Array(escapes.escape(text).utf8))
    }

    /// Finishes the sink. Throws if the text ends within a character.
    public func finish() throws {
        guard partial.isEmpty else { throw Failure.binaryOnTerminal }
        var out = ""
        escapes.finish(&out)
        if !out.isEmpty { try sink.write(Array(out.utf8)) }
        try sink.finish()
    }

    private static func isBinary(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x0A, 0x0D: false
        case 0..<0x20, 0x7F: true
        default: false
        }
    }

    /// Returns the number of bytes at the end that begin an incomplete UTF-8 character.
    private static func partialLength(_ bytes: [UInt8]) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return needed > index + 1 ? index + 1 : 0
        }
        return 0
    }
}
