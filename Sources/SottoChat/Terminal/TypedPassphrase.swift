package import SottoBytes
import Synchronization

/// A passphrase that is being typed, in memory that does not move and is wiped.
package final class TypedPassphrase: Sendable {
    /// The greatest length in bytes; more is not taken.
    package static let limit = 1024

    private struct Content: ~Copyable, @unchecked Sendable {
        // Sendable: the mutex guards the memory.
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: TypedPassphrase.limit, alignment: 1)
        var count = 0
        /// Whether a byte had no room.
        var isTooLong = false

        deinit {
            wipe(memory)
            memory.deallocate()
        }
    }

    private let content = Mutex(Content())

    package init() {}

    /// The length in bytes.
    package var count: Int { content.withLock { $0.count } }

    /// Appends a text, as far as there is room for the whole of it.
    package func append(_ text: String) {
        content.withLock { content in
            var text = text
            text.withUTF8 { bytes in
                guard content.count + bytes.count <= Self.limit else { return }
                for (index, byte) in bytes.enumerated() {
                    content.memory[content.count + index] = byte
                }
                content.count += bytes.count
            }
        }
    }

    /// Appends a byte. Without room for it the whole is too long, and is appended to no other one.
    package func append(_ byte: UInt8) {
        content.withLock { content in
            guard content.count < Self.limit else {
                content.isTooLong = true
                return
            }
            content.memory[content.count] = byte
            content.count += 1
        }
    }

    /// Appends what another one has, as far as there is room for the whole of it.
    package func append(_ other: TypedPassphrase) {
        guard !other.content.withLock({ $0.isTooLong }), count + other.count <= Self.limit else {
            return
        }
        other.secret().withBytes { bytes in
            for byte in bytes { append(byte) }
        }
    }

    /// Removes the last code point.
    package func removeLast() {
        content.withLock { content in
            while content.count > 0 {
                content.count -= 1
                let byte = content.memory[content.count]
                content.memory[content.count] = 0
                if byte & 0xC0 != 0x80 { break }
            }
        }
    }

    /// Removes everything.
    package func removeAll() {
        content.withLock { content in
            wipe(content.memory)
            (content.count, content.isTooLong) = (0, false)
        }
    }

    /// Returns a copy of the bytes.
    package func secret() -> SecretBytes {
        content.withLock { content in
            SecretBytes(copying: UnsafeRawBufferPointer(rebasing: content.memory[..<content.count]))
        }
    }
}

extension TypedPassphrase: Hashable {
    /// Whether both are the same object: the contents are not compared.
    package static func == (one: TypedPassphrase, other: TypedPassphrase) -> Bool { one === other }

    /// Hashes the identity of the object.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
