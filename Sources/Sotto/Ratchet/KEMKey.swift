import Crypto
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An ML-KEM key (FIPS 203), stored as its seed of 64 bytes.
///
/// swift-crypto keeps a copy of the seed and the expanded key in memory that it does not wipe. So its key is made for each
/// operation, and its copy of the seed is overwritten after it.
package final class KEMKey: Sendable {
    /// A parameter set (FIPS 203 §8).
    package enum Parameters: Sendable {
        /// ML-KEM-768, for the keys of the ratchet.
        case mlkem768
        /// ML-KEM-1024, for prekeys.
        case mlkem1024
    }

    package static let seedBytes = 64
    /// The stack that an operation of swift-crypto uses at most, in bytes.
    private static let stackBytes = 64 << 10
    private let parameters: Parameters
    private let seed: SecretBytes
    /// The public key, after it was computed. Many messages of a chain have it.
    private let published = Mutex<[UInt8]?>(nil)

    /// Generates a key.
    package init(_ parameters: Parameters) {
        self.parameters = parameters
        seed = SecretBytes(randomCount: Self.seedBytes)
    }

    /// Creates the key of a seed. Returns `nil` for another length.
    package init?(_ parameters: Parameters, seed: some Collection<UInt8>) {
        guard seed.count == Self.seedBytes else { return nil }
        self.parameters = parameters
        self.seed = SecretBytes(copying: seed)
    }

    /// The public key: 1184 bytes of ML-KEM-768, 1568 of ML-KEM-1024.
    package var publicKey: [UInt8] {
        published.withLock { published in
            let key = published ?? Self.withKey(parameters, seed) { Array($0.publicBytes) }
            published = key
            return key
        }
    }

    /// Returns the shared secret in a ciphertext, or `nil` if its length is wrong.
    ///
    /// A ciphertext that was changed gives another secret (FIPS 203 §6.3, implicit rejection).
    package func decapsulate(_ ciphertext: [UInt8]) -> RatchetSecret? {
        Self.withKey(parameters, seed) { key in
            guard let shared = try? key.decapsulate(Data(ciphertext)) else { return nil }
            return shared.withUnsafeBytes { RatchetSecret($0) }
        }
    }

    /// A new shared secret and its ciphertext.
    package struct Encapsulation: Sendable {
        let secret: RatchetSecret
        /// 1088 bytes of ML-KEM-768, 1568 of ML-KEM-1024.
        let ciphertext: [UInt8]
    }

    /// Returns a new shared secret for a public key, or `nil` if the key is invalid.
    package static func encapsulate(
        _ parameters: Parameters, to publicKey: [UInt8]
    ) -> Encapsulation? {
        defer { wipeStack(stackBytes) }
        guard let result = try? result(parameters, publicKey) else { return nil }
        let secret = result.sharedSecret.withUnsafeBytes { RatchetSecret($0) }
        return Encapsulation(secret: secret, ciphertext: Array(result.encapsulated))
    }

    private static func result(
        _ parameters: Parameters, _ publicKey: [UInt8]
    ) throws -> KEM.EncapsulationResult {
        switch parameters {
        case .mlkem768: try MLKEM768.PublicKey(rawRepresentation: publicKey).encapsulate()
        case .mlkem1024: try MLKEM1024.PublicKey(rawRepresentation: publicKey).encapsulate()
        }
    }

    /// Returns the seed. The caller wipes it.
    package func copySeed() -> [UInt8] { seed.withBytes { Array($0) } }

    /// Appends the seed to an array of ``secretArray(count:_:)``.
    func append(to bytes: inout [UInt8]) { seed.withBytes { bytes += $0 } }

    private static func withKey<T>(
        _ parameters: Parameters, _ seed: borrowing SecretBytes, _ body: (any SeededKey) -> T
    ) -> T {
        switch parameters {
        case .mlkem768: withKey(MLKEM768.PrivateKey.self, seed, body)
        case .mlkem1024: withKey(MLKEM1024.PrivateKey.self, seed, body)
        }
    }

    private static func withKey<Key: SeededKey, T>(
        _ type: Key.Type, _ seed: borrowing SecretBytes, _ body: (any SeededKey) -> T
    ) -> T {
        defer { wipeStack(stackBytes) }
        do {
            return try seed.withData { data in
                let key = try Key(seedRepresentation: data, publicKey: nil)
                let own = data.withUnsafeBytes { $0.baseAddress }
                defer { wipeSeed(of: key, except: own) }
                return body(key)
            }
        } catch {
            preconditionFailure("an ML-KEM seed is any 64 bytes")
        }
    }

    /// Overwrites swift-crypto's copy of the seed, unless it is our own memory. The key is not used after that.
    private static func wipeSeed(of key: some SeededKey, except own: UnsafeRawPointer?) {
        key.seedRepresentation.withUnsafeBytes { copy in
            if copy.baseAddress != own {
                wipe(UnsafeMutableRawBufferPointer(mutating: copy))
            }
        }
    }
}

/// The common interface of swift-crypto's private keys.
private protocol SeededKey: KEMPrivateKey {
    init<D: DataProtocol>(seedRepresentation: D, publicKey: PublicKey?) throws
    var seedRepresentation: Data { get }
    var publicBytes: Data { get }
}

extension MLKEM768.PrivateKey: SeededKey {
    fileprivate var publicBytes: Data { publicKey.rawRepresentation }
}

extension MLKEM1024.PrivateKey: SeededKey {
    fileprivate var publicBytes: Data { publicKey.rawRepresentation }
}
