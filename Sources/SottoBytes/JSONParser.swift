/// A reason to refuse a text as JSON.
public enum JSONError: Error, Sendable, Equatable {
    /// The text is not JSON (RFC 8259); `offset` is the byte where reading stopped.
    case malformed(offset: Int)
    /// A string is not UTF-8, or has a lone surrogate.
    case invalidText(offset: Int)
    /// An object has two members of one name. Readers differ in which one they use, so the object is refused.
    case duplicateMember(offset: Int)
    /// Arrays and objects are nested deeper than the limit, which is at most ``JSON/maximumDepth``.
    case tooDeep(offset: Int)
    /// An integer does not fit 64 bits, or a number is beyond the range of a double.
    case numberOutOfRange(offset: Int)
}

extension JSON {
    /// The deepest nesting of arrays and objects.
    public static let maximumDepth = 16

    /// Reads exactly one value, with optional white space around it.
    ///
    /// It is strict where JSON readers often differ: member names are unique (as bytes), text is UTF-8 without lone
    /// surrogates, nesting is at most `depth`, and nothing follows the value.
    public init(parsing bytes: [UInt8], depth: Int = maximumDepth) throws(JSONError) {
        var result: Result<JSON, JSONError> = .failure(.malformed(offset: 0))
        bytes.withUnsafeBufferPointer { buffer in
            var parser = Parser(input: buffer, maximumDepth: depth)
            do throws(JSONError) {
                let value = try parser.value(depth: 0)
                parser.skipSpace()
                if parser.index != buffer.count { throw .malformed(offset: parser.index) }
                result = .success(value)
            } catch {
                result = .failure(error)
            }
        }
        self = try result.get()
    }

    /// Reads one object; see ``init(parsing:depth:)``.
    public static func object(
        parsing bytes: [UInt8], depth: Int = maximumDepth
    ) throws(JSONError) -> JSONObject {
        guard case .object(let object) = try JSON(parsing: bytes, depth: depth) else {
            throw .malformed(offset: 0)
        }
        return object
    }
}

private struct Parser {
    let input: UnsafeBufferPointer<UInt8>
    let maximumDepth: Int
    var index = 0

    mutating func skipSpace() {
        while index < input.count {
            switch input[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }

    mutating func next() throws(JSONError) -> UInt8 {
        guard index < input.count else { throw .malformed(offset: index) }
        defer { index += 1 }
        return input[index]
    }

    func peek() -> UInt8? { index < input.count ? input[index] : nil }

    mutating func expect(_ word: StaticString) throws(JSONError) {
        for offset in 0..<word.utf8CodeUnitCount where try next() != word.utf8Start[offset] {
            throw .malformed(offset: index - 1)
        }
    }

    mutating func value(depth: Int) throws(JSONError) -> JSON {
        skipSpace()
        switch peek() {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default: return try number()
        }
    }

    mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        guard depth <= maximumDepth else { throw .tooDeep(offset: index) }
        index += 1
        var members: [(name: String, value: JSON)] = []
        // The names of a small object are compared one by one. A large object uses a set, so that the time stays
        // linear.
        var names: Set<[UInt8]> = []
        skipSpace()
        if peek() == UInt8(ascii: "}") {
            index += 1
            return JSONObject(uncheckedMembers: [])
        }
        while true {
            skipSpace()
            let start = index
            guard peek() == UInt8(ascii: "\"") else { throw .malformed(offset: index) }
            let name = try string()
            if members.count < 16 {
                if members.contains(where: { $0.name.isSameBytes(as: name) }) {
                    throw .duplicateMember(offset: start)
                }
            } else {
                if names.isEmpty { names = Set(members.map { Array($0.name.utf8) }) }
                if !names.insert(Array(name.utf8)).inserted {
                    throw .duplicateMember(offset: start)
                }
            }
            skipSpace()
            guard try next() == UInt8(ascii: ":") else { throw .malformed(offset: index - 1) }
            members.append((name, try value(depth: depth)))
            skipSpace()
            switch try next() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): return JSONObject(uncheckedMembers: members)
            default: throw .malformed(offset: index - 1)
            }
        }
    }

    mutating func array(depth: Int) throws(JSONError) -> [JSON] {
        guard depth <= maximumDepth else { throw .tooDeep(offset: index) }
        index += 1
        var elements: [JSON] = []
        skipSpace()
        if peek() == UInt8(ascii: "]") {
            index += 1
            return []
        }
        while true {
            elements.append(try value(depth: depth))
            skipSpace()
            switch try next() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "]"): return elements
            default: throw .malformed(offset: index - 1)
            }
        }
    }

    mutating func string() throws(JSONError) -> String {
        index += 1
        let start = index
        index = JSON.firstEscape(in: input, from: index)
        guard index < input.count else { throw .malformed(offset: index) }
        if input[index] == UInt8(ascii: "\"") {
            defer { index += 1 }
            return try text(UnsafeBufferPointer(rebasing: input[start..<index]), at: start)
        }
        var bytes = Array(input[start..<index])
        while true {
            let byte = try next()
            switch byte {
            case UInt8(ascii: "\""):
                return try bytes.withBuffer { buffer throws(JSONError) in
                    try text(buffer, at: start)
                }
            case UInt8(ascii: "\\"): try escape(into: &bytes)
            case 0..<0x20: throw .malformed(offset: index - 1)
            default: bytes.append(byte)
            }
        }
    }

    func text(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int) throws(JSONError) -> String {
        // Most strings are ASCII, which is valid.
        if bytes.reduce(0, |) < 0x80 { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .invalidText(offset: start)
        }
        return text
    }

    mutating func escape(into bytes: inout [UInt8]) throws(JSONError) {
        switch try next() {
        case UInt8(ascii: "\""): bytes.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): bytes.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            var scalar = UInt32(try hexUnit())
            if (0xD800..<0xDC00).contains(scalar) {
                guard try next() == UInt8(ascii: "\\"), try next() == UInt8(ascii: "u") else {
                    throw .invalidText(offset: index - 1)
                }
                let low = UInt32(try hexUnit())
                guard (0xDC00..<0xE000).contains(low) else { throw .invalidText(offset: index) }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(scalar) else { throw .invalidText(offset: index) }
            bytes += Array(String(Character(scalar)).utf8)
        default: throw .malformed(offset: index - 1)
        }
    }

    mutating func hexUnit() throws(JSONError) -> UInt16 {
        var digits: [UInt8] = []
        for _ in 0..<4 { digits.append(try next()) }
        guard let pair = SottoBytes.bytes(hex: String(decoding: digits, as: UTF8.self)),
            let unit = UInt16(bigEndianBytes: pair)
        else { throw .malformed(offset: index) }
        return unit
    }

    mutating func number() throws(JSONError) -> JSON {
        let start = index
        func isDigit() -> Bool { index < input.count && (0x30...0x39).contains(input[index]) }
        func digits() throws(JSONError) {
            guard isDigit() else { throw .malformed(offset: index) }
            while isDigit() { index += 1 }
        }
        if peek() == UInt8(ascii: "-") { index += 1 }
        if peek() == UInt8(ascii: "0") { index += 1 } else { try digits() }
        var isInteger = true
        if peek() == UInt8(ascii: ".") {
            isInteger = false
            index += 1
            try digits()
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            isInteger = false
            index += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        let text = String(decoding: input[start..<index], as: UTF8.self)
        if isInteger {
            guard let value = Int64(text) else { throw .numberOutOfRange(offset: start) }
            return .integer(value)
        }
        guard let value = Double(text), value.isFinite else {
            throw .numberOutOfRange(offset: start)
        }
        return .number(value)
    }
}

extension [UInt8] {
    fileprivate func withBuffer<T, E: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(E) -> T
    ) throws(E) -> T {
        var result: Result<T, E>?
        withUnsafeBufferPointer { buffer in
            do throws(E) { result = .success(try body(buffer)) } catch { result = .failure(error) }
        }
        return try result!.get()
    }
}
