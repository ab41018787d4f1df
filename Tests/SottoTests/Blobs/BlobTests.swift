import TestSupport
import Testing

@testable import Sotto

/// A sink that keeps nothing.
private final class Nowhere: ByteSink {
    func write(_ bytes: UnsafeRawBufferPointer) {}
    func finish() {}
}

struct BlobTests {
    struct Known: Decodable {
        struct Case: Decodable {
            let fileSize: Int
            let key, nonce: Hex
            let size: Int
            let digest, end: Hex
        }
        let blobs: [Case]
    }

    /// Returns a blob of a file that is written in pieces.
    private func blob(
        _ file: [UInt8], key: [UInt8]? = nil, nonce: [UInt8]? = nil
    ) throws -> (bytes: [UInt8], pointer: BlobPointer) {
        let sink = MemorySink()
        let writer = try BlobWriter(
            key: key ?? randomBytes(32), nonce: nonce ?? randomBytes(16), cipher: nil, to: sink)
        var rest = file[...]
        while !rest.isEmpty {
            let count = min(rest.count, Int.random(in: 1...100_000))
            try writer.write(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        try writer.finish()
        #expect(writer.fileSize == Int64(file.count))
        return (sink.bytes, writer.pointer)
    }

    /// Returns the bytes of the file that are returned before the end or an error, and the error.
    private func open(
        _ bytes: [UInt8], _ pointer: BlobPointer, fileSize: Int
    ) -> (file: [UInt8], error: BlobError?) {
        var file: [UInt8] = []
        do {
            let reader = try BlobReader(
                pointer, fileSize: Int64(fileSize), from: MemorySource(bytes))
            var block = [UInt8](repeating: 0, count: 10_000)
            while true {
                let count = try block.withUnsafeMutableBytes { try reader.read(into: $0) }
                if count == 0 { return (file, nil) }
                file += block[..<count]
            }
        } catch {
            return (file, error as? BlobError)
        }
    }

    /// The file of the known answers.
    private func content(_ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 251) }
    }

    /// Tests/Vectors/blob.py.
    @Test func theKnownBlobsAreWrittenAndRead() throws {
        let known = Vectors.load("blob", as: Known.self)
        #expect(known.blobs.count == 12)
        for one in known.blobs {
            let file = content(one.fileSize)
            let (bytes, pointer) = try blob(file, key: one.key.bytes, nonce: one.nonce.bytes)
            #expect(bytes.count == one.size && pointer.size == Int64(one.size))
            #expect(Blob.size(ofFile: Int64(one.fileSize)) == Int64(one.size))
            #expect(pointer.digest == one.digest.bytes && bytes.suffix(32) == one.end.bytes[...])
            let opened = open(bytes, pointer, fileSize: one.fileSize)
            #expect(opened.file == file && opened.error == nil)
        }
    }

    @Test func theLengthTellsLittle() {
        #expect(Blob.size(ofFile: 0) == Blob.size(ofFile: 4096))
        #expect(Blob.size(ofFile: 4097) > Blob.size(ofFile: 4096))
        for size in stride(from: 4096, through: Blob.maximumFileSize, by: 99_991) {
            #expect(Blob.size(ofFile: size) < size * 113 / 100)
        }
        #expect(Blob.maximumSize == 104_883_216)
    }

    @Test func nothingThatWasChangedIsReleased() throws {
        let size = 200_000
        let file = randomBytes(size)
        let (bytes, pointer) = try blob(file)
        let stride = 65_536 + 16
        // The nonce, and the beginning, the middle and the tag of each chunk.
        var places = [0, 15, bytes.count - 1]
        for chunk in 0..<4 {
            for offset in [16, 17, 30_000, stride - 1, stride + 15] {
                places.append(min(chunk * stride + offset, bytes.count - 1))
            }
        }
        for place in places {
            var changed = bytes
            changed[place] ^= 1
            let (released, error) = open(changed, pointer, fileSize: size)
            #expect(error == .authentication)
            // The chunks before it are authentic.
            #expect(released.count <= max(0, place - 16) / stride * 65_536)
            #expect(released == Array(file.prefix(released.count)))
        }
    }

    @Test func aBlobThatWasCutExtendedOrExchangedIsRefused() throws {
        let size = 200_000
        let file = randomBytes(size)
        let (bytes, pointer) = try blob(file)
        let stride = 65_536 + 16
        func isRefused(_ bytes: [UInt8]) -> Bool {
            let (released, error) = open(bytes, pointer, fileSize: size)
            return error == .authentication && file.starts(with: released)
        }
        for count in [
            0, 1, 15, 16, 17, 31, 32, stride, stride + 16, stride * 2 + 16, bytes.count - 1,
        ] {
            #expect(isRefused(Array(bytes[..<count])), "\(count)")
        }
        #expect(isRefused(bytes + [0]) && isRefused(bytes + randomBytes(stride)))
        #expect(isRefused(bytes + bytes[(bytes.count - stride)...]))
        // Two chunks change places.
        var swapped = Array(bytes[..<16])
        swapped += bytes[(16 + stride)..<(16 + 2 * stride)] + bytes[16..<(16 + stride)]
        #expect(isRefused(swapped + bytes[(16 + 2 * stride)...]))
        // Another file under the same key: it is authentic, but it is not the one of the message.
        let other = try blob(randomBytes(size), key: pointer.key)
        #expect(open(other.bytes, other.pointer, fileSize: size).error == nil)
        #expect(open(other.bytes, pointer, fileSize: size).error == .authentication)
        // Another key.
        let wrong = BlobPointer(key: randomBytes(32), digest: pointer.digest, size: pointer.size)
        #expect(open(bytes, wrong, fileSize: size).file.isEmpty)
    }

    /// The sender tells the length of the file; another length shows nothing that is not in the file.
    @Test func aWrongFileSizeIsRefused() throws {
        let (bytes, pointer) = try blob(content(100_000))
        let sizes = [-1, 0, 50_000, 98_000, 110_000, 100_000_000, .max]
        for size in sizes {
            let (released, error) = open(bytes, pointer, fileSize: size)
            #expect(released.isEmpty && error == .authentication, "\(size)")
        }
        // A length with the same padding is a matter of the authenticated message.
        #expect(open(bytes, pointer, fileSize: 99_999).error == nil)
    }

    @Test func aFileAboveTheLimitIsRefused() throws {
        let writer = try BlobWriter(to: Nowhere())
        let block = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<100 { try writer.write(block) }
        #expect(throws: BlobError.tooLong(limit: 100 << 20)) { try writer.write([1]) }
    }

    /// An age payload has the same chunks under another key.
    @Test func aBlobIsNoAgePayload() throws {
        let key = randomBytes(32)
        let sink = MemorySink()
        let writer = try AgePayload.writer(fileKey: SecretBytes(copying: key), to: sink)
        try writer.write([UInt8](repeating: 0, count: 4096))
        try writer.finish()
        let pointer = BlobPointer(key: key, digest: sha256(sink.bytes), size: 4128)
        #expect(open(sink.bytes, pointer, fileSize: 4096).error == .authentication)
    }
}
