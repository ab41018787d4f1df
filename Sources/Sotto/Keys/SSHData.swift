/// Writes the data types of SSH (RFC 4251 §5).
struct SSHWriter {
    private(set) var bytes: [UInt8] = []

    /// Creates a writer. One for secrets has a `capacity` of all bytes, because an array that grows leaves a copy in freed
    /// memory.
    init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    mutating func uint32(_ value: UInt32) { bytes += value.bigEndianBytes }

    mutating func string(_ value: some Collection<UInt8>) {
        uint32(UInt32(value.count))
        bytes += value
    }

    mutating func raw(_ value: some Collection<UInt8>) { bytes += value }

    mutating func wipeAll() { wipe(&bytes) }
}

/// Reads the data types of SSH (RFC 4251 §5). Each method returns `nil` if too few bytes are left.
struct SSHReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) { rest = Array(bytes)[...] }

    mutating func uint32() -> UInt32? {
        guard let value = UInt32(bigEndianBytes: rest.prefix(4)) else { return nil }
        rest = rest.dropFirst(4)
        return value
    }

    mutating func string() -> [UInt8]? {
        guard let count = uint32(), count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return Array(rest.prefix(Int(count)))
    }
}
