/// A batch of content to protect.
private final class ProtectingBatch: ChunkBatch, @unchecked Sendable {
    /// The number of content bytes.
    private(set) var count = 0

    /// The number of chunks. A batch without content has one chunk.
    var chunks: Int { max(1, (count + Chunks.size - 1) / Chunks.size) }
    var isFull: Bool { count == capacity * Chunks.size }
    /// The number of content bytes in complete chunks that are followed by more bytes.
    var whole: Int { max(0, count - 1) / Chunks.size * Chunks.size }
    /// The free space for the content of the next incomplete chunk.
    var room: UnsafeMutableRawBufferPointer {
        let start = place(count)
        return part(start, start + Chunks.size - count % Chunks.size)
    }
    /// The chunks, which are protected after the batch has run.
    var result: UnsafeRawBufferPointer {
        .init(part(0, count + chunks * (protection.before + protection.after)))
    }

    func fill(_ count: Int) {
        self.count += count
        reach(result.count)
    }

    func empty() { count = 0 }

    /// Moves the content from the beginning of the last chunk on to another batch, which is empty.
    func moveRest(to other: ProtectingBatch) {
        let rest = part(place(whole), place(whole) + count - whole)
        other.room.copyMemory(from: .init(rest))
        other.fill(rest.count)
        count = whole
    }

    override func run() {
        let size = result.count
        for chunk in 0..<chunks {
            let start = chunk * stride
            protection.protect(
                part(start, min(start + stride, size)), index: index + UInt64(chunk),
                isLast: isLast && chunk == chunks - 1)
        }
    }

    /// Returns the place of a content byte.
    private func place(_ content: Int) -> Int {
        content / Chunks.size * stride + protection.before + content % Chunks.size
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
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            try take(count) { !rest.isEmpty }
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

    func take(_ count: Int, more: () -> Bool) throws {
        guard count > 0 else { return }
        if let full {
            self.full = nil
            try submit(full)
        }
        current.fill(count)
        guard current.whole > 0, !current.isFull, try isIdle(), !more() else { return }
        // All threads are idle and so is the source: complete chunks do not wait for more content.
        let complete = current
        current = try next()
        complete.moveRest(to: current)
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
