import Glibc

/// The type of a frame and a measure of its cost, found in its bytes before they are parsed.
///
/// A parser's time grows more with the number of values than with the bytes: a line of 55 KB with 5,500 members takes a
/// hundred times as long as a line with a single long string. One linear pass counts the values, up to a limit. It does
/// not validate: the parser refuses invalid JSON.
public struct FrameOutline: Sendable, Equatable {
    /// The value of the member `type`, if it is written without escapes.
    public private(set) var type: String?
    /// The value of the member `request_id`, if it is a valid id and is written without escapes.
    public private(set) var requestID: String?
    /// The number of commas and colons between values, and of `\u` escapes in strings; above the limit, counting stops.
    public private(set) var values = 0
    /// Whether the bytes are one object and white space, provided that they are JSON.
    public private(set) var isOneObject = false

    private let limit: Int

    /// Scans a line until its values exceed `limit`.
    public init(of line: [UInt8], limit: Int) {
        self.limit = limit
        line.withUnsafeBufferPointer { scan($0) }
    }

    /// Whether the values exceed the limit.
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

    /// Notes a string of the outermost object: a member's name, or the value of the last named member.
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

    /// Returns the place of a string's closing quote, or `nil` without one or with too many escapes.
    private mutating func endOfString(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int
    ) -> Int? {
        var index = start
        // Most strings are short and have no escapes.
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
    /// Whether the bytes are those of a text.
    fileprivate func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    /// Returns the first place of a byte between two places, or `nil`.
    fileprivate func first(_ byte: UInt8, from start: Int, to end: Int) -> Int? {
        guard start < end, let base = baseAddress else { return nil }
        return memchr(base + start, Int32(byte), end - start).map {
            UnsafeRawPointer($0) - UnsafeRawPointer(base)
        }
    }
}
