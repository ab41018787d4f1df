import Sotto
import SottoOpenSSL
import TestSupport
import Testing

/// Kecalek's file encryption. swift-crypto's AES-GCM, which needs the whole message, is the other implementation.
struct FileEncryptionTests {
    /// Encrypts a file in writes of `size` bytes.
    private func seal(
        _ file: [UInt8], key: borrowing SecretBytes, writing size: Int = 10_000
    ) throws -> [UInt8] {
        let sink = MemorySink()
        let writer = FileEncryptionWriter(key: key, gcm: OpenSSLGCM.self, to: sink)
        for start in stride(from: 0, to: file.count, by: size) {
            try writer.write(Array(file[start..<min(start + size, file.count)]))
        }
        try writer.finish()
        #expect(writer.fileSize == file.count)
        return sink.bytes
    }

    private func open(_ sealed: [UInt8], key: borrowing SecretBytes) throws -> [UInt8] {
        let source = SeekableMemory(sealed)
        let reader = try FileEncryptionReader(source, key: key, gcm: OpenSSLGCM.self)
        var file = [UInt8](repeating: 0, count: reader.count)
        var filled = 0
        while true {
            let count = try file.withUnsafeMutableBytes {
                try reader.read(into: .init(rebasing: $0[filled...].prefix(10_000)))
            }
            filled += count
            if count == 0 || filled == file.count { break }
        }
        var surplus: UInt8 = 0
        #expect(try withUnsafeMutableBytes(of: &surplus) { try reader.read(into: $0) } == 0)
        #expect(filled == file.count)
        return file
    }

    @Test(arguments: [0, 1, 15, 16, 17, 24_547, 24_548, 24_549, 65_535, 65_536, 65_537, 10 << 20])
    func aFileIsOpenedFromItsChunks(_ size: Int) throws {
        let key = SecretBytes(randomCount: 32)
        let file = randomBytes(size)
        let sealed = try seal(file, key: key)
        #expect(sealed.count == size + 28)
        #expect(AESGCM.open(sealed, key: key) == file)
        #expect(try open(AESGCM.seal(file, key: key), key: key) == file)
        let chunks = stride(from: 0, to: sealed.count, by: 24_576).map {
            sealed[$0..<min($0 + 24_576, sealed.count)]
        }
        #expect(try open(Array(chunks.joined()), key: key) == file)
        #expect(throws: FileEncryptionError.authentication) {
            try open(Array(chunks.dropLast().joined()), key: key)
        }
        if chunks.count > 2 {
            let swapped = Array((chunks[1] + chunks[0]) + chunks[2...].joined())
            #expect(throws: FileEncryptionError.authentication) { try open(swapped, key: key) }
        }
        #expect(throws: FileEncryptionError.authentication) {
            try open(sealed, key: SecretBytes(randomCount: 32))
        }
    }

    @Test func theLengthsOfTheWritesDoNotMatter() throws {
        let key = SecretBytes(randomCount: 32)
        let file = randomBytes(200_001)
        for size in [1, 15, 4_096, 65_537, 200_001] {
            #expect(AESGCM.open(try seal(file, key: key, writing: size), key: key) == file)
        }
    }

    @Test(arguments: [0, 1, 12, 27])
    func tooFewBytesAreNoFile(_ size: Int) {
        #expect(throws: FileEncryptionError.authentication) {
            try open(randomBytes(size), key: SecretBytes(randomCount: 32))
        }
    }

    @Test func aFileAboveTheLimitIsRefused() throws {
        let key = SecretBytes(randomCount: 32)
        #expect(throws: FileEncryptionError.tooLong(limit: 1 << 30)) {
            _ = try FileEncryptionReader(
                Changing(count: 1 << 30 + 29), key: key, gcm: OpenSSLGCM.self)
        }
    }

    /// No byte is returned that the tag did not cover, although the file is exchanged after it was verified.
    @Test func aFileThatChangesBetweenThePassesIsNotReleased() throws {
        let key = SecretBytes(randomCount: 32)
        let file = randomBytes(150_000)
        let source = Changing(bytes: AESGCM.seal(file, key: key))
        let reader = try FileEncryptionReader(source, key: key, gcm: OpenSSLGCM.self)
        source.bytes[100_000] ^= 1
        var block = [UInt8](repeating: 0, count: 65_536)
        let count = try block.withUnsafeMutableBytes { try reader.read(into: $0) }
        #expect(block[..<count] == file[..<count])
        #expect(throws: FileEncryptionError.changed) {
            try block.withUnsafeMutableBytes { try reader.read(into: $0) }
        }
        source.bytes.removeLast(100_000)
        #expect(throws: FileEncryptionError.changed) {
            try block.withUnsafeMutableBytes { try reader.read(into: $0) }
        }
    }

    /// A file whose bytes another process exchanges.
    private final class Changing: SeekableSource {
        var bytes: [UInt8]
        let count: Int

        init(bytes: [UInt8]) { (self.bytes, count) = (bytes, bytes.count) }
        init(count: Int) { (bytes, self.count) = ([], count) }

        func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = max(0, min(buffer.count, bytes.count - offset))
            if count > 0 { buffer.copyBytes(from: bytes[offset..<(offset + count)]) }
            return count
        }
    }
}
