import CSodium
import Glibc
import Synchronization

/// Random bytes that are public: nonces, ids and padding. One system call gets the bytes for several messages. Keys do
/// not come from here.
///
/// The kernel empties the page in a child process, so parent and child never return the same bytes.
private struct PublicRandom: ~Copyable, @unchecked Sendable {
    /// A page. It begins with the number of bytes that are left, which are before this number.
    private let page: UnsafeMutableRawPointer
    private static let size = 4096
    private static let headLength = MemoryLayout<Int>.size
    /// Longer values come from the kernel directly.
    static let longest = 512

    /// Returns `nil` if the kernel cannot empty a page in a child process.
    init?() {
        let page = mmap(
            nil, Self.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let page, page != MAP_FAILED else { return nil }
        guard madvise(page, Self.size, MADV_WIPEONFORK) == 0 else {
            munmap(page, Self.size)
            return nil
        }
        self.page = page
    }

    mutating func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        var left = page.load(as: Int.self)
        if left < bytes.count {
            left = Self.size - Self.headLength
            randombytes_buf(page + Self.headLength, left)
        }
        left -= bytes.count
        bytes.copyMemory(
            from: UnsafeRawBufferPointer(
                start: page + Self.headLength + left, count: bytes.count))
        page.storeBytes(of: left, as: Int.self)
    }
}

private let source = Mutex(PublicRandom())

/// Returns `count` random bytes for a value that is public, such as a nonce, an id or padding. For a key, use
/// ``randomBytes(_:)``.
package func publicRandomBytes(_ count: Int) -> [UInt8] {
    guard count <= PublicRandom.longest else { return randomBytes(count) }
    Sodium.start()
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        let bytes = UnsafeMutableRawBufferPointer(buffer)[..<count]
        source.withLock { source in
            if source?.fill(UnsafeMutableRawBufferPointer(rebasing: bytes)) == nil, count > 0 {
                randombytes_buf(bytes.base.baseAddress!, count)
            }
        }
        initialized = count
    }
}
