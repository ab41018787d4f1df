import CSodium

/// Secret bytes in guarded, locked memory (`sodium_malloc`) that is wiped when the value is destroyed.
///
/// The type cannot be copied, printed, compared with `==` or encoded. The bytes are accessible only inside
/// ``withBytes(_:)``. Locking is best effort: when the limit on locked memory is reached, libsodium continues without
/// it.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
    // Sendable: the memory is written only in `init` and is read-only afterwards.
    private let memory: UnsafeMutableRawPointer
    /// The number of bytes.
    public let count: Int

    /// Creates `count` bytes that `fill` writes. If `fill` throws, the memory is wiped and freed.
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

    /// Creates `count` bytes from the system's random generator.
    public init(randomCount count: Int) {
        self.init(count: count) { randombytes_buf($0.baseAddress!, count) }
    }

    /// Copies `bytes`. The original stays in memory: wipe it with ``wipe(_:)`` if you own it.
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

    /// Returns an independent copy of the bytes.
    public borrowing func duplicate() -> SecretBytes {
        withBytes { bytes in SecretBytes(copying: bytes) }
    }
}

/// Overwrites `bytes` with zeros, which the optimiser does not remove.
public func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { wipe($0) }
}

/// Overwrites memory with zeros.
package func wipe(_ memory: UnsafeMutableRawBufferPointer) {
    if let base = memory.baseAddress { sodium_memzero(base, memory.count) }
}
