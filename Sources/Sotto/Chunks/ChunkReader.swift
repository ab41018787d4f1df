/// A batch of protected chunks to verify.
private final class VerifyingBatch: ChunkBatch, @unchecked Sendable {
    /// The number of bytes that were read.
    private(set) var filled = 0
    /// The number of chunks that were verified.
    private(set) var verified = 0
    /// The error of the first chunk that is not authentic.
    private(set) var failure: (any Error)?

    /// The free space.
    var room: UnsafeMutableRawBufferPointer { part(filled, bytes.count) }
    /// The number of bytes in complete chunks that are followed by more bytes.
    var whole: Int { max(0, filled - 1) / stride * stride }

    func fill(_ count: Int) {
        filled += count
        reach(filled)
    }

    func empty() { filled = 0 }

    /// Removes all but the complete chunks that are followed by more bytes.
    func cut() { filled = whole }

    /// Moves the bytes from `start` on to another batch.
    func move(from start: Int, to other: VerifyingBatch) {
        let rest = part(start, filled)
        other.room.copyMemory(from: .init(rest))
        other.fill(rest.count)
        filled = start
    }

    /// Returns the content of a verified chunk.
    func content(of chunk: Int) -> UnsafeRawBufferPointer {
        let start = chunk * stride
        return .init(
            part(
                start + protection.before, min(start + stride, filled) - protection.after))
    }

    override func run() {
        (verified, failure) = (0, nil)
        do {
            // An empty stream still has one chunk, which is empty.
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

/// Verifies a stream of chunks. It returns no byte before the byte's chunk was verified.
final class ChunkReader: BorrowingSource {
    private let source: any ByteSource
    private let protection: any ChunkProtection
    private var index: UInt64 = 0
    /// The batch, chunk and offset of the next byte to return.
    private var current: VerifyingBatch?
    private var chunk = 0
    private var start = 0
    /// The batch that is being filled. It begins with the bytes that exceeded the previous batch. `nil` at the end.
    private var filling: VerifyingBatch?
    /// The error of the source. It is thrown after all verified bytes were returned.
    private var failure: (any Error)?
    private var inFlight: [VerifyingBatch] = []
    private var spare: [VerifyingBatch] = []
    private let pool = ThreadPool()

    /// Creates a reader whose first chunk has the index 0.
    init(_ protection: any ChunkProtection, from source: any ByteSource) {
        self.protection = protection
        self.source = source
        // Most streams are short messages that fit this batch.
        filling = VerifyingBatch(protection, capacity: 1)
    }

    /// Whether verified content is available, or soon will be without reading more.
    var isReady: Bool {
        guard let current, inFlight.isEmpty else { return !inFlight.isEmpty }
        let hasContent =
            chunk + 1 < current.verified
            || chunk < current.verified && start < current.content(of: chunk).count
        return hasContent || current.failure != nil
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

    /// Returns the verified content of a chunk that was not returned yet; empty at the end.
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
            guard !inFlight.isEmpty else {
                if let failure { throw failure }
                return UnsafeRawBufferPointer(start: nil, count: 0)
            }
            let batch = inFlight.removeFirst()
            pool.finish(batch)
            (current, chunk, start) = (batch, 0, 0)
        }
    }

    /// Reads the available bytes. Waits for more only if no batch is in flight.
    private func readAhead() {
        while let batch = filling, inFlight.count < Chunks.batches,
            inFlight.isEmpty || source.isReady
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
        // The end of a short stream is too small for another thread.
        if batch.isLast, inFlight.isEmpty { batch.run() } else { pool.submit(batch) }
        inFlight.append(batch)
    }
}
