import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An ML-KEM-1024 key (FIPS 203), stored as its seed of 64 bytes.
///
/// swift-crypto keeps a copy of the seed and the expanded key in memory that it does not wipe. So its key is made for each
/// operation, and its copy of the seed is overwritten after it.
package final class KEMKey: Sendable {
    package static let seedBytes = 64
    private let seed: SecretBytes

    /// Generates a key.
    package init() { seed = SecretBytes(randomCount: Self.seedBytes) }

    /// Creates the key of a seed. Returns `nil` for another length.
    package init?(seed: some Collection<UInt8>) {
        guard seed.count == Self.seedBytes else { return nil }
        self.seed = SecretBytes(copying: seed)
    }

    /// The public key, 1568 bytes.
    package var publicKey: [UInt8] { withKey { Array($0.publicKey.rawRepresentation) } }

    /// Returns the shared secret in a ciphertext, or `nil` if its length is wrong.
    package func decapsulate(_ ciphertext: [UInt8]) -> RatchetSecret? {
        withKey { key in
            guard let shared = try? key.decapsulate(Data(ciphertext)) else { return nil }
            return shared.withUnsafeBytes { RatchetSecret($0) }
        }
    }

    /// Returns a new shared secret and its ciphertext for a public key, or `nil` if the key is invalid.
    package static func encapsulate(
        to publicKey: [UInt8]
    ) -> (secret: RatchetSecret, ciphertext: [UInt8])? {
        defer { wipeStack() }
        guard let key = try? MLKEM1024.PublicKey(rawRepresentation: publicKey),
            let result = try? key.encapsulate()
        else { return nil }
        let secret = result.sharedSecret.withUnsafeBytes { RatchetSecret($0) }
        return (secret, Array(result.encapsulated))
    }

    /// Returns the seed. The caller wipes it.
    package func copySeed() -> [UInt8] { seed.withBytes { Array($0) } }

    private func withKey<T>(_ body: (MLKEM1024.PrivateKey) -> T) -> T {
        defer { wipeStack() }
        do {
            return try seed.withData { seed in
                let key = try MLKEM1024.PrivateKey(seedRepresentation: seed, publicKey: nil)
                defer { wipeSeed(of: key) }
                return body(key)
            }
        } catch {
            preconditionFailure("an ML-KEM-1024 seed is any 64 bytes")
        }
    }

    /// Overwrites swift-crypto's copy of the seed. The key is not used after that.
    private func wipeSeed(of key: MLKEM1024.PrivateKey) {
        key.seedRepresentation.withUnsafeBytes { copy in
            let isOwn = seed.withBytes { $0.baseAddress == copy.baseAddress }
            if !isOwn { wipe(UnsafeMutableRawBufferPointer(mutating: copy)) }
        }
    }
}
