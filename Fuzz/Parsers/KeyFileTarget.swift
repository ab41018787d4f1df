import Sotto
import SottoMessengers

extension FuzzTarget {
    /// A key file: ECP1, an RSA key in PEM, and PBES2's DER. No password is tried, because key derivation is slow.
    static let keyFile = FuzzTarget("key-file") { bytes in
        if let file = try? ECP1File(bytes) { precondition(file.bytes == bytes) }
        if let sealed = try? PBES2(der: bytes) {
            precondition((try? PBES2(der: sealed.der)) == sealed)
        }
        if let key = try? RSALoginKey(file: bytes) {
            precondition((try? RSALoginKey(file: Array(key.pem().utf8)))?.pem() == key.pem())
        }
        _ = RSALoginKey.isEncrypted(file: bytes)
    }
}
