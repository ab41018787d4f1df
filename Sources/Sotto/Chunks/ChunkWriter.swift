/// Content that is protected.
private final class ProtectingBatch: ChunkBatch, @unchecked Sendable {
    /// The content, without gaps, so that much can be read into it at once.
    private let content: UnsafeMutableRawBufferPointer
    /// The bytes of content.
    private(set) var count = 0
    /// The most content that it ever had.
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

    /// How many chunks it has; one without content is one.
    var chunks: Int { max(1, (count + Chunks.size - 1) / Chunks.size) }
    var isFull: Bool { count == content.count }
    /// How much it has in chunks behind which there is more.
    var whole: Int { max(0, count - 1) / Chunks.size * Chunks.size }
    /// The room that is left.
    var room: UnsafeMutableRawBufferPointer { .init(rebasing: content[count...]) }

    /// What it is protected.
    var result: UnsafeRawBufferPointer {
        .init(part(0, count + chunks * (protection.before + protection.after)))
    }

    func fill(_ count: Int) {
        self.count += count
        most = max(most, self.count)
    }

    func empty() { count = 0 }

    /// Moves what it has from `start` on to another.
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

/// Protects what is written to it and passes it on.
final class ChunkWriter: LendingSink {
    private let sink: any ByteSink
    private let protection: any ChunkProtection
    private var index: UInt64 = 0
    private var current: ProtectingBatch
    /// A full one before `current`, of which is not known whether anything follows.
    private var full: ProtectingBatch?
    private var underWay: [ProtectingBatch] = []
    private var spare: [ProtectingBatch] = []
    private let crew = Crew()

    /// The first chunk has the number 0.
    init(_ protection: any ChunkProtection, to sink: any ByteSink) {
        self.protection = protection
        self.sink = sink
        // Most streams are messages, and end in it.
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
            // Only when something follows it is known not to be the last.
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
        // Nobody has anything to do: what is complete is not kept waiting for more.
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
        while !underWay.isEmpty { try drain() }
        try sink.write(last.result)
        try sink.finish()
    }

    /// Passes on what is protected, in order, and says whether that was all.
    private func isIdle() throws -> Bool {
        while let first = underWay.first, crew.isDone(first) { try drain() }
        return underWay.isEmpty
    }

    private func submit(_ batch: ProtectingBatch) throws {
        batch.index = index
        index += UInt64(batch.chunks)
        underWay.append(batch)
        crew.submit(batch)
    }

    /// A batch that nothing is in.
    private func next() throws -> ProtectingBatch {
        _ = try isIdle()
        while underWay.count >= Chunks.batches { try drain() }
        let batch = spare.popLast() ?? ProtectingBatch(protection)
        batch.empty()
        return batch
    }

    /// Passes on the first batch that is under way.
    private func drain() throws {
        let batch = underWay.removeFirst()
        crew.wait(for: batch)
        try sink.write(batch.result)
        if batch.capacity == Chunks.batchSize { spare.append(batch) }
    }
}
