/// The file changed while it was read. The bytes that were returned before are authentic, but incomplete.
package struct ChangedFileError: Error {}

/// The blocks of a source that is read twice: the first pass authenticates it, and the second uses it.
///
/// The second pass compares the BLAKE2b hash of each block with that of the first. If the file is replaced between the
/// passes, no byte is used that the first pass did not cover.
package struct TwoPassBlocks {
    /// The length of each block but the last, in bytes.
    package static let size = 64 << 10

    private let source: any SeekableSource
    private let offset: Int
    private let count: Int
    private var digests: [[UInt8]] = []
    /// The number of blocks that the second pass has read.
    package private(set) var next = 0

    /// Creates the blocks of `count` bytes from `offset` on.
    package init(_ source: any SeekableSource, from offset: Int, count: Int) {
        (self.source, self.offset, self.count) = (source, offset, count)
    }

    /// Reads the next block of the first pass into `buffer`, which has space for ``size`` bytes. Returns its length, or `nil`
    /// after the last.
    package mutating func readFirst(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        guard let length = try read(digests.count, into: buffer) else { return nil }
        digests.append(blake2b256(UnsafeRawBufferPointer(rebasing: buffer[..<length])))
        return length
    }

    /// Reads the next block of the second pass like ``readFirst(into:)``. Throws ``ChangedFileError``.
    package mutating func readNext(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        guard let length = try read(next, into: buffer) else { return nil }
        let digest = blake2b256(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
        guard digest == digests[next] else { throw ChangedFileError() }
        next += 1
        return length
    }

    private func read(_ index: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        let start = index * Self.size
        guard start < count else { return nil }
        let length = min(Self.size, count - start)
        let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<length])
        guard try source.fill(block, at: offset + start) == length else {
            throw ChangedFileError()
        }
        return length
    }
}
