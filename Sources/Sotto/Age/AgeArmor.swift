/// The ASCII armor of an age file (C2SP age, "ASCII armor"): strict PEM with lines of 64 characters.
enum AgeArmor {
    static let begin = "-----BEGIN AGE ENCRYPTED FILE-----"
    static let end = "-----END AGE ENCRYPTED FILE-----"
    static let lineSize = 48
}

/// Armors the bytes that are written to it and passes the text on.
final class AgeArmorWriter: ByteSink {
    private let sink: any ByteSink
    private var pending: [UInt8] = []

    init(to sink: any ByteSink) throws {
        self.sink = sink
        try sink.write(Array((AgeArmor.begin + "\n").utf8))
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        pending.append(contentsOf: bytes)
        var text: [UInt8] = []
        var start = 0
        while pending.count - start >= AgeArmor.lineSize {
            text += Base64.standard.encodeBytes(Array(pending[start..<(start + AgeArmor.lineSize)]))
            text.append(UInt8(ascii: "\n"))
            start += AgeArmor.lineSize
        }
        pending.removeFirst(start)
        try sink.write(text)
    }

    func finish() throws {
        if !pending.isEmpty {
            try sink.write(Base64.standard.encodeBytes(pending) + [UInt8(ascii: "\n")])
        }
        try sink.write(Array((AgeArmor.end + "\n").utf8))
        try sink.finish()
    }
}

/// Removes the armor. White space is allowed before and after it, but not within it.
final class AgeArmorReader: ByteSource {
    private let source: BufferedSource
    private var decoded: [UInt8] = []
    private var start = 0
    private var isDone = false
    private var sawShortLine = false

    init(_ source: BufferedSource) throws {
        self.source = source
        guard let first = try line(), first.elementsEqual(AgeArmor.begin.utf8) else {
            throw AgeError.armor
        }
    }

    /// Returns a line without its LF or CRLF, or `nil` at the end. A line of the armor has at most 64 characters.
    private func line() throws -> ArraySlice<UInt8>? {
        var text: [UInt8] = []
        let isWhole = try source.appendLine(to: &text, limit: 128)
        if text.isEmpty { return nil }
        if isWhole {
            text.removeLast()
            if text.last == UInt8(ascii: "\r") { text.removeLast() }
        } else if text.count <= 128, !text.elementsEqual(AgeArmor.end.utf8) {
            throw AgeError.truncated
        }
        return text[...]
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while start == decoded.count {
            if isDone { return 0 }
            try next()
        }
        let count = min(buffer.count, decoded.count - start)
        buffer.copyBytes(from: decoded[start..<(start + count)])
        start += count
        return count
    }

    private func next() throws {
        decoded.removeAll(keepingCapacity: true)
        start = 0
        // Decodes many lines at a time, because passing on a line costs more than decoding it.
        while decoded.count < 48 << 10 {
            guard let line = try line() else { throw AgeError.truncated }
            if line.elementsEqual(AgeArmor.end.utf8) {
                try expectOnlySpace()
                isDone = true
                return
            }
            guard !sawShortLine, !line.isEmpty, line.count <= 64,
                let bytes = Base64.standard.decode(utf8: line)
            else { throw AgeError.armor }
            sawShortLine = line.count < 64 || bytes.count < AgeArmor.lineSize
            decoded += bytes
        }
    }

    private func expectOnlySpace() throws {
        while try source.hasMore() {
            guard try source.peek(1).allSatisfy(Self.isSpace) else { throw AgeError.armor }
            var byte: UInt8 = 0
            _ = try withUnsafeMutableBytes(of: &byte) { try source.read(into: $0) }
        }
    }

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }
}
