/// How each chunk of a stream is protected.
///
/// Several threads may use one at once.
protocol ChunkProtection: AnyObject, Sendable {
    /// How many bytes stand before a chunk's content.
    var before: Int { get }
    /// How many bytes stand after a chunk's content.
    var after: Int { get }

    /// Protects a chunk's content into `out`, which has `before` and `after` bytes more.
    func protect(
        _ content: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer,
        index: UInt64, isLast: Bool)

    /// Verifies a chunk in place, so that its content is there between the same bytes. It has no more bytes
    /// than a whole one. `isLast` says that nothing follows it.
    func verify(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool) throws
}

/// A stream of chunks, each protected alone and with its number. All but the last have as much content.
///
/// Some chunks together are a batch, and several batches are protected or verified at once, on as many threads as
/// there are processors. A stream of less than two chunks needs no thread.
enum Chunks {
    /// The content of a whole chunk, in bytes.
    static let size = 64 << 10
    /// The chunks of a batch.
    static let batchSize = 8
    /// The most batches that are under way, each of half a MiB, or one with its result.
    static let batches = 2 * Crew.size + 1
}

/// Some protected chunks, one after the other. Pages of it that are not used take no memory.
class ChunkBatch: CrewTask, @unchecked Sendable {
    // One byte more: whether it is there tells whether the last chunk is the last of all.
    let bytes: UnsafeMutableRawBufferPointer
    let protection: any ChunkProtection
    /// The bytes of a whole chunk, protected.
    let stride: Int
    /// How many chunks it has room for.
    let capacity: Int
    /// The number of the first chunk.
    var index: UInt64 = 0
    /// Whether the last chunk is the last of all.
    var isLast = false
    /// How far it was ever filled.
    private var reached = 0

    init(_ protection: any ChunkProtection, capacity: Int = Chunks.batchSize) {
        self.protection = protection
        self.capacity = capacity
        stride = protection.before + Chunks.size + protection.after
        bytes = .allocate(byteCount: capacity * stride + 1, alignment: 64)
    }

    deinit {
        part(0, reached).initializeMemory(as: UInt8.self, repeating: 0)
        bytes.deallocate()
    }

    /// Notes that bytes were put in up to `end`.
    func reach(_ end: Int) { reached = max(reached, end) }

    func part(_ start: Int, _ end: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
    }
}
