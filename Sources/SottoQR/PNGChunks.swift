/// The chunks of a PNG file (ISO/IEC 15948, §5.3). libpng stops reading after the last row of pixels, so this check
/// detects a file that was truncated or modified after it.
package enum PNGChunks {
    /// The first bytes of a file.
    package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Returns whether `bytes` are a signature and intact chunks up to one of type IEND. Data after it is ignored.
    static func areWhole(in bytes: [UInt8]) -> Bool {
        guard bytes.starts(with: signature) else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            var rest = UnsafeBufferPointer(rebasing: bytes[signature.count...])
            while rest.count >= 12 {
                let length = Int(word(rest, 0))
                guard length <= rest.count - 12 else { return false }
                let content = UnsafeBufferPointer(rebasing: rest[4..<8 + length])
                guard checksum(content) == word(rest, 8 + length) else { return false }
                if content.starts(with: "IEND".utf8) { return true }
                rest = UnsafeBufferPointer(rebasing: rest[(12 + length)...])
            }
            return false
        }
    }

    private static func word(_ bytes: UnsafeBufferPointer<UInt8>, _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Returns the CRC-32 of a chunk's type and data (ISO/IEC 15948, §5.5).
    private static func checksum(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            var crc: UInt32 = 0xFFFF_FFFF
            for byte in bytes {
                crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ (crc >> 8)
            }
            return ~crc
        }
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in
            crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1
        }
    }
}
