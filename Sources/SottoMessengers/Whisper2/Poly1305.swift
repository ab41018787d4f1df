import CSodium
import SottoBytes

/// Poly1305 (Bernstein, 2005) over bytes that are added in pieces. Its 32-byte key must be used for one message only.
final class Poly1305 {
    static let tagSize = 16

    // libsodium requires alignment to 16 bytes.
    private let memory: UnsafeMutableRawPointer
    private var state: UnsafeMutablePointer<crypto_onetimeauth_state> {
        memory.assumingMemoryBound(to: crypto_onetimeauth_state.self)
    }

    init(key: borrowing SecretBytes) {
        precondition(key.count == 32)
        memory = .allocate(byteCount: crypto_onetimeauth_statebytes(), alignment: 64)
        memory.bindMemory(to: crypto_onetimeauth_state.self, capacity: 1)
        _ = key.withPointer { crypto_onetimeauth_init(state, $0) }
    }

    deinit {
        sodium_memzero(memory, crypto_onetimeauth_statebytes())
        memory.deallocate()
    }

    /// Adds bytes.
    func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        crypto_onetimeauth_update(
            state, base.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// Returns the tag of all bytes. Call it once, after the last bytes.
    func tag() -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: Self.tagSize)
        crypto_onetimeauth_final(state, &tag)
        return tag
    }
}
