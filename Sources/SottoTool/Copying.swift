import Glibc
public import Sotto

extension Output: ByteSink {}

/// Copies `source` to `sink` up to its end; does not finish the sink.
public func copy(
    from source: any ByteSource, to sink: any ByteSink, progress: Progress? = nil
) throws {
    defer { progress?.clear() }
    // First, because a source may lend only what it has copied itself.
    if let sink = sink as? any LendingSink {
        while true {
            let count = try source.read(into: try sink.lend())
            if count == 0 { return }
            try sink.take(count)
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

/// Holds back what is written until it is 16 MiB, or ``ByteSink/finish()`` says that all of it is good.
public final class HoldingSink: ByteSink {
    /// How much is held back.
    public static let size = 16 << 20
    private let sink: any ByteSink
    private var held: [UInt8] = []
    private var isOpen = false

    /// Holds what goes to `sink`.
    public init(_ sink: any ByteSink) { self.sink = sink }

    deinit { wipe(&held) }

    /// Takes `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        if !isOpen, held.count + bytes.count <= Self.size {
            held.append(contentsOf: bytes)
            return
        }
        try release()
        try sink.write(bytes)
    }

    /// Lets everything out and finishes the sink behind.
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

/// A sink that drops everything: for a first pass that only verifies.
public final class NullSink: ByteSink {
    /// A sink.
    public init() {}
    /// Drops `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) {}
    /// Does nothing.
    public func finish() {}
}

/// How far work has come, on a terminal's stderr, for work longer than a second.
public final class Progress {
    private let tool: String
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var last: ContinuousClock.Instant
    private var done = 0
    private var hasShown = false

    /// Progress of `tool`; silent with `quiet`, and where stderr or stdout would mix with it.
    public init(tool: String, quiet: Bool) {
        self.tool = tool
        isShown = !quiet && Terminal.isTerminal(2) && !Terminal.isTerminal(1)
        last = start
    }

    /// Counts bytes, and shows them a few times a second.
    func add(_ count: Int) {
        done += count
        guard isShown else { return }
        let now = ContinuousClock.now
        guard now - start > .seconds(1), now - last > .milliseconds(200) else { return }
        last = now
        hasShown = true
        let seconds = (now - start) / .seconds(1)
        put("\r\(tool): \(done >> 20) MiB, \(Int(Double(done >> 20) / seconds)) MiB/s\u{1b}[K")
    }

    /// Takes the line away.
    func clear() { if hasShown { put("\r\u{1b}[K") } }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
