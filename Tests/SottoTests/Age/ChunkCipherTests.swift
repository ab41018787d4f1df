import SottoOpenSSL
import Synchronization
import TestSupport
import Testing

@testable import Sotto

/// OpenSSL's ChaCha20-Poly1305 against libsodium's, and the choice between the two.
struct ChunkCipherTests {
    static func key(_ generator: inout Generator) -> SecretBytes {
        SecretBytes(copying: generator.bytes(32))
    }

    static func nonce(_ generator: inout Generator) -> [12 of UInt8] {
        var nonce = [12 of UInt8](repeating: 0)
        for (place, byte) in generator.bytes(12).enumerated() { nonce[place] = byte }
        return nonce
    }

    static func sealed(
        _ message: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeMutableRawPointer) -> Void
    ) -> [UInt8] {
        var box = [UInt8](repeating: 0, count: message.count + 16)
        box.withUnsafeMutableBytes { out in
            message.withUnsafeBytes { body($0, out.baseAddress!) }
        }
        return box
    }

    @Test(arguments: [0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 4095, 65535, 65536])
    func bothCiphersAgree(_ size: Int) throws {
        try withGenerator { generator in
            let openSSL = OpenSSLChunkCipher()
            let key = Self.key(&generator)
            let nonce = Self.nonce(&generator)
            let message = generator.bytes(size)
            let box = Self.sealed(message) { openSSL.seal($0, into: $1, nonce: nonce, key: key) }
            let expected = Self.sealed(message) {
                ChaChaPoly.seal($0, into: $1, nonce: nonce, key: key)
            }
            #expect(box == expected, generator.comment)
            var inPlace = box
            let isOpen = inPlace.withUnsafeMutableBytes {
                openSSL.open(.init($0), into: $0.baseAddress!, nonce: nonce, key: key)
            }
            #expect(isOpen && Array(inPlace[..<size]) == message, generator.comment)
            // A changed byte of the ciphertext or the tag, another nonce, another key, and a missing byte.
            for _ in 0..<20 {
                var changed = box.flipping(bit: generator.int(0..<box.count * 8))
                #expect(!Self.opens(&changed, nonce, key), generator.comment)
            }
            var copy = box
            #expect(!Self.opens(&copy, Self.nonce(&generator), key), generator.comment)
            copy = box
            #expect(!Self.opens(&copy, nonce, Self.key(&generator)), generator.comment)
            copy = Array(box.dropLast())
            #expect(!Self.opens(&copy, nonce, key), generator.comment)
        }
    }

    static func opens(_ box: inout [UInt8], _ nonce: [12 of UInt8], _ key: borrowing SecretBytes)
        -> Bool
    {
        box.withUnsafeMutableBytes {
            OpenSSLChunkCipher().open(.init($0), into: $0.baseAddress!, nonce: nonce, key: key)
        }
    }

    @Test func aBoxShorterThanATagIsRefused() {
        let key = SecretBytes(copying: [UInt8](repeating: 1, count: 32))
        for count in 0..<16 {
            var box = [UInt8](repeating: 0, count: count)
            #expect(!Self.opens(&box, [12 of UInt8](repeating: 0), key))
        }
    }

    /// Counts the chunks that it protects.
    final class CountingCipher: ChunkCipher {
        let count = Mutex(0)
        let cipher = OpenSSLChunkCipher()

        func seal(
            _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer,
            nonce: [12 of UInt8], key: borrowing SecretBytes
        ) {
            count.withLock { $0 += 1 }
            cipher.seal(message, into: out, nonce: nonce, key: key)
        }

        func open(
            _ box: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer,
            nonce: [12 of UInt8], key: borrowing SecretBytes
        ) -> Bool {
            count.withLock { $0 += 1 }
            return cipher.open(box, into: out, nonce: nonce, key: key)
        }
    }

    /// The cipher of the program protects every chunk of a file of several, and none of a file of one. Either side may
    /// lack the cipher.
    @Test(arguments: [(0, 0), (1, 0), (65536, 0), (65537, 2), (131_072, 2), (3_000_000, 46)])
    func onlyFilesOfSeveralChunksUseTheCipher(_ size: Int, _ chunks: Int) throws {
        try withGenerator { generator in
            let data = generator.bytes(size)
            let sealing = CountingCipher()
            let file = MemorySink()
            let writer = try AgeFile.writer(for: AgeFileTests.classic, cipher: sealing, to: file)
            try writer.write(data)
            try writer.finish()
            #expect(sealing.count.withLock { $0 } == chunks)
            #expect(try AgeFileTests.open(file.bytes) == data, generator.comment)
            for bytes in [file.bytes, try AgeFile.seal(data, for: AgeFileTests.classic)] {
                let opening = CountingCipher()
                let released = Self.release(bytes, opening)
                #expect(released.error == nil && released.bytes == data, generator.comment)
                #expect(opening.count.withLock { $0 } == chunks)
            }
        }
    }

    @Test func aChangedChunkIsRefusedByTheCipher() throws {
        try withGenerator { generator in
            let data = generator.bytes(200_000)
            let file = try AgeFile.seal(data, for: AgeFileTests.classic)
            let payload = file.count - 200_000 - 4 * 16
            for _ in 0..<20 {
                let bit = generator.int(payload * 8..<file.count * 8)
                let released = Self.release(file.flipping(bit: bit), OpenSSLChunkCipher())
                let chunk = (bit / 8 - payload) / (65536 + 16)
                #expect(released.error as? AgeError == .payload, generator.comment)
                #expect(released.bytes == Array(data[..<(chunk * 65536)]), generator.comment)
            }
            // A file that ends after a complete chunk is truncated, not changed.
            let cut = Self.release(Array(file[..<(payload + 2 * 65552)]), OpenSSLChunkCipher())
            #expect(cut.error as? AgeError == .truncated)
            #expect(cut.bytes == Array(data[..<65536]))
        }
    }

    static func release(_ file: [UInt8], _ cipher: any ChunkCipher) -> Released {
        TestSupport.release {
            try AgeFileReader(
                MemorySource(file), identities: People.ages(People.bob), cipher: cipher,
                passphrase: { nil })
        }
    }
}
