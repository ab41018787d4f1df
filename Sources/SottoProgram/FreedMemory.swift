import CLinux
import Glibc
import SottoBytes
import Synchronization

/// The memory that free(3) took back, in which a plaintext can stay until other data replaces it.
///
/// Copies of a message are in many short-lived blocks: strings, JSON values, lines and rows. Their owners do not wipe them,
/// because a string of the standard library cannot be wiped. So the allocator overwrites what it frees. It does not overwrite
/// the blocks of up to 1032 bytes that it keeps for each thread; ``wipeCache()`` does.
public enum FreedMemory {
    private static let isOverwritten = Atomic(false)
    /// The free blocks of each length that the allocator keeps for a thread, and the lengths: 24, 40, … 1032 bytes.
    private static let cachedBlocks = 7
    private static let cachedLengths = stride(from: 24, through: 1_032, by: 16)

    /// Makes free(3) overwrite the blocks that it frees from now on (mallopt(3), `M_PERTURB`), except those of
    /// ``wipeCache()``. malloc(3) then fills a new block with zeros.
    public static func overwrite() {
        guard !isOverwritten.exchange(true, ordering: .relaxed) else { return }
        // The byte of a freed block; that of a new one is its complement.
        _ = mallopt(M_PERTURB, 0xFF)
    }

    /// Overwrites the freed blocks that the allocator keeps for the calling thread: takes all of them, and frees them wiped. It
    /// takes about 20 µs. Does nothing before ``overwrite()``.
    ///
    /// A program calls it before it waits for more work.
    public static func wipeCache() {
        guard isOverwritten.load(ordering: .relaxed) else { return }
        // A list through the blocks needs no memory of its own.
        var first: UnsafeMutableRawPointer?
        for length in cachedLengths {
            for _ in 0..<cachedBlocks {
                guard let block = malloc(length) else { continue }
                wipe(UnsafeMutableRawBufferPointer(start: block, count: malloc_usable_size(block)))
                block.storeBytes(of: UInt(bitPattern: first), as: UInt.self)
                first = block
            }
        }
        while let block = first {
            first = UnsafeMutableRawPointer(bitPattern: block.load(as: UInt.self))
            free(block)
        }
    }
}
