import Sotto
import SottoMessengers
import SottoOpenSSL

extension FuzzTarget {
    /// A copy for the sender and an encrypted file, which the keys must refuse. The bytes are also encrypted and
    /// decrypted in both forms.
    static let ownFile = FuzzTarget("own-file") { bytes in
        let key = SecretBytes(copying: [UInt8](repeating: 0, count: 32))
        _ = try? SelfEncryption.open(bytes, with: reader)
        _ = try? openFile(bytes, key: key)
        if let copy = try? SelfEncryption.seal(bytes, for: reader) {
            precondition((try? SelfEncryption.open(copy, with: reader)) == bytes)
        }
        let sealed = MemorySink()
        let writer = FileEncryptionWriter(key: key, gcm: OpenSSLGCM.self, to: sealed)
        guard (try? writer.write(bytes)) != nil, (try? writer.finish()) != nil else { return }
        precondition((try? openFile(sealed.bytes, key: key)) == bytes)
    }
}

/// Decrypts a file of Kecalek.
func openFile(_ blob: [UInt8], key: borrowing SecretBytes) throws -> [UInt8] {
    try FuzzTarget.collect(
        FileEncryptionReader(SeekableMemory(blob), key: key, gcm: OpenSSLGCM.self))
}
