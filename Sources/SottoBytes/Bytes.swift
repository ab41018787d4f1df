import CSodium
import Glibc

// The generic functions are inlinable: other modules would otherwise call them unspecialized, which is ten times slower.

/// Returns the lower-case hexadecimal digits of `bytes`, two for each byte.
@inlinable
public func hex(_ bytes: some Sequence<UInt8>) -> String {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
    var text: [UInt8] = []
    text.reserveCapacity(bytes.underestimatedCount * 2)
    for byte in bytes {
        text.append(digit(byte >> 4))
        text.append(digit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
}

/// Returns the bytes of hexadecimal digits in either case, or `nil` for an odd length or any other character.
@inlinable
public func bytes(hex text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
    var result: [UInt8] = []
    result.reserveCapacity(digits.count / 2)
    for index in stride(from: 0, to: digits.count, by: 2) {
        guard let high = value(digits[index]), let low = value(digits[index + 1]) else {
            return nil
        }
        result.append(high << 4 | low)
    }
    return result
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
        let same = utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { other in
                own.count == other.count && own.elementsEqual(other)
            }
        }
        if let same, let same { return same }
        return utf8.elementsEqual(other.utf8)
    }
}
