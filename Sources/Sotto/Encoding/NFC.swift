import CSodium
import CUTF8Proc

/// Returns the text in Unicode's Normalization Form C (UAX #15).
package func nfc(_ text: String) -> String { normalized(text, UTF8PROC_COMPOSE) }

/// Returns the text in Unicode's Normalization Form D (UAX #15).
func nfd(_ text: String) -> String { normalized(text, UTF8PROC_DECOMPOSE) }

/// Whether the text is in Normalization Form C, so that ``nfc(_:)`` does not change its bytes.
package func isNFC(_ text: String) -> Bool { nfc(text).isSameBytes(as: text) }

/// Returns the text for a comparison that ignores case, as Unicode defines it (The Unicode Standard, section 3.13,
/// D145): after full case folding, in Normalization Form C. `ß` becomes `ss`, and `ς` becomes `σ`.
///
/// The folding of `İ` is `i` and a dot above. The dot is removed, because `i` has one.
package func caseFolded(_ text: String) -> String { folded(text, UTF8PROC_CASEFOLD) }

/// Returns a name for a comparison: as ``caseFolded(_:)``, with compatible characters replaced (NFKC), and without the
/// default ignorable characters, which cannot be seen.
package func nameFolded(_ text: String) -> String {
    folded(
        text,
        utf8proc_option_t(
            UTF8PROC_CASEFOLD.rawValue | UTF8PROC_COMPAT.rawValue | UTF8PROC_IGNORE.rawValue))
}

private func folded(_ text: String, _ mapping: utf8proc_option_t) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
    let options = utf8proc_option_t(UTF8PROC_COMPOSE.rawValue | mapping.rawValue)
    return normalized(text, options) { codePoints in
        var kept = 0
        for codePoint in codePoints
        where codePoint != combiningDotAbove || kept == 0 || codePoints[kept - 1] != letterI {
            codePoints[kept] = codePoint
            kept += 1
        }
        return kept
    }
}

/// Returns the code points of a character after full case folding and decomposition, without combining marks.
///
/// If ``caseFolded(_:)`` of one text is in that of another one, then the bases of all its characters are in those of the other
/// one.
package func foldedBases(_ character: Unicode.Scalar) -> [UInt32] {
    let options = UTF8PROC_DECOMPOSE.rawValue | UTF8PROC_CASEFOLD.rawValue
    var (codePoints, last) = ([Int32](repeating: 0, count: 32), Int32(0))
    let count = utf8proc_decompose_char(
        Int32(character.value), &codePoints, codePoints.count, utf8proc_option_t(options), &last)
    return codePoints.prefix(max(0, count)).compactMap { Unicode.Scalar(UInt32($0)) }
        .filter { $0.properties.canonicalCombiningClass == .notReordered }.map(\.value)
}

private let combiningDotAbove: Int32 = 0x307
private let letterI: Int32 = 0x69

/// Returns the text in the normalization form of `form`, which can have further mappings. `change` changes the decomposed text in
/// its place and returns its new length.
private func normalized(
    _ text: String, _ form: utf8proc_option_t,
    _ change: (UnsafeMutableBufferPointer<Int32>) -> Int = { $0.count }
) -> String {
    var text = text
    return text.withUTF8 { bytes in
        // Composed characters stay composed, and characters are not replaced by compatible ones.
        let options = utf8proc_option_t(UTF8PROC_STABLE.rawValue | form.rawValue)
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
            let kept = change(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
            // The bytes replace the code points in the buffer and end in a zero.
            let size = utf8proc_reencode(buffer.baseAddress, kept, options)
            precondition(size >= 0, "a string cannot be encoded")
            return String(
                decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<size]),
                as: UTF8.self)
        }
    }
}
