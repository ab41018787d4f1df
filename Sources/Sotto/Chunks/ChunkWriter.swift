/// A batch of content to protect.
private final class ProtectingBatch: ChunkBatch, @unchecked Sendable {
    /// The content without gaps, so that large reads can fill it.
    private let content: UnsafeMutableRawBufferPointer
    /// The number of content bytes.
    private(set) var count = 0
    /// The highest number of content bytes so far.
    private var most = 0

    override init(_ protection: any ChunkProtection, capacity: Int = Chunks.batchSize) {
        content = .allocate(byteCount: capacity * Chunks.size, alignment: 64)
        super.init(protection, capacity: capacity)
    }

    deinit {
        UnsafeMutableRawBufferPointer(rebasing: content[..<most])
            .initializeMemory(as: UInt8.self, repeating: 0)
        content.deallocate()
    }

    /// The number of chunks. A batch without content has one chunk.
    var chunks: Int { max(1, (count + Chunks.size - 1) / Chunks.size) }
    var isFull: Bool { count == content.count }
    /// The number of bytes in complete chunks that are followed by more bytes.
    var whole: Int { max(0, count - 1) / Chunks.size * Chunks.size }
    /// The free space.
    var room: UnsafeMutableRawBufferPointer { .init(rebasing: content[count...]) }

    /// The protected chunks.
    var result: UnsafeRawBufferPointer {
        .init(part(0, count + chunks * (protection.before + protection.after)))
    }

    func fill(_ count: Int) {
        self.count += count
        most = max(most, self.count)
    }

    func empty() { count = 0 }

    /// Moves the content from `start` on to another batch.
    func move(from start: Int, to other: ProtectingBatch) {
        let rest = UnsafeRawBufferPointer(rebasing: content[start..<count])
        other.room.copyMemory(from: rest)
        other.fill(rest.count)
        count = start
    }

    override func run() {
        reach(result.count)
        for chunk in 0..<chunks {
            let (start, out) = (chunk * Chunks.size, chunk * stride)
            protection.protect(
                .init(rebasing: content[start..<min(start + Chunks.size, count)]),
                into: part(out, min(out + stride, result.count)), index: index + UInt64(chunk),
                isLast: isLast && chunk == chunks - 1)
        }
    }
}

/// Protects the content that is written to it and passes the chunks on.
final class ChunkWriter: LendingSink {
    private let sink: any ByteSink
    private let protection: any ChunkProtection
    private var index: UInt64 = 0
    private var current: ProtectingBatch
    /// A full batch before `current`. It is kept until more content shows that it is not the last.
    private var full: ProtectingBatch?
    private var inFlight: [ProtectingBatch] = []
    private var spare: [ProtectingBatch] = []
    private let pool = ThreadPool()

    /// Creates a writer whose first chunk has the index 0.
    init(_ protection: any ChunkProtection, to sink: any ByteSink) {
        self.protection = protection
        self.sink = sink
        // Most streams are short messages that fit this batch.
        current = ProtectingBatch(protection, capacity: 1)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            let room = try lend()
            let count = min(rest.count, room.count)
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
            try take(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    func lend() throws -> UnsafeMutableRawBufferPointer {
        if current.isFull {
            // The full batch is known not to be the last only when more content follows.
            full = current
            current = try next()
        }
        return current.room
    }

    func take(_ count: Int) throws {
        guard count > 0 else { return }
        if let full {
            self.full = nil
            try submit(full)
        }
        current.fill(count)
        guard current.whole > 0, !current.isFull, try isIdle() else { return }
        // All threads are idle, so complete chunks do not wait for more content.
        let complete = current
        current = try next()
        complete.move(from: complete.whole, to: current)
        try submit(complete)
    }

    func finish() throws {
        let last = full ?? current
        last.isLast = true
        last.index = index
        last.run()
        while !inFlight.isEmpty { try drain() }
        try sink.write(last.result)
        try sink.finish()
    }

    /// Passes on the protected batches in order. Returns whether none is left.
    private func isIdle() throws -> Bool {
        while let first = inFlight.first, pool.isDone(first) { try drain() }
        return inFlight.isEmpty
    }

    private func submit(_ batch: ProtectingBatch) throws {
        batch.index = index
        index += UInt64(batch.chunks)
        inFlight.append(batch)
        pool.submit(batch)
    }

    /// Returns an empty batch.
    private func next() throws -> ProtectingBatch {
        _ = try isIdle()
        while inFlight.count >= Chunks.batches { try drain() }
        let batch = spare.popLast() ?? ProtectingBatch(protection)
        batch.empty()
        return batch
    }

    /// Passes on the first batch in flight.
    private func drain() throws {
        let batch = inFlight.removeFirst()
        pool.finish(batch)
        try sink.write(batch.result)
        if batch.capacity == Chunks.batchSize { spare.append(batch) }
    }
}
