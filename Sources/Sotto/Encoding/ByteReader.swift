/// Reads fields from the front of a byte string. Other modules specialize it, because tables of the state have many rows.
@usableFromInline
package struct ByteReader {
    /// The bytes that were not read yet.
    @usableFromInline package private(set) var remaining: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { remaining = bytes }

    package var isAtEnd: Bool { remaining.isEmpty }

    @usableFromInline
    package mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard remaining.count >= count else { return nil }
        defer { remaining = remaining.dropFirst(count) }
        return remaining.prefix(count)
    }

    package mutating func byte() -> UInt8? { remaining.popFirst() }

    @inlinable
    package mutating func integer<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) -> T? {
        bytes(MemoryLayout<T>.size).flatMap { T(bigEndianBytes: $0) }
    }
}
