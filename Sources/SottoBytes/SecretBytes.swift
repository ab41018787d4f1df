import CSodium

/// Secret bytes in locked memory that is wiped when the value is destroyed.
///
/// The type cannot be copied, printed, compared with `==` or encoded. The bytes are accessible only inside
/// ``withBytes(_:)``. Up to ``SecretMemory/slotBytes`` bytes are in a shared region; longer ones, and those of
/// ``guarded()``, have separate guard pages (`sodium_malloc`). Locking is best effort: when the limit on locked memory
/// is reached, the memory is not locked.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
    // Sendable: the memory is written only in `init` and is read-only afterwards.
    private let memory: UnsafeMutableRawPointer
    /// The number of bytes.
    public let count: Int
    /// Whether the memory has separate guard pages.
    private let isGuarded: Bool

    /// Creates `count` bytes that `fill` writes. If `fill` throws, the memory is wiped and freed.
    public init<E: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        try self.init(count: count, isGuarded: count > SecretMemory.slotBytes, fill: fill)
    }

    private init<E: Error>(
        count: Int, isGuarded: Bool, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        Sodium.start()
        self.memory = isGuarded ? Self.guardedMemory(count) : SecretMemory.take()
        self.count = count
        self.isGuarded = isGuarded
        do {
            try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
        } catch {
            throw error
        }
        if isGuarded { sodium_mprotect_readonly(memory) }
    }

    private static func guardedMemory(_ count: Int) -> UnsafeMutableRawPointer {
        guard let memory = sodium_malloc(max(count, 1)) else {
            preconditionFailure("out of memory for a secret of \(count) bytes")
        }
        return memory
    }

    /// Creates `count` bytes from the system's random generator.
    public init(randomCount count: Int) {
        self.init(count: count) { randombytes_buf($0.baseAddress!, count) }
    }

    /// Copies `bytes`. The original stays in memory: wipe it with ``wipe(_:)`` if you own it.
    public init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    deinit {
        if isGuarded { sodium_free(memory) } else { SecretMemory.give(memory) }
    }

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

    /// Returns the bytes in memory with separate guard pages, for a key that lives as long as the process.
    public consuming func guarded() -> SecretBytes {
        withBytes { bytes in
            SecretBytes(count: bytes.count, isGuarded: true) { $0.copyMemory(from: bytes) }
        }
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

/// Overwrites the stack that earlier calls of the caller have used, up to `count` bytes.
///
/// A library that computes with a secret can leave copies of it there.
package func wipeStack(_ count: Int = 16 << 10) { sodium_stackzero(count) }

/// Returns an array of `count` bytes, some of them secret, that `write` appends. The array never grows, because an array
/// that grows leaves a copy in freed memory. The caller wipes it.
package func secretArray(count: Int, _ write: (inout [UInt8]) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    write(&bytes)
    precondition(bytes.count == count, "an array with secrets that has another length")
    return bytes
}
