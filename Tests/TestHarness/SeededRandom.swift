import CSodium
import Glibc
import Sotto

/// A random source of libsodium that another process knows. Never use it for secrets.
///
/// The first 32 random bytes are draw 0, the next 32 draw 1, and so on. Each other length is counted separately.
package enum SeededRandom {
    /// Returns the draw `number` of `count` bytes.
    package static func draw(_ number: Int, count: Int = 32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBytes { fill($0.baseAddress!, count, number) }
        return bytes
    }

    /// Makes this the random source of the process, which has one thread. Call it before anything else.
    package static func install() {
        source.implementation_name = { name }
        source.random = { UInt32.random(in: 0 ... .max) }
        source.buf = { memory, count in
            fill(memory!, count, counts[count, default: 0])
            counts[count, default: 0] += 1
        }
        randombytes_set_implementation(&source)
        Sodium.start()
    }
}

private func fill(_ memory: UnsafeMutableRawPointer, _ count: Int, _ number: Int) {
    let key = [UInt8](repeating: 0x5A, count: 32)
    let nonce = [count, number].flatMap { UInt32(truncatingIfNeeded: $0).bigEndianBytes }
    crypto_stream_chacha20(
        memory.assumingMemoryBound(to: UInt8.self), UInt64(count), nonce, key)
    wipeStack()
}

/// The number of draws of each length.
nonisolated(unsafe) private var counts: [Int: Int] = [:]
nonisolated(unsafe) private var source = randombytes_implementation()
nonisolated(unsafe) private let name: UnsafePointer<CChar>? = UnsafePointer(strdup("seeded"))
