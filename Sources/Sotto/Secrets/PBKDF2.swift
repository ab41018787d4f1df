import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Returns PBKDF2-HMAC-SHA256 (RFC 8018 §5.2) of a password, which may be empty: 32 bytes.
package func pbkdf2SHA256(password: borrowing SecretBytes, salt: [UInt8], rounds: Int)
    -> SecretBytes
{
    precondition(rounds > 0)
    let key = password.withBytes { password in
        do {
            return try KDF.Insecure.PBKDF2.deriveKey(
                from: password, salt: salt, using: .sha256, outputByteCount: 32,
                unsafeUncheckedRounds: rounds)
        } catch {
            preconditionFailure("PBKDF2 refuses 32 bytes of output")
        }
    }
    return SecretBytes(count: 32) { memory in
        key.withUnsafeBytes { memory.copyMemory(from: $0) }
    }
}
