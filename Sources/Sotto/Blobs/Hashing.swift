import Crypto
package import SottoBytes

/// Computes SHA-256 of the bytes that it passes on to another sink.
package final class HashingSink: ByteSink {
    private let sink: any ByteSink
    private var hash = SHA256()
    /// The number of bytes.
    private(set) var count: Int64 = 0

    package init(_ sink: any ByteSink) { self.sink = sink }

    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        hash.update(bufferPointer: bytes)
        count += Int64(bytes.count)
        try sink.write(bytes)
    }

    package func finish() throws { try sink.finish() }

    /// Returns SHA-256 of all bytes so far.
    package func digest() -> [UInt8] { Array(hash.finalize()) }
}

/// Computes SHA-256 of the bytes that are read from another source.
final class HashingSource: ByteSource {
    private let source: any ByteSource
    private var hash = SHA256()

    init(_ source: any ByteSource) { self.source = source }

    var isReady: Bool { source.isReady }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = try source.read(into: buffer)
        hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        return count
    }

    /// Returns SHA-256 of all bytes so far.
    func digest() -> [UInt8] { Array(hash.finalize()) }
}
