import CSodium

/// Poly1305 (Bernstein, 2005) over bytes that come in pieces. The key, 32 bytes, is for one message alone.
final class Poly1305 {
    static let tagSize = 16

    // libsodium wants the state at a multiple of 16 bytes.
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

    /// Takes the next bytes.
    func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        crypto_onetimeauth_update(
            state, base.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    }

    /// The tag of all bytes. Called once, last.
    func tag() -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: Self.tagSize)
        crypto_onetimeauth_final(state, &tag)
        return tag
    }
}
