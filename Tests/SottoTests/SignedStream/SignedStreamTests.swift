import Sotto
import TestSupport
import Testing

struct SignedStreamTests {
    let key = SigningKey(seed: SecretBytes(randomCount: 32))

    func sign(_ data: [UInt8], pieces: [Int]? = nil) throws -> [UInt8] {
        let sink = MemorySink()
        let writer = try SignedStreamWriter(by: key, audience: SignedStream.anyone, to: sink)
        var start = 0
        for piece in pieces ?? [data.count] {
            try writer.write(Array(data[start..<(start + piece)]))
            start += piece
        }
        try writer.finish()
        return sink.bytes
    }

    /// Opens a whole stream with a reader, and in memory with the same result.
    func opened(_ stream: [UInt8]) -> Released {
        let released = release { try SignedStreamReader(MemorySource(stream)) }
        do {
            let whole = try SignedStream.open(stream)
            #expect(released.error == nil && released.bytes == whole.content)
        } catch {
            #expect(
                error as? SignedStreamError == released.error as? SignedStreamError
                    && released.error != nil)
        }
        return released
    }

    @Test(arguments: [0, 1, 15, 16, 17, 65535, 65536, 65537, 131_072, 200_000])
    func anySizeInAnyPiecesRoundTrips(_ size: Int) throws {
        try withGenerator { generator in
            let data = generator.bytes(size)
            let stream = try sign(data, pieces: generator.pieces(of: size, upTo: 70_000))
            let chunks = max(1, (size + 65535) / 65536)
            #expect(stream.count == 160 + size + chunks * 68)
            let whole = SignedStream.seal(data, by: key, audience: SignedStream.anyone)
            for stream in [stream, whole] {
                #expect(opened(stream).bytes == data, generator.comment)
            }
            for block in [1000, 1 << 20] {
                let sizes = (0..<50).map { _ in generator.int(1..<5000) }
                let released = release(
                    { try SignedStreamReader(PiecewiseSource(stream, sizes: sizes)) },
                    blockSize: block)
                #expect(
                    released.error == nil && released.bytes == data, generator.comment)
            }
        }
    }

    @Test func oneByteReadsWork() throws {
        let data = Array(0...255) as [UInt8]
        let stream = try sign(data)
        let released = release(
            { try SignedStreamReader(PiecewiseSource(stream, sizes: [1])) }, blockSize: 1)
        #expect(released.error == nil && released.bytes == data)
    }

    @Test func everyTruncationIsRefusedAndReleasesNothing() throws {
        let stream = try sign(Array("an hour to read this".utf8))
        for count in 0..<stream.count {
            let released = opened(Array(stream[..<count]))
            #expect(released.error is SignedStreamError, "\(count) bytes")
            #expect(released.bytes.isEmpty)
        }
    }

    @Test func everyFlippedBitIsRefusedAndReleasesNothing() throws {
        let stream = try sign(Array("small".utf8))
        for bit in 0..<(stream.count * 8) {
            let released = opened(stream.flipping(bit: bit))
            #expect(released.error is SignedStreamError, "bit \(bit)")
            #expect(released.bytes.isEmpty)
        }
    }

    @Test func aFlippedBitInALongStreamReleasesOnlyTheChunksBeforeIt() throws {
        try withGenerator { generator in
            let data = generator.bytes(150_000)
            let stream = try sign(data)
            for _ in 0..<60 {
                let bit = generator.int(0..<stream.count * 8)
                let released = opened(stream.flipping(bit: bit))
                let chunk = max(0, bit / 8 - 160) / (65536 + 68)
                #expect(released.error is SignedStreamError, generator.comment)
                #expect(released.bytes == Array(data[..<(chunk * 65536)]), generator.comment)
            }
        }
    }

    @Test func appendedBytesAreRefused() throws {
        let stream = try sign(Array("all".utf8))
        for tail in [[0], [10], stream, Array(repeating: 0, count: 68)] as [[UInt8]] {
            let released = opened(stream + tail)
            #expect(released.error as? SignedStreamError == .trailing)
            #expect(released.bytes.isEmpty)
        }
    }

    @Test func anEmptyFinalChunkAfterAFullOneIsRefused() throws {
        // The writer never makes such a chunk, but another signer could, and one content must have one encoding.
        let full = try sign([UInt8](repeating: 7, count: 65536))
        let header = Array(full[..<160])
        let id = Array(sha512(header)[..<32])
        func chunk(_ index: UInt64, _ data: [UInt8], isFinal: Bool) -> [UInt8] {
            let message =
                [UInt8](text: "signed-stream/1/chunk\0") + id + index.bigEndianBytes
                + [isFinal ? 1 : 0] + sha256(data)
            let word = UInt32(data.count) | (isFinal ? 1 << 31 : 0)
            return word.bigEndianBytes + data + key.sign(message)
        }
        let data = [UInt8](repeating: 7, count: 65536)
        let whole = header + chunk(0, data, isFinal: true)
        #expect(opened(whole).error == nil)
        let twice = header + chunk(0, data, isFinal: false) + chunk(1, [], isFinal: true)
        #expect(
            opened(twice).error as? SignedStreamError == .chunk)
        let short = header + chunk(0, [1], isFinal: false) + chunk(1, [2], isFinal: true)
        #expect(
            opened(short).error as? SignedStreamError == .chunk)
    }

    @Test func anUnsignedBeginningIsNotAStream() {
        for text in ["", "x", "signed-stream/1", "signed-stream/2\n", "age-encryption.org/v1\n"] {
            #expect(throws: SignedStreamError.notSigned) {
                try SignedStreamReader(MemorySource(Array(text.utf8)))
            }
        }
    }
}
