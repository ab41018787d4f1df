/// One recipient's part of an age header (C2SP age, "Recipient stanza").
public struct AgeStanza: Sendable, Equatable {
    /// The recipient type, such as `X25519`.
    public let type: String
    /// The arguments, which follow the type on its line.
    public let arguments: [String]
    /// The body, usually the wrapped file key.
    public let body: [UInt8]
}

/// An age v1 header: stanzas, and a MAC over them under the file key.
package struct AgeHeader {
    static let version = "age-encryption.org/v1"
    /// The longest header in bytes. A longer one is refused before it is buffered.
    static let limit = 16 << 20

    package let stanzas: [AgeStanza]
    /// The bytes that the MAC covers: everything up to and including `---`.
    package let authenticated: [UInt8]
    let code: [UInt8]

    /// Returns the stanza of a passphrase file, which must be its only stanza, or `nil` for a file with recipients.
    func passphraseStanza() throws(AgeError) -> AgeStanza? {
        guard let stanza = stanzas.first(where: { $0.type == AgeScrypt.type }) else { return nil }
        guard stanzas.count == 1 else { throw .header("scrypt with another stanza") }
        return stanza
    }

    /// The length of the header in bytes.
    var size: Int { authenticated.count + " \n".utf8.count + Base64.raw.encodeBytes(code).count }

    /// Returns the text of a header with these stanzas.
    package static func encode(
        _ stanzas: [AgeStanza], fileKey: borrowing SecretBytes
    ) -> [UInt8] {
        var text = Array((version + "\n").utf8)
        for stanza in stanzas {
            text += "-> \(([stanza.type] + stanza.arguments).joined(separator: " "))\n".utf8
            var body = Base64.raw.encodeBytes(stanza.body)[...]
            // Lines have 64 characters. The last line is shorter, and may be empty.
            while body.count >= 64 {
                text += body.prefix(64) + [UInt8(ascii: "\n")]
                body = body.dropFirst(64)
            }
            text += body + [UInt8(ascii: "\n")]
        }
        text += "---".utf8
        let code = authenticationCode(text, fileKey: fileKey)
        return text + " \(Base64.raw.encode(code))\n".utf8
    }

    func isAuthentic(fileKey: borrowing SecretBytes) -> Bool {
        constantTimeEqual(Self.authenticationCode(authenticated, fileKey: fileKey), code)
    }

    private static func authenticationCode(
        _ text: [UInt8], fileKey: borrowing SecretBytes
    ) -> [UInt8] {
        let key = hkdfSHA256(fileKey, info: "header")
        return key.withBytes { hmacSHA256(ofLong: text, key: $0) }
    }

    /// Reads a header from `reader` and leaves it at the first byte of the payload.
    package init(reading reader: BufferedSource) throws {
        var text: [UInt8] = []
        func line() throws -> ArraySlice<UInt8> {
            let start = text.count
            guard try reader.appendLine(to: &text, limit: Self.limit) else {
                throw text.count < Self.limit ? AgeError.truncated : AgeError.headerTooLong
            }
            return text[start..<(text.count - 1)]
        }
        guard try line().elementsEqual(Self.version.utf8) else { throw AgeError.version }
        var stanzas: [AgeStanza] = []
        while true {
            let first = try line()
            if first.starts(with: "---".utf8) {
                guard first.dropFirst(3).first == UInt8(ascii: " "),
                    let code = Base64.raw.decode(utf8: first.dropFirst(4)), code.count == 32
                else { throw AgeError.header("authentication code") }
                self.code = code
                authenticated = Array(text[..<(first.startIndex + 3)])
                break
            }
            guard first.starts(with: "-> ".utf8) else { throw AgeError.header("stanza") }
            let words = first.dropFirst(3).split(
                separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            guard words.allSatisfy({ !$0.isEmpty && $0.allSatisfy { (33...126).contains($0) } })
            else {
                throw AgeError.header("stanza arguments")
            }
            var body: [UInt8] = []
            while true {
                let next = try line()
                guard next.count <= 64, let piece = Base64.raw.decode(utf8: next) else {
                    throw AgeError.header("stanza body")
                }
                body += piece
                if next.count < 64 { break }
            }
            let texts = words.map { String(decoding: $0, as: UTF8.self) }
            stanzas.append(
                AgeStanza(type: texts[0], arguments: Array(texts.dropFirst()), body: body))
        }
        guard !stanzas.isEmpty else { throw AgeError.header("no stanza") }
        self.stanzas = stanzas
    }
}

/// A source with a buffer, for reading lines and then the bytes after them.
package final class BufferedSource: ByteSource {
    private let source: any ByteSource
    private var buffer: [UInt8]
    private var start = 0
    private var end = 0

    package init(_ source: any ByteSource) {
        self.source = source
        buffer = [UInt8](repeating: 0, count: 64 << 10)
    }

    /// Creates a source of bytes in memory.
    init(_ bytes: [UInt8]) {
        source = MemorySource([])
        buffer = bytes
        end = bytes.count
    }

    /// Returns all remaining bytes.
    func readAll() throws -> ArraySlice<UInt8> {
        var rest = buffer[start..<end]
        while start < end {
            start = end
            if try hasMore() { rest += buffer[start..<end] }
        }
        return rest
    }

    /// Returns whether another byte exists. Waits until it arrives or the input ends.
    func hasMore() throws -> Bool {
        if start == end {
            start = 0
            end = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
        }
        return start < end
    }

    /// Appends a line with its line feed. Returns false if the source ends or `limit` is reached before the line feed.
    func appendLine(to text: inout [UInt8], limit: Int) throws -> Bool {
        while try hasMore() {
            let rest = buffer[start..<end]
            let feed = rest.firstIndex(of: UInt8(ascii: "\n"))
            let stop = feed.map { $0 + 1 } ?? end
            text += buffer[start..<stop]
            start = stop
            if text.count > limit { return false }
            if feed != nil { return true }
        }
        return false
    }

    /// Returns the next bytes without consuming them; fewer than `count` only at the end.
    func peek(_ count: Int) throws -> ArraySlice<UInt8> {
        while end - start < count {
            if start > 0 {
                buffer.replaceSubrange(0..<(end - start), with: buffer[start..<end])
                (start, end) = (0, end - start)
            }
            let got = try buffer.withUnsafeMutableBytes {
                try source.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[end...]))
            }
            if got == 0 { break }
            end += got
        }
        return buffer[start..<min(end, start + count)]
    }

    package var isReady: Bool { start < end || source.isReady }

    package func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
        if start == end, target.count >= buffer.count { return try source.read(into: target) }
        guard try hasMore() else { return 0 }
        let count = min(target.count, end - start)
        buffer.withUnsafeBytes {
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<(start + count)]))
        }
        start += count
        return count
    }
}
