import TestSupport
import Testing

@testable import Sotto

/// Complete chunks are returned although the source has no more bytes yet.
struct ChunkReaderTests {
    /// A source that is ready while it has bytes.
    private final class PausingSource: ByteSource {
        private let bytes: [UInt8]
        private var index = 0
        /// Whether a read would have waited for bytes.
        private(set) var hasWaited = false

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var isReady: Bool { index < bytes.count }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            if !isReady { hasWaited = true }
            let count = min(buffer.count, 10_000, bytes.count - index)
            buffer.copyBytes(from: bytes[index..<(index + count)])
            index += count
            return count
        }
    }

    private static func writer(_ file: MemorySink) throws -> any ByteSink {
        try AgeFile.writer(for: AgeFileTests.classic, to: file)
    }

    private static func reader(_ source: PausingSource) throws -> AgeFileReader {
        try AgeFileReader(source, identities: People.ages(People.bob), passphrase: { nil })
    }

    private static func take(_ count: Int, from source: any ByteSource) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytes { try source.fill($0) }
        return Array(bytes[..<filled])
    }

    /// The file of some chunks and a half, without its last bytes.
    private static func cut(_ file: [UInt8], chunks: Int, of size: Int) -> [UInt8] {
        let tags = (size + Chunks.size - 1) / Chunks.size * 16
        let header = file.count - size - tags
        return Array(file[..<(header + chunks * (Chunks.size + 16) + Chunks.size / 2)])
    }

    @Test(arguments: [1, 2, 7, 8, 9, 40])
    func completeChunksOfAFileDoNotWait(_ chunks: Int) throws {
        try withGenerator { generator in
            let data = generator.bytes((chunks + 1) * Chunks.size)
            let file = MemorySink()
            let writer = try Self.writer(file)
            try writer.write(data)
            try writer.finish()
            let source = PausingSource(Self.cut(file.bytes, chunks: chunks, of: data.count))
            let size = chunks * Chunks.size
            #expect(
                try Self.take(size, from: Self.reader(source)) == Array(data[..<size]),
                generator.comment)
            #expect(!source.hasWaited, generator.comment)
        }
    }

    @Test(arguments: [2, 7, 8, 9, 10, 40])
    func completeChunksOfASignedFileDoNotWait(_ chunks: Int) throws {
        try withGenerator { generator in
            let data = generator.bytes((chunks + 1) * Chunks.size)
            let file = MemorySink()
            let writer = try SignedStreamWriter(
                by: SigningKey(seed: SecretBytes(randomCount: 32)), audience: SignedStream.anyone,
                to: try Self.writer(file))
            try writer.write(data)
            try writer.finish()
            let signed = 160 + data.count + (chunks + 1) * 68
            let source = PausingSource(Self.cut(file.bytes, chunks: chunks, of: signed))
            // Each chunk of the signed stream is longer than one of the file.
            let size = (chunks - 1) * Chunks.size
            let reader = try SignedStreamReader(Self.reader(source))
            #expect(try Self.take(size, from: reader) == Array(data[..<size]), generator.comment)
            #expect(!source.hasWaited, generator.comment)
        }
    }
}
