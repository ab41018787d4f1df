import CSodium
import Glibc
import Synchronization

/// Memory for short secrets: slots of ``slotBytes`` bytes in a locked region with guard pages around it.
///
/// A secret of one message lives for microseconds. A separate guarded allocation would take eleven system calls, each
/// under the lock of the address space. A slot takes none: a thread takes it from its own free list and returns it wiped. A
/// list is bounded, so that a thread that only frees returns slots to the others.
///
/// The memory belongs to the process: the limit on locked memory and the threads do too. So the regions are global, unlike
/// everything else that has a state here.
enum SecretMemory {
    /// The length of a slot: an Ed25519 secret key or an ML-KEM seed is the longest short secret.
    static let slotBytes = 64

    /// Returns a slot, filled with zeros.
    static func take() -> UnsafeMutableRawPointer {
        let list = FreeList.ofThread
        if list.pointee.first == 0 { list.pointee.refill() }
        return list.pointee.remove()
    }

    /// Wipes a slot and frees it.
    static func give(_ slot: UnsafeMutableRawPointer) {
        sodium_memzero(slot, slotBytes)
        let list = FreeList.ofThread
        list.pointee.insert(slot)
        if list.pointee.count > FreeList.most { list.pointee.spill(FreeList.most / 2) }
    }

    // MARK: The free list of a thread

    /// Free slots, each with the address of the next one at its beginning. Address 0 ends the list.
    fileprivate struct FreeList {
        static let most = 32

        fileprivate(set) var first: UInt = 0
        fileprivate(set) var count = 0

        mutating func insert(_ slot: UnsafeMutableRawPointer) {
            slot.storeBytes(of: first, as: UInt.self)
            first = UInt(bitPattern: slot)
            count += 1
        }

        mutating func remove() -> UnsafeMutableRawPointer {
            guard let slot = UnsafeMutableRawPointer(bitPattern: first) else {
                preconditionFailure("a list without a slot")
            }
            first = slot.load(as: UInt.self)
            count -= 1
            slot.storeBytes(of: 0, as: UInt.self)
            return slot
        }

        /// Takes half of the most slots from the regions.
        mutating func refill() {
            self = regions.withLock { regions in
                var list = FreeList()
                for _ in 0..<Self.most / 2 { list.insert(regions.take()) }
                return list
            }
        }

        /// Returns slots to the regions, all by default.
        mutating func spill(_ number: Int = .max) {
            var given = FreeList()
            while given.count < number, first != 0 { given.insert(remove()) }
            regions.withLock { regions in
                while given.first != 0 { regions.free.insert(given.remove()) }
            }
        }

        /// The list of the calling thread. A thread that ends returns its slots.
        static var ofThread: UnsafeMutablePointer<FreeList> {
            if let known = pthread_getspecific(key) {
                return known.assumingMemoryBound(to: FreeList.self)
            }
            let list = UnsafeMutablePointer<FreeList>.allocate(capacity: 1)
            list.initialize(to: FreeList())
            pthread_setspecific(key, list)
            return list
        }

        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            let result = pthread_key_create(&key) { list in
                guard let list = list?.assumingMemoryBound(to: FreeList.self) else { return }
                list.pointee.spill()
                list.deallocate()
            }
            guard result == 0 else { preconditionFailure("no key for a list of each thread") }
            return key
        }()
    }

    // MARK: Regions

    /// The regions. They are never unmapped.
    fileprivate struct Regions: Sendable {
        /// The slots that were returned.
        var free = FreeList()
        /// The slots of the last region that were never taken.
        private var next: UInt = 0
        private var end: UInt = 0
        /// The length of the next region: the first one fits into a small limit on locked memory.
        private var size = 32 << 10
        private static let mostSize = 1 << 20

        mutating func take() -> UnsafeMutableRawPointer {
            if free.first != 0 { return free.remove() }
            if next == end { map() }
            guard let slot = UnsafeMutableRawPointer(bitPattern: next) else {
                preconditionFailure("a region without an address")
            }
            next += UInt(slotBytes)
            return slot
        }

        /// Maps a region between two pages without access. It is locked if the limit admits it, and in no core dump.
        private mutating func map() {
            let page = Int(sysconf(Int32(_SC_PAGESIZE)))
            let memory = mmap(
                nil, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            guard let memory, memory != MAP_FAILED,
                mprotect(memory + page, size, PROT_READ | PROT_WRITE) == 0
            else { preconditionFailure("out of memory for secrets") }
            _ = mlock(memory + page, size)
            _ = madvise(memory + page, size, MADV_DONTDUMP)
            next = UInt(bitPattern: memory + page)
            end = next + UInt(size)
            size = min(2 * size, Self.mostSize)
        }
    }
}

private let regions = Mutex(SecretMemory.Regions())
