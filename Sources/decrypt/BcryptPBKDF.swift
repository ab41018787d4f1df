import CBotan
import Sotto

/// OpenBSD's bcrypt_pbkdf, the key derivation of OpenSSH keys with a passphrase.
enum BcryptPBKDF {
    static let derivation: OpenSSHKey.Derivation = { passphrase, salt, rounds, count in
        var status: Int32 = 0
        let derived = SecretBytes(count: count) { out in
            status = botan_pwdhash(
                "Bcrypt-PBKDF", rounds, 0, 0, out.assumingMemoryBound(to: UInt8.self).baseAddress,
                count, passphrase.assumingMemoryBound(to: CChar.self).baseAddress, passphrase.count,
                salt, salt.count)
        }
        guard status == 0 else { return nil }
        return derived
    }
}
