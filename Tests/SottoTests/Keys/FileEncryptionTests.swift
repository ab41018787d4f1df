import Sotto
import TestSupport
import Testing

struct FileEncryptionTests {
    @Test(arguments: [0, 1, 15, 16, 17, 24_547, 24_548, 24_549, 65_535, 65_536, 65_537, 10 << 20])
    func aFileIsOpenedFromItsChunks(_ size: Int) throws {
        let key = SecretBytes(randomCount: 32)
        let file = randomBytes(size)
        let sealed = try FileEncryption.seal(file, key: key)
        #expect(sealed.count == size + 28)
        let chunks = stride(from: 0, to: sealed.count, by: 24_576).map {
            sealed[$0..<min($0 + 24_576, sealed.count)]
        }
        #expect(try FileEncryption.open(Array(chunks.joined()), key: key) == file)
        #expect(throws: FileEncryptionError.authentication) {
            try FileEncryption.open(Array(chunks.dropLast().joined()), key: key)
        }
        if chunks.count > 2 {
            let swapped = Array((chunks[1] + chunks[0]) + chunks[2...].joined())
            #expect(throws: FileEncryptionError.authentication) {
                try FileEncryption.open(swapped, key: key)
            }
        }
        #expect(throws: FileEncryptionError.authentication) {
            try FileEncryption.open(sealed, key: SecretBytes(randomCount: 32))
        }
    }

    @Test func noBytesAreNoFile() {
        #expect(throws: FileEncryptionError.authentication) {
            try FileEncryption.open([], key: SecretBytes(randomCount: 32))
        }
    }
}
