import CSodium
import CUTF8Proc

/// Returns the text in Unicode's Normalization Form C (UAX #15).
package func nfc(_ text: String) -> String {
    var text = text
    return text.withUTF8 { bytes in
        // Composed characters stay composed, and characters are not replaced by compatible ones.
        let options = utf8proc_option_t(UTF8PROC_STABLE.rawValue | UTF8PROC_COMPOSE.rawValue)
        func decompose(into buffer: UnsafeMutableBufferPointer<Int32>?) -> Int {
            let count = utf8proc_decompose(
                bytes.baseAddress, bytes.count, buffer?.baseAddress, buffer?.count ?? 0, options)
            // A string is valid UTF-8, and the buffer is large enough.
            precondition(count >= 0, "a string cannot be normalized")
            return count
        }
        let count = decompose(into: nil)
        return withUnsafeTemporaryAllocation(of: Int32.self, capacity: count + 1) { buffer in
            buffer.initialize(repeating: 0)
            defer { sodium_memzero(buffer.baseAddress!, buffer.count * 4) }
            _ = decompose(into: buffer)
            // The bytes replace the code points in the buffer and end in a zero.
            let size = utf8proc_reencode(buffer.baseAddress, count, options)
            precondition(size >= 0, "a string cannot be encoded")
            return String(
                decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<size]),
                as: UTF8.self)
        }
    }
}

/// Whether the text is in Normalization Form C, so that ``nfc(_:)`` does not change its bytes.
package func isNFC(_ text: String) -> Bool { nfc(text).isSameBytes(as: text) }
