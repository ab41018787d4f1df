import CSodium
import Glibc

// The generic functions are inlinable: other modules would otherwise call them unspecialized, which is ten times slower.

/// Returns the lower-case hexadecimal digits of `bytes`, two for each byte.
@inlinable
public func hex(_ bytes: some Collection<UInt8>) -> String {
    let count = bytes.count * 2
    return String(unsafeUninitializedCapacity: count) { text in
        var place = 0
        for byte in bytes {
            text[place] = hexDigit(byte >> 4)
            text[place + 1] = hexDigit(byte & 15)
            place += 2
        }
        return count
    }
}

/// Returns the lower-case hexadecimal digit of a value from 0 to 15.
@inlinable
func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

/// Returns the bytes of hexadecimal digits in either case, or `nil` for an odd length or any other character.
@inlinable
public func bytes(hex text: some StringProtocol) -> [UInt8]? {
    text.utf8.withContiguousStorageIfAvailable { bytes(hexDigits: $0) }
        ?? Array(text.utf8).withUnsafeBufferPointer { bytes(hexDigits: $0) }
}

/// Returns the bytes of hexadecimal digits as ASCII, or `nil` as ``bytes(hex:)`` does.
public func bytes(hexDigits digits: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    // A wrong digit has the value 0xFF and sets a high bit.
    func value(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: 0xFF
        }
    }
    var seen: UInt8 = 0
    let result = [UInt8](unsafeUninitializedCapacity: digits.count / 2) { out, count in
        count = digits.count / 2
        for place in 0..<count {
            let (high, low) = (value(digits[place * 2]), value(digits[place * 2 + 1]))
            seen |= high | low
            out[place] = high << 4 | low & 15
        }
    }
    return seen > 15 ? nil : result
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The integer's bytes in big-endian order.
    @inlinable
    public var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

    /// Creates an integer from all of `bytes` in big-endian order, or returns `nil` if the length does not match its
    /// size.
    @inlinable
    public init?(bigEndianBytes bytes: some Collection<UInt8>) {
        guard bytes.count == MemoryLayout<Self>.size else { return nil }
        self = bytes.reduce(0) { $0 << 8 | Self($1) }
    }
}

/// Whether two byte strings are equal. The time depends only on their lengths.
public func constantTimeEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && sodium_memcmp(a, b, a.count) == 0
}

/// Returns `count` bytes from the operating system's random generator.
public func randomBytes(_ count: Int) -> [UInt8] {
    Sodium.start()
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        if count > 0 { randombytes_buf(buffer.baseAddress!, count) }
        initialized = count
    }
}

extension StringProtocol {
    /// Whether two strings have the same UTF-8 bytes. Swift's `==` also treats canonically equivalent strings as equal,
    /// which is wrong for identifiers and member names.
    @inlinable
    public func isSameBytes(as other: some StringProtocol) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let same = utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { isSame(own, $0) }
        }
        if let same, let same { return same }
        return utf8.elementsEqual(other.utf8)
    }
}

/// Whether two buffers of one length have the same bytes.
@usableFromInline
func isSame(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = a.baseAddress, let second = b.baseAddress else { return true }
    return memcmp(first, second, a.count) == 0
}

/// Returns the place of the first `byte` in a buffer, or `nil`.
package func firstPlace(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress else { return nil }
    return memchr(start, Int32(byte), bytes.count).map { UnsafeRawPointer($0) - start }
}
