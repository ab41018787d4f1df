/// Reads fields from the front of a byte string.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    package var isAtEnd: Bool { rest.isEmpty }
    /// The bytes that were not read yet.
    package var remaining: ArraySlice<UInt8> { rest }

    package mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    package mutating func byte() -> UInt8? { rest.popFirst() }

    package mutating func integer<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) -> T? {
        bytes(MemoryLayout<T>.size).flatMap { T(bigEndianBytes: $0) }
    }
}
