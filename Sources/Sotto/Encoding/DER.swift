/// The Distinguished Encoding Rules (X.690 §10), as far as key files need them.
package enum DER {
    package enum Tag: UInt8 {
        case integer = 0x02
        case octetString = 0x04
        case null = 0x05
        case objectIdentifier = 0x06
        case sequence = 0x30
    }

    /// Returns an element: tag, length and `content`.
    package static func element(_ tag: Tag, _ content: [UInt8]) -> [UInt8] {
        guard content.count >= 0x80 else {
            return [tag.rawValue, UInt8(content.count)] + content
        }
        let length = UInt64(content.count).bigEndianBytes.drop { $0 == 0 }
        return [tag.rawValue, 0x80 | UInt8(length.count)] + length + content
    }

    package static func sequence(_ elements: [[UInt8]]) -> [UInt8] {
        element(.sequence, elements.flatMap { $0 })
    }

    /// Returns the encoding of a non-negative integer.
    package static func integer(_ value: UInt64) -> [UInt8] {
        var content = Array(value.bigEndianBytes.drop { $0 == 0 })
        if content.first.map({ $0 >= 0x80 }) ?? true { content.insert(0, at: 0) }
        return element(.integer, content)
    }
}

/// Reads elements from the front of DER. It refuses lengths that are not in the shortest form.
package struct DERReader {
    private var rest: ByteReader

    package init(_ bytes: ArraySlice<UInt8>) { rest = ByteReader(bytes) }

    package var isAtEnd: Bool { rest.isAtEnd }
    /// The tag of the next element.
    package var nextTag: UInt8? { rest.remaining.first }

    /// Returns the content of the next element, or `nil` if it has another tag.
    package mutating func content(_ tag: DER.Tag) -> ArraySlice<UInt8>? {
        guard rest.byte() == tag.rawValue, let first = rest.byte() else { return nil }
        guard first >= 0x80 else { return rest.bytes(Int(first)) }
        guard (1...4).contains(first & 0x7F), let digits = rest.bytes(Int(first & 0x7F)),
            digits.first != 0
        else { return nil }
        let length = digits.reduce(0) { $0 << 8 | Int($1) }
        guard length >= 0x80 else { return nil }
        return rest.bytes(length)
    }

    package mutating func sequence() -> DERReader? { content(.sequence).map { DERReader($0) } }

    /// Returns a non-negative integer below 2⁶³.
    package mutating func integer() -> Int? {
        guard let digits = content(.integer), let first = digits.first, first < 0x80,
            digits.count <= 8
        else { return nil }
        if digits.count > 1, first == 0, digits[digits.startIndex + 1] < 0x80 { return nil }
        return digits.reduce(0) { $0 << 8 | Int($1) }
    }

    /// Consumes the next element and returns whether it is this object identifier.
    package mutating func takes(_ identifier: [UInt8]) -> Bool {
        content(.objectIdentifier).map { Array($0) == identifier } ?? false
    }

    /// Consumes the next element and returns whether it is NULL.
    package mutating func takesNull() -> Bool { content(.null).map(\.isEmpty) ?? false }
}
