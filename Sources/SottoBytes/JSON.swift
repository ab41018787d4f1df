/// A JSON value (RFC 8259) for records: integers stay integers, members keep their order, and member names are unique.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)

    /// Whether two values are equal. Strings are compared as bytes, because Swift's `==` also treats canonically
    /// equivalent strings as equal.
    public static func == (a: JSON, b: JSON) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.isSameBytes(as: b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        case (.null, _), (.bool, _), (.integer, _), (.number, _), (.string, _), (.array, _),
            (.object, _):
            false
        }
    }

    /// The string, or `nil` if the value is not a `.string`.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The integer, or `nil` if the value is not an `.integer`.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The Boolean, or `nil` if the value is not a `.bool`.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements, or `nil` if the value is not an `.array`.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    /// The members, or `nil` if the value is not an `.object`.
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
}

/// The members of a JSON object, in order. Names are compared as bytes.
public struct JSONObject: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// The names and values, in the order in which they were read or added.
    public private(set) var members: [(name: String, value: JSON)]

    /// Creates an object with these members.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        members = elements.map { ($0.0, $0.1) }
    }

    /// Creates an object from a list. A member whose value is `nil` is left out.
    public init(_ elements: [(String, JSON?)]) {
        members = []
        members.reserveCapacity(elements.count)
        for (name, value) in elements { if let value { members.append((name, value)) } }
    }

    init(uncheckedMembers members: [(name: String, value: JSON)]) { self.members = members }

    /// The value of the member `name`. Setting `nil` removes it; a new name is appended.
    public subscript(name: String) -> JSON? {
        get {
            for index in members.indices where members[index].name.isSameBytes(as: name) {
                return members[index].value
            }
            return nil
        }
        set {
            let index = members.firstIndex { $0.name.isSameBytes(as: name) }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((name, value))
            case (nil, nil): break
            }
        }
    }

    /// Whether two objects have the same members in the same order.
    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.members.count == b.members.count
            && zip(a.members, b.members).allSatisfy {
                $0.name.isSameBytes(as: $1.name) && $0.value == $1.value
            }
    }

    /// Hashes the members in order.
    public func hash(into hasher: inout Hasher) {
        for (name, value) in members {
            hasher.combine(name)
            hasher.combine(value)
        }
    }

    /// Returns the object on one line, without white space or a line feed at the end.
    public func serialized() -> [UInt8] { JSON.object(self).serialized() }

    /// The members by the UTF-16 code units of their names.
    fileprivate var sortedMembers: [(name: String, value: JSON)] {
        members.sorted { Self.isBefore($0.name, $1.name) }
    }

    /// Whether a name is before another one by UTF-16 code units: in the order of the UTF-8 bytes, but a character beyond U+FFFF,
    /// whose first byte is 0xF0 or above, is before those from U+E000 to U+FFFF.
    static func isBefore(_ a: String, _ b: String) -> Bool {
        guard let (own, other) = zip(a.utf8, b.utf8).first(where: { $0 != $1 }) else {
            return a.utf8.count < b.utf8.count
        }
        let isMixed = min(own, other) >= 0xEE && (own >= 0xF0) != (other >= 0xF0)
        return isMixed ? own >= 0xF0 : own < other
    }

    /// Returns the object as ``JSON/sorted()`` does.
    public func sorted() -> JSONObject {
        JSONObject(uncheckedMembers: sortedMembers.map { ($0.name, $0.value.sorted()) })
    }
}

extension JSON {
    /// Returns the value on one line, without white space, with members in order. A parsed value is equal to the one that
    /// is parsed from the result.
    public func serialized() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(lengthWithoutEscapes)
        append(to: &out, canonical: false)
        return out
    }

    /// The most bytes of ``serialized()`` if no character of a string needs an escape. An escape is up to six times as long as the
    /// character.
    package var lengthWithoutEscapes: Int {
        switch self {
        case .null, .bool: 5
        case .integer, .number: 24
        case .string(let value): value.utf8.count + 2
        case .array(let elements): elements.reduce(2) { $0 + $1.lengthWithoutEscapes + 1 }
        case .object(let object):
            object.members.reduce(2) {
                $0 + $1.name.utf8.count + 4 + $1.value.lengthWithoutEscapes
            }
        }
    }

    /// Returns the canonical form of the value (RFC 8785): members sorted by UTF-16 code unit, shortest numbers, no
    /// white space. Signatures of records cover it.
    public func canonical() -> [UInt8] {
        var out: [UInt8] = []
        append(to: &out, canonical: true)
        return out
    }

    /// Returns the value with the members of all objects in the order of ``canonical()``.
    public func sorted() -> JSON {
        switch self {
        case .null, .bool, .integer, .number, .string: self
        case .array(let elements): .array(elements.map { $0.sorted() })
        case .object(let object): .object(object.sorted())
        }
    }

    /// Whether arrays and objects nest at most `depth` deep.
    public func nests(atMost depth: Int) -> Bool {
        switch self {
        case .array(let elements):
            depth > 0 && elements.allSatisfy { $0.nests(atMost: depth - 1) }
        case .object(let object):
            depth > 0 && object.members.allSatisfy { $0.value.nests(atMost: depth - 1) }
        case .null, .bool, .integer, .number, .string: true
        }
    }

    /// The largest integer that every reader of JSON keeps exactly, 2⁵³ − 1 (RFC 7493 §2.2).
    public static let largestSafeInteger: Int64 = (1 << 53) - 1

    /// Whether all numbers are integers within ±``largestSafeInteger``.
    public var hasOnlySafeIntegers: Bool {
        switch self {
        case .null, .bool, .string: true
        case .integer(let value):
            (-Self.largestSafeInteger...Self.largestSafeInteger).contains(value)
        case .number: false
        case .array(let elements): elements.allSatisfy(\.hasOnlySafeIntegers)
        case .object(let object): object.members.allSatisfy { $0.value.hasOnlySafeIntegers }
        }
    }

    /// Appends the value as ``serialized()`` returns it.
    package func append(to out: inout [UInt8]) { append(to: &out, canonical: false) }

    private func append(to out: inout [UInt8], canonical: Bool) {
        switch self {
        case .null: out += "null".utf8
        case .bool(let value): out += (value ? "true" : "false").utf8
        case .integer(let value): out += String(value).utf8
        case .number(let value):
            // Digits alone would be read as an integer.
            let isLarge = !canonical && value.magnitude >= 0x1p63
            let text = isLarge ? Self.scientific(value) : Self.shortest(value)
            out += text.utf8
            if !canonical, !text.utf8.contains(where: { Self.marksNumber($0) }) {
                out += ".0".utf8
            }
        case .string(let value): Self.append(value, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements {
                if !isFirst { out.append(UInt8(ascii: ",")) }
                isFirst = false
                element.append(to: &out, canonical: canonical)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let object):
            let members = canonical ? object.sortedMembers : object.members
            out.append(UInt8(ascii: "{"))
            var isFirst = true
            for member in members {
                if !isFirst { out.append(UInt8(ascii: ",")) }
                isFirst = false
                Self.append(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.append(to: &out, canonical: canonical)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    /// Whether a byte of a number shows that it is not written as an integer.
    private static func marksNumber(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e")
    }

    private static func append(_ string: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { bytes in
            var start = 0
            while true {
                let end = firstEscape(in: bytes, from: start)
                out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
                guard end < bytes.count else { return }
                escape(bytes[end], to: &out)
                start = end + 1
            }
        }
        out.append(UInt8(ascii: "\""))
    }

    /// Returns the place of the first byte from `start` on that a string cannot have without an escape: a quotation mark,
    /// a backslash or a control character. Returns the length if there is none.
    static func firstEscape(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var place = start
        // Eight bytes at once: in each lane, the highest bit of (lane − n) & ~lane is set if the lane is below n. A borrow
        // from a lower lane can set it too, but then the lower lane has the first one.
        let ones: UInt64 = 0x0101_0101_0101_0101
        func areBelow(_ limit: UInt64, _ lanes: UInt64) -> UInt64 {
            (lanes &- (ones &* limit)) & ~lanes
        }
        while place + 8 <= bytes.count {
            let lanes = UInt64(
                littleEndian: UnsafeRawPointer(bytes.baseAddress! + place)
                    .loadUnaligned(as: UInt64.self))
            let found =
                areBelow(0x20, lanes) | areBelow(1, lanes ^ (ones &* 0x22))
                | areBelow(1, lanes ^ (ones &* 0x5C))
            let bits = found & (ones &* 0x80)
            if bits != 0 { return place + bits.trailingZeroBitCount / 8 }
            place += 8
        }
        while place < bytes.count, bytes[place] >= 0x20, bytes[place] != UInt8(ascii: "\""),
            bytes[place] != UInt8(ascii: "\\")
        {
            place += 1
        }
        return place
    }

    private static func escape(_ byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case 0x08: out += "\\b".utf8
        case 0x09: out += "\\t".utf8
        case 0x0A: out += "\\n".utf8
        case 0x0C: out += "\\f".utf8
        case 0x0D: out += "\\r".utf8
        case 0..<0x20: out += "\\u00".utf8 + Array(hex([byte]).utf8)
        default: out += [UInt8(ascii: "\\"), byte]
        }
    }

    /// Returns the shortest digits of a finite number other than 0, and the position of the decimal point in them.
    private static func decimal(_ value: Double) -> (digits: String, point: Int) {
        // Swift prints the same shortest digits, but places the point and the exponent differently.
        let text = "\(value.magnitude)".split(separator: "e")
        let mantissa = text[0].split(separator: ".", omittingEmptySubsequences: false)
        var digits = String(mantissa[0]) + (mantissa.count > 1 ? String(mantissa[1]) : "")
        var point = mantissa[0].count + (text.count > 1 ? Int(text[1]) ?? 0 : 0)
        while digits.hasPrefix("0") {
            digits.removeFirst()
            point -= 1
        }
        while digits.hasSuffix("0") { digits.removeLast() }
        return (digits, point)
    }

    /// Returns ECMAScript's text of a finite number (RFC 8785 §3.2.2.3).
    static func shortest(_ value: Double) -> String {
        if value == 0 { return "0" }
        let (digits, point) = decimal(value)
        let sign = value < 0 ? "-" : ""
        let count = digits.count
        if count <= point, point <= 21 {
            return sign + digits + String(repeating: "0", count: point - count)
        }
        if 0 < point, point <= 21 {
            return sign + digits.prefix(point) + "." + digits.dropFirst(point)
        }
        if -6 < point, point <= 0 {
            return sign + "0." + String(repeating: "0", count: -point) + digits
        }
        return scientific(value)
    }

    /// Returns the digits of a number other than 0 with an exponent.
    private static func scientific(_ value: Double) -> String {
        let (digits, point) = decimal(value)
        let sign = value < 0 ? "-" : ""
        let exponent = point - 1
        let rest = digits.dropFirst()
        return sign + digits.prefix(1) + (rest.isEmpty ? "" : "." + rest)
            + (exponent < 0 ? "e-" : "e+") + String(abs(exponent))
    }
}
