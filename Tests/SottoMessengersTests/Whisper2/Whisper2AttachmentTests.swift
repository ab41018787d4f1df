import TestSupport
import Testing

@testable import Sotto
@testable import SottoMessengers

struct Whisper2AttachmentTests {
    static let edges = [
        0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 65_503, 65_504, 65_505, 65_535, 65_536, 65_537,
        131_072, 200_000,
    ]

    /// Returns the blob that the writer makes.
    static func blob(
        _ file: [UInt8], key: borrowing SecretBytes, blockSize: Int = 64 << 10
    ) throws -> [UInt8] {
        let writer = try Whisper2AttachmentWriter(SeekableMemory(file), key: key)
        let blob = release({ writer }, blockSize: blockSize)
        #expect(blob.error == nil && blob.bytes.count == writer.count)
        #expect(Array(blob.bytes.prefix(24)) == writer.nonce)
        return blob.bytes
    }

    @Test(arguments: edges)
    func aBlobIsLibsodiumsSecretbox(_ count: Int) throws {
        try withGenerator { generator in
            let file = generator.bytes(count)
            let key = SecretBytes(copying: generator.bytes(32))
            let blob = try Self.blob(file, key: key, blockSize: generator.int(1..<70_000) + 40)
            let nonce = Array(blob.prefix(24))
            #expect(Array(blob.dropFirst(24)) == NaClBox.seal(file, nonce: nonce, key: key))
            let size = generator.int(1000..<70_000)
            let opened = release(
                { try Whisper2AttachmentReader(SeekableMemory(blob), key: key) }, blockSize: size)
            #expect(opened.error == nil && opened.bytes == file, generator.comment)
        }
    }

    @Test(arguments: [0, 1, 65_536, 150_000])
    func aChangedBlobReturnsNoPlaintext(_ count: Int) throws {
        try withGenerator { generator in
            let key = SecretBytes(copying: generator.bytes(32))
            let blob = try Self.blob(generator.bytes(count), key: key)
            var bad = [
                Array(blob.dropLast()), blob + [0], Array(blob.prefix(39)), [],
                blob.flipping(bit: 0), blob.flipping(bit: 24 * 8),
                blob.flipping(bit: blob.count * 8 - 1),
            ]
            for _ in 0..<10 { bad.append(blob.flipping(bit: generator.int(0..<blob.count * 8))) }
            for blob in bad {
                let opened = release {
                    try Whisper2AttachmentReader(SeekableMemory(blob), key: key)
                }
                #expect(opened.bytes.isEmpty, generator.comment)
                #expect(opened.error.isError(Whisper2AttachmentError.authentication))
            }
            let other = SecretBytes(randomCount: 32)
            let opened = release { try Whisper2AttachmentReader(SeekableMemory(blob), key: other) }
            #expect(opened.error.isError(Whisper2AttachmentError.authentication))
        }
    }

    /// A source whose bytes change after a number of them was read.
    final class Changing: SeekableSource {
        private var bytes: [UInt8]
        private var left: Int
        private let change: (inout [UInt8]) -> Void

        init(_ bytes: [UInt8], after limit: Int, change: @escaping (inout [UInt8]) -> Void) {
            self.bytes = bytes
            left = limit
            self.change = change
        }

        var count: Int { bytes.count }

        func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
            if left == 0 { change(&bytes) }
            let count = max(0, min(buffer.count, bytes.count - offset, 30_000))
            if count > 0 { buffer.copyBytes(from: bytes[offset..<(offset + count)]) }
            left = left > count ? left - count : left > 0 ? 0 : -1
            return count
        }
    }

    @Test func aBlobThatChangesBetweenThePassesReturnsOnlyVerifiedBytes() throws {
        let file = [UInt8](repeating: 9, count: 200_000)
        let key = SecretBytes(randomCount: 32)
        let blob = try Self.blob(file, key: key)
        for change in [
            { (bytes: inout [UInt8]) in bytes[100_000] ^= 1 },
            { (bytes: inout [UInt8]) in bytes.removeLast(100) },
        ] {
            let source = Changing(blob, after: blob.count, change: change)
            let opened = release { try Whisper2AttachmentReader(source, key: key) }
            #expect(opened.error.isError(Whisper2AttachmentError.changed))
            #expect(opened.bytes.count < file.count && file.starts(with: opened.bytes))
        }
        let growing = Changing(file, after: file.count) { $0[70_000] ^= 1 }
        let sealed = release { try Whisper2AttachmentWriter(growing, key: key) }
        #expect(sealed.error.isError(Whisper2AttachmentError.changed))
        let shrinking = Changing(file, after: 90_000) { $0.removeLast(90_000) }
        #expect(throws: Whisper2AttachmentError.changed) {
            try Whisper2AttachmentWriter(shrinking, key: key)
        }
    }

    /// A source of any number of zeros that needs no memory for them, and counts the bytes that are read.
    final class Zeros: SeekableSource {
        let count: Int
        private(set) var wasRead = 0

        init(_ count: Int) { self.count = count }

        func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let size = max(0, min(buffer.count, count - offset))
            if size > 0 {
                UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]).initializeMemory(
                    as: UInt8.self, repeating: 0)
            }
            wasRead += size
            return size
        }
    }

    @Test func aBlobOfMoreThan100MiBIsRefusedUnread() throws {
        let key = SecretBytes(randomCount: 32)
        let file = Zeros(Whisper2Attachment.fileLimit + 1)
        #expect(throws: Whisper2AttachmentError.tooLong(limit: (100 << 20) - 40)) {
            try Whisper2AttachmentWriter(file, key: key)
        }
        let blob = Zeros(Whisper2Attachment.blobLimit + 1)
        #expect(throws: Whisper2AttachmentError.tooLong(limit: 100 << 20)) {
            try Whisper2AttachmentReader(blob, key: key)
        }
        #expect(file.wasRead == 0 && blob.wasRead == 0)
    }

    @Test func tenMegabytesAreReadTwiceInBlocks() throws {
        let size = 10_000_000
        let key = SecretBytes(randomCount: 32)
        let file = Zeros(size)
        let writer = try Whisper2AttachmentWriter(file, key: key)
        #expect(file.wasRead == size)
        let blob = release { writer }
        #expect(file.wasRead == 2 * size && blob.bytes.count == size + 40)
        let opened = release { try Whisper2AttachmentReader(SeekableMemory(blob.bytes), key: key) }
        #expect(opened.error == nil && opened.bytes == [UInt8](repeating: 0, count: size))
    }

    /// The clients write the key as base64 in its box; their specification has its 32 bytes there.
    @Test(arguments: [60, 48])
    func aPointerCarriesTheKeyToItsRecipient(_ boxSize: Int) throws {
        let pair = try Whisper2Pair()
        let key = SecretBytes(randomCount: 32)
        var pointer = try Whisper2AttachmentPointer(
            objectKey: "a", contentType: "image/png", ciphertextSize: 40,
            fileNonce: randomBytes(24), fileKey: key, with: pair.alice, to: pair.bobContact)
        if boxSize == 48 {
            guard let shared = pair.alice.sharedKey(pair.bobContact.encryptionKey) else {
                Issue.record("the keys have low order")
                return
            }
            let box = NaClBox.seal(
                key.withBytes { Array($0) }, nonce: pointer.keyNonce, key: shared)
            var record = pointer.record
            record["fileKeyBox"] = .object([
                "nonce": .base64(pointer.keyNonce), "ciphertext": .base64(box),
            ])
            pointer = try Whisper2AttachmentPointer(record: record)
        }
        #expect(pointer.keyBox.count == boxSize)
        let read = try Whisper2AttachmentPointer(
            record: JSON.object(parsing: pointer.record.serialized()))
        #expect(read == pointer)
        let opened = try read.fileKey(with: pair.bob, from: pair.aliceContact)
        #expect(opened.withBytes { Array($0) } == key.withBytes { Array($0) })
        do {
            _ = try read.fileKey(with: Whisper2MessageTests.members[0], from: pair.aliceContact)
            Issue.record("another account opened the key box")
        } catch {
            #expect(error == .authentication)
        }
    }

    @Test func aBadPointerIsRefusedByName() throws {
        let pair = try Whisper2Pair()
        let record = try Whisper2AttachmentPointer(
            objectKey: "a", contentType: "b", ciphertextSize: 1, fileNonce: randomBytes(24),
            fileKey: SecretBytes(randomCount: 32), with: pair.alice, to: pair.bobContact
        ).record
        let long = JSON.string(String(repeating: "x", count: 256))
        let bad: [(String, [JSON?])] = [
            ("objectKey", [nil, .string(""), long, .string("a\u{7F}")]),
            ("contentType", [nil, long]), ("ciphertextSize", [nil, .integer(-1), .number(1.5)]),
            ("fileNonce", [nil, .string("AAAA")]), ("fileKeyBox", [nil, .string("x")]),
        ]
        for (name, values) in bad {
            for value in values {
                var changed = record
                changed[name] = value
                #expect(throws: Whisper2RecordError.member(name)) {
                    try Whisper2AttachmentPointer(record: changed)
                }
            }
        }
        for size in [16, 47, 49, 59, 61] {
            var changed = record
            var box = try #require(record["fileKeyBox"]?.object)
            box["ciphertext"] = .string(Base64.standard.encode(randomBytes(size)))
            changed["fileKeyBox"] = .object(box)
            #expect(throws: Whisper2RecordError.member("ciphertext")) {
                try Whisper2AttachmentPointer(record: changed)
            }
        }
    }
}
