/// A method that protects each chunk of a stream.
///
/// Several threads may use one instance at a time.
protocol ChunkProtection: AnyObject, Sendable {
    /// The number of bytes before a chunk's content.
    var before: Int { get }
    /// The number of bytes after a chunk's content.
    var after: Int { get }

    /// Protects a chunk in place. Its content is between the `before` and `after` bytes, which this sets.
    func protect(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool)

    /// Verifies a chunk in place. Its content is then between the same `before` and `after` bytes. The chunk is at most
    /// as long as a full one. `isLast` tells that no bytes follow it.
    func verify(_ chunk: UnsafeMutableRawBufferPointer, index: UInt64, isLast: Bool) throws
}

/// Whole streams in memory. A message is much shorter than the buffers of ``ChunkWriter`` and ``ChunkReader``.
extension ChunkProtection {
    /// Returns the protected chunks of a content.
    func protected(_ content: [UInt8]) -> [UInt8] {
        let chunks = max(1, (content.count + Chunks.size - 1) / Chunks.size)
        let size = content.count + chunks * (before + after)
        return [UInt8](unsafeUninitializedCapacity: size) { out, written in
            var (rest, out) = (content[...], UnsafeMutableRawBufferPointer(out)[...])
            for index in 0..<chunks {
                let part = rest.prefix(Chunks.size)
                let chunk = UnsafeMutableRawBufferPointer(
                    rebasing: out.prefix(before + part.count + after))
                UnsafeMutableRawBufferPointer(rebasing: chunk[before...]).copyBytes(from: part)
                protect(chunk, index: UInt64(index), isLast: index == chunks - 1)
                rest = rest.dropFirst(part.count)
                out = out.dropFirst(chunk.count)
            }
            written = size
        }
    }

    /// Returns the content of protected chunks. Throws the error of the first chunk that is not authentic.
    func verified(_ chunks: some Collection<UInt8>) throws -> [UInt8] {
        var chunks = Array(chunks)
        defer { wipe(&chunks) }
        return try chunks.withUnsafeMutableBytes { chunks in
            var content: [UInt8] = []
            content.reserveCapacity(chunks.count)
            var (rest, index) = (chunks[...], UInt64(0))
            // An empty stream still has one chunk, which is empty.
            repeat {
                let chunk = UnsafeMutableRawBufferPointer(
                    rebasing: rest.prefix(before + Chunks.size + after))
                rest = rest.dropFirst(chunk.count)
                try verify(chunk, index: index, isLast: rest.isEmpty)
                content += chunk[before..<(chunk.count - after)]
                index += 1
            } while !rest.isEmpty
            return content
        }
    }
}

/// A stream of chunks, each protected separately with its index. All chunks but the last are full.
///
/// Several chunks form a batch. Several batches are protected or verified at a time, on one thread for each processor.
/// A stream of less than two chunks needs no thread.
enum Chunks {
    /// The content of a full chunk, in bytes.
    static let size = 64 << 10
    /// The number of chunks in a batch.
    static let batchSize = 8
    /// The highest number of batches in flight. Each uses half a MiB.
    static let batches = 2 * ThreadPool.size + 1
}

/// A batch of consecutive protected chunks. Unused pages of its buffer take no memory.
class ChunkBatch: ThreadPoolTask, @unchecked Sendable {
    // One extra byte: if it is filled, more bytes follow the last chunk of the batch.
    let bytes: UnsafeMutableRawBufferPointer
    let protection: any ChunkProtection
    /// The length of a full protected chunk in bytes.
    let stride: Int
    /// The number of chunks that the buffer holds.
    let capacity: Int
    /// The index of the first chunk.
    var index: UInt64 = 0
    /// Whether the last chunk of the batch is the last of the stream.
    var isLast = false
    /// The highest position that was ever filled.
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

    /// Records that the buffer was filled up to `end`.
    func reach(_ end: Int) { reached = max(reached, end) }

    func part(_ start: Int, _ end: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
    }
}
