/// Reads fields from the front of a byte string.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }
    /// The bytes that were not read yet.
    var remaining: ArraySlice<UInt8> { rest }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func integer<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) -> T? {
        bytes(MemoryLayout<T>.size).flatMap { T(bigEndianBytes: $0) }
    }
}
