import Sotto
import SottoMessengers

extension FuzzTarget {
    /// A copy for the sender and an encrypted file, which the keys must refuse. The bytes are also encrypted and
    /// decrypted in both forms.
    static let ownFile = FuzzTarget("own-file") { bytes in
        let key = SecretBytes(copying: [UInt8](repeating: 0, count: 32))
        _ = try? SelfEncryption.open(bytes, with: reader)
        _ = try? FileEncryption.open(bytes, key: key)
        if let copy = try? SelfEncryption.seal(bytes, for: reader) {
            precondition((try? SelfEncryption.open(copy, with: reader)) == bytes)
        }
        guard let sealed = try? FileEncryption.seal(bytes, key: key) else { return }
        precondition((try? FileEncryption.open(sealed, key: key)) == bytes)
    }
}
