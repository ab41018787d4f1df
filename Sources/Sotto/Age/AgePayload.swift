/// The payload of an age file: STREAM over ChaCha20-Poly1305 in chunks of 64 KiB
/// (C2SP age, "Payload").
///
/// Some chunks together are a batch, and several batches are sealed or opened at once, on as many threads as there are
/// processors. A file of less than two chunks needs no thread.
enum AgePayload {
    static let chunkSize = 64 << 10
    static let sealedChunkSize = chunkSize + ChaChaPoly.tagSize
    /// The chunks of a batch.
    static let batchSize = 8
    /// The most batches that are under way, each of 1 MiB with its result.
    static let batches = 2 * Crew.size + 1

    static func key(fileKey: borrowing SecretBytes, nonce: [UInt8]) -> SecretBytes {
        hkdfSHA256(fileKey, salt: nonce, info: "payload")
    }

    /// The nonce of a chunk: its index in 11 bytes, then 1 for the last.
    static func nonce(index: UInt64, isLast: Bool) -> [12 of UInt8] {
        var nonce = [12 of UInt8](repeating: 0)
        for (place, byte) in index.bigEndianBytes.enumerated() { nonce[3 + place] = byte }
        nonce[11] = isLast ? 1 : 0
        return nonce
    }
}

/// Some chunks of a payload, plain and sealed. Pages of it that are not used take no memory.
private class PayloadBatch: CrewTask, @unchecked Sendable {
    let plain = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AgePayload.batchSize * AgePayload.chunkSize, alignment: 64)
    // One byte more: whether it is there tells whether the last chunk is the last of all.
    let sealed = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AgePayload.batchSize * AgePayload.sealedChunkSize + 1, alignment: 64)
    let key: ChaChaPolyStream
    /// The bytes of the input: plain ones to seal, or sealed ones to open.
    var filled = 0
    /// The number of the first chunk.
    var index: UInt64 = 0
    /// Whether the last chunk is the last of all.
    var isLast = false
    /// The most plaintext that was ever in here.
    var reached = 0

    init(_ key: ChaChaPolyStream) { self.key = key }

    deinit {
        UnsafeMutableRawBufferPointer(rebasing: plain[..<reached])
            .initializeMemory(as: UInt8.self, repeating: 0)
        plain.deallocate()
        sealed.deallocate()
    }
}

// MARK: Sealing

/// Plaintext that is sealed.
private final class SealingBatch: PayloadBatch, @unchecked Sendable {
    /// The room that is left, which is none in a full one.
    var room: UnsafeMutableRawBufferPointer { .init(rebasing: plain[filled...]) }

    /// How many chunks it has; one without bytes is one.
    var chunks: Int { max(1, (filled + AgePayload.chunkSize - 1) / AgePayload.chunkSize) }

    /// What it is sealed.
    var result: UnsafeRawBufferPointer {
        .init(rebasing: sealed[..<(filled + chunks * ChaChaPoly.tagSize)])
    }

    func fill(_ count: Int) {
        filled += count
        reached = max(reached, filled)
    }

    override func run() {
        for chunk in 0..<chunks {
            let start = chunk * AgePayload.chunkSize
            let end = min(filled, start + AgePayload.chunkSize)
            key.seal(
                UnsafeRawBufferPointer(rebasing: plain[start..<end]),
                into: sealed.baseAddress! + chunk * AgePayload.sealedChunkSize,
                nonce: AgePayload.nonce(
                    index: index + UInt64(chunk), isLast: isLast && chunk == chunks - 1))
        }
    }
}

/// Seals what is written to it and passes it on.
final class AgePayloadWriter: LendingSink {
    private let sink: any ByteSink
    private let key: ChaChaPolyStream
    private var index: UInt64 = 0
    private var current: SealingBatch
    /// A full one before `current`, of which is not known whether anything follows.
    private var full: SealingBatch?
    private var underWay: [SealingBatch] = []
    private var spare: [SealingBatch] = []
    private let crew = Crew()

    init(fileKey: borrowing SecretBytes, to sink: any ByteSink) throws {
        let nonce = randomBytes(16)
        key = ChaChaPolyStream(key: AgePayload.key(fileKey: fileKey, nonce: nonce))
        current = SealingBatch(key)
        self.sink = sink
        try sink.write(nonce)
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
        if current.room.isEmpty {
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
        guard current.filled > AgePayload.chunkSize, !current.room.isEmpty, try isIdle() else {
            return
        }
        // Nobody has anything to do: what is complete is not kept waiting for more.
        let whole = (current.filled - 1) / AgePayload.chunkSize * AgePayload.chunkSize
        let rest = UnsafeRawBufferPointer(rebasing: current.plain[whole..<current.filled])
        let following = try next()
        following.room.copyMemory(from: rest)
        following.fill(rest.count)
        current.filled = whole
        let complete = current
        current = following
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

    /// Passes on what is sealed, in order, and says whether that was all.
    private func isIdle() throws -> Bool {
        while let first = underWay.first, crew.isDone(first) { try drain() }
        return underWay.isEmpty
    }

    private func submit(_ batch: SealingBatch) throws {
        batch.index = index
        index += UInt64(batch.chunks)
        underWay.append(batch)
        crew.submit(batch)
    }

    /// A batch that nothing is in.
    private func next() throws -> SealingBatch {
        _ = try isIdle()
        while underWay.count >= AgePayload.batches { try drain() }
        let batch = spare.popLast() ?? SealingBatch(key)
        batch.filled = 0
        return batch
    }

    /// Passes on the first batch that is under way.
    private func drain() throws {
        let batch = underWay.removeFirst()
        crew.wait(for: batch)
        try sink.write(batch.result)
        spare.append(batch)
    }
}

// MARK: Opening

/// Sealed chunks that are opened.
private final class OpeningBatch: PayloadBatch, @unchecked Sendable {
    /// How much of `plain` is verified.
    private(set) var opened = 0
    /// Why the rest is not.
    private(set) var failure: AgeError?

    /// The room that is left.
    var room: UnsafeMutableRawBufferPointer { .init(rebasing: sealed[filled...]) }

    override func run() {
        (opened, failure) = (0, nil)
        var (start, chunk) = (0, index)
        repeat {
            let size = min(filled - start, AgePayload.sealedChunkSize)
            let isLast = isLast && start + size == filled
            failure = open(start, size, chunk, isLast: isLast)
            guard failure == nil else { break }
            opened += size - ChaChaPoly.tagSize
            start += size
            chunk += 1
        } while start < filled
        reached = max(reached, opened)
    }

    private func open(_ start: Int, _ size: Int, _ chunk: UInt64, isLast: Bool) -> AgeError? {
        guard size >= ChaChaPoly.tagSize else { return .truncated }
        let box = UnsafeRawBufferPointer(rebasing: sealed[start..<(start + size)])
        func opens(isLast: Bool) -> Bool {
            key.open(
                box, into: plain.baseAddress! + opened,
                nonce: AgePayload.nonce(index: chunk, isLast: isLast))
        }
        guard opens(isLast: isLast) else {
            // A chunk that is authentic, but not as the last, means that the rest is missing.
            return isLast && opens(isLast: false) ? .truncated : .payload
        }
        // Only a file without content ends in a chunk without content.
        return size > ChaChaPoly.tagSize || chunk == 0 ? nil : .payload
    }
}

/// Opens a payload; gives out no byte before its chunk's tag has been verified.
final class AgePayloadReader: BorrowingSource {
    private let source: any ByteSource
    private let key: ChaChaPolyStream
    private var index: UInt64 = 0
    /// What is given out, from `start` on.
    private var current: OpeningBatch?
    private var start = 0
    /// What is being filled; it begins with what the one before it had too much.
    private var filling: OpeningBatch?
    private var underWay: [OpeningBatch] = []
    private var spare: [OpeningBatch] = []
    private let crew = Crew()

    init(fileKey: borrowing SecretBytes, from source: any ByteSource) throws {
        var nonce = [UInt8](repeating: 0, count: 16)
        let count = try nonce.withUnsafeMutableBytes { try source.fill($0) }
        guard count == 16 else { throw AgeError.truncated }
        key = ChaChaPolyStream(key: AgePayload.key(fileKey: fileKey, nonce: nonce))
        self.source = source
        filling = OpeningBatch(key)
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

    /// What is opened and not given out yet; empty at the end.
    private func rest() throws -> UnsafeRawBufferPointer {
        while true {
            if let current {
                guard start == current.opened else {
                    return UnsafeRawBufferPointer(rebasing: current.plain[start..<current.opened])
                }
                if let failure = current.failure { throw failure }
                spare.append(current)
                self.current = nil
            }
            try readAhead()
            guard !underWay.isEmpty else { return UnsafeRawBufferPointer(start: nil, count: 0) }
            let batch = underWay.removeFirst()
            crew.wait(for: batch)
            (current, start) = (batch, 0)
        }
    }

    /// Reads what is there, and at least something where nothing is under way.
    private func readAhead() throws {
        while let batch = filling, underWay.count < AgePayload.batches,
            underWay.isEmpty || source.isReady
        {
            let isAtEnd = try !fill(batch)
            filling = nil
            batch.index = index
            batch.isLast = isAtEnd
            underWay.append(batch)
            guard !isAtEnd else {
                // The end of a short file is no work for another thread.
                return underWay.count == 1 ? batch.run() : crew.submit(batch)
            }
            let chunks = (batch.filled - 1) / AgePayload.sealedChunkSize
            let whole = chunks * AgePayload.sealedChunkSize
            let following = spare.popLast() ?? OpeningBatch(key)
            let rest = UnsafeRawBufferPointer(rebasing: batch.sealed[whole..<batch.filled])
            following.filled = 0
            following.room.copyMemory(from: rest)
            following.filled = rest.count
            filling = following
            batch.filled = whole
            index += UInt64(chunks)
            crew.submit(batch)
        }
    }

    /// Fills a batch, or puts as much as is there into it where nothing else is under way, but more than one chunk;
    /// false at the end.
    private func fill(_ batch: OpeningBatch) throws -> Bool {
        while !batch.room.isEmpty {
            let count = try source.read(into: batch.room)
            if count == 0 { return false }
            batch.filled += count
            if batch.filled > AgePayload.sealedChunkSize, !source.isReady { return true }
        }
        return true
    }
}
