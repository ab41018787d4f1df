import Glibc
public import SottoBytes

extension Output: ByteSink {}

/// Copies `source` to `sink` until its end; does not finish the sink.
public func copy(
    from source: any ByteSource, to sink: any ByteSink, progress: Progress? = nil
) throws {
    defer { progress?.clear() }
    // This case is first, because a source may lend only bytes that it has copied itself.
    if let sink = sink as? any LendingSink {
        while true {
            let count = try source.read(into: try sink.lend())
            if count == 0 { return }
            try sink.take(count) { source.isReady }
            progress?.add(count)
        }
    }
    if let source = source as? any BorrowingSource {
        while true {
            let bytes = try source.borrow()
            if bytes.isEmpty { return }
            try sink.write(bytes)
            progress?.add(bytes.count)
        }
    }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
    defer {
        block.initializeMemory(as: UInt8.self, repeating: 0)
        block.deallocate()
    }
    while true {
        let count = try source.read(into: block)
        if count == 0 { return }
        try sink.write(UnsafeRawBufferPointer(rebasing: block[..<count]))
        progress?.add(count)
    }
}

/// Buffers the output until it exceeds 16 MiB, or until ``ByteSink/finish()`` reports that all of it is authentic.
public final class HoldingSink: ByteSink {
    /// The size of the buffer in bytes.
    public static let size = 16 << 20
    private let sink: any ByteSink
    private var held: [UInt8] = []
    private var isOpen = false

    /// Creates a sink that buffers the output to `sink`.
    public init(_ sink: any ByteSink) { self.sink = sink }

    deinit { wipe(&held) }

    /// Writes or buffers `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        if !isOpen, held.count + bytes.count <= Self.size {
            // An array that grows leaves a copy in freed memory. Unused pages take no memory.
            held.reserveCapacity(Self.size)
            held.append(contentsOf: bytes)
            return
        }
        try release()
        try sink.write(bytes)
    }

    /// Writes the buffered bytes and finishes the underlying sink.
    public func finish() throws {
        try release()
        try sink.finish()
    }

    private func release() throws {
        guard !isOpen else { return }
        isOpen = true
        try sink.write(held)
        wipe(&held)
        held = []
    }
}

/// A sink that discards everything, for a first pass that only verifies.
public final class NullSink: ByteSink {
    /// Creates a sink.
    public init() {}
    /// Discards `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) {}
    /// Does nothing.
    public func finish() {}
}

/// Shows the progress on stderr if it is a terminal, for work longer than a second.
public final class Progress {
    private let tool: String
    private let isShown: Bool
    private let start = Progress.seconds()
    private var last: Double
    private var done = 0
    private var hasShown = false

    /// Creates the progress of `tool`. Shows nothing with `quiet`, or if stderr is not a terminal or stdout is one.
    public init(tool: String, quiet: Bool) {
        self.tool = tool
        isShown = !quiet && Terminal.isTerminal(2) && !Terminal.isTerminal(1)
        last = start
    }

    /// Adds bytes to the count, and updates the display a few times per second.
    func add(_ count: Int) {
        done += count
        guard isShown else { return }
        let now = Self.seconds()
        guard now - start > 1, now - last > 0.2 else { return }
        last = now
        hasShown = true
        let rate = Int(Double(done >> 20) / (now - start))
        put("\r\(tool): \(done >> 20) MiB, \(rate) MiB/s\u{1b}[K")
    }

    /// Removes the progress line.
    func clear() { if hasShown { put("\r\u{1b}[K") } }

    /// Returns the time since an arbitrary moment. The standard library's clocks would link all of its concurrency.
    private static func seconds() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
