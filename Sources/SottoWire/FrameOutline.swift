import Glibc

/// The type of a frame and a measure of its cost, found in its bytes before they are parsed.
///
/// A parser's time grows with the number of values more than with the bytes: a line of 55 KB with 5,500 members takes a
/// hundred times as long as one with a single long string. One linear pass counts them, and stops at a limit. It checks
/// nothing: what is no JSON is found by the parser.
public struct FrameOutline: Sendable, Equatable {
    /// The value of the member `type`, if it is written without escapes.
    public private(set) var type: String?
    /// The value of the member `request_id`, if it is one and is written without escapes.
    public private(set) var requestID: String?
    /// The number of commas and colons between values, and of `\u` escapes in strings; above the limit, counting stops.
    public private(set) var values = 0
    /// Whether the bytes are one object and white space, if they are JSON at all.
    public private(set) var isOneObject = false

    private let limit: Int

    /// Looks at a line, up to the value after the first `limit`.
    public init(of line: [UInt8], limit: Int) {
        self.limit = limit
        line.withUnsafeBufferPointer { scan($0) }
    }

    /// Whether there are more values than the limit.
    public var isOverLimit: Bool { values > limit }

    private enum Member { case type, requestID, other }

    private mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        var depth = 0
        var ends = 0
        var hasRest = false
        var previous: UInt8 = 0
        var member = Member.other
        while index < bytes.count, values <= limit {
            let byte = bytes[index]
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: break
            case UInt8(ascii: "\""):
                guard let end = endOfString(bytes, from: index + 1) else { return }
                if depth == 1 {
                    let text = UnsafeBufferPointer(rebasing: bytes[index + 1..<end])
                    note(text, isName: previous != UInt8(ascii: ":"), &member)
                }
                hasRest = hasRest || depth == 0
                index = end
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == 0, ends > 0 || byte == UInt8(ascii: "[") { hasRest = true }
                depth += 1
                previous = byte
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { ends += 1 }
                hasRest = hasRest || depth < 0
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                values += 1
                previous = byte
                hasRest = hasRest || depth == 0
            default: hasRest = hasRest || depth == 0
            }
            index += 1
        }
        isOneObject = index == bytes.count && ends == 1 && depth == 0 && !hasRest
    }

    /// Takes a string of the outermost object: a member's name, or the value of the member that was named last.
    private mutating func note(
        _ text: UnsafeBufferPointer<UInt8>, isName: Bool, _ member: inout Member
    ) {
        if isName {
            member = text.equals("type") ? .type : text.equals("request_id") ? .requestID : .other
            return
        }
        guard text.count <= 64, !text.contains(UInt8(ascii: "\\")) else { return }
        let value = String(decoding: text, as: UTF8.self)
        switch member {
        case .type: type = type ?? value
        case .requestID: requestID = Frame.isRequestID(value) ? value : nil
        case .other: break
        }
    }

    /// Returns the place of a string's closing quote; `nil` for a string without one, or with too many escapes.
    private mutating func endOfString(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int
    ) -> Int? {
        var index = start
        // Most strings are short, and have no escape.
        let near = min(bytes.count, start + 24)
        while index < near, bytes[index] != UInt8(ascii: "\\") {
            if bytes[index] == UInt8(ascii: "\"") { return index }
            index += 1
        }
        guard var quote = bytes.first(UInt8(ascii: "\""), from: index, to: bytes.count) else {
            return nil
        }
        while let escape = bytes.first(UInt8(ascii: "\\"), from: index, to: quote) {
            if escape + 1 < bytes.count, bytes[escape + 1] == UInt8(ascii: "u") { values += 1 }
            guard values <= limit else { return nil }
            index = escape + 2
            guard index > quote else { continue }
            guard let next = bytes.first(UInt8(ascii: "\""), from: index, to: bytes.count) else {
                return nil
            }
            quote = next
        }
        return quote
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether these are the bytes of a text.
    fileprivate func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    /// The first place of a byte between two places.
    fileprivate func first(_ byte: UInt8, from start: Int, to end: Int) -> Int? {
        guard start < end, let base = baseAddress else { return nil }
        return memchr(base + start, Int32(byte), end - start).map {
            UnsafeRawPointer($0) - UnsafeRawPointer(base)
        }
    }
}
