import CSodium

/// Secret bytes in guarded, locked memory (`sodium_malloc`) that is wiped when the value ends.
///
/// The type cannot be copied, printed, compared with `==` or encoded; the bytes are reached only inside
/// ``withBytes(_:)``. Locking is best effort: where the limit on locked memory is spent, libsodium
/// goes on without it.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
    // Sendable: the memory is written in `init` only, and read-only afterwards.
    private let memory: UnsafeMutableRawPointer
    /// The number of bytes.
    public let count: Int

    /// `count` bytes written by `fill`. When it throws, the memory is wiped and freed.
    public init<E: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        Sodium.start()
        guard let memory = sodium_malloc(max(count, 1)) else {
            preconditionFailure("out of memory for a secret of \(count) bytes")
        }
        self.memory = memory
        self.count = count
        do {
            try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
        } catch {
            throw error
        }
        sodium_mprotect_readonly(memory)
    }

    /// `count` bytes from the system's generator.
    public init(randomCount count: Int) {
        self.init(count: count) { randombytes_buf($0.baseAddress!, count) }
    }

    /// A copy of `bytes`, which stay where they are: wipe them with ``wipe(_:)`` when they are yours.
    public init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    deinit { sodium_free(memory) }

    /// Lends the bytes to `body`, which must not keep them.
    public borrowing func withBytes<T: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> T
    ) throws(E) -> T {
        try body(UnsafeRawBufferPointer(start: memory, count: count))
    }

    /// Lends the bytes to `body` as `UInt8`, for C functions.
    public borrowing func withPointer<T: ~Copyable, E: Error>(
        _ body: (UnsafePointer<UInt8>) throws(E) -> T
    ) throws(E) -> T {
        try body(UnsafePointer(memory.assumingMemoryBound(to: UInt8.self)))
    }

    /// A second, independent value with the same bytes.
    public borrowing func duplicate() -> SecretBytes {
        withBytes { bytes in SecretBytes(copying: bytes) }
    }
}

/// Overwrites `bytes` in a way that the optimiser keeps.
public func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
        if let base = buffer.baseAddress { sodium_memzero(base, buffer.count) }
    }
}
