/// Protected chunks that are verified.
private final class VerifyingBatch: ChunkBatch, @unchecked Sendable {
    /// The bytes that were read.
    private(set) var filled = 0
    /// How many chunks are verified.
    private(set) var verified = 0
    /// Why the rest is not.
    private(set) var failure: (any Error)?

    /// The room that is left.
    var room: UnsafeMutableRawBufferPointer { part(filled, bytes.count) }
    /// How much it has in chunks behind which there is more.
    var whole: Int { max(0, filled - 1) / stride * stride }

    func fill(_ count: Int) {
        filled += count
        reach(filled)
    }

    func empty() { filled = 0 }

    /// Leaves the chunks behind which there is more.
    func cut() { filled = whole }

    /// Moves what it has from `start` on to another.
    func move(from start: Int, to other: VerifyingBatch) {
        let rest = part(start, filled)
        other.room.copyMemory(from: .init(rest))
        other.fill(rest.count)
        filled = start
    }

    /// The content of a verified chunk.
    func content(of chunk: Int) -> UnsafeRawBufferPointer {
        let start = chunk * stride
        return .init(
            part(
                start + protection.before, min(start + stride, filled) - protection.after))
    }

    override func run() {
        (verified, failure) = (0, nil)
        do {
            // Also nothing at all is a chunk: one that is not there.
            repeat {
                let start = verified * stride
                let end = min(start + stride, filled)
                try protection.verify(
                    part(start, end), index: index + UInt64(verified),
                    isLast: isLast && end == filled)
                verified += 1
            } while verified * stride < filled
        } catch {
            failure = error
        }
    }
}

/// Verifies a stream of chunks; gives out no byte before its chunk has been verified.
final class ChunkReader: BorrowingSource {
    private let source: any ByteSource
    private let protection: any ChunkProtection
    private var index: UInt64 = 0
    /// What is given out, and which of its chunks, from `start` on.
    private var current: VerifyingBatch?
    private var chunk = 0
    private var start = 0
    /// What is being filled; it begins with what the one before it had too much. None at the end.
    private var filling: VerifyingBatch?
    /// Why nothing more could be read. What was read before is given out first.
    private var failure: (any Error)?
    private var underWay: [VerifyingBatch] = []
    private var spare: [VerifyingBatch] = []
    private let crew = Crew()

    /// The first chunk has the number 0.
    init(_ protection: any ChunkProtection, from source: any ByteSource) {
        self.protection = protection
        self.source = source
        // Most streams are messages, and end in it.
        filling = VerifyingBatch(protection, capacity: 1)
    }

    /// Whether something is verified, or is soon without anything more to read.
    var isReady: Bool {
        current.map { chunk < $0.verified || $0.failure != nil } ?? false || !underWay.isEmpty
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let rest = try rest()
        let count = min(buffer.count, rest.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
        start += count
        return count
    }

    func borrow() throws -> UnsafeRawBufferPointer {
        let rest = try rest()
        start += rest.count
        return rest
    }

    /// What is verified of a chunk and not given out yet; empty at the end.
    private func rest() throws -> UnsafeRawBufferPointer {
        while true {
            while let current, chunk < current.verified {
                let content = current.content(of: chunk)
                if start < content.count { return .init(rebasing: content[start...]) }
                (chunk, start) = (chunk + 1, 0)
            }
            if let current {
                if let failure = current.failure { throw failure }
                if current.capacity == Chunks.batchSize { spare.append(current) }
                self.current = nil
            }
            readAhead()
            guard !underWay.isEmpty else {
                if let failure { throw failure }
                return UnsafeRawBufferPointer(start: nil, count: 0)
            }
            let batch = underWay.removeFirst()
            crew.wait(for: batch)
            (current, chunk, start) = (batch, 0, 0)
        }
    }

    /// Reads what is there, and waits for more only where nothing is under way.
    private func readAhead() {
        while let batch = filling, underWay.count < Chunks.batches,
            underWay.isEmpty || source.isReady
        {
            let count: Int
            do {
                count = try source.read(into: batch.room)
            } catch {
                failure = error
                filling = nil
                batch.cut()
                if batch.filled > 0 { submit(batch) }
                return
            }
            batch.fill(count)
            if count == 0 {
                filling = nil
                batch.isLast = true
                submit(batch)
            } else if batch.room.isEmpty || batch.whole > 0 && !source.isReady {
                let following = spare.popLast() ?? VerifyingBatch(protection)
                following.empty()
                batch.move(from: batch.whole, to: following)
                filling = following
                submit(batch)
            }
        }
    }

    private func submit(_ batch: VerifyingBatch) {
        batch.index = index
        index += UInt64(batch.filled / batch.stride)
        // The end of a short stream is no work for another thread.
        if batch.isLast, underWay.isEmpty { batch.run() } else { crew.submit(batch) }
        underWay.append(batch)
    }
}
